// SPDX-License-Identifier: Apache-2.0
// --resume of live pools: which configuration goes on, whether there is something to go on from,
// and the run directory made ready for another session. Every peer finds its own checkpoint
// (LivePeer::resume). Nothing is changed before take_up_run().
#pragma once

#include <string>

#include "runtime/app/run_header.hpp"
#include "runtime/config/config.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

// The run that --run names, and its settings with what flags and environment change. Faults of the
// session before do not happen again: --chaos counts for one session. Throws UsageError.
struct ResumedPool {
  RunDir run;
  RunRecord record;
  Settings settings;
};
ResumedPool resumed_pool(const Settings& given, const Arguments& arguments,
                         const Environment& environment);

// True when --resume --run DIR is asked for.
bool wants_resume(const Settings& settings);

// Throws UsageError when the run is complete and nothing longer was asked for, when nobody has a
// checkpoint, or when a synchronous protocol's peers stand at different mini-batches. Any process
// of the job may ask, as long as the run has not been taken up.
void check_resumable(const ResumedPool& pool, const RunConfig& config);
// Throws UsageError when a peer of the run still writes its log. For whoever takes the run up: in a
// job whose peers begin one by one, the others' logs are soon this job's own.
void refuse_running(const ResumedPool& pool, const RunConfig& config);

// run.json says the new configuration, and when.
void take_up_run(const ResumedPool& pool, const RunConfig& config, const RunFacts& facts);
void give_back_run(const ResumedPool& pool);  // run.json is as before: nobody could begin
// Takes away what the sessions before left at their end.
void clear_results(const RunDir& run, const RunConfig& config);

}  // namespace hearsay::runtime

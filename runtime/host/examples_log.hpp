// SPDX-License-Identifier: Apache-2.0
// Where a peer writes down what becomes of its examples (gossip/examples/holdings.hpp), and whether
// a place of the pool may be taken in this folder: an earlier start of it may have given examples
// away and taken others, and only its own folder says which. Lane: any. Cost: some file names.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/config/run_config.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

std::string examples_log(const RunDir& run, const std::string& peer);

// Throws UsageError where examples change hands in this pool and its members know earlier starts of
// this place (`incarnation` > 0) of which the folder knows nothing. Before the place is claimed.
void refuse_unknown_examples(const RunConfig& config, const RunDir& run, const std::string& peer,
                             std::uint64_t incarnation);

}  // namespace hearsay::runtime

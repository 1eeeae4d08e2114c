// SPDX-License-Identifier: Apache-2.0
// The figures of a run, by what they answer. Each is a pure function of the facts and says in one
// sentence when the run has not logged what it needs. Lane: any. Cost: linear in the events, plus a
// sort where quantiles are taken; the size of each drawing is bounded.
#pragma once

#include <vector>

#include "runtime/report/figure.hpp"
#include "runtime/report/run_facts.hpp"

namespace hearsay::runtime::report {

Figure timeline_figure(const RunFacts& facts);     // who waited, who died, who talked
Figure graph_figure(const RunFacts& facts);        // how information spread
Figure mixing_figure(const RunFacts& facts);       // is the pool mixing
Figure benefit_figure(const RunFacts& facts);      // which merges helped
Figure similarity_figure(const RunFacts& facts);   // what the sketches saw
Figure communities_figure(const RunFacts& facts);  // stable communities, or noise
Figure examples_figure(const RunFacts& facts);     // which examples travelled, and what came of it
Figure ancestry_figure(const RunFacts& facts);     // whose data is in the final models
Figure traffic_figure(const RunFacts& facts);      // where the traffic went

}  // namespace hearsay::runtime::report

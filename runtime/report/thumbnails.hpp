// SPDX-License-Identifier: Apache-2.0
// Pictures of the examples that a page names, out of the data set that the run was about. RAW DATA:
// whoever sees the page sees them, so only where it is asked for. Lane: any; reads files. Cost:
// loading the data set.
#pragma once

#include "runtime/report/run_facts.hpp"

namespace hearsay::runtime::report {

// Where that cannot be done (other data, no ids logged), `missing` says why, and nothing is added.
void add_thumbnails(RunFacts& facts);

}  // namespace hearsay::runtime::report

// SPDX-License-Identifier: Apache-2.0
// A pool that people start peer by peer: the first one makes the run directory, prints the line
// with which others join, waits until all are there, and tells each its place. The last peer to
// stop writes the pool's result.
#pragma once

#include "runtime/config/config.hpp"

namespace hearsay::runtime {

int train_by_hand(RunConfig config, const Settings& settings);

}  // namespace hearsay::runtime

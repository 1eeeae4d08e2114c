// SPDX-License-Identifier: Apache-2.0
// A pool that people start peer by peer: the first one makes the run directory, prints the line
// with which others join, waits until as many are there as it begins with, and tells each its
// place. From then on any of them lets others in (net/lane_admission.cpp). The last peer to stop
// writes the pool's result.
#pragma once

#include "runtime/config/config.hpp"

namespace hearsay::runtime {

int train_by_hand(RunConfig config, const Settings& settings);

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// Whether anybody listens at an address. Says nothing about who; a frozen process counts as there.
// Blocks the caller for at most `at_most`, plus the time to look up a name.
#pragma once

#include <chrono>

#include "runtime/net/endpoint.hpp"

namespace hearsay::runtime {

bool answers(const Endpoint& address,
             std::chrono::milliseconds at_most = std::chrono::milliseconds(1000));

}  // namespace hearsay::runtime

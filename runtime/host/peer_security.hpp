// SPDX-License-Identifier: Apache-2.0
// What --secret, --tls, --revoked and --insecure mean for a live peer's connections.
#pragma once

#include <memory>

#include "runtime/config/run_config.hpp"
#include "runtime/net/endpoint.hpp"
#include "runtime/net/security.hpp"

namespace hearsay::runtime {

// Nothing when neither is asked for. Reads the files; a warning about their modes goes to stderr.
// Throws UsageError.
std::shared_ptr<Security> security_of(const RunConfig& config);

bool is_protected(const RunConfig& config);

// Throws UsageError for an address beyond loopback that is neither protected nor --insecure.
void refuse_open_address(const RunConfig& config, const Endpoint& listen);

// What a peer that joins this one has to add to its command: " --secret FILE", or nothing.
std::string join_words(const RunConfig& config);

}  // namespace hearsay::runtime

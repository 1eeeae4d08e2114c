// SPDX-License-Identifier: Apache-2.0
// RUN/peers/<name>/endpoint.json: where a peer listens and which process it is, for people, and for
// peers that find each other by files. Invariant: complete or absent. Lane: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/log/run_dir.hpp"
#include "runtime/net/endpoint.hpp"

namespace hearsay::runtime {

struct EndpointFile {
  Endpoint address;  // that others dial
  int pid = 0;
  std::string host;
  std::uint64_t incarnation = 0;
  std::string session;  // of the job that started it; empty where nobody asks
};

std::string host_name();
EndpointFile endpoint_here(const Endpoint& address, std::uint64_t incarnation,
                           const std::string& session);

// The peer's folder must be there. Throws a Fault with file and errno text.
void write_endpoint(const RunDir& run, const std::string& peer, const EndpointFile& endpoint);
// Empty when there is none that can be read.
std::optional<EndpointFile> read_endpoint(const RunDir& run, const std::string& peer);

}  // namespace hearsay::runtime

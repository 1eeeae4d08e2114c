// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/endpoint_file.hpp"

#include <unistd.h>

#include <array>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "kernels/core/errc.hpp"
#include "runtime/launch/json_fields.hpp"
#include "runtime/log/atomic_file.hpp"

namespace hearsay::runtime {

std::string host_name() {
  std::array<char, 256> text{};
  return gethostname(text.data(), text.size() - 1) == 0 ? text.data() : "unknown";
}

EndpointFile endpoint_here(const Endpoint& address, std::uint64_t incarnation,
                           const std::string& session) {
  return {address, getpid(), host_name(), incarnation, session};
}

void write_endpoint(const RunDir& run, const std::string& peer, const EndpointFile& endpoint) {
  nlohmann::ordered_json j;
  j["address"] = endpoint.address.text();
  j["pid"] = endpoint.pid;
  j["host"] = endpoint.host;
  j["incarnation"] = endpoint.incarnation;
  if (!endpoint.session.empty()) j["session"] = endpoint.session;
  write_file_atomically(run.peer_endpoint(peer), j.dump(2) + "\n");
}

std::optional<EndpointFile> read_endpoint(const RunDir& run, const std::string& peer) {
  std::ifstream file(run.peer_endpoint(peer));
  if (!file) return std::nullopt;
  const auto j = JsonFields::Json::parse(file, nullptr, false);
  JsonFields f(j);
  EndpointFile endpoint;
  const std::string address = f.text("address");
  const std::uint64_t pid = f.count("pid");
  endpoint.host = f.text("host");
  endpoint.incarnation = f.count("incarnation");
  if (f.ok() && j.contains("session")) endpoint.session = f.text("session");
  if (!f.ok() || pid > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    return std::nullopt;
  endpoint.pid = static_cast<int>(pid);
  try {
    endpoint.address = parse_endpoint("address", address);
    return endpoint;
  } catch (const kernels::UsageError&) {
    return std::nullopt;
  }
}

}  // namespace hearsay::runtime

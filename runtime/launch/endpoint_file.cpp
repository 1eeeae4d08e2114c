// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/endpoint_file.hpp"

#include <unistd.h>

#include <array>
#include <fstream>

#include <nlohmann/json.hpp>

#include "kernels/core/errc.hpp"
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
  const auto j = nlohmann::json::parse(file, nullptr, false);
  try {
    EndpointFile endpoint;
    endpoint.address = parse_endpoint("address", j.at("address").get<std::string>());
    endpoint.pid = j.at("pid").get<int>();
    endpoint.host = j.at("host").get<std::string>();
    endpoint.incarnation = j.at("incarnation").get<std::uint64_t>();
    endpoint.session = j.value("session", "");
    return endpoint;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const kernels::UsageError&) {
    return std::nullopt;
  }
}

}  // namespace hearsay::runtime

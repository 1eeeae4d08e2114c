// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/root_cause.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <nlohmann/json.hpp>

namespace hearsay::runtime {
namespace {

constexpr std::streamoff kTailBytes = 64 * 1024;

}  // namespace

std::string last_event(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "no log";
  file.seekg(std::max<std::streamoff>(0, static_cast<std::streamoff>(file.tellg()) - kTailBytes));
  std::string line, last = "none";
  while (std::getline(file, line)) {
    const auto j = nlohmann::json::parse(line, nullptr, false);
    if (!j.is_object() || !j.contains("ev") || !j["ev"].is_string()) continue;
    last = j["ev"].get<std::string>();
    if (j.contains("t_ns") && j["t_ns"].is_number()) {
      char text[32];
      std::snprintf(text, sizeof text, " at %.1f s", 1e-9 * j["t_ns"].get<double>());
      last += text;
    }
  }
  return last;
}

std::string root_cause_table(const RunDir& run, const std::vector<PeerDeath>& deaths) {
  if (deaths.empty()) return {};
  std::string table = "peers that died, first to last:\n";
  for (const PeerDeath& death : deaths) {
    char text[512];
    std::snprintf(
        text, sizeof text, "  %7.1f s  %-5s %-16s %-20s  last: %s\n", death.at_s, death.peer.c_str(),
        death.host.c_str(), death.how.c_str(),
        (death.last.empty() ? last_event(run.peer_events(death.peer)) : death.last).c_str());
    table += text;
    table += "             log " + run.peer_stderr(death.peer) + "\n";
  }
  return table;
}

}  // namespace hearsay::runtime

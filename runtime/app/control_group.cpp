// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/control_group.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;

// Version 1 says "no limit" with the largest multiple of a page.
constexpr double kNoMemoryLimit = 9e18;

// The first numbers of a file; none when there is no file, or when it says "max" or -1.
std::optional<double> number_in(const fs::path& path, double* second = nullptr) {
  std::ifstream file(path);
  double value = 0.0;
  if (!(file >> value) || value < 0.0) return std::nullopt;
  if (second != nullptr) file >> *second;
  return value;
}

template <typename Number>
void lower(Number& limit, std::optional<double> found) {
  if (!found) return;
  const Number value = static_cast<Number>(*found);
  limit = limit == Number{} ? value : std::min(limit, value);
}

// Files of one group; which of them exist depends on the version and the controller.
void read_group(const fs::path& group, ControlGroupFacts& facts) {
  double period = 0.0;
  if (const auto quota = number_in(group / "cpu.max", &period); quota && period > 0.0) {
    lower(facts.cores, *quota / period);
  }
  const auto quota = number_in(group / "cpu.cfs_quota_us");
  const auto quota_period = number_in(group / "cpu.cfs_period_us");
  if (quota && quota_period && *quota_period > 0.0) lower(facts.cores, *quota / *quota_period);
  for (const char* const name : {"memory.max", "memory.limit_in_bytes"}) {
    const auto bytes = number_in(group / name);
    if (bytes && *bytes < kNoMemoryLimit) lower(facts.memory_bytes, bytes);
  }
  lower(facts.processes, number_in(group / "pids.max"));
}

// `path` begins with a slash. In a container it may name a group that only the host can see; its
// parents up to the mount are what is left then.
void read_up(const fs::path& top, fs::path path, ControlGroupFacts& facts) {
  for (path = path.relative_path(); !path.empty(); path = path.parent_path()) {
    read_group(top / path, facts);
  }
  read_group(top, facts);
}

}  // namespace

ControlGroupFacts control_group_facts(const fs::path& mount, const fs::path& membership) {
  ControlGroupFacts facts;
  std::ifstream groups(membership);
  for (std::string line; std::getline(groups, line);) {  // "4:memory:/a/b", version 2: "0::/a/b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers.starts_with("name=")) continue;
    read_up(mount / controllers, line.substr(second + 1), facts);
  }
  return facts;
}

}  // namespace hearsay::runtime

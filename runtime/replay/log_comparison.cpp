// SPDX-License-Identifier: Apache-2.0
#include "runtime/replay/log_comparison.hpp"

#include <fstream>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "runtime/log/json_nesting.hpp"
#include "runtime/replay/newer_keys.hpp"

namespace hearsay::runtime {
namespace {

struct LineKey {
  std::string ev, peer;
  std::uint64_t n = 0;
};

// Nothing for what is no event.
std::optional<LineKey> key_of(std::string_view line) {
  if (nests_too_deeply(line)) return std::nullopt;
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto ev = json.find("ev"), peer = json.find("peer"), n = json.find("n");
  const bool whole = ev != json.end() && ev->is_string() && peer != json.end() &&
                     peer->is_string() && n != json.end() && n->is_number_unsigned();
  if (!whole) return std::nullopt;
  return LineKey{ev->get<std::string>(), peer->get<std::string>(), n->get<std::uint64_t>()};
}

std::string cut(std::string_view line) {
  constexpr std::size_t kMostColumns = 300;
  return std::string(line.substr(0, kMostColumns));
}

}  // namespace

LogComparison::LogComparison(const std::string& path, std::size_t most_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    damage_.push_back(path + ": cannot be read");
    return;
  }
  std::string line;
  std::uint64_t number = 0;
  std::size_t bytes = 0;
  for (; std::getline(file, line); ++number) {
    bytes += line.size() + 1;
    if (bytes > most_bytes) break;
    if (number == 0) continue;  // the header says when and where, and differs
    const auto key = key_of(line);
    const bool is_new = key && lines_[key->peer].emplace(key->n, line).second;
    // What the command adds at the end is not made again.
    if (key && key->ev == "run.finished") lines_[key->peer].erase(key->n);
    if (!is_new && damage_.size() < kMost)
      damage_.push_back(path + " line " + std::to_string(number + 1) +
                        (key ? ": the second of its number" : ": is no event"));
  }
  if (number == 0) damage_.push_back(path + ": is empty");
}

bool LogComparison::compare(std::string_view line) {
  const auto key = key_of(line);
  const auto peer = key ? lines_.find(key->peer) : lines_.end();
  if (peer == lines_.end()) {
    ++missing_;
    return true;
  }
  const auto found = peer->second.find(key->n);
  if (found == peer->second.end()) {
    ++missing_;
    return true;
  }
  const bool same = found->second == without_newer_keys(std::string(line), found->second);
  if (same) {
    ++equal_;
  } else if (differences_.size() < kMost) {
    differences_.push_back(key->peer + ", line " + std::to_string(key->n) + ": logged " +
                           cut(found->second) + ", now " + cut(line));
  }
  peer->second.erase(found);
  return same;
}

void LogComparison::finish() {
  std::uint64_t left = 0;
  std::string first;
  for (const auto& [peer, lines] : lines_) {
    left += lines.size();
    if (!lines.empty() && first.empty())
      first = peer + ", line " + std::to_string(lines.begin()->first);
  }
  if (left > 0)
    differences_.push_back(std::to_string(left) +
                           " logged lines did not happen again, the first: " + first);
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/replay/event_check.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "runtime/log/json_text.hpp"
#include "runtime/replay/newer_keys.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::string_view kNumber = ",\"n\":";
constexpr std::string_view kAfter = ",\"after\":\"";

bool names_event(std::string_view line, std::string_view name) {
  constexpr std::string_view kBegin = "{\"ev\":\"";
  return line.starts_with(kBegin) && line.substr(kBegin.size()).starts_with(name) &&
         line.substr(kBegin.size() + name.size()).starts_with('"');
}

// Faults are told by protocols too; a transport's goes by what is done about it.
bool is_of_host(std::string_view line) {
  for (const std::string_view name :
       {"run.started", "run.resumed", "eval.finished", "ckpt.written", "run.finished"})
    if (names_event(line, name)) return true;
  return names_event(line, "fault.seen") &&
         line.find("\"action\":\"goes on\"") != std::string_view::npos;
}

// `{"ev":"x","t_ns":1,"peer":"p00","n":7,...` without `,"n":7`.
std::string without_number(std::string line) {
  const std::size_t begin = line.find(kNumber);
  if (begin == std::string::npos) return line;
  std::size_t end = begin + kNumber.size();
  while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
  return line.erase(begin, end - begin);
}

std::string without_digest(std::string line) {
  const std::size_t begin = line.find(kAfter);
  if (begin == std::string::npos) return line;
  const std::size_t end = line.find('"', begin + kAfter.size());
  return end == std::string::npos ? line : line.erase(begin, end + 1 - begin);
}

std::optional<std::uint64_t> incarnation_in(std::string_view line) {
  constexpr std::string_view kIncarnation = ",\"inc\":";
  const std::size_t at = line.find(kIncarnation);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* const begin = line.data() + at + kIncarnation.size();
  const auto [end, error] = std::from_chars(begin, line.data() + line.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

std::string line_of(gossip::Time now, const std::string& peer, const gossip::Event& event) {
  std::string line = "{\"ev\":";
  append_json_string(line, event.name);
  line += ",\"t_ns\":";
  append_json_int(line, now.count());
  line += ",\"peer\":";
  append_json_string(line, peer);
  for (const gossip::Field& field : event.fields) {
    append_json_key(line, field.key);
    append_json_field(line, field.value);
  }
  return line + "}";
}

}  // namespace

EventCheck::EventCheck(const std::vector<std::string>& paths, std::string peer, std::string& damage)
    : peer_(std::move(peer)) {
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
      damage = path + ": cannot be read; its events are not compared";
      return;
    }
    std::string line;
    std::size_t offset = 0;
    starts_.push_back({lines_.size(), std::nullopt});
    while (std::getline(in, line)) {
      const bool is_whole = !in.eof();
      if (is_whole && !(line.starts_with('{') && line.ends_with('}'))) {
        damage = path + ": offset " + std::to_string(offset) +
                 ": is no line of a log; events behind it are not compared";
        return;
      }
      offset += line.size() + 1;
      if (names_event(line, "run.resumed")) starts_.push_back({lines_.size(), std::nullopt});
      if (names_event(line, "run.resumed") || names_event(line, "peer.joined"))
        starts_.back().incarnation = incarnation_in(line);
      if (is_whole && !is_of_host(line)) lines_.push_back(without_number(std::move(line)));
    }
    if (offset == 0) damage = path + ": is empty; there are no events to compare";
  }
}

void EventCheck::begin_start(std::uint64_t incarnation) {
  const auto start = std::find_if(starts_.begin(), starts_.end(), [&](const Start& each) {
    return each.incarnation == incarnation;
  });
  const bool is_last = start == starts_.end() || std::next(start) == starts_.end();
  end_ = is_last ? lines_.size() : std::next(start)->begin;
  at_ = start == starts_.end() ? end_ : start->begin;
}

bool EventCheck::check(gossip::Time now, const gossip::Event& event) {
  if (at_ == end_) return true;
  const std::string& logged = lines_[at_++];
  std::string made = without_newer_keys(line_of(now, peer_, event), logged);
  if (logged.find(kAfter) == std::string::npos) made = without_digest(std::move(made));
  ++checked_;
  if (made == logged) return true;
  difference_ = "logged " + logged + ", made " + made;
  return false;
}

}  // namespace hearsay::runtime

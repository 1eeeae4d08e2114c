// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/clocks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

#include "runtime/report/event_fields.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;

// Seconds since 1970 of "2026-01-02T03:04:05Z".
std::optional<std::int64_t> started_s(const OneLog& log) {
  std::tm time{};
  const std::string text = text_at(log.header, "time");
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2dZ", &time.tm_year, &time.tm_mon,
                  &time.tm_mday, &time.tm_hour, &time.tm_min, &time.tm_sec) != 6)
    return std::nullopt;
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  return ::timegm(&time);
}

// (sender, receiver, seq) of a model: of those that are placed already, when it went and came.
using ModelKey = std::tuple<std::string, std::string, std::uint64_t>;
struct Placed {
  std::map<ModelKey, std::int64_t> sent, received;

  void add(const OneLog& log) {
    for (const LoggedEvent& event : log.events) {
      const std::int64_t at = event.t_ns + log.offset_ns;
      if (event.ev == "delta.sent")
        sent.emplace(
            ModelKey{event.peer, text_at(event.fields, "to"), whole_at(event.fields, "seq")}, at);
      if (event.ev == "delta.received")
        received.emplace(
            ModelKey{text_at(event.fields, "from"), event.peer, whole_at(event.fields, "seq")}, at);
    }
  }
};

struct Bounds {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};

Bounds bounds_of(const OneLog& log, const Placed& placed) {
  Bounds bounds;
  for (const LoggedEvent& event : log.events) {
    if (event.ev == "delta.received") {
      const auto sent = placed.sent.find(
          {text_at(event.fields, "from"), event.peer, whole_at(event.fields, "seq")});
      if (sent != placed.sent.end()) bounds.low = std::max(bounds.low, sent->second - event.t_ns);
    } else if (event.ev == "delta.sent") {
      const auto came = placed.received.find(
          {event.peer, text_at(event.fields, "to"), whole_at(event.fields, "seq")});
      if (came != placed.received.end())
        bounds.high = std::min(bounds.high, came->second - event.t_ns);
    }
  }
  return bounds;
}

}  // namespace

void align_clocks(std::vector<OneLog>& logs) {
  std::vector<std::size_t> order(logs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto started = [&](std::size_t i) { return started_s(logs[i]).value_or(0); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return started(a) < started(b); });
  Placed placed;
  std::optional<std::int64_t> first_s;
  for (const std::size_t i : order) {
    OneLog& log = logs[i];
    if (log.owner.empty()) continue;  // a simulation: one clock
    const auto own_s = started_s(log);
    if (!first_s) first_s = own_s;
    // Headers know whole seconds: peers that start together may differ by one.
    const std::int64_t late_s = own_s && first_s ? *own_s - *first_s : 0;
    log.offset_ns = late_s > 1 ? late_s * kSecond_ns : 0;
    const Bounds bounds = bounds_of(log, placed);
    if (log.offset_ns != 0 && bounds.low <= bounds.high)
      log.offset_ns = std::clamp(log.offset_ns, bounds.low, bounds.high);
    placed.add(log);
  }
}

}  // namespace hearsay::runtime::report

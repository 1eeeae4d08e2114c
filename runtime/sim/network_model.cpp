// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/network_model.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

using gossip::Time;
using kernels::UsageError;

Time seconds_to_time(double seconds) {
  return Time(static_cast<std::int64_t>(std::llround(seconds * 1e9)));
}

// "1Gb/s", "100Mb/s", "64kb/s": bits per second.
double parse_bandwidth(const std::string& text) {
  const auto unit = [&](const char* suffix, double factor) -> double {
    const std::string end(suffix);
    if (text.size() <= end.size() || text.compare(text.size() - end.size(), end.size(), end) != 0)
      return 0.0;
    return parse_number("--net", text.substr(0, text.size() - end.size())) * factor;
  };
  for (const auto& [suffix, factor] : {std::pair{"Gb/s", 1e9}, {"Mb/s", 1e6}, {"kb/s", 1e3}}) {
    const double bits = unit(suffix, factor);
    if (bits >= 1e3 && bits <= 1e15) return bits / 8.0;
  }
  throw UsageError("--net: bandwidth is written as 1Gb/s, 100Mb/s or 64kb/s, not " + text);
}

}  // namespace

NetworkOptions parse_network(const Spec& spec) {
  if (spec.name == "ideal" || spec.name == "lan") {
    reject_unknown("--net", spec, {}, 0);
    return spec.name == "ideal" ? NetworkOptions{}
                                : NetworkOptions{1e9 / 8.0, seconds_to_time(0.2e-3), Time{0}};
  }
  if (spec.name != "link") throw_unknown("network model", spec.name, {"lan", "ideal", "link"});
  reject_unknown("--net", spec, {"bandwidth", "latency", "jitter"}, 0);
  NetworkOptions options;
  if (const auto text = spec.arg("bandwidth"))
    options.bandwidth_bytes_per_s = parse_bandwidth(*text);
  const auto delay = [](const std::string& text) {
    const double seconds = parse_seconds("--net", text);
    if (!(seconds >= 0.0 && seconds <= 3600.0))
      throw UsageError("--net: a delay lies between 0 and 1h, not " + text);
    return seconds_to_time(seconds);
  };
  if (const auto text = spec.arg("latency")) options.latency = delay(*text);
  if (const auto text = spec.arg("jitter")) options.jitter = delay(*text);
  return options;
}

NetworkModel::NetworkModel(const NetworkOptions& options, std::uint32_t peers, std::uint64_t seed)
    : options_(options), link_free_(peers, Time{0}), rng_(kernels::Rng::stream(seed, "network")) {}

Time NetworkModel::arrival(kernels::PeerId from, kernels::PeerId to, std::uint64_t bytes,
                           Time now) {
  Time sent = now;
  if (options_.bandwidth_bytes_per_s > 0.0) {
    Time& free = link_free_[from.value];
    free = std::max(free, now) +
           seconds_to_time(static_cast<double>(bytes) / options_.bandwidth_bytes_per_s);
    sent = free;
  }
  Time arrives = sent + options_.latency;
  if (options_.jitter > Time{0}) {
    arrives += Time(
        static_cast<std::int64_t>(rng_.uniform() * static_cast<double>(options_.jitter.count())));
    Time& last = last_arrival_[{from.value, to.value}];
    arrives = last = std::max(last, arrives);
  }
  return arrives;
}

}  // namespace hearsay::runtime

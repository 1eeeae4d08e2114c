// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/compute_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

gossip::Time positive_time(const std::string& text) {
  const double seconds = parse_seconds("--compute", text);
  if (!(seconds >= 1e-9 && seconds <= 3600.0)) {
    throw kernels::UsageError("--compute: a mini-batch takes 1ns to 1h, not " + text);
  }
  return gossip::Time(static_cast<std::int64_t>(std::llround(seconds * 1e9)));
}

// "10%*4" or "1%*50ms": a share of something, and what happens to it.
std::pair<double, std::string> share_and_rest(const std::string& key, const std::string& text) {
  const std::size_t star = text.find('*');
  if (star == std::string::npos) {
    throw kernels::UsageError(
        "--compute: " + key + "=" + text + ": write a share and, after '*', " +
        (key == "pause" ? "a time, such as pause=1%*50ms" : "a factor, such as stragglers=10%*4"));
  }
  return {parse_share("--compute", text.substr(0, star)), text.substr(star + 1)};
}

void read_disturbances(const Spec& spec, ComputeOptions& options) {
  if (const auto text = spec.arg("stragglers")) {
    const auto [share, factor] = share_and_rest("stragglers", *text);
    options.straggler_share = share;
    options.straggler_factor = parse_number("--compute", factor);
    if (!(options.straggler_factor > 0.0 && options.straggler_factor <= 1e6))
      throw kernels::UsageError("--compute: stragglers are up to 1e6 times slower, not " + factor);
  }
  if (const auto text = spec.arg("pause")) {
    const auto [share, time] = share_and_rest("pause", *text);
    options.pause_share = share;
    options.pause = positive_time(time);
  }
}

}  // namespace

ComputeOptions parse_compute(const Spec& spec) {
  ComputeOptions options;
  if (spec.name == "fixed") {
    reject_unknown("--compute", spec, {"stragglers", "pause"}, 1);
    if (!spec.values.empty()) options.step = positive_time(spec.values.front());
    read_disturbances(spec, options);
    return options;
  }
  if (spec.name != "jitter") throw_unknown("compute model", spec.name, {"fixed", "jitter"});
  reject_unknown("--compute", spec, {"cv", "step", "stragglers", "pause"}, 0);
  options.kind = ComputeOptions::Kind::jitter;
  options.cv = parse_share("--compute", spec.arg("cv").value_or("0.2"));
  if (!(options.cv >= 0.0 && options.cv <= 10.0))
    throw kernels::UsageError("--compute: cv lies between 0 and 10");
  if (const auto step = spec.arg("step")) options.step = positive_time(*step);
  read_disturbances(spec, options);
  return options;
}

ComputeModel::ComputeModel(const ComputeOptions& options, std::uint32_t peers, std::uint64_t seed)
    : options_(options), slowness_(peers, 1.0) {
  for (std::uint32_t i = 0; i < peers; ++i)
    rng_.push_back(kernels::Rng::stream(seed, "compute", i));
  if (options.straggler_share <= 0.0) return;
  std::vector<std::uint32_t> ids(peers);
  std::iota(ids.begin(), ids.end(), 0u);
  kernels::Rng::stream(seed, "stragglers").shuffle(ids);
  ids.resize(static_cast<std::size_t>(std::llround(options.straggler_share * peers)));
  for (const std::uint32_t id : ids) slowness_[id] = options.straggler_factor;
}

void ComputeModel::state(gossip::Archive& archive) {
  const std::size_t peers = rng_.size();
  std::vector<std::uint64_t> drawn;
  for (const kernels::Rng& rng : rng_) drawn.push_back(rng.position());
  archive("slowness", slowness_)("drawn", drawn);
  if (slowness_.size() != peers || drawn.size() != peers)
    archive.fail("slowness", "is not one a peer");
  for (std::size_t i = 0; archive.loading() && i < peers; ++i) rng_[i].seek(drawn[i]);
}

gossip::Time ComputeModel::step_time(kernels::PeerId peer) {
  double time_ns = static_cast<double>(options_.step.count()) * slowness_[peer.value];
  if (options_.kind == ComputeOptions::Kind::jitter) {
    const double sigma2 = std::log1p(options_.cv * options_.cv);  // log-normal with mean 1
    time_ns *= std::exp(std::sqrt(sigma2) * rng_[peer.value].normal() - 0.5 * sigma2);
  }
  if (options_.pause_share > 0.0 && rng_[peer.value].uniform() < options_.pause_share)
    time_ns -=
        static_cast<double>(options_.pause.count()) * std::log1p(-rng_[peer.value].uniform());
  return gossip::Time(std::max<std::int64_t>(1, std::llround(time_ns)));
}

}  // namespace hearsay::runtime

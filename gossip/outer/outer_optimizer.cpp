// SPDX-License-Identifier: Apache-2.0
#include "gossip/outer/outer_optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/ops/merge_ops.hpp"

namespace hearsay::gossip {
namespace {

constexpr double kMostMomentum = 10.0;  // times the recent delta
constexpr double kForgetting = 0.9;     // of the largest delta, a step

void zero(kernels::Buffer<float>& values) { std::fill_n(values.data(), values.size(), 0.0f); }

kernels::Buffer<float> zeros(std::size_t n) {
  kernels::Buffer<float> values(n);
  zero(values);
  return values;
}

merge::SnapshotRef snapshot_of(std::span<const float> values, LocalModel& model) {
  const std::shared_ptr<merge::Snapshot> copy = model.blank();
  std::copy(values.begin(), values.end(), copy->values.data());
  return copy;
}

}  // namespace

void OuterOptimizer::begin(LocalModel& model) {
  const merge::SnapshotRef own = model.snapshot();
  const std::span<const float> weights = own->span();
  slow_ = kernels::Buffer<float>(weights.size());
  std::copy(weights.begin(), weights.end(), slow_.data());
  m_ = zeros(weights.size());
  if (settings_.kind == OuterSettings::Kind::delayed) buffer_ = zeros(weights.size());
  recent_delta_ = 0.0;
  gathered_ = 0;
}

merge::SnapshotRef OuterOptimizer::to_say(LocalModel& model) const {
  merge::SnapshotRef own = model.snapshot();
  const bool says_weights = settings_.kind != OuterSettings::Kind::noloco ||
                            settings_.rate == settings_.gamma || slow_.size() == 0;
  if (says_weights || resting_) return own;
  const std::shared_ptr<merge::Snapshot> said = model.blank();
  kernels::extrapolate(static_cast<float>(extrapolation()), own->span(), slow_.span(),
                       said->values.span());
  return said;
}

std::optional<OuterOptimizer::Restart> OuterOptimizer::block_ended(LocalModel& model) {
  if (steps_at_merges() || resting_) return std::nullopt;
  const merge::SnapshotRef own = model.snapshot();
  return step_to(own->span(), model);
}

std::optional<OuterOptimizer::Restart> OuterOptimizer::step_to(std::span<const float> reached,
                                                               LocalModel& model) {
  kernels::OuterStep how;
  how.own = static_cast<float>(settings_.rate);
  how.momentum = static_cast<float>(settings_.rate * settings_.momentum);
  how.momentum_own = 1.0f;
  how.keep = static_cast<float>(settings_.momentum);
  return step(how, reached, {}, {}, model);
}

std::optional<OuterOptimizer::Restart> OuterOptimizer::merge(double alpha,
                                                             const merge::Snapshot& in,
                                                             const merge::Snapshot* base,
                                                             LocalModel& model) {
  if (steps_at_merges() && !resting_) {
    const merge::SnapshotRef own = model.snapshot();
    const merge::SnapshotRef said = base == nullptr ? to_say(model) : nullptr;
    return step(merge_step(alpha), own->span(), in.span(), said ? said->span() : base->span(),
                model);
  }
  if (slow_.size() == 0) begin(model);
  const merge::SnapshotRef own = base == nullptr ? model.snapshot() : nullptr;
  kernels::merge_blend(static_cast<float>(alpha), slow_.span(), in.span(),
                       own ? own->span() : base->span(), {});
  model.blend(alpha, in, base);
  return std::nullopt;
}

kernels::OuterStep OuterOptimizer::merge_step(double alpha) {
  const double mu = settings_.momentum;
  kernels::OuterStep how;
  how.keep = static_cast<float>(mu);
  if (settings_.kind == OuterSettings::Kind::noloco) {
    how.momentum_own = static_cast<float>(settings_.rate);
    how.momentum_mix = static_cast<float>(settings_.gamma * alpha);
    how.momentum = 1.0f;
    return how;
  }
  how.own = static_cast<float>(settings_.rate);
  how.mix = static_cast<float>(settings_.rate * alpha);
  how.momentum_own = 1.0f;
  how.momentum_mix = static_cast<float>(alpha);
  how.flush = ++gathered_ >= settings_.period;
  if (how.flush) gathered_ = 0;
  const double c = settings_.activation;
  const double share = how.flush ? 1.0 - c * settings_.period + c : c;
  how.momentum = static_cast<float>(settings_.rate * share * mu);
  return how;
}

std::optional<OuterOptimizer::Restart> OuterOptimizer::step(const kernels::OuterStep& how,
                                                            std::span<const float> reached,
                                                            std::span<const float> in,
                                                            std::span<const float> base,
                                                            LocalModel& model) {
  if (slow_.size() == 0) begin(model);
  const auto restart = restart_if_too_large(reached);
  kernels::outer_step(how, reached, in, base, slow_.span(), m_.span(), buffer_.span());
  model.blend(1.0, *snapshot_of(slow_.span(), model), nullptr);
  return restart;
}

std::optional<OuterOptimizer::Restart> OuterOptimizer::restart_if_too_large(
    std::span<const float> weights) {
  const double delta = std::sqrt(kernels::squared_distance(weights, slow_.span()));
  const double norm = std::sqrt(kernels::squared_distance(m_.span(), {}));
  recent_delta_ = std::max(delta, kForgetting * recent_delta_);
  if (norm <= kMostMomentum * recent_delta_) return std::nullopt;
  zero(m_);
  zero(buffer_);
  gathered_ = 0;
  return Restart{norm, recent_delta_};
}

void OuterOptimizer::state(Archive& a) {
  a.array("slow", slow_).array("m", m_).array("buffer", buffer_);
  a("recent_delta", recent_delta_)("gathered", gathered_)("resting", resting_);
  if (!a.loading()) return;
  const bool buffers = settings_.kind == OuterSettings::Kind::delayed;
  if (m_.size() != slow_.size()) a.fail("m", "is of another size than the slow weights");
  if (buffer_.size() != (buffers ? slow_.size() : 0)) a.fail("buffer", "is of another size");
  if (gathered_ >= settings_.period && gathered_ > 0) a.fail("gathered", "is out of range");
}

}  // namespace hearsay::gossip

// SPDX-License-Identifier: Apache-2.0
#include "gossip/baselines/error_memory.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/ops/merge_ops.hpp"

namespace hearsay::gossip {
namespace {

using Kind = FeedbackSettings::Kind;

kernels::Buffer<float> zeros(std::size_t size) {
  kernels::Buffer<float> buffer(size);
  std::fill_n(buffer.data(), size, 0.0f);
  return buffer;
}

}  // namespace

float ErrorMemory::clipped(std::span<const float> x, double weight) const {
  if (settings_.clip <= 0.0) return 1.0f;
  const double most = settings_.clip * std::sqrt(static_cast<double>(peers_)) * weight;
  const double norm = std::sqrt(kernels::squared_distance(x, {}));
  return norm > most ? static_cast<float>(most / norm) : 1.0f;
}

std::span<const float> ErrorMemory::to_say(std::span<const float> x, double weight) {
  const std::size_t n = x.size();
  const bool is_dgc = settings_.kind == Kind::dgc;
  for (kernels::Buffer<float>* each : {&p_, &memory_, &next_memory_})
    if (each->size() != n) *each = zeros(n);
  for (kernels::Buffer<float>* each : {&momentum_, &next_momentum_})
    if (is_dgc && each->size() != n) *each = zeros(n);
  float *const p = p_.data(), *const u = next_momentum_.data();
  const float *const m = memory_.data(), *const before = momentum_.data();
  switch (settings_.kind) {
    case Kind::none: std::copy(x.begin(), x.end(), p); break;
    case Kind::ef:
      for (std::size_t i = 0; i < n; ++i) p[i] = x[i] + m[i];
      break;
    case Kind::ef21:
      for (std::size_t i = 0; i < n; ++i) p[i] = x[i] - m[i];
      break;
    case Kind::dgc: {
      const float mu = static_cast<float>(settings_.momentum), factor = clipped(x, weight);
      for (std::size_t i = 0; i < n; ++i) u[i] = mu * before[i] + factor * x[i];
      for (std::size_t i = 0; i < n; ++i) p[i] = m[i] + u[i];
      break;
    }
  }
  return p_.span();
}

void ErrorMemory::said(std::span<const float> c) {
  const std::size_t n = p_.size();
  HS_CHECK(c.size() == n && next_memory_.size() == n);
  const float *const p = p_.data(), *const m = memory_.data();
  float *const next = next_memory_.data(), *const u = next_momentum_.data();
  switch (settings_.kind) {
    case Kind::none: break;
    case Kind::ef:
      for (std::size_t i = 0; i < n; ++i) next[i] = p[i] - c[i];
      break;
    case Kind::ef21:
      for (std::size_t i = 0; i < n; ++i) next[i] = m[i] + c[i];
      break;
    case Kind::dgc:
      for (std::size_t i = 0; i < n; ++i) next[i] = p[i] - c[i];
      for (std::size_t i = 0; i < n; ++i) u[i] = c[i] != 0.0f ? 0.0f : u[i];
      break;
  }
}

void ErrorMemory::keep() {
  std::swap(memory_, next_memory_);
  std::swap(momentum_, next_momentum_);
}

void ErrorMemory::state(Archive& archive) {
  archive.array("memory", memory_);
  archive.array("momentum", momentum_);
  archive.array("next_memory", next_memory_);
  archive.array("next_momentum", next_momentum_);
  archive.array("said_of", p_);
  const std::size_t n = memory_.size();
  const auto fits = [&](const kernels::Buffer<float>& each) {
    return each.size() == 0 || each.size() == n;
  };
  if (!fits(momentum_) || !fits(next_memory_) || !fits(next_momentum_) || !fits(p_))
    archive.fail("memory", "is of several sizes");
}

}  // namespace hearsay::gossip

// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/tamper.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/ops/merge_ops.hpp"

namespace hearsay::runtime {
namespace {

struct Known {
  Attack attack;
  const char* name;
  double strength;
};
constexpr std::array kKnown{Known{Attack::nan, "nan", 1.0},
                            Known{Attack::scale, "scale", 1e6},
                            Known{Attack::sign_flip, "sign-flip", 1.0},
                            Known{Attack::noise, "noise", 1.0},
                            Known{Attack::replay_stale, "replay-stale", 1.0},
                            Known{Attack::drift, "drift", 0.05}};

const Known& entry_of(Attack attack) { return kKnown[static_cast<std::size_t>(attack)]; }

double norm(std::span<const float> values) {
  return std::sqrt(kernels::squared_distance(values, {}));
}

}  // namespace

std::optional<Attack> find_attack(const std::string& name) {
  for (const Known& known : kKnown)
    if (name == known.name) return known.attack;
  return std::nullopt;
}

std::string name_of(Attack attack) { return entry_of(attack).name; }
double usual_strength(Attack attack) { return entry_of(attack).strength; }

void poison(std::span<float> weights) {
  if (!weights.empty()) weights[weights.size() / 2] = std::numeric_limits<float>::quiet_NaN();
}

Tamper::Tamper(std::uint64_t seed, kernels::PeerId peer)
    : rng_(kernels::Rng::stream(seed, "tamper", peer.value)),
      direction_(kernels::Rng::stream(seed, "drift", peer.value)) {}

void Tamper::begin(Attack attack, double strength, merge::SnapshotRef weights) {
  HS_CHECK(weights != nullptr);
  attack_ = attack;
  strength_ = strength;
  start_ = std::move(weights);
}

void Tamper::apply(gossip::Frame& frame, gossip::LocalModel& model) {
  if (!attack_ || !frame.values || frame.values->size() != start_->size()) return;
  frame.values =
      *attack_ == Attack::replay_stale ? start_ : model.copy(altered(frame.values->span()));
}

std::vector<float> Tamper::altered(std::span<const float> honest) {
  std::vector<float> sent(honest.begin(), honest.end());
  const auto start = start_->span();
  const auto s = static_cast<float>(strength_);
  const double size = norm(honest), count = std::sqrt(static_cast<double>(sent.size()));
  switch (*attack_) {
    case Attack::nan:
      for (std::size_t i = 0; i < sent.size(); i += 1000)
        sent[i] = std::numeric_limits<float>::quiet_NaN();
      break;
    case Attack::scale:
      for (float& v : sent) v *= s;
      break;
    case Attack::sign_flip:
      for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = start[i] - s * (sent[i] - start[i]);
      break;
    case Attack::noise:
      for (float& v : sent) v += static_cast<float>(strength_ * size / count * rng_.normal());
      break;
    case Attack::drift: {  // N(0, 1) values point anywhere; the same copy of the stream every time
      kernels::Rng direction = direction_;
      for (float& v : sent) v += static_cast<float>(strength_ * size / count * direction.normal());
      break;
    }
    case Attack::replay_stale: break;
  }
  return sent;
}

void Tamper::state(gossip::Archive& archive) {
  archive("attack", attack_)("strength", strength_)("start", start_)("rng", rng_);
}

}  // namespace hearsay::runtime

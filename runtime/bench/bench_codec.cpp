// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/bench_codec.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/core/check.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/bench/distribution.hpp"
#include "runtime/host/build_codec.hpp"

namespace hearsay::runtime {
namespace {

using gossip::CodecSettings;
using gossip::ValueKind;

constexpr int kMessages = 25;
constexpr std::size_t kCluster = 512;
constexpr float kUnsaid = -7777.0f;  // no weight has this value

// Steps of a drift: read from a random place, so that each message has its own.
std::vector<float> steps_of(std::size_t n, bool is_clustered) {
  kernels::Rng rng = kernels::Rng::stream(5, "bench-codec");
  std::vector<float> steps(n);
  double scale = 0.01;
  for (std::size_t i = 0; i < n; ++i) {
    if (is_clustered && i % kCluster == 0) scale = 0.01 * std::exp(1.5 * rng.normal());
    steps[i] = static_cast<float>(scale * rng.normal());
  }
  return steps;
}

double value_bits(const gossip::ValueCode& code) {
  return code.bits() + (code.has_scales() ? 16.0 / code.block : 0.0);
}

// Bits of a Bernoulli mask a set bit.
double mask_bits(double rho) {
  if (rho <= 0.0 || rho >= 1.0) return 0.0;
  return (-rho * std::log2(rho) - (1.0 - rho) * std::log2(1.0 - rho)) / rho;
}

bool names_positions(const CodecSettings& settings) {
  return settings.kind == CodecSettings::Kind::topk ||
         settings.kind == CodecSettings::Kind::threshold;
}

// How far a decoded value may be from its weight when no difference to the start exceeds `most`.
float tolerance(const CodecSettings& settings, float most, float w) {
  const float rounding = std::fabs(w) * 0x1p-22f;
  if (settings.values.kind == ValueKind::fp32) return 0.0f;
  if (settings.values.kind == ValueKind::bf16) return most * 0x1p-7f + rounding;
  if (settings.values.is_lloyd()) return most + rounding;  // far out values are said smaller
  // A step, and what the error memory adds to what is said; scales are rounded up to bf16.
  const float levels = settings.values.kind == ValueKind::int8 ? 127.0f : 7.0f;
  return (settings.keeps_error ? 1.6f : 1.01f) * most / levels + rounding;
}

struct Weights {
  std::vector<float> start, w, steps, in, base;

  Weights(std::size_t n, bool is_clustered) : steps(steps_of(n, is_clustered)), in(n) {
    kernels::Rng rng = kernels::Rng::stream(6, "bench-codec");
    start.resize(n);
    for (float& each : start) each = static_cast<float>(0.05 * rng.normal());
    w = start;
    base.assign(n, kUnsaid);
  }

  // Clusters keep their places: by whole runs, another one each message.
  void move(int message) {
    const std::size_t n = w.size(), shift = static_cast<std::size_t>(message) % 7;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t from = i / kCluster * kCluster + (i + 61 * shift) % kCluster;
      w[i] += message % 2 == 0 ? steps[std::min(from, n - 1)] : -0.6f * steps[i];
    }
  }

  // Values decoded other than they should be; `said` must be how many there are.
  std::uint64_t wrong(const CodecSettings& settings, std::size_t said) const {
    float most = 0.0f;
    for (std::size_t i = 0; i < w.size(); ++i) most = std::max(most, std::fabs(w[i] - start[i]));
    std::uint64_t count = 0;
    std::size_t found = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (in[i] == kUnsaid) continue;
      ++found;
      count += !(std::fabs(in[i] - w[i]) <= tolerance(settings, most, w[i]));
    }
    return count + (found > said ? found - said : said - found) + (said == 0);
  }
};

}  // namespace

const std::vector<std::string>& bench_codec_specs() {
  static const std::vector<std::string> specs{"bf16",
                                              "int8",
                                              "int4",
                                              "lloyd3",
                                              "topk:0.1+bf16",
                                              "topk:0.01",
                                              "topk:0.01+int8",
                                              "topk:0.001",
                                              "threshold:0.01",
                                              "threshold:0.01+int4",
                                              "randk:0.01",
                                              "blocks:0.0625",
                                              "blocks:0.0625+int8",
                                              "blocks:0.0625+lloyd2"};
  return specs;
}

CodecRow bench_codec(const Spec& codec, std::size_t n, bool is_clustered) {
  const auto settings = codec_settings(codec);
  HS_CHECK(settings.has_value());
  kernels::Layout layout;
  layout.add("weight", {n});
  Weights weights(n, is_clustered);
  const auto plan = build_codec(codec, layout, weights.start, 1);
  const auto speaker = plan->make(kernels::PeerId(0)), listener = plan->make(kernels::PeerId(1));
  CodecRow row{.codec = plan->text(), .drift = is_clustered ? "clustered" : "even", .n = n};
  Distribution encode, decode;
  for (int message = 0; message < kMessages; ++message) {
    weights.move(message);
    merge::PackedRef said;
    gossip::Unpacked read;
    encode.add(seconds_of([&] { said = speaker->encode(weights.w, nullptr); }));
    decode.add(seconds_of([&] { read = listener->decode(*said, weights.base, weights.in); }));
    row.wrong += read.fault.empty() ? weights.wrong(*settings, read.values) : n;
    row.wrong += said->bytes.size() > plan->most_bytes();
    row.message_bytes += static_cast<double>(said->bytes.size()) / kMessages;
    row.said += static_cast<double>(read.values) / kMessages;
  }
  const double rho = row.said / static_cast<double>(n);
  row.bound_bits = value_bits(settings->values) + (names_positions(*settings) ? mask_bits(rho) : 0);
  row.encode_p50_s = encode.at(0.5);
  row.decode_p50_s = decode.at(0.5);
  return row;
}

}  // namespace hearsay::runtime

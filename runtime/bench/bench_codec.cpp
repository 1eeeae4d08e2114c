// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/bench_codec.hpp"

#include <algorithm>
#include <cmath>

#include "gossip/codec/low_rank_codec.hpp"
#include "gossip/codec/places.hpp"
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

// A model's weights as one matrix, as square as n allows, and a tensor of what is left over.
struct Matrix {
  explicit Matrix(std::size_t n)
      : rows(static_cast<std::size_t>(std::sqrt(static_cast<double>(n)))),
        cols(n / rows),
        rest(n - rows * cols) {}
  kernels::Layout layout() const {
    kernels::Layout layout;
    layout.add("weight", {rows, cols});
    if (rest > 0) layout.add("rest", {rest});
    return layout;
  }
  std::size_t rows, cols, rest;
};

std::vector<float> normals(std::size_t n, double scale, kernels::Rng& rng) {
  std::vector<float> values(n);
  for (float& each : values) each = static_cast<float>(scale * rng.normal());
  return values;
}

std::vector<float> aligned_steps(std::size_t n, kernels::Rng& rng) {
  const Matrix matrix(n);
  std::vector<float> steps = normals(n, 0.001, rng);
  double scale = 0.01;
  for (int direction = 0; direction < 4; ++direction, scale *= 0.5) {
    const std::vector<float> left = normals(matrix.rows, scale, rng),
                             right = normals(matrix.cols, 1.0, rng);
    for (std::size_t i = 0; i < matrix.rows * matrix.cols; ++i)
      steps[i] += left[i / matrix.cols] * right[i % matrix.cols];
  }
  return steps;
}

// Steps of a drift: read from a random place, so that each message has its own.
std::vector<float> steps_of(std::size_t n, Drift drift) {
  kernels::Rng rng = kernels::Rng::stream(5, "bench-codec");
  if (drift == Drift::aligned) return aligned_steps(n, rng);
  std::vector<float> steps(n);
  double scale = 0.01;
  for (std::size_t i = 0; i < n; ++i) {
    if (drift == Drift::clustered && i % kCluster == 0) scale = 0.01 * std::exp(1.5 * rng.normal());
    steps[i] = static_cast<float>(scale * rng.normal());
  }
  return steps;
}

double value_bits(const CodecSettings& settings) {
  if (settings.kind == CodecSettings::Kind::lossless) return 16.0;
  const gossip::ValueCode& code = settings.values;
  return code.bits() + (code.has_scales() ? 16.0 / code.block : 0.0);
}

// Bits of a Bernoulli mask a set bit.
double mask_bits(double rho) {
  if (rho <= 0.0 || rho >= 1.0) return 0.0;
  return (-rho * std::log2(rho) - (1.0 - rho) * std::log2(1.0 - rho)) / rho;
}

// How far a decoded value may be from its weight when no difference to the start exceeds `most`.
float tolerance(const CodecSettings& settings, float most, float w) {
  const float rounding = std::fabs(w) * 0x1p-22f;
  if (settings.kind == CodecSettings::Kind::lossless) return std::fabs(w) * 0x1p-8f;
  if (settings.values.kind == ValueKind::fp32) return 0.0f;
  if (settings.values.kind == ValueKind::bf16) return most * 0x1p-7f + rounding;
  // On its way to the weight; in the literal mode to where it was.
  if (settings.smoothing.mode != gossip::SmoothingRule::Mode::none) return 2.2f * most + rounding;
  if (settings.values.is_lloyd()) return most + rounding;  // far out values are said smaller
  // A step, and what the error memory adds to what is said; scales are rounded up to bf16.
  const float levels = settings.values.kind == ValueKind::int8 ? 127.0f : 7.0f;
  return (settings.keeps_error ? 1.6f : 1.01f) * most / levels + rounding;
}

struct Weights {
  std::vector<float> start, w, steps, in, base, heard;
  Drift drift = Drift::even;
  const std::vector<std::vector<float>>* models = nullptr;  // to go through, if not by steps

  explicit Weights(const std::vector<std::vector<float>>& way)
      : start(way[0]), w(way[0]), in(w.size()), base(w.size(), kUnsaid), heard(w), models(&way) {}
  Weights(std::size_t n, Drift way) : steps(steps_of(n, way)), in(n), drift(way) {
    kernels::Rng rng = kernels::Rng::stream(6, "bench-codec");
    start.resize(n);
    for (float& each : start) each = static_cast<float>(0.05 * rng.normal());
    w = start;
    heard = start;
    base.assign(n, kUnsaid);
  }

  // Clusters keep their places: by whole runs, another one each message.
  void move(int message) {
    if (models != nullptr) {
      w = (*models)[1 + static_cast<std::size_t>(message) % (models->size() - 1)];
      return;
    }
    const std::size_t n = w.size(), shift = static_cast<std::size_t>(message) % 7;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t from =
          drift == Drift::aligned ? i : i / kCluster * kCluster + (i + 61 * shift) % kCluster;
      w[i] += message % 2 == 0 ? steps[std::min(from, n - 1)] : -0.6f * steps[i];
    }
  }

  void hear() {
    for (std::size_t i = 0; i < w.size(); ++i)
      if (in[i] != kUnsaid) heard[i] = in[i];
  }
  double error() const {
    double off = 0.0, moved = 0.0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      off += std::pow(static_cast<double>(heard[i]) - w[i], 2);
      moved += std::pow(static_cast<double>(w[i]) - start[i], 2);
    }
    return std::sqrt(off / moved);
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

// Of a low-rank message: what a listener that has heard all holds, the speaker has published, to
// the bit; all else of the model is said as it is.
std::uint64_t wrong_of_matrix(const gossip::Codec& speaker, const Weights& weights,
                              const Matrix& matrix) {
  const auto* const low_rank = dynamic_cast<const gossip::LowRankCodec*>(&speaker);
  HS_CHECK(low_rank != nullptr);
  const std::size_t count = matrix.rows * matrix.cols;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < weights.in.size(); ++i)
    wrong += weights.in[i] != (i < count ? low_rank->published()[i] : weights.w[i]);
  return wrong;
}

// Values that are said in any case: of tensors too small to choose from.
std::size_t small_values(const kernels::Layout& layout) {
  std::size_t count = 0;
  for (const kernels::TensorSlot& tensor : layout.slots())
    if (tensor.count < gossip::kSmallTensor) count += tensor.count;
  return count;
}

double bound_of(const CodecSettings& settings, const CodecRow& row, const kernels::Layout& layout,
                const Matrix* matrix) {
  if (matrix != nullptr) {
    const std::size_t numbers =
        settings.rank * (matrix->rows + matrix->cols - settings.rank) + matrix->rest;
    return 32.0 * static_cast<double>(numbers) / static_cast<double>(row.n);
  }
  if (!settings.names_positions()) return value_bits(settings);
  const auto small = static_cast<double>(small_values(layout));
  const double chosen = row.said - small;
  const double rho = chosen / (static_cast<double>(row.n) - small);
  return value_bits(settings) + chosen / row.said * mask_bits(rho);
}

// `matrix`: of low-rank messages, null otherwise.
CodecRow measure(const Spec& codec, const kernels::Layout& layout, Weights& weights,
                 const std::string& name, const Matrix* matrix) {
  const auto settings = codec_settings(codec);
  HS_CHECK(settings.has_value());
  const std::size_t n = weights.w.size();
  const auto plan = build_codec(codec, layout, weights.start, 1);
  const auto speaker = plan->make(kernels::PeerId(0)), listener = plan->make(kernels::PeerId(1));
  CodecRow row{.codec = plan->text(), .drift = name, .n = n};
  Distribution encode, decode;
  for (int message = 0; message < kMessages; ++message) {
    weights.move(message);
    merge::PackedRef said;
    gossip::Unpacked read;
    const std::vector<float>& base = matrix != nullptr ? weights.heard : weights.base;
    encode.add(seconds_of([&] { said = speaker->encode(weights.w, nullptr); }));
    decode.add(seconds_of([&] { read = listener->decode(*said, base, weights.in); }));
    if (!read.fault.empty())
      row.wrong += n;
    else
      row.wrong += matrix != nullptr ? wrong_of_matrix(*speaker, weights, *matrix)
                                     : weights.wrong(*settings, read.values);
    row.wrong += said->bytes.size() > plan->most_bytes();
    row.message_bytes += static_cast<double>(said->bytes.size()) / kMessages;
    row.said += static_cast<double>(matrix != nullptr ? n : read.values) / kMessages;
    weights.hear();
  }
  row.bound_bits = bound_of(*settings, row, layout, matrix);
  row.error = weights.error();
  row.encode_p50_s = encode.at(0.5);
  row.decode_p50_s = decode.at(0.5);
  return row;
}

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
                                              "ma:0.01",
                                              "score:0.01",
                                              "topk:0.01+int8+qm",
                                              "randk:0.01",
                                              "blocks:0.0625",
                                              "blocks:0.0625+int8",
                                              "blocks:0.0625+lloyd2",
                                              "lowrank:1",
                                              "lowrank:4",
                                              "lowrank:16"};
  return specs;
}

std::string name_of(Drift drift) {
  switch (drift) {
    case Drift::even: return "even";
    case Drift::clustered: return "clustered";
    case Drift::aligned: break;
  }
  return "aligned";
}

CodecRow bench_codec(const Spec& codec, std::size_t n, Drift drift) {
  const auto settings = codec_settings(codec);
  HS_CHECK(settings.has_value());
  Weights weights(n, drift);
  if (settings->kind == CodecSettings::Kind::low_rank) {
    const Matrix matrix(n);
    return measure(codec, matrix.layout(), weights, name_of(drift), &matrix);
  }
  kernels::Layout layout;
  layout.add("weight", {n});
  return measure(codec, layout, weights, name_of(drift), nullptr);
}

CodecRow bench_codec(const Spec& codec, const ModelWalk& walk) {
  HS_CHECK(walk.models.size() >= 2);
  Weights weights(walk.models);
  return measure(codec, walk.layout, weights, walk.name, nullptr);
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/build_choco.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "gossip/choco/published_copy.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/host/build_codec.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;

constexpr const char* kTry = "; try --protocol choco --topology ring --codec topk:10%";

void refuse_neighbours(const RunConfig& config, const gossip::Topology& topology) {
  std::size_t most = 0;
  // The first peers stand for all where everybody is everybody's neighbour.
  const std::uint32_t asked = config.topology.name == "uniform" ? 1 : config.peers;
  for (std::uint32_t i = 0; i < asked && most <= gossip::kChocoNeighbours; ++i) {
    most = std::max(most,
                    gossip::possible_partners(topology, kernels::PeerId(i), config.peers).size());
  }
  if (most <= gossip::kChocoNeighbours) return;
  throw UsageError("--protocol choco: a peer holds a copy of each neighbour's weights, of " +
                   std::to_string(gossip::kChocoNeighbours) + " at most; in --topology " +
                   config.topology.text + " of " + std::to_string(config.peers) +
                   " peers one has " + std::to_string(most) + kTry);
}

// What agrees in simulated rings of 8: a share of top-k's k, half of it where entries are drawn
// blindly. Beyond twice that the pool's disagreement grows.
double usual_gamma(const gossip::CodecSettings& codec) {
  constexpr double kMost = 0.5, kCoarse = 0.2;
  switch (codec.kind) {
    case gossip::CodecSettings::Kind::topk:
    case gossip::CodecSettings::Kind::average:
    case gossip::CodecSettings::Kind::threshold: return std::min(kMost, codec.share);
    case gossip::CodecSettings::Kind::random:
    case gossip::CodecSettings::Kind::blocks: return std::min(kMost, 0.5 * codec.share);
    case gossip::CodecSettings::Kind::dense:
    case gossip::CodecSettings::Kind::low_rank:
    case gossip::CodecSettings::Kind::lossless:
    case gossip::CodecSettings::Kind::ladder: break;
  }
  return codec.values.is_lloyd() ? kCoarse : kMost;
}

gossip::CodecSettings fitting_codec(const RunConfig& config) {
  const std::optional<gossip::CodecSettings> codec = codec_settings(config.codec);
  if (!codec) {
    throw UsageError(std::string("--protocol choco: says differences in a codec, and --codec raw "
                                 "is none") +
                     kTry + ", or --codec fp32 for all of them");
  }
  const std::string given = "--codec " + config.codec.text + ": ";
  if (codec->is_mirrored)
    throw UsageError(given + "nobody answers in --protocol choco; leave '+mirror' out");
  if (codec->kind == gossip::CodecSettings::Kind::low_rank) {
    throw UsageError(given +
                     "its directions follow what a peer has said to anybody, and "
                     "--protocol choco says each difference for itself; take topk or int8");
  }
  if (codec->kind == gossip::CodecSettings::Kind::lossless) {
    throw UsageError(given +
                     "counts on what one partner holds, and --protocol choco says the same to all "
                     "neighbours; take bf16 or topk:10%");
  }
  if (codec->kind == gossip::CodecSettings::Kind::ladder) {
    throw UsageError(given +
                     "chooses by how long answers take, and nobody answers in --protocol choco; "
                     "take int8 or topk:10%");
  }
  const bool remembers = codec->kind == gossip::CodecSettings::Kind::average ||
                         codec->smoothing.mode != gossip::SmoothingRule::Mode::none ||
                         codec->density.has_value();
  if (remembers) {
    throw UsageError(given +
                     "averages, '+qm' and '+density' go from message to message, and --protocol "
                     "choco says each difference for itself; take topk or int8");
  }
  if (codec->keeps_error) {
    throw UsageError(given +
                     "what a copy of --protocol choco lacks is said later anyway; leave "
                     "'+ef' out");
  }
  return *codec;
}

}  // namespace

double choco_gamma(const RunConfig& config, const gossip::Topology& topology) {
  const Spec& spec = config.protocol;
  reject_unknown("--protocol", spec, {"gamma"}, 0);
  const gossip::CodecSettings codec = fitting_codec(config);
  const auto given = spec.arg("gamma");
  const double gamma = given ? parse_number("--protocol", *given) : usual_gamma(codec);
  if (!(gamma > 0.0 && gamma <= 1.0)) {
    throw UsageError("--protocol " + spec.text +
                     ": gamma, how far a peer moves towards its neighbours' copies, lies above 0 "
                     "and up to 1");
  }
  refuse_neighbours(config, topology);
  return gamma;
}

}  // namespace hearsay::runtime

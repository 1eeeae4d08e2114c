// SPDX-License-Identifier: Apache-2.0
// For tests of --protocol choco: a ring of vectors that do not learn, in which every peer publishes
// at each of its mini-batches, in turn.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "gossip/choco/choco_message.hpp"
#include "gossip/codec/plan.hpp"
#include "gossip/protocols/gossip_peer.hpp"
#include "gossip/protocols/testkit.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::gossip::testkit {

inline constexpr std::size_t kValues = 2048;  // one large tensor: the codec chooses
inline const input::StepDone kStep{{1, 0.5, 1, 0.1}};

inline std::shared_ptr<const CodecPlan> codec_plan(CodecSettings::Kind kind, double share,
                                                   ValueKind values = ValueKind::fp32) {
  CodecSettings settings;
  settings.kind = kind;
  settings.share = share;
  settings.values.kind = values;
  settings.values.is_stochastic = kind == CodecSettings::Kind::dense;
  kernels::Layout layout;
  layout.add("0.weight", {kValues});
  const std::vector<float> zeros(kValues);
  return std::make_shared<const ChocoPlan>(make_codec_plan(settings, layout, zeros, 3), kValues);
}

struct Options {
  std::uint32_t peers = 8;
  double gamma = 0.1;
  std::shared_ptr<const CodecPlan> codec = codec_plan(CodecSettings::Kind::topk, 0.1);
  bool alike = false;  // all begin with the same weights
  std::vector<bool> at_start;
};

struct Pool {
  explicit Pool(const Options& o) : options(o) {
    for (std::uint32_t i = 0; i < o.peers; ++i) {
      kernels::Rng rng = kernels::Rng::stream(1, "choco-test", o.alike ? 0 : i);
      std::vector<float> w(kValues);
      for (float& each : w) each = static_cast<float>(rng.normal());
      models.push_back(std::make_unique<TinyModel>(std::move(w)));
      peers.push_back(nullptr);
      begin(i, 0);
    }
  }
  void begin(std::uint32_t i, std::uint32_t incarnation, bool late = false) {
    GossipSettings s = settings(i, options.peers, ExchangeKind::choco);
    s.blocks = {1.0, BlockMode::shifted, 1, 1'000'000};  // one mini-batch a block
    s.topology = make_ring(options.peers);
    s.codec = options.codec;
    s.choco_gamma = options.gamma;
    s.incarnation = incarnation;
    s.late = late;
    s.at_start = options.at_start;
    peers[i] = std::make_unique<GossipPeer>(s);
    feed(i, input::Start{});
  }
  void feed(std::uint32_t i, const Input& input) {
    Actions out;
    peers[i]->on(input, now, *models[i], out);
    for (Action& action : out) {
      if (auto* send = std::get_if<action::Send>(&action)) frames.push_back(std::move(send->frame));
    }
  }
  void deliver(const Frame& frame) {
    if (!dead.contains(frame.to.value)) feed(frame.to.value, input::FrameIn{frame});
  }
  // What has been sent arrives at once, in order; answers too.
  void deliver_all() {
    while (!frames.empty()) {
      const Frame frame = std::move(frames.front());
      frames.pop_front();
      deliver(frame);
    }
  }
  // Each peer once; `deliver_some` is asked after each.
  template <typename Deliver>
  void round(Deliver&& deliver_some) {
    now += std::chrono::milliseconds(1);
    for (std::uint32_t i = 0; i < options.peers; ++i) {
      if (dead.contains(i)) continue;
      feed(i, kStep);
      deliver_some();
    }
  }
  void rounds(int count) {
    for (int r = 0; r < count; ++r) round([&] { deliver_all(); });
  }
  std::vector<double> mean() const {
    std::vector<double> sum(kValues);
    for (std::uint32_t i = 0; i < options.peers; ++i) {
      if (dead.contains(i)) continue;
      for (std::size_t k = 0; k < kValues; ++k) sum[k] += models[i]->w[k];
    }
    for (double& each : sum) each /= static_cast<double>(options.peers - dead.size());
    return sum;
  }
  double disagreement() const {
    const std::vector<double> m = mean();
    double sum = 0.0;
    for (std::uint32_t i = 0; i < options.peers; ++i) {
      if (dead.contains(i)) continue;
      for (std::size_t k = 0; k < kValues; ++k) {
        const double d = models[i]->w[k] - m[k];
        sum += d * d;
      }
    }
    return sum;
  }

  Options options;
  Time now{0};
  std::vector<std::unique_ptr<TinyModel>> models;
  std::vector<std::unique_ptr<GossipPeer>> peers;
  std::set<std::uint32_t> dead;
  std::deque<Frame> frames;
};

// Everybody stops publishing and takes what has been sent: until then the newest moves wait for
// their receivers' next mini-batch.
inline void settle(Pool& pool) {
  for (std::uint32_t i = 0; i < pool.options.peers; ++i) {
    pool.feed(i, input::Stop{"stopped"});
    pool.feed(i, kStep);
  }
  pool.deliver_all();
}

// Copies that are not the bits that their owner has published last.
inline std::uint64_t copies_apart(Pool& pool) {
  std::uint64_t apart = 0;
  std::vector<Archive::Json> states;
  for (const auto& peer : pool.peers) {
    Archive archive;
    archive("protocol", *peer);
    states.push_back(archive.json()["protocol"]["exchange"]);
  }
  const auto ring = make_ring(pool.options.peers);
  for (std::uint32_t i = 0; i < pool.options.peers; ++i) {
    const auto partners = possible_partners(*ring, PeerId(i), pool.options.peers);
    for (std::size_t k = 0; k < partners.size(); ++k) {
      const Archive::Json& held = states[i]["neighbours"][k]["copy"];
      const Archive::Json& own = states[partners[k].value]["own"];
      apart += held["values"].is_null() || held["digest"] != own["digest"] ||
               held["version"] != own["version"];
    }
  }
  return apart;
}

}  // namespace hearsay::gossip::testkit

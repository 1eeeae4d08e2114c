// SPDX-License-Identifier: Apache-2.0
// A codec that goes by the loss: told after each merge, and what a jump undoes.
#include "gossip/loss_watch.hpp"

#include "gossip/codec/plan.hpp"
#include "gossip/protocols/testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;

struct Watched {
  explicit Watched(bool with_density) : model({1, 2, 3, 4}), peer(settings_of(with_density)) {}

  static GossipSettings settings_of(bool with_density) {
    kernels::Layout layout;
    layout.add("w", {4});
    CodecSettings codec;
    codec.kind = CodecSettings::Kind::topk;
    codec.share = 0.01;
    if (with_density) codec.density.emplace();
    GossipSettings s = settings(0, 2, ExchangeKind::pairwise);
    s.codec = make_codec_plan(codec, layout, std::vector<float>(4), 1);
    return s;
  }
  Actions after_merge(double loss) {
    Actions out;
    Turn turn{Time{0}, model, out};
    model.probe_loss = loss;
    watch_loss(peer, turn);
    return out;
  }

  TinyModel model;
  PeerState peer;
};

std::string text_in(const Actions& actions, std::string_view event, std::string_view key) {
  for (const Action& action : actions) {
    const auto* record = std::get_if<action::Record>(&action);
    if (record == nullptr || record->event.name != event) continue;
    for (const Field& field : record->event.fields)
      if (field.key == key) return std::get<std::string>(field.value);
  }
  return "";
}

}  // namespace

TEST_CASE("after a jump of the loss a peer goes on from its weights after the last good merge") {
  Watched watched(true);
  watched.peer.counters.steps = 17;
  CHECK(watched.after_merge(1.0).empty());
  watched.model.w = {5, 6, 7, 8};
  CHECK(watched.after_merge(1.1).empty());
  watched.model.w = {50, 60, 70, 80};
  const Actions jumped = watched.after_merge(1.8);
  CHECK(watched.model.w == std::vector<float>{5, 6, 7, 8});
  CHECK(watched.model.steps_behind == 17);
  CHECK(text_in(jumped, "codec.changed", "from") == "topk:0.01+density");
  CHECK(text_in(jumped, "codec.changed", "to") == "topk:0.02+density");
  CHECK(text_in(jumped, "fault.seen", "kind") == "loss jumps");
}

TEST_CASE("a first loss that is none has nothing to go back to, and other codecs are not asked") {
  Watched watched(true);
  watched.after_merge(std::nan(""));
  CHECK(watched.model.w == std::vector<float>{1, 2, 3, 4});
  Watched other(false);
  CHECK(other.after_merge(1.0).empty());
  CHECK(other.peer.good_weights == nullptr);
  CHECK(other.after_merge(100.0).empty());
}

TEST_CASE("the good weights are part of a checkpoint") {
  Watched watched(true);
  watched.after_merge(1.0);
  Archive kept;
  watched.peer.state(kept);
  Watched again(true);
  Archive from(kept.json(), kept.arrays());
  from.of_model(4);
  from.of_pool(2);
  again.peer.state(from);
  again.model.w = {9, 9, 9, 9};
  again.after_merge(10.0);
  CHECK(again.model.w == std::vector<float>{1, 2, 3, 4});
}

}  // namespace hearsay::gossip

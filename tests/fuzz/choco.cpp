// SPDX-License-Identifier: Apache-2.0
// Messages of --protocol choco, as neighbours may send them to a peer that trains. The first byte
// chooses the pool's codec. Then one byte a turn says what happens: a mini-batch ends, a neighbour
// is gone, asks for the copy whole, or sends a message: bytes as they are, a difference that counts
// on the copy that the peer holds, or a copy whole with its digest put right.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "gossip/choco/choco_message.hpp"
#include "gossip/choco/published_copy.hpp"
#include "gossip/codec/plan.hpp"
#include "gossip/protocols/gossip_peer.hpp"
#include "gossip/protocols/testkit.hpp"
#include "gossip/wire/header.hpp"
#include "kernels/core/digest.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using namespace hearsay::gossip;
using fuzz::require;

namespace {

constexpr std::uint32_t kPeers = 4;
constexpr std::size_t kValues = 1100;  // of which the codec chooses some
constexpr std::size_t kMostTurns = 32;

std::shared_ptr<const CodecPlan> plan_of(std::uint8_t choice) {
  CodecSettings settings;
  settings.kind = choice % 2 == 0 ? CodecSettings::Kind::topk : CodecSettings::Kind::blocks;
  if (choice % 4 == 3) settings.kind = CodecSettings::Kind::dense;
  settings.share = 0.02;
  settings.values.kind = choice % 2 == 0 ? ValueKind::fp32 : ValueKind::int4;
  kernels::Layout layout;
  layout.add("0.weight", {kValues / 10, 10});
  const std::vector<float> zeros(kValues);
  return std::make_shared<const ChocoPlan>(make_codec_plan(settings, layout, zeros, 3), kValues);
}

class Seat {
 public:
  explicit Seat(std::uint8_t choice) : plan_(plan_of(choice)), model_(start()) {
    GossipSettings s = testkit::settings(0, kPeers, ExchangeKind::choco);
    s.blocks = {1.0, BlockMode::shifted, 1, 1000};  // a merge after each mini-batch
    s.topology = make_ring(kPeers);
    s.codec = plan_;
    s.choco_gamma = 0.3;
    merge::Guards guards;
    guards.most_relative_norm = 4.0;
    s.policy = std::make_shared<const merge::Policy>(
        std::make_unique<merge::Ema>(0.5, 0.5, merge::Ema::Shape::constant),
        std::vector<std::unique_ptr<merge::Modifier>>{}, guards);
    peer_ = std::make_unique<GossipPeer>(s);
    on(input::Start{});
  }

  bool ended() const { return ended_; }
  void on(const Input& input) {
    const std::vector<float> before = model_.w;
    const std::uint64_t merges = counters();
    now_ += std::chrono::milliseconds(50);
    Actions out;
    peer_->on(input, now_, model_, out);
    for (const Action& action : out) {
      if (std::holds_alternative<action::Train>(action)) is_training_ = true;
      if (std::holds_alternative<action::Finish>(action)) ended_ = true;
      if (const auto* send = std::get_if<action::Send>(&action)) check_sent(send->frame);
    }
    require(merges != counters() || before == model_.w, "weights move only by a merge");
    require(std::all_of(model_.w.begin(), model_.w.end(), [](float w) { return std::isfinite(w); }),
            "weights stay finite");
  }
  void finish_step() {
    if (std::exchange(is_training_, false)) on(input::StepDone{{1, 0.5, 1, 0.1}});
  }
  void hear(PeerId from, PackedBytes bytes) {
    Frame frame;
    frame.kind = FrameKind::push;
    frame.from = from;
    frame.to = PeerId(0);
    frame.seq = ++seq_;
    frame.packed = std::make_shared<const merge::Packed>(merge::Packed{std::move(bytes)});
    on(input::FrameIn{std::move(frame)});
  }
  void ask(PeerId from) {
    Frame frame;
    frame.kind = FrameKind::ack;
    frame.from = from;
    frame.to = PeerId(0);
    on(input::FrameIn{std::move(frame)});
  }

  // Version and digest of the copy of a neighbour; false: none is held.
  bool held(PeerId of, ChocoHead& head) {
    const Archive::Json copy = state()["neighbours"][of.value == 1 ? 0 : 1]["copy"];
    if (copy["values"].is_null()) return false;
    head.version = copy["version"].get<std::uint64_t>();
    head.base = copy["digest"].get<std::uint64_t>();
    return true;
  }
  Archive::Json state() {
    Archive archive;
    archive("protocol", *peer_);
    return archive.json()["protocol"]["exchange"];
  }

 private:
  static std::vector<float> start() {
    std::vector<float> w(kValues);
    for (std::size_t i = 0; i < kValues; ++i) w[i] = static_cast<float>(i % 17) * 0.1f - 0.7f;
    return w;
  }
  std::uint64_t counters() const {
    return peer_->counters().merges_applied + peer_->counters().merges_started;
  }
  void check_sent(const Frame& frame) const {
    const wire::Header header = wire::header_of(frame);
    require(wire::find_fault(header, {frame.to, frame.from, kPeers, kValues, {plan_->most_bytes(), false}})
                .empty(),
            "what is sent would be accepted");
    if (!frame.packed) return;
    PackedReader reader(frame.packed->bytes);
    const auto head = read_choco(reader);
    require(head.has_value(), "a message has a head");
    require(!head->is_whole || reader.rest().size() == kValues * sizeof(float), "a copy is whole");
  }

  std::shared_ptr<const CodecPlan> plan_;
  testkit::TinyModel model_;
  std::unique_ptr<GossipPeer> peer_;
  Time now_{0};
  std::uint64_t seq_ = 0;
  bool is_training_ = false, ended_ = false;
};

// A whole copy made of few bytes: their values over and over, or their bits.
std::vector<float> values_of(std::span<const std::uint8_t> bytes, bool bits) {
  std::vector<float> values(kValues);
  for (std::size_t i = 0; i < kValues && !bytes.empty(); ++i) {
    if (!bits) {
      values[i] = static_cast<float>(bytes[i % bytes.size()]) / 64.0f - 2.0f;
      continue;
    }
    std::uint8_t four[4];
    for (std::size_t k = 0; k < 4; ++k) four[k] = bytes[(4 * i + k) % bytes.size()];
    std::memcpy(&values[i], four, sizeof four);
  }
  return values;
}

PackedBytes whole(ChocoHead head, std::span<const float> values) {
  head.is_whole = true;
  ++head.version;
  head.base = kernels::digest(values).low;
  return choco_bytes(head,
                     {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()});
}

// Whatever came before: the next copy whole is the copy that is held.
void check_healing(Seat& seat) {
  const PeerId who(1);
  seat.finish_step();
  ChocoHead head;
  const bool knows = seat.held(who, head);
  if (seat.ended() || (knows && head.version >= ChocoHead::kNone - 1)) return;
  if (!knows) head.version = 7;
  const std::vector<float> values(kValues, 0.25f);
  seat.hear(who, whole(head, values));
  seat.finish_step();
  ChocoHead found;
  if (!seat.held(who, found)) return;  // a sender that is ignored, or too far away
  require(found.version == head.version || found.version == head.version + 1, "versions follow");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes in(data, size);
  Seat seat(in.byte());
  for (std::size_t turn = 0; turn < kMostTurns && !in.empty() && !seat.ended(); ++turn) {
    const std::uint8_t what = in.byte();
    const PeerId who(what & 16u ? 3 : 1);  // neighbours of 0 in a ring of four
    ChocoHead head;
    const bool knows = seat.held(who, head);
    const std::size_t length = std::min<std::size_t>(in.byte() * 8u, in.rest().size());
    switch (what % 8) {
      case 0: seat.on(input::PeerDown{who}); continue;
      case 1: seat.ask(who); continue;
      case 2: seat.finish_step(); continue;
      case 3: {  // as it is, from anybody
        const auto bytes = in.take(length);
        seat.hear(PeerId(1 + what / 16 % (kPeers - 1)), {bytes.begin(), bytes.end()});
        break;
      }
      case 4:
      case 5: {
        head.heard = what & 32u ? in.byte() : ChocoHead::kNone;
        if (!knows) head.version = in.byte();
        seat.hear(who, whole(head, values_of(in.take(length), what % 8 == 5)));
        break;
      }
      default: {
        head.heard = what & 32u ? in.byte() : ChocoHead::kNone;
        ++head.version;
        const auto body = in.take(length);
        seat.hear(who, choco_bytes(head, body));
        break;
      }
    }
    if (what & 64u) seat.finish_step();
  }
  check_healing(seat);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// CHOCO (Koloskova, Stich, Jaggi 2019, arXiv 1902.00340, algorithms 1 and 2) without its rounds.
// Every peer i publishes a copy x_i of its weights that its neighbours hold too:
//   q = C(w_i - x_i);  x_i += q at i and at its neighbours;  w_i += gamma sum_j W_ij (x_j - x_i)
// C is the pool's codec; what it leaves out stays in w_i - x_i and is said later. W_ij = 1 / (1 +
// max(degree_i, degree_j)) (Metropolis): symmetric, rows sum to 1.
// A peer whose merge is due publishes, tells all its neighbours, moves by its side of every edge,
// and trains on: one message a neighbour, no answer. A message says towards which version of the
// receiver's copy its sender has moved; the receiver moves by the other side of just that,
// gamma W_ij (x_i - x_j), so that every message that arrives leaves the pool's mean where it was.
// One that does not takes its half of a move along.
// Copies: a message counts on the version before it, named by number and digest. Who holds another
// one changes nothing and says so (ack); the next message to it is the copy whole. So loss, doubled
// and reordered messages, deaths and returns end with the next message that arrives, and no copy is
// ever built on another one's bits. A copy takes part in the mixing while it is of its owner's
// present start: not of a process that has been replaced, nor of a place that was empty at the
// beginning. Who goes on with another's weights publishes those, whole.
// Memory: 4 B a weight for the own copy and each neighbour's; the last kChocoHistory differences.
#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "gossip/choco/choco_message.hpp"
#include "gossip/choco/published_copy.hpp"
#include "gossip/merging.hpp"
#include "gossip/protocols/exchange.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

struct Neighbour {
  PeerId who;
  double weight = 0.0;       // gamma W_ij
  PublishedCopy copy;        // of its weights
  bool needs_whole = false;  // of the own copy, in the next message
  void state(Archive& a) { a("copy", copy)("needs_whole", needs_whole); }
};

struct Said {
  std::uint64_t version = 0;
  merge::PackedRef difference;  // that led to it
  void state(Archive& a) { a("version", version)("difference", difference); }
};

double metropolis(std::size_t degree, std::size_t other) {
  return 1.0 / (1.0 + static_cast<double>(std::max(degree, other)));
}

class Choco final : public Exchange {
 public:
  explicit Choco(const GossipSettings& s) {
    const auto partners = possible_partners(*s.topology, s.self, s.peers);
    for (const PeerId who : partners) {
      const auto theirs = possible_partners(*s.topology, who, s.peers).size();
      neighbours_.push_back({who, s.choco_gamma * metropolis(partners.size(), theirs), {}, false});
    }
  }

  Inbox::Keep keep() const override { return Inbox::Keep::every; }
  bool reaches_all() const override { return true; }
  bool waiting() const override { return false; }
  void refuse(Frame, PeerState&, Turn&) override {}  // a version that is missed, as one lost
  void timeout(std::uint64_t, PeerState&, Turn&) override {}
  void give_up(const char*, Turn&) override {}

  void begin(PeerState& peer, Turn& turn) override {
    const merge::SnapshotRef start = turn.model.snapshot();
    own_.hold(start, PublishedCopy::first_version(peer.settings.incarnation));
    said_.clear();
    // Who is there from the beginning knows what the others begin with: the same as it does.
    const bool knows = !peer.settings.late && peer.settings.incarnation == 0;
    const std::vector<bool>& there = peer.settings.at_start;
    for (Neighbour& each : neighbours_) {
      each.needs_whole = !knows;
      if (knows && (there.empty() || there[each.who.value]))
        each.copy.hold(start, PublishedCopy::first_version(0));
    }
  }

  // What was published was said of weights that are no more: the next message is a copy whole.
  void adopted(PeerState& peer, Turn& turn) override {
    if (!own_.is_held()) begin(peer, turn);
    note_resumption(peer);
    own_.hold(turn.model.snapshot(), own_.version() + 1);
    said_.clear();
    for (Neighbour& each : neighbours_) each.needs_whole = true;
  }

  bool start(PeerId, PeerState& peer, Turn& turn) override {
    if (!own_.is_held()) begin(peer, turn);
    note_resumption(peer);
    const auto hears = [&](const Neighbour& each) {
      return peer.table.reachable(each.who) && !peer.ignores(each.who);
    };
    if (std::none_of(neighbours_.begin(), neighbours_.end(), hears)) return false;
    const std::uint64_t base = own_.digest();
    const merge::PackedRef difference = publish(peer, turn);
    std::int64_t mixed = 0;
    for (Neighbour& each : neighbours_) {
      if (!hears(each)) {
        each.needs_whole = true;
        continue;
      }
      const bool mixes = is_present(each, peer);
      tell(each, mixes, base, *difference, peer, turn);
      if (!mixes) continue;
      turn.model.blend(each.weight, *each.copy.values(), own_.values().get());
      ++mixed;
    }
    Event event("copies.mixed");
    turn.record(std::move(event.add("copies", mixed).add("version", own_.version())));
    return true;
  }

  void receive(Frame frame, PeerState& peer, Turn& turn) override {
    if (frame.kind != FrameKind::push && frame.kind != FrameKind::ack) return;
    const auto from = std::find_if(neighbours_.begin(), neighbours_.end(),
                                   [&](const Neighbour& each) { return each.who == frame.from; });
    if (from == neighbours_.end()) {
      if (frame.kind == FrameKind::push) gossip::refuse(frame, "is no neighbour", peer, turn);
      return;
    }
    if (frame.kind == FrameKind::ack) {
      from->needs_whole = true;
      return;
    }
    if (!own_.is_held()) begin(peer, turn);
    note_resumption(peer);
    hear(frame, *from, peer, turn);
  }

  void partner_down(PeerId who, PeerState&, Turn&) override {
    for (Neighbour& each : neighbours_) {
      if (each.who == who) each.needs_whole = true;
    }
  }

  void state(Archive& a) override {
    std::vector<Neighbour> neighbours = neighbours_;
    a("own", own_)("said", said_);
    a("neighbours", neighbours);
    if (!a.loading()) return;
    if (neighbours.size() != neighbours_.size()) a.fail("neighbours", "are others");
    if (said_.size() > kChocoHistory) a.fail("said", "is too much");
    for (const Said& each : said_) {
      if (!each.difference) a.fail("said", "holds no message");
    }
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      neighbours_[i].copy = std::move(neighbours[i].copy);
      neighbours_[i].needs_whole = neighbours[i].needs_whole;
    }
  }

 private:
  // A later start of this peer, from a checkpoint: others may hold versions of which it knows
  // nothing, under the numbers that would come next.
  void note_resumption(const PeerState& peer) {
    const std::uint64_t first = PublishedCopy::first_version(peer.settings.incarnation);
    if (own_.version() >= first) return;
    own_.rename(first);
    said_.clear();
    for (Neighbour& each : neighbours_) {
      each.needs_whole = true;
      each.copy.drop();
    }
  }

  // The next version of the own copy.
  merge::PackedRef publish(PeerState& peer, Turn& turn) {
    const merge::SnapshotRef own = turn.model.snapshot();
    const std::shared_ptr<merge::Snapshot> rest = turn.model.blank();
    const std::span<const float> w = own->span(), x = own_.values()->span();
    float* const out = rest->values.data();
    for (std::size_t i = 0; i < w.size(); ++i) out[i] = w[i] - x[i];
    peer.codec->forget();  // each difference is said for itself
    merge::PackedRef difference = peer.codec->encode(rest->span(), nullptr);
    const auto said = decode(*difference, peer, turn);
    HS_CHECK(said.fault.empty());  // a codec reads what it has written
    own_.add(said.values->span(), turn.model);
    said_.push_back({own_.version(), difference});
    if (said_.size() > kChocoHistory) said_.pop_front();
    return difference;
  }

  struct Decoded {
    std::shared_ptr<merge::Snapshot> values;  // 0 where nothing is said
    std::string fault;
    double density = 0.0;
  };
  static Decoded decode(const merge::Packed& message, const PeerState& peer, Turn& turn) {
    Decoded decoded{turn.model.blank(), {}, 0.0};
    const std::shared_ptr<merge::Snapshot> zeros = turn.model.blank();
    std::fill_n(zeros->values.data(), zeros->values.size(), 0.0f);
    const Unpacked said = peer.codec->decode(message, zeros->span(), decoded.values->values.span());
    decoded.fault = said.fault;
    const auto size = static_cast<double>(zeros->values.size());
    if (size > 0.0) decoded.density = static_cast<double>(said.values) / size;
    return decoded;
  }

  // Another process at its owner's place begins somewhere else.
  static bool is_present(const Neighbour& of, const PeerState& peer) {
    const std::uint64_t first = PublishedCopy::first_version(peer.table.incarnation(of.who));
    return of.copy.is_held() && of.copy.version() >= first;
  }

  // `mixes`: whether the own weights move towards the receiver's copy.
  void tell(Neighbour& to, bool mixes, std::uint64_t base, const merge::Packed& difference,
            PeerState& peer, Turn& turn) {
    ChocoHead head;
    head.is_whole = std::exchange(to.needs_whole, false);
    head.version = own_.version();
    head.base = head.is_whole ? own_.digest() : base;
    if (mixes) head.heard = to.copy.version();
    PackedView body(difference.bytes);
    const std::span<const float> whole = own_.values()->span();
    if (head.is_whole)
      body = {reinterpret_cast<const std::uint8_t*>(whole.data()), whole.size_bytes()};
    auto message = std::make_shared<merge::Packed>();
    message->bytes = choco_bytes(head, body);
    const Spoken spoken{nullptr, std::move(message), nullptr, std::nullopt};
    Frame frame = weights_frame(FrameKind::push, to.who, spoken, peer);
    turn.record(sent_event(frame, peer));
    turn.send(std::move(frame));
  }

  void hear(const Frame& frame, Neighbour& from, PeerState& peer, Turn& turn) {
    if (!frame.packed)
      return refuse_unread(frame, {nullptr, "no message of a codec", {}}, peer, turn);
    PackedReader reader(frame.packed->bytes);
    const auto head = read_choco(reader);
    if (!head)
      return refuse_unread(frame, {nullptr, "message is cut off in its head", {}}, peer, turn);
    if (from.copy.is_held() && head->version <= from.copy.version())
      return gossip::refuse(frame, "older than the copy", peer, turn);
    double density = 1.0;
    const std::string fault = head->is_whole
                                  ? take_whole(*head, reader.rest(), from, turn)
                                  : take(*head, reader.rest(), from, density, peer, turn);
    if (fault == kLost) {
      from.copy.drop();
      turn.send(control_frame(FrameKind::ack, from.who, frame.seq, peer));
      return gossip::refuse(frame, fault, peer, turn);
    }
    if (!fault.empty()) return refuse_unread(frame, {nullptr, fault, {}}, peer, turn);
    move(*head, frame, from, density, peer, turn);
  }

  // Both return why the copy is as it was; empty: it is what the message says.
  static std::string take_whole(const ChocoHead& head, PackedView body, Neighbour& from,
                                Turn& turn) {
    const std::shared_ptr<merge::Snapshot> whole = turn.model.blank();
    if (body.size() != whole->values.size() * sizeof(float))
      return "a whole copy of " + std::to_string(body.size()) + " bytes";
    if (!body.empty()) std::memcpy(whole->values.data(), body.data(), body.size());
    PublishedCopy copy;
    copy.hold(whole, head.version);
    if (copy.digest() != head.base) return "a whole copy of another digest than it says";
    from.copy = std::move(copy);
    return {};
  }

  static std::string take(const ChocoHead& head, PackedView body, Neighbour& from, double& density,
                          PeerState& peer, Turn& turn) {
    if (!from.copy.is_held() || from.copy.version() + 1 != head.version ||
        from.copy.digest() != head.base) {
      return kLost;
    }
    merge::Packed message;
    message.bytes.assign(body.begin(), body.end());
    const Decoded said = decode(message, peer, turn);
    if (!said.fault.empty()) return said.fault;
    density = said.density;
    from.copy.add(said.values->span(), turn.model);
    return {};
  }

  // The other side of the move that the sender has made.
  void move(const ChocoHead& head, const Frame& frame, Neighbour& from, double density,
            PeerState& peer, Turn& turn) {
    const merge::SnapshotRef answered = own_at(head.heard, peer, turn);
    const merge::SnapshotRef base = answered ? answered : own_.values();
    const Heard heard{from.copy.values(), {}, density};
    const merge::Decision decision =
        merge_in({frame, heard, base.get(), answered ? from.weight : 0.0}, peer, turn);
    // Weights that this peer will not move towards: it wants others.
    if (decision.verdict == merge::Verdict::refuse) from.copy.drop();
  }

  // The own copy as it was at this version; null: it never was, or too long ago.
  merge::SnapshotRef own_at(std::uint64_t version, const PeerState& peer, Turn& turn) const {
    if (version > own_.version()) return nullptr;
    const std::uint64_t back = own_.version() - version;
    if (back == 0) return own_.values();
    if (back > said_.size()) return nullptr;
    const std::shared_ptr<merge::Snapshot> then = turn.model.blank();
    const std::span<const float> now = own_.values()->span();
    std::copy(now.begin(), now.end(), then->values.data());
    for (std::uint64_t i = 0; i < back; ++i) {
      const Decoded said = decode(*said_[said_.size() - 1 - i].difference, peer, turn);
      if (!said.fault.empty()) return nullptr;  // of a state that was damaged
      for (std::size_t at = 0; at < now.size(); ++at)
        then->values.data()[at] -= said.values->values.data()[at];
    }
    return then;
  }

  static constexpr const char* kLost = "counts on a copy that this peer does not hold";

  PublishedCopy own_;
  std::deque<Said> said_;  // newest last
  std::vector<Neighbour> neighbours_;
};

}  // namespace

std::unique_ptr<Exchange> make_choco(const GossipSettings& settings) {
  return std::make_unique<Choco>(settings);
}

}  // namespace hearsay::gossip

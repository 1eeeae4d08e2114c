// SPDX-License-Identifier: Apache-2.0
#include "gossip/examples/transfers.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "gossip/limits.hpp"
#include "gossip/merging.hpp"
#include "gossip/peer_state.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

std::int64_t integer(std::uint64_t value) { return static_cast<std::int64_t>(value); }

void persist(std::string line, Turn& turn) { turn.out.push_back(action::Persist{std::move(line)}); }

Event moved_event(std::string_view name, std::string_view way, PeerId with, std::uint64_t seq,
                  std::uint64_t count) {
  Event event(name);
  event.add(way, peer_name(with)).add("seq", integer(seq));
  return std::move(event.add("count", integer(count)));
}

// Which of a list they are: the ids of those whose bit is set.
std::vector<std::int64_t> ids_of(const std::vector<Example>& examples,
                                 std::uint64_t bits = ~std::uint64_t{0}) {
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < examples.size(); ++i)
    if (bits >> i & 1) ids.push_back(examples[i].id);
  return ids;
}

// A list that is offered or asked about: beyond all that this giver has been answered.
bool is_new(const Frame& frame, const std::map<PeerId, Holdings::Taken>& taken) {
  const auto newest = taken.find(frame.from);
  return newest == taken.end() || frame.seq > newest->second.seq;
}

}  // namespace

void Transfers::restore(const Holdings& held) {
  open_ = held.open();
  taken_ = held.taken();
  last_offer_ = held.last_offer();
}

void Transfers::offer(PeerId partner, PeerState& peer, Turn& turn) {
  ExampleStore* const store = turn.model.examples();
  HS_CHECK(store != nullptr);
  if (!plan_->copies && open_.contains(partner)) return;  // the one before first
  const std::optional<double> alike =
      peer.steering ? peer.steering->likeness(partner) : std::nullopt;
  const std::vector<Example> examples = store->choose(partner, alike, plan_->most, plan_->copies);
  if (examples.empty()) return;
  Frame frame = control_frame(FrameKind::examples, partner, 0, peer);
  // A start may count from where an earlier one had been: a taker would take the offer for an old
  // one and answer with what it had taken then.
  peer.next_seq = std::max(peer.next_seq, last_offer_ + 1);
  frame.seq = peer.next_seq++;
  frame.wants_ack = !plan_->copies;
  frame.packed = encode(examples, store->shape());
  if (!plan_->copies) {
    Holdings::Offer offer{frame.seq, {}, turn.now};
    for (const Example& example : examples) offer.ids.push_back(example.id);
    persist(Holdings::offer_line(partner, offer), turn);
    open_.emplace(partner, std::move(offer));
    last_offer_ = frame.seq;
  }
  Event sent = moved_event("examples.sent", "to", partner, frame.seq, examples.size());
  sent.add("bytes", integer(frame.payload_bytes())).add("wire_bytes", integer(frame.wire_bytes()));
  sent.add("reason", plan_->policy);
  if (plan_->logs_ids) sent.add("ids", ids_of(examples));
  turn.record(std::move(sent));
  turn.send(std::move(frame));
}

void Transfers::receive(const Frame& frame, PeerState& peer, Turn& turn) {
  switch (frame.kind) {
    case FrameKind::examples: return answer(frame, peer, turn);
    case FrameKind::receipt: return settle(frame, turn);
    case FrameKind::offered: break;
    default: HS_CHECK(false);
  }
  if (is_new(frame, taken_)) {  // has not come; if it still does, it is too late
    taken_[frame.from] = {frame.seq, 0};
    persist(Holdings::took_line(frame.from, taken_[frame.from], {}), turn);
  }
  if (frame.seq == taken_[frame.from].seq) send_receipt(frame.from, peer, turn);
}

void Transfers::answer(const Frame& offer, PeerState& peer, Turn& turn) {
  ExampleStore& store = *turn.model.examples();
  const bool counts = offer.wants_ack;
  if (counts == plan_->copies) return;  // not how this pool does it
  if (counts && !is_new(offer, taken_)) {
    if (offer.seq == taken_[offer.from].seq) send_receipt(offer.from, peer, turn);
    return;
  }
  const bool heeded = offer.packed && !peer.ignores(offer.from);
  const auto examples = heeded ? decode(*offer.packed, store.shape(), kMostOffered) : std::nullopt;
  if (heeded && !examples)
    strike(offer.from, "examples that cannot be read", peer, turn, Misdeed::examples);
  if (examples) peer.strikes.clear(offer.from, Misdeed::examples);
  const std::uint64_t taken = examples ? store.take(offer.from, *examples, !counts) : 0;
  Event received = moved_event("examples.received", "from", offer.from, offer.seq,
                               examples ? examples->size() : 0);
  received.add("taken", std::int64_t{std::popcount(taken)});
  received.add("bytes", integer(offer.payload_bytes()));
  if (plan_->logs_ids && taken != 0) received.add("ids", ids_of(*examples, taken));
  turn.record(std::move(received));
  if (!counts) return;
  Holdings::Taken& newest = taken_[offer.from];
  newest = {offer.seq, taken};
  std::vector<std::pair<std::uint32_t, std::uint8_t>> came;
  for (std::size_t i = 0; examples && i < examples->size(); ++i) {
    if (taken >> i & 1) came.emplace_back((*examples)[i].id, (*examples)[i].label);
  }
  persist(Holdings::took_line(offer.from, newest, came), turn);
  send_receipt(offer.from, peer, turn);
}

// The receipt of an offer: its number as what is answered, the bits as its own.
void Transfers::send_receipt(PeerId giver, PeerState& peer, Turn& turn) {
  Frame receipt = control_frame(FrameKind::receipt, giver, taken_[giver].seq, peer);
  receipt.seq = taken_[giver].taken;
  turn.send(std::move(receipt));
}

void Transfers::settle(const Frame& receipt, Turn& turn) {
  const auto offer = open_.find(receipt.from);
  if (offer == open_.end() || offer->second.seq != receipt.answers) return;  // settled before
  const std::vector<std::uint32_t>& ids = offer->second.ids;
  const std::uint64_t all =
      ids.size() < 64 ? (std::uint64_t{1} << ids.size()) - 1 : ~std::uint64_t{0};
  const std::uint64_t taken = receipt.seq & all;
  persist(Holdings::closed_line(receipt.from, offer->second.seq, taken), turn);
  turn.model.examples()->settle(ids, taken);
  turn.record(moved_event("examples.settled", "to", receipt.from, offer->second.seq,
                          static_cast<std::uint64_t>(std::popcount(taken))));
  open_.erase(offer);
}

void Transfers::ask_again(PeerState& peer, Turn& turn) {
  for (auto& [taker, offer] : open_) {
    if (!peer.table.reachable(taker) || turn.now < offer.asked + limits::kAskAgain) continue;
    offer.asked = turn.now;
    Frame question = control_frame(FrameKind::offered, taker, 0, peer);
    question.seq = offer.seq;
    turn.send(std::move(question));
  }
}

void Transfers::state(Archive& archive) {
  archive("open", open_)("taken", taken_);
  // Not in a state of an earlier hearsay.
  if (!archive.loading() || archive.has("last_offer")) archive("last_offer", last_offer_);
  if (!archive.loading()) return;
  if (last_offer_ == ~std::uint64_t{0}) archive.fail("last_offer", "is out of range");
  for (const auto& [taker, offer] : open_) {
    if (offer.ids.empty() || offer.ids.size() > kMostOffered)
      archive.fail("open", "has not 1 to 64 examples");
  }
}

}  // namespace hearsay::gossip

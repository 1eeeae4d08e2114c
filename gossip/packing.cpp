// SPDX-License-Identifier: Apache-2.0
#include "gossip/packing.hpp"

#include <algorithm>
#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

// `from`: a partner; none: the message is an own one.
Heard decode(const merge::Packed& message, const merge::Snapshot& base, std::optional<PeerId> from,
             Codec& codec, Turn& turn) {
  const std::shared_ptr<merge::Snapshot> in = turn.model.blank();
  const std::span<float> to = in->values.span();
  Unpacked said = from ? codec.decode_from(*from, message, base.span(), to)
                       : codec.decode(message, base.span(), to);
  if (!said.fault.empty()) return {nullptr, std::move(said.fault), std::nullopt, said.is_lost};
  const auto size = static_cast<double>(in->values.size());
  return {in, {}, size > 0.0 ? static_cast<double>(said.values) / size : 0.0};
}

// Over the weights that a message spoke of, which are those that differ.
double mean_square(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const double off = static_cast<double>(a[i]) - b[i];
    sum += off * off;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : 0.0;
}

}  // namespace

merge::SnapshotRef own_words(const PeerState& peer, Turn& turn) {
  return peer.outer ? peer.outer->to_say(turn.model) : turn.model.snapshot();
}

Spoken speak(const merge::SnapshotRef& mine, PeerId to, const Frame* like, PeerState& peer) {
  const Spoken raw{mine, nullptr, mine, std::nullopt};
  if (!peer.codec || (like != nullptr && !like->packed)) return raw;  // answered in kind
  const merge::Packed* const answered = like != nullptr ? like->packed.get() : nullptr;
  merge::PackedRef packed = peer.codec->encode_for(to, mine->span(), answered);
  if (!packed) return raw;
  return {nullptr, std::move(packed), mine, std::nullopt};
}

void missed(PeerId who, const PeerState& peer) {
  if (peer.codec) peer.codec->missed(who);
}

bool mirrors(const PeerState& peer) { return peer.codec && peer.codec->mirrors(); }

void reflect(Spoken& spoken, const PeerState& peer, Turn& turn) {
  if (!mirrors(peer) || !spoken.packed) return;
  Heard seen = decode(*spoken.packed, *spoken.base, std::nullopt, *peer.codec, turn);
  HS_CHECK(seen.in != nullptr);  // a codec reads what it has written
  if (peer.codec->looks()) peer.codec->said(mean_square(seen.in->span(), spoken.base->span()));
  spoken.base = std::move(seen.in);
  spoken.density = seen.density;
}

Heard hear(const Frame& frame, const merge::Snapshot* base, const PeerState& peer, Turn& turn) {
  if (!frame.carries_weights()) return {nullptr, "no weights in it", std::nullopt};
  if (!frame.packed) return {frame.values, {}, std::nullopt};
  if (!peer.codec) return {nullptr, "a message of a codec in a pool without one", std::nullopt};
  const merge::SnapshotRef own = base != nullptr ? nullptr : turn.model.snapshot();
  const merge::Snapshot& from = base != nullptr ? *base : *own;
  Heard heard = decode(*frame.packed, from, frame.from, *peer.codec, turn);
  if (heard.in && peer.codec->looks()) {
    const auto change = peer.codec->heard(mean_square(heard.in->span(), from.span()));
    if (change) record_change(*change, turn);
  }
  return heard;
}

void record_change(const CodecChange& change, Turn& turn) {
  Event event("codec.changed");
  turn.record(std::move(event.add("from", change.from).add("to", change.to)));
}

bool adapt(Time took, PeerState& peer, Turn& turn) {
  const Time interval = peer.merge_interval();
  if (!peer.codec || interval <= Time{0}) return false;
  const double busy = static_cast<double>(took.count()) / static_cast<double>(interval.count());
  const auto change = peer.codec->adapt(busy);
  if (change) record_change(*change, turn);
  return change.has_value();
}

void afford(PeerState& peer, Turn& turn) {
  const Time interval = peer.merge_interval();
  if (!peer.codec || !peer.budget || interval <= Time{0}) return;
  // One message a merge that this peer starts, and in pairs one for a merge of somebody else.
  const double messages = peer.settings.exchange == ExchangeKind::pairwise ? 2.0 : 1.0;
  const double bytes =
      peer.budget->bytes_per_s() * std::chrono::duration<double>(interval).count() / messages;
  const auto change = peer.codec->afford(bytes);
  if (change) record_change(*change, turn);
}

}  // namespace hearsay::gossip

// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/faults.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/config/spec.hpp"
#include "runtime/config/text_range.hpp"

namespace hearsay::runtime {
namespace {

using kernels::PeerId;
using kernels::UsageError;

[[noreturn]] void malformed(const std::string& text, const std::string& expected) {
  throw UsageError("--chaos: cannot read '" + text + "'; expected " + expected);
}

FaultTime parse_time(const std::string& text) {
  if (!text.empty() && text.back() == '%') return {true, parse_share("--chaos", text)};
  const double seconds = parse_seconds("--chaos", text);
  if (!(seconds >= 0.0 && seconds <= 1e9))
    throw UsageError("--chaos: a time lies between 0 and 1e9 seconds, not " + text);
  return {false, seconds};
}

PeerId parse_peer(const std::string& fault, const std::string& text, std::uint32_t peers) {
  if (text.size() < 2 || text[0] != 'p') malformed(fault, "a peer such as p03");
  const std::uint64_t id = parse_count("--chaos", text.substr(1));
  if (id >= peers) {
    throw UsageError("--chaos: '" + fault + "' names " + text + ", but the pool has p00 .. " +
                     gossip::peer_name(PeerId(peers - 1)));
  }
  return PeerId(static_cast<std::uint32_t>(id));
}

// "p03@20%..60%" -> peer text, from, to
struct TimedPeer {
  std::string peer;
  std::optional<FaultTime> from, to;
};
TimedPeer split_timed(const std::string& fault, const std::string& text) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos) malformed(fault, "a time after @, such as @30% or @5s");
  TimedPeer timed{text.substr(0, at), {}, {}};
  const TextRange times = split_range(std::string_view(text).substr(at + 1));
  timed.from = parse_time(times.from);
  if (times.to) timed.to = parse_time(*times.to);
  return timed;
}

// Peers in the order in which counted faults take them: no peer twice, whatever the faults.
class Lottery {
 public:
  Lottery(std::uint32_t peers, std::uint64_t seed) : ids_(peers) {
    std::iota(ids_.begin(), ids_.end(), 0u);
    kernels::Rng rng = kernels::Rng::stream(seed, "chaos");
    rng.shuffle(ids_);
  }
  std::vector<PeerId> draw(const std::string& fault, std::uint64_t count) {
    if (count < 1 || count > ids_.size()) {
      malformed(fault, "1 to " + std::to_string(ids_.size()) +
                           " peers (those not drawn by faults before it)");
    }
    std::vector<PeerId> drawn;
    for (; count > 0; --count) {
      drawn.push_back(PeerId(ids_.back()));
      ids_.pop_back();
    }
    return drawn;
  }

 private:
  std::vector<std::uint32_t> ids_;
};

std::vector<PeerId> parse_who(const std::string& fault, const std::string& who, std::uint32_t peers,
                              Lottery& lottery) {
  if (who.empty() || who[0] == 'p') return {parse_peer(fault, who, peers)};
  return lottery.draw(fault, parse_count("--chaos", who));
}

void check_order(const Fault& fault) {
  if (fault.to && fault.from && fault.to->is_share == fault.from->is_share &&
      fault.to->value <= fault.from->value)
    malformed(fault.text, "an end after the beginning");
}

// WHO[*STRENGTH][@FROM[..TO]]
Fault parse_hostile(const std::string& text, const std::string& kind, const std::string& rest,
                    std::uint32_t peers, Lottery& lottery) {
  Fault fault;
  fault.text = text;
  std::string who = rest;
  if (rest.find('@') != std::string::npos) {
    TimedPeer timed = split_timed(text, rest);
    who = timed.peer;
    fault.from = timed.from;
    fault.to = timed.to;
  }
  const auto attack = find_attack(kind);
  fault.kind = attack             ? Fault::Kind::attack
               : kind == "poison" ? Fault::Kind::poison
                                  : Fault::Kind::label_flip;
  const std::size_t star = who.find('*');
  if (attack) {
    fault.attack = *attack;
    fault.factor = usual_strength(*attack);
    const bool scales = *attack != Attack::nan && *attack != Attack::replay_stale;
    if (star != std::string::npos && !scales) malformed(text, kind + " without a strength");
    if (star != std::string::npos) fault.factor = parse_number("--chaos", who.substr(star + 1));
    if (!(fault.factor > 0.0 && fault.factor <= 1e12)) malformed(text, "a strength above 0");
  } else if (star != std::string::npos) {
    malformed(text, kind + " without a strength");
  }
  if (fault.kind == Fault::Kind::poison && (!fault.from || fault.to))
    malformed(text, "one time, such as poison=p03@30%");
  fault.peers = parse_who(text, who.substr(0, star), peers, lottery);
  check_order(fault);
  return fault;
}

// Of a share of all frames.
std::optional<Fault::Kind> link_fault(const std::string& kind) {
  if (kind == "drop") return Fault::Kind::drop;
  if (kind == "corrupt") return Fault::Kind::corrupt;
  if (kind == "reorder") return Fault::Kind::reorder;
  if (kind == "duplicate") return Fault::Kind::duplicate;
  return std::nullopt;
}

Fault parse_fault(const std::string& text, std::uint32_t peers, Lottery& lottery) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) malformed(text, "kind=..., such as slow=p03*4");
  const std::string kind = text.substr(0, equals), rest = text.substr(equals + 1);
  Fault fault;
  fault.text = text;
  if (kind == "slow") {
    const std::size_t star = rest.find('*');
    if (star == std::string::npos) malformed(text, "slow=p03*4");
    fault.kind = Fault::Kind::slow;
    fault.peers = {parse_peer(text, rest.substr(0, star), peers)};
    fault.factor = parse_number("--chaos", rest.substr(star + 1));
    if (!(fault.factor > 0.0 && fault.factor <= 1e6)) malformed(text, "a factor above 0");
    return fault;
  }
  if (const auto of_links = link_fault(kind)) {
    fault.kind = *of_links;
    fault.share = parse_share("--chaos", rest);
    if (!(fault.share >= 0.0 && fault.share <= 1.0))
      malformed(text, "a share such as " + kind + "=1%");
    return fault;
  }
  if (find_attack(kind) || kind == "label-flip" || kind == "poison")
    return parse_hostile(text, kind, rest, peers, lottery);
  if (kind != "kill" && kind != "stall" && kind != "partition") {
    throw_unknown(
        "fault", kind,
        {"slow", "kill", "stall", "partition", "drop", "corrupt", "reorder", "duplicate", "nan",
         "scale", "sign-flip", "noise", "replay-stale", "drift", "label-flip", "poison"});
  }
  const TimedPeer timed = split_timed(text, rest);
  fault.from = timed.from;
  fault.to = timed.to;
  fault.peers = kind == "kill" ? parse_who(text, timed.peer, peers, lottery)
                               : std::vector{parse_peer(text, timed.peer, peers)};
  fault.kind = kind == "kill"    ? Fault::Kind::kill
               : kind == "stall" ? Fault::Kind::stall
                                 : Fault::Kind::partition;
  check_order(fault);
  if (fault.kind == Fault::Kind::stall && !fault.to)
    malformed(text, "an end, such as stall=p02@10%..20%");
  return fault;
}

}  // namespace

std::vector<Fault> parse_faults(const std::vector<std::string>& chaos, std::uint32_t peers,
                                std::uint64_t seed) {
  std::vector<Fault> faults;
  Lottery lottery(peers, seed);
  for (const std::string& text : chaos) faults.push_back(parse_fault(text, peers, lottery));
  return faults;
}

FaultSchedule::FaultSchedule(std::vector<Fault> faults, std::uint32_t peers, std::uint64_t seed)
    : faults_(std::move(faults)),
      states_(faults_.size(), State::waiting),
      stalled_(peers, 0),
      cut_(peers, 0),
      open_(faults_.size()),
      rng_(kernels::Rng::stream(seed, "drop")) {}

bool FaultSchedule::reached(const FaultTime& t, double progress, gossip::Time now) const {
  return t.is_share ? progress >= t.value : std::chrono::duration<double>(now).count() >= t.value;
}

void FaultSchedule::mark(const Fault& fault, int by) {
  for (const PeerId peer : fault.peers) {
    if (fault.kind == Fault::Kind::stall) stalled_[peer.value] += by;
    if (fault.kind == Fault::Kind::partition) cut_[peer.value] += by;
  }
  if (fault.kind == Fault::Kind::drop) drop_share_ += by * fault.share;
  if (fault.kind == Fault::Kind::corrupt) corrupt_share_ += by * fault.share;
  if (fault.kind == Fault::Kind::reorder) reorder_share_ += by * fault.share;
  if (fault.kind == Fault::Kind::duplicate) duplicate_share_ += by * fault.share;
}

std::vector<FaultSchedule::Change> FaultSchedule::advance(double progress, gossip::Time now) {
  std::vector<Change> changes;
  if (open_ == 0) return changes;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const Fault& fault = faults_[i];
    if (states_[i] == State::waiting && (!fault.from || reached(*fault.from, progress, now))) {
      states_[i] = State::active;
      mark(fault, 1);
      changes.push_back({&fault, true});
      if (!fault.to) --open_;
    }
    if (states_[i] == State::active && fault.to && reached(*fault.to, progress, now)) {
      states_[i] = State::over;
      mark(fault, -1);
      changes.push_back({&fault, false});
      --open_;
    }
  }
  return changes;
}

std::vector<gossip::Time> FaultSchedule::wake_up_times() const {
  std::vector<gossip::Time> times;
  for (const Fault& fault : faults_) {
    for (const auto& t : {fault.from, fault.to}) {
      if (t && !t->is_share)
        times.push_back(gossip::Time(static_cast<std::int64_t>(t->value * 1e9)));
    }
  }
  return times;
}

NetworkFaults FaultSchedule::network() const {
  NetworkFaults now{std::min(1.0, drop_share_), std::min(1.0, corrupt_share_), {}};
  for (std::uint32_t peer = 0; peer < cut_.size(); ++peer) {
    if (cut_[peer] > 0) now.parted.emplace_back(peer);
  }
  return now;
}

bool FaultSchedule::loses(PeerId from, PeerId to) {
  if (parted(from, to)) return true;
  return drop_share_ > 0.0 && rng_.uniform() < drop_share_;
}

bool FaultSchedule::corrupts() { return corrupt_share_ > 0.0 && rng_.uniform() < corrupt_share_; }

namespace {

gossip::Time some_of(std::chrono::nanoseconds most, kernels::Rng& rng) {
  return gossip::Time(static_cast<std::int64_t>(rng.uniform() * static_cast<double>(most.count())));
}

}  // namespace

gossip::Time FaultSchedule::held_back() {
  if (!(reorder_share_ > 0.0 && rng_.uniform() < reorder_share_)) return gossip::Time{0};
  return some_of(kHeldBack, rng_);
}

std::optional<gossip::Time> FaultSchedule::comes_again() {
  if (!(duplicate_share_ > 0.0 && rng_.uniform() < duplicate_share_)) return std::nullopt;
  return some_of(kHeldBack, rng_);
}

void FaultSchedule::state(gossip::Archive& archive) {
  const std::size_t peers = stalled_.size();
  archive("states", states_)("stalled", stalled_)("cut", cut_);
  archive("drop_share", drop_share_)("corrupt_share", corrupt_share_);
  archive("reorder_share", reorder_share_)("duplicate_share", duplicate_share_);
  archive("open", open_)("rng", rng_);
  if (states_.size() != faults_.size()) archive.fail("states", "is not one a fault");
  if (stalled_.size() != peers || cut_.size() != peers) archive.fail("cut", "is not one a peer");
}

bool FaultSchedule::is_calm() const {
  const auto none = [](const std::vector<int>& counts) {
    return std::all_of(counts.begin(), counts.end(), [](int count) { return count == 0; });
  };
  return open_ == 0 && none(stalled_) && none(cut_);
}

std::vector<std::string> FaultSchedule::never_fired() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (states_[i] == State::waiting) texts.push_back(faults_[i].text);
  }
  return texts;
}

}  // namespace hearsay::runtime

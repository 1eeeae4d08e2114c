// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/invariants.hpp"

#include <algorithm>
#include <map>

#include "tests/catch.hpp"

using namespace hearsay::runtime;
using nlohmann::ordered_json;

namespace {

// Builds logs with correct counters, which a test then breaks in one place.
class LogBuilder {
 public:
  LogBuilder& add(std::int64_t t_ns, const std::string& peer, const std::string& ev,
                  ordered_json fields) {
    const auto n = static_cast<std::uint64_t>(std::count_if(
        events_.begin(), events_.end(), [&](const LoggedEvent& e) { return e.peer == peer; }));
    events_.push_back({ev, t_ns, peer, n, std::move(fields)});
    return *this;
  }
  LogBuilder& send(std::int64_t t_ns, const std::string& from, const std::string& to, int seq) {
    return add(t_ns, from, "delta.sent", {{"to", to}, {"seq", seq}, {"bytes", 64}});
  }
  LogBuilder& take(std::int64_t t_ns, const std::string& peer, const std::string& from, int seq,
                   int mseq) {
    add(t_ns, peer, "delta.received", {{"from", from}, {"seq", seq}});
    add(t_ns, peer, "merge.decided", {{"from", from}, {"seq", seq}, {"verdict", "accept"}});
    return add(t_ns, peer, "merge.applied", {{"from", from}, {"seq", seq}, {"mseq", mseq}});
  }
  std::vector<LoggedEvent> log() const { return events_; }

 private:
  std::vector<LoggedEvent> events_;
};

// Two crossed exchanges and a push: p00 <-> p01, then p02 -> p00.
std::vector<LoggedEvent> good_log() {
  return LogBuilder()
      .send(10, "p00", "p01", 1)
      .send(11, "p01", "p00", 1)
      .take(20, "p01", "p00", 1, 1)
      .take(21, "p00", "p01", 1, 1)
      .send(30, "p02", "p00", 1)
      .take(40, "p00", "p02", 1, 2)
      .add(50, "p00", "run.finished", {{"verdict", "ok"}})
      .log();
}

LoggedEvent& find(std::vector<LoggedEvent>& log, const std::string& ev, const std::string& peer) {
  return *std::find_if(log.begin(), log.end(),
                       [&](const auto& e) { return e.ev == ev && e.peer == peer; });
}

// Gives the lines of every peer their numbers again, so that only the intended invariant breaks.
void renumber(std::vector<LoggedEvent>& log) {
  std::map<std::string, std::uint64_t> next;
  for (LoggedEvent& event : log) event.n = next[event.peer]++;
}

void remove(std::vector<LoggedEvent>& log, const std::string& ev, const std::string& peer) {
  log.erase(log.begin() + (&find(log, ev, peer) - log.data()));
  renumber(log);
}

}  // namespace

TEST_CASE("a good log breaks nothing", "[log]") {
  CHECK(broken_invariants(good_log()).empty());
  CHECK(broken_invariants({}).empty());
}

TEST_CASE("a hole in a peer's line numbers is found", "[log]") {
  auto log = good_log();
  log.erase(log.begin() + 1);  // p01's delta.sent, its line 0
  CHECK(broken_line_numbers(good_log()).empty());
  REQUIRE(broken_line_numbers(log).size() == 1);
  CHECK(broken_line_numbers(log)[0] ==
        "n: p01 line 1 should be line 0; lines are lost or repeated");
}

TEST_CASE("a peer's clock that goes back is found", "[log]") {
  auto log = good_log();
  log.back().t_ns = 39;
  CHECK(decreasing_clocks(good_log()).empty());
  REQUIRE(broken_invariants(log).size() == 1);
  CHECK(broken_invariants(log)[0] == "t_ns: p00 line 7 goes back from 40 to 39");
}

TEST_CASE("a merge counter that skips or starts late is found", "[log]") {
  auto log = good_log();
  CHECK(broken_merge_counters(log).empty());
  find(log, "merge.applied", "p01").fields["mseq"] = 2;
  CHECK(broken_merge_counters(log) == Breaches{"mseq: p01 line 3 has 2 after 0"});
}

TEST_CASE("a merge without exactly one decision and one arrival is found", "[log]") {
  CHECK(unexplained_merges(good_log()).empty());
  auto refused = good_log();
  find(refused, "merge.decided", "p01").fields["verdict"] = "refuse";
  CHECK(unexplained_merges(refused) ==
        Breaches{"merge: p01 line 3 applies seq 1 of p00, which has 0 accepting decisions, not 1"});
  auto scaled = good_log();
  find(scaled, "merge.decided", "p01").fields["verdict"] = "scale";
  CHECK(broken_invariants(scaled).empty());
  auto undecided = good_log();
  remove(undecided, "merge.decided", "p01");
  CHECK(broken_invariants(undecided).size() == 1);
  auto unseen = good_log();
  remove(unseen, "delta.received", "p01");
  CHECK(broken_invariants(unseen) ==
        Breaches{"merge: p01 line 2 applies seq 1 of p00, which has 0 arrivals, not 1"});
  auto twice = good_log();
  twice.push_back(find(twice, "merge.decided", "p01"));
  twice.back().t_ns = 60;
  renumber(twice);
  CHECK(broken_invariants(twice).size() == 1);
}

TEST_CASE("a delta that nobody sent is found unless its sender is lost", "[log]") {
  auto log = good_log();
  CHECK(unsent_deltas(log).empty());
  remove(log, "delta.sent", "p02");
  CHECK(broken_invariants(log) ==
        Breaches{"delta: p00 line 4 receives seq 1 of p02, which was never sent to it"});
  log.push_back({"peer.lost", 60, "p01", 4, {{"who", "p02"}, {"reason", "connection reset"}}});
  CHECK(broken_invariants(log).empty());
  auto misdirected = good_log();
  find(misdirected, "delta.sent", "p02").fields["to"] = "p01";
  CHECK(unsent_deltas(misdirected).size() == 1);
}

TEST_CASE("a delta that arrives before it was sent is found on a virtual clock", "[log]") {
  auto log = good_log();
  CHECK(early_arrivals(log).empty());
  find(log, "delta.sent", "p02").t_ns = 41;
  CHECK(broken_invariants(log) ==
        Breaches{"order: p00 line 4 receives seq 1 of p02 at 40 ns, sent at 41"});
  CHECK(broken_invariants(log, ClockKind::monotonic).empty());
}

TEST_CASE("a merge graph with a cycle is found whatever the clocks say", "[log]") {
  // Each merges what the other made of its own merge: p00's first merge feeds p01's first merge and
  // the other way round.
  const auto log = LogBuilder()
                       .take(20, "p00", "p01", 1, 1)
                       .send(20, "p00", "p01", 1)
                       .take(20, "p01", "p00", 1, 1)
                       .send(20, "p01", "p00", 1)
                       .log();
  CHECK(merge_cycles(good_log()).empty());
  CHECK(broken_invariants(log) ==
        Breaches{"graph: 2 merges lie on or behind a cycle, the first is p00 merge 1"});
}

TEST_CASE("an event without the keys of the merge graph is found", "[log]") {
  CHECK(missing_merge_keys(good_log()).empty());
  auto log = good_log();
  find(log, "merge.applied", "p01").fields.erase("mseq");
  CHECK(missing_merge_keys(log) ==
        Breaches{"keys: p01 line 3: merge.applied has no usable 'mseq'"});
}

TEST_CASE("many breaches are counted, not listed", "[log]") {
  LogBuilder builder;
  for (int i = 0; i < 100; ++i)
    builder.add(100 - i, "p00", "block.finished", ordered_json::object());
  const Breaches found = broken_invariants(builder.log());
  CHECK(found.size() == kMaxBreaches + 1);
  CHECK(found.back() == "t_ns: and 79 more");
}

namespace {

// p00 merges p01's model twice, is killed, and goes on from where it had merged once; p01 has
// merged what p00 sent in between. The last lines of p00 before it was killed are lost.
std::vector<LoggedEvent> resumed_log(int mseq_after = 2) {
  return LogBuilder()
      .send(10, "p01", "p00", 1)
      .take(11, "p00", "p01", 1, 1)
      .send(20, "p01", "p00", 2)
      .take(21, "p00", "p01", 2, 2)
      .take(30, "p01", "p00", 7, 1)
      .add(40, "p00", "run.resumed",
           {{"dir", "ckpt/000120"}, {"samples", 100}, {"steps", 120}, {"mseq", 1}, {"inc", 1}})
      .send(50, "p01", "p00", 3)
      .take(51, "p00", "p01", 3, mseq_after)
      .log();
}

}  // namespace

TEST_CASE("a peer that goes on from a checkpoint counts its merges from there", "[log]") {
  CHECK(broken_invariants(resumed_log()).empty());
  CHECK(broken_merge_counters(resumed_log(3)).size() == 1);
  auto unsaid = resumed_log();
  find(unsaid, "run.resumed", "p00").ev = "something.else";
  CHECK(broken_merge_counters(unsaid).size() == 1);
  CHECK(unsent_deltas(unsaid).size() == 1);
}

TEST_CASE("what was merged after the checkpoint may be merged again, what was before may not",
          "[log]") {
  const auto again = [](int seq) {  // decided and applied once more; it waited in the checkpoint
    LogBuilder log;
    log.send(10, "p01", "p00", 1).take(11, "p00", "p01", 1, 1).send(20, "p01", "p00", 2);
    log.take(21, "p00", "p01", 2, 2);
    log.add(40, "p00", "run.resumed", {{"samples", 100}, {"steps", 120}, {"mseq", 1}, {"inc", 1}});
    log.add(50, "p00", "merge.decided", {{"from", "p01"}, {"seq", seq}, {"verdict", "accept"}});
    log.add(50, "p00", "merge.applied", {{"from", "p01"}, {"seq", seq}, {"mseq", 2}});
    return log.log();
  };
  CHECK(broken_invariants(again(2)).empty());
  CHECK(unexplained_merges(again(1)) ==
        Breaches{"merge: p00 line 8 applies seq 1 of p01 for the second time"});
}

TEST_CASE("a merge that was undone and one done again in its place are two", "[log]") {
  // p00's second merge comes from p01's first, which comes from p00's first second one: no cycle.
  const auto log = LogBuilder()
                       .send(1, "p01", "p00", 1)
                       .take(2, "p00", "p01", 1, 1)
                       .send(3, "p00", "p01", 1)
                       .take(4, "p01", "p00", 1, 1)
                       .send(5, "p01", "p00", 2)
                       .add(6, "p00", "run.resumed", {{"mseq", 0}})
                       .take(7, "p00", "p01", 2, 1)
                       .log();
  CHECK(broken_invariants(log).empty());
  auto unsaid = log;
  find(unsaid, "run.resumed", "p00").ev = "something.else";
  CHECK_FALSE(merge_cycles(unsaid).empty());
}

// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/pool_track.hpp"

#include <random>
#include <string>
#include <vector>

#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

using State = PeerStatus::State;

struct Watched {
  void take(const std::string& line) { track.take(line); }
  // Of a peer, `at_ms` after its start.
  void event(const std::string& peer, int at_ms, const std::string& ev, const std::string& rest) {
    take(R"({"ev":")" + ev + R"(","t_ns":)" + std::to_string(at_ms * 1'000'000LL) + R"(,"peer":")" +
         peer + R"(","n":0)" + (rest.empty() ? "" : "," + rest) + "}");
  }
  void start(const std::string& peer, const std::string& time = "10:00:00") {
    take(R"({"ev":"run.started","schema":1,"run":"live","time":"2026-01-02T)" + time +
         R"(Z","clock":"monotonic","peers":3,"self":")" + peer + R"(","host":"here","pid":4711})");
    event(peer, 0, "peer.joined", R"("inc":0,"reason":"start","step":0,"steps":200)");
  }
  const PeerView& peer(std::size_t i) const { return pool.snapshot.peers.at(i); }
  const PeerStatus& status(std::size_t i) const { return peer(i).status; }
  std::vector<std::string> changes() const {
    std::vector<std::string> texts;
    for (const PoolChange& change : pool.changes) texts.push_back(change.text);
    return texts;
  }

  WatchedPool pool;
  PoolTrack track{pool};
};

const std::string kBlock =
    R"("samples":3200,"steps":100,"loss":0.5,"acc":0.8,"step_ns":1000000,"unorm":1)";

}  // namespace

TEST_CASE("a log's events become a peer's numbers", "[watch]") {
  Watched w;
  w.track.set_epochs(4.0);
  w.start("p00");
  CHECK(w.pool.snapshot.run == "live");
  REQUIRE(w.pool.snapshot.peers.size() == 3);
  CHECK(w.status(0).state == State::training);
  CHECK(w.status(1).state == State::starting);
  CHECK(w.peer(0).pid == 4711);
  w.event("p00", 1, "partner.chosen", R"("to":"p01","p":0.5,"pool":2,"rng":0)");
  w.event("p00", 1, "delta.sent", R"("to":"p01","seq":0,"bytes":1000,"wire_bytes":1064)");
  w.event("p00", 2, "delta.received", R"("from":"p01","seq":0,"bytes":2000)");
  w.event("p00", 3, "merge.decided",
          R"("from":"p01","verdict":"accept","alpha":0.25,"age_samples":32,"rel_norm":0.1)");
  w.event("p00", 3, "merge.applied", R"("from":"p01","seq":0,"mseq":7)");
  w.event("p00", 4, "merge.decided", R"("from":"p02","verdict":"refuse","alpha":0)");
  w.event("p00", 100, "block.finished", kBlock);
  w.event("p00", 110, "eval.finished", R"("split":"test","loss":0.75,"acc":0.875,"count":100)");
  const PeerStatus& s = w.status(0);
  CHECK(s.samples == 3200);
  CHECK(s.loss == 0.5);
  CHECK(s.progress == 0.5);
  CHECK(s.epochs == 2.0);
  CHECK(s.samples_per_s == Approx(32000.0));
  CHECK(s.merges == 1);
  CHECK(s.merges_applied == 7);
  CHECK(s.merges_refused == 1);
  CHECK(s.payload_bytes == 1000);
  CHECK(s.wire_bytes == 1064);
  CHECK(s.payload_bytes_received == 2000);
  CHECK(s.accuracy == 0.875);
  CHECK(s.test_loss == 0.75);
  CHECK(s.partner == "p01");
  CHECK(s.newest_merges.size() == 1);
  CHECK(s.merge_age_samples.counts[1] == 1);
  CHECK(s.consensus_distance == Approx(0.1 / std::sqrt(2.0)));
  CHECK(s.clock_s == Approx(0.11));
  CHECK(w.pool.snapshot.now.wall_s == Approx(0.11));
  REQUIRE(w.pool.merges.merges().size() == 1);
  CHECK(w.pool.merges.merges()[0].into == "p00");
  CHECK(w.pool.merges.merges()[0].alpha == 0.25);
  CHECK(w.pool.losses[0].means(2).size() == 2);
  CHECK(w.changes().empty());
  w.event("p00", 200, "block.finished", kBlock);
  CHECK(w.status(0).state == State::lingering);
  w.event("p00", 210, "peer.left", R"("reason":"finished")");
  CHECK(w.status(0).state == State::ended);
  CHECK(w.peer(0).ended == "finished");
  CHECK(w.changes().empty());
}

TEST_CASE("a peer that several miss is lost once, last words or not", "[watch]") {
  Watched w;
  for (const char* const peer : {"p00", "p01", "p02"}) w.start(peer);
  w.event("p01", 500, "block.finished", kBlock);
  w.event("p00", 400, "peer.lost", R"("who":"p01","reason":"connection lost","last_seen_ns":1)");
  w.event("p02", 450, "peer.lost", R"("who":"p01","reason":"connection lost","last_seen_ns":1)");
  w.event("p01", 510, "epochs.drawn", R"("k":1)");  // read later, written before it died
  CHECK(w.status(1).state == State::lost);
  CHECK(w.pool.snapshot.now.live == 2);
  CHECK(w.changes() == std::vector<std::string>{"p01 lost (connection lost, noticed by p00)"});
  SECTION("it was a false alarm") {
    w.event("p01", 5000, "epochs.drawn", R"("k":1)");
    CHECK(w.status(1).state == State::training);
    CHECK(w.pool.snapshot.now.live == 3);
    CHECK(w.changes().back() == "p01 is back");
    w.event("p00", 5100, "peer.lost", R"("who":"p01","reason":"silent","last_seen_ns":1)");
    CHECK(w.status(1).state == State::lost);
  }
  SECTION("it starts again, a minute later") {
    w.start("p01", "10:01:00");
    CHECK(w.status(1).state == State::training);
    CHECK(w.peer(1).ended.empty());
    CHECK(w.changes().back() == "p01 is back (start 1)");
    w.event("p01", 1000, "merge.applied", R"("from":"p00","mseq":1)");
    CHECK(w.pool.merges.merges().back().at_s == Approx(61.0));
    CHECK(w.status(1).clock_s == Approx(1.0));
  }
  SECTION("what was noticed before its newest line is old news") {
    w.event("p02", 3000, "block.finished", kBlock);
    w.event("p00", 900, "peer.lost", R"("who":"p02","reason":"silent","last_seen_ns":1)");
    CHECK(w.status(2).state == State::training);
  }
}

TEST_CASE("a log that is replaced is forgotten, and a result overrules", "[watch]") {
  Watched w;
  w.start("p00");
  w.event("p00", 100, "block.finished", kBlock);
  w.track.begin_anew("p00");
  CHECK(w.status(0).samples == 0);
  CHECK(w.status(0).progress == 0.0);
  CHECK(w.pool.losses[0].means(4).empty());
  CHECK(w.track.running_on("here").size() == 1);
  CHECK(w.track.running_on("there").empty());
  w.track.end_peer("p00", false, "killed by SIGKILL");
  w.track.end_peer("p02", true, "finished");
  CHECK(w.status(0).state == State::lost);
  CHECK(w.peer(0).ended == "killed by SIGKILL");
  CHECK(w.status(2).state == State::ended);
  CHECK(w.track.running_on("here").empty());
  CHECK(w.changes() == std::vector<std::string>{"p00 lost: killed by SIGKILL"});
}

TEST_CASE("a simulation's one log holds all peers and the verdict", "[watch]") {
  Watched w;
  w.take(R"({"ev":"run.started","run":"digits","clock":"virtual","peers":101})");
  CHECK(w.pool.has_virtual_clock);
  REQUIRE(w.pool.snapshot.peers.size() == 101);
  CHECK(w.peer(99).name == "p99");
  CHECK(w.peer(100).name == "p100");  // in the order of their numbers
  w.event("p100", 10, "block.finished", kBlock);
  CHECK(w.status(100).samples == 3200);
  CHECK(w.pool.losses[100].means(4).size() > 0);
  w.event("p01", 20, "peer.lost", R"("who":"p00","reason":"connection lost")");
  CHECK(w.status(0).state == State::lost);
  w.event("p00", 21, "block.finished", kBlock);  // cut off, not dead: virtual clocks are exact
  CHECK(w.status(0).state == State::training);
  w.take(R"({"ev":"run.finished","t_ns":1,"peer":"pool","n":0,"verdict":"ok","reason":""})");
  CHECK(w.pool.verdict == "ok");
}

TEST_CASE("lines that are cut, foreign or absurd harm nothing", "[watch]") {
  const std::vector<std::string> lines{
      R"({"ev":"run.started","run":"x","peers":3,"self":"p00","time":"2026-01-02T10:00:00Z"})",
      R"({"ev":"block.finished","t_ns":5,"peer":"p00","samples":10,"steps":2,"loss":0.5})",
      R"({"ev":"merge.applied","t_ns":6,"peer":"p00","from":"p01","mseq":3})",
      R"({"ev":"peer.lost","t_ns":7,"peer":"p00","who":"p09","reason":"silent"})",
      R"({"ev":"peer.joined","t_ns":0,"peer":"p02","inc":0,"steps":10})"};
  for (const std::string& line : lines) {
    for (std::size_t cut = 0; cut < line.size(); ++cut) {
      Watched w;
      w.take(line.substr(0, cut));
      REQUIRE(w.track.unreadable_lines() == 1);
      REQUIRE(w.pool.snapshot.peers.empty());
    }
  }
  Watched w;
  for (const char* odd :
       {R"([1])", R"({"ev":3})", R"({"ev":"block.finished"})", R"({"ev":"x","peer":7})",
        R"({"ev":"run.started","peers":1e300})", R"({"ev":"run.started","peers":-5,"time":"no"})",
        R"({"ev":"block.finished","peer":"p00","samples":-1,"steps":1e300,"loss":"x"})",
        R"({"ev":"merge.applied","peer":"p00","from":[],"mseq":-3})",
        R"({"ev":"peer.lost","peer":"p00","who":""})",
        R"({"ev":"peer.lost","peer":"p05","who":"p01","reason":"a new one before the noticer"})"})
    w.take(odd);
  CHECK(w.changes().back() == "p01 lost (a new one before the noticer, noticed by p05)");
  const auto seed = 20260105u;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 5'000; ++i) {
    std::string line = lines[random() % lines.size()];
    for (auto changes = random() % 4; changes-- > 0;)
      line[random() % line.size()] = static_cast<char>(random() % 256);
    w.take(line);
  }
  CHECK(w.pool.snapshot.peers.size() == w.pool.losses.size());
}

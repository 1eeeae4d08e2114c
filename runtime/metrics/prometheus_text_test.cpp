// SPDX-License-Identifier: Apache-2.0
#include "runtime/metrics/prometheus_text.hpp"

#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

using State = PeerStatus::State;

PoolSnapshot example() {
  PoolSnapshot pool;
  pool.run = "a \"run\"\\x\n";
  pool.peers.resize(4);
  for (std::size_t i = 0; i < pool.peers.size(); ++i) {
    PeerStatus& s = pool.peers[i].status;
    pool.peers[i].name = "p0" + std::to_string(i);
    s.state = State::training;
    s.clock_s = 1.0;
    s.samples = 12345678901 + i;
    s.loss = 0.25;
    s.merges_applied = 7;
    s.merges_refused = 2;
    s.merges_skipped = 1;
    s.payload_bytes = 100;
    s.wire_bytes = 110;
    s.payload_bytes_received = 200;
    s.wire_bytes_received = 220;
    s.step_seconds.add(0.0003);
    s.step_seconds.add(99.0);
    s.inbox_depth = 3;
    s.partners_alive = 2;
  }
  pool.peers[0].status.accuracy = 0.875;
  pool.peers[0].status.test_loss = PeerStatus::kNoLoss;
  pool.peers[0].status.consensus_distance = 0.0625;
  pool.peers[1].status.state = State::lost;
  pool.peers[1].status.accuracy = 0.5;
  pool.peers[2].status = {};  // has not said a word
  pool.peers[3].status.state = State::ended;
  return pool;
}

std::string value_of(const std::string& text, const std::string& series) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
  }
  return "absent";
}

std::string of(const std::string& name, const std::string& peer, const std::string& more = "") {
  return name + R"({run="a \"run\"\\x\n",peer=")" + peer + "\"" + more + "}";
}

}  // namespace

TEST_CASE("a pool's metrics say what its peers said", "[metrics]") {
  const std::string text = prometheus_text(example());
  CHECK(value_of(text, of("hearsay_samples_total", "p00")) == "12345678901");
  CHECK(value_of(text, of("hearsay_loss", "p00", ",split=\"train\"")) == "0.25");
  CHECK(value_of(text, of("hearsay_loss", "p00", ",split=\"test\"")) == "+Inf");
  CHECK(value_of(text, of("hearsay_accuracy", "p00", ",split=\"test\"")) == "0.875");
  CHECK(value_of(text, of("hearsay_merges_total", "p00", ",verdict=\"accept\"")) == "7");
  CHECK(value_of(text, of("hearsay_merges_total", "p00", ",verdict=\"refuse\"")) == "2");
  CHECK(value_of(text, of("hearsay_merges_total", "p00", ",verdict=\"skip\"")) == "1");
  CHECK(value_of(text, of("hearsay_bytes_total", "p00", ",direction=\"sent\",kind=\"payload\"")) ==
        "100");
  CHECK(value_of(text, of("hearsay_bytes_total", "p00", ",direction=\"received\",kind=\"wire\"")) ==
        "220");
  CHECK(value_of(text, of("hearsay_inbox_depth", "p00")) == "3");
  CHECK(value_of(text, of("hearsay_partners_alive", "p00")) == "2");
  CHECK(value_of(text, of("hearsay_consensus_distance", "p00")) == "0.0625");
}

TEST_CASE("a histogram adds up from bucket to bucket", "[metrics]") {
  const std::string text = prometheus_text(example()), name = "hearsay_step_seconds";
  CHECK(value_of(text, of(name + "_bucket", "p00", ",le=\"0.00025\"")) == "0");
  CHECK(value_of(text, of(name + "_bucket", "p00", ",le=\"0.0005\"")) == "1");
  CHECK(value_of(text, of(name + "_bucket", "p00", ",le=\"10\"")) == "1");
  CHECK(value_of(text, of(name + "_bucket", "p00", ",le=\"+Inf\"")) == "2");
  CHECK(value_of(text, of(name + "_count", "p00")) == "2");
  CHECK(value_of(text, of(name + "_sum", "p00")) == "99.0003");
}

TEST_CASE("what nobody knows, or nobody measures any more, is absent", "[metrics]") {
  const std::string text = prometheus_text(example());
  for (const auto& [peer, up] : {std::pair("p00", "1"), {"p01", "0"}, {"p02", "1"}, {"p03", "0"}})
    CHECK(value_of(text, of("hearsay_peer_up", peer)) == up);
  CHECK(value_of(text, of("hearsay_samples_total", "p01")) == "12345678902");  // counters stay
  CHECK(value_of(text, of("hearsay_loss", "p01", ",split=\"train\"")) == "absent");
  CHECK(value_of(text, of("hearsay_accuracy", "p01", ",split=\"test\"")) == "absent");
  CHECK(value_of(text, of("hearsay_samples_total", "p02")) == "absent");
  CHECK(value_of(text, of("hearsay_step_seconds_count", "p02")) == "absent");
  CHECK(value_of(text, of("hearsay_loss", "p03", ",split=\"train\"")) == "0.25");
  CHECK(value_of(text, of("hearsay_inbox_depth", "p03")) == "absent");
  CHECK(prometheus_text({}).empty());
}

TEST_CASE("every family is announced once, before its samples, and has no other's", "[metrics]") {
  std::istringstream lines(prometheus_text(example()));
  std::set<std::string> families, series;
  std::string family, type;
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      CHECK(families.insert(family).second);
      CHECK(line.size() > 8 + family.size());
    } else if (line.starts_with("# TYPE ")) {
      CHECK(line.starts_with("# TYPE " + family + " "));
      type = line.substr(8 + family.size());
    } else {
      const std::string name = line.substr(0, line.find('{'));
      const std::string suffix = name.substr(std::min(family.size(), name.size()));
      CHECK(name.starts_with(family));
      CHECK((suffix.empty() != (type == "histogram")));
      CHECK((type != "counter" || family.ends_with("_total")));
      CHECK(series.insert(line.substr(0, line.rfind(' '))).second);
      CHECK(line.find("partner=") == std::string::npos);
    }
  }
  CHECK(families.size() == 11);
}

TEST_CASE("a run's name that is no UTF-8 does not spoil the page", "[metrics]") {
  PoolSnapshot pool = example();
  pool.run = "x\xff";
  const std::string text = prometheus_text(pool);
  CHECK(text.find('\xff') == std::string::npos);
  CHECK(text.find("run=\"x\xef\xbf\xbd\"") != std::string::npos);
}

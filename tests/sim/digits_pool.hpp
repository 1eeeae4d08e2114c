// SPDX-License-Identifier: Apache-2.0
// What tests of whole pools share: eight peers on generated digits, and how often which event came.
#pragma once

#include <map>
#include <string>

#include "runtime/seams/event_sink.hpp"
#include "runtime/sim/simulation.hpp"

namespace hearsay::runtime::digits_pool {

inline Spec spec(const std::string& text) { return parse_spec("--test", text); }

inline RunConfig base() {
  RunConfig c;
  c.peers = 8;
  c.data = "synthetic:digits";
  c.split = "iid";
  c.model = spec("mlp:24");
  c.epochs = 10;
  c.optimizer = spec("sgd:lr=0.05,momentum=0.9,clip=1");
  c.schedule = spec("cosine");
  c.batch = 32;
  c.merge_every = spec("1");
  c.protocol = spec("pairwise");
  c.topology = spec("uniform");
  c.merge = spec("ema:0.5");
  c.end_game = spec("off");
  c.eval_every = spec("0");
  c.net = spec("lan");
  c.compute = spec("fixed");
  c.threads = 1;
  return c;
}

class Counts final : public EventSink {
 public:
  void write(gossip::Time, std::string_view, const gossip::Event& event) override {
    ++of[std::string(event.name)];
  }
  std::map<std::string, int> of;
};

struct Ended {
  PoolResult result;
  std::map<std::string, int> events;
};

inline Ended run(const RunConfig& config) {
  static const Dataset digits = load_dataset("synthetic:digits", 1);
  Simulation simulation(config, digits);
  Counts counts;
  Ended ended;
  ended.result = simulation.run(counts, {});
  ended.events = counts.of;
  return ended;
}

}  // namespace hearsay::runtime::digits_pool

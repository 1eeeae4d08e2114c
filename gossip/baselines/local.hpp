// SPDX-License-Identifier: Apache-2.0
// Baseline `local`: every peer trains alone on its shard and never merges. 0 messages, 0 bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gossip/baselines/epoch_log.hpp"
#include "gossip/protocol.hpp"

namespace hearsay::gossip {

struct LocalSettings {
  PeerId self;
  std::uint64_t steps_per_epoch = 1, epochs = 1;
  std::uint32_t incarnation = 0;
};

class Local final : public Protocol {
 public:
  explicit Local(const LocalSettings& settings) : settings_(settings) {}
  void on(const Input& input, Time now, LocalModel& model, Actions& out) override;
  const Counters& counters() const override { return counters_; }
  void state(Archive& archive) override;

 private:
  void start(Actions& out);
  void step_done(const StepReport& report, Time now, Actions& out);
  void finish(const std::string& reason, bool alive, Actions& out);

  LocalSettings settings_;
  Counters counters_;
  EpochLog log_;
  std::optional<std::string> stop_reason_;
  bool done_ = false;
};

}  // namespace hearsay::gossip

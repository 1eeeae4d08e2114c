// SPDX-License-Identifier: Apache-2.0
// Baseline `ddp`: synchronous data-parallel SGD. After every mini-batch the gradients of all peers
// are averaged by a ring all-reduce (Patarasuk & Yuan 2009) and everyone takes the same step;
// nobody is ever ahead of anybody. Communication: 2 (n - 1) messages and 8 N (n - 1) / n bytes sent
// per peer and step. Gradients are weighted by examples, so short last mini-batches count for what
// they are. Sums run along the ring in a fixed order and the finished slices are passed on
// unchanged: all peers hold the same bits after every step.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include "gossip/baselines/epoch_log.hpp"
#include "gossip/protocol.hpp"

namespace hearsay::gossip {

struct DdpSettings {
  PeerId self;
  std::uint32_t peers = 1;
  std::uint64_t steps_per_epoch = 1,
                epochs = 1;  // the same for all peers: those of the largest shard
  std::uint32_t incarnation = 0;
};

class Ddp final : public Protocol {
 public:
  explicit Ddp(const DdpSettings& settings) : settings_(settings) {}
  void on(const Input& input, Time now, LocalModel& model, Actions& out) override;
  const Counters& counters() const override { return counters_; }
  // The ring ends with the first that is gone.
  std::uint32_t partners_alive() const override { return settings_.peers - 1; }
  void state(Archive& archive) override;

  // Values [begin, end) of slice `slice` when `size` values are cut into `peers` slices.
  struct Range {
    std::size_t begin, end;
  };
  static Range slice_range(std::size_t size, std::uint32_t peers, std::uint32_t slice);

 private:
  void start(Actions& out);
  void gradient_ready(const StepReport& report, LocalModel& model, Actions& out);
  struct Sum {  // what a slice has collected on its way round
    double examples;
    bool stop;  // someone wants to stop after this step
  };
  void send_slice(std::uint32_t slice, const Sum& sum, LocalModel& model, Actions& out);
  void take_waiting(Time now, LocalModel& model, Actions& out);
  void take_slice(const Frame& frame, Time now, LocalModel& model, Actions& out);
  // A ring with a hole cannot add up: says so, and takes nothing more.
  void break_ring(const Frame& frame, const std::string& why, Actions& out);
  void step_finished(Time now, Actions& out);
  void partner_down(PeerId who, Actions& out);
  void finish(const std::string& reason, bool alive, Actions& out);
  PeerId next() const { return PeerId((settings_.self.value + 1) % settings_.peers); }
  PeerId previous() const {
    return PeerId((settings_.self.value + settings_.peers - 1) % settings_.peers);
  }

  DdpSettings settings_;
  Counters counters_;
  EpochLog log_;
  StepReport report_;
  std::deque<Frame>
      waiting_;             // slices that came before the own gradient was ready: at most 2 (n - 1)
  std::uint32_t hops_ = 0;  // slices received in this step
  bool reducing_ = false, done_ = false;
  bool waits_for_ever_ = false;  // a slice was lost on the way
  bool wants_stop_ = false, stop_agreed_ = false;
  double own_examples_ = 0.0;  // NaN when the own loss is not finite
  double examples_ = 0.0;      // of the whole pool in this step
  std::optional<std::string> stop_reason_;
};

}  // namespace hearsay::gossip

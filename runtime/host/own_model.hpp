// SPDX-License-Identifier: Apache-2.0
// A trainer's weights as the protocol sees them: what is the same wherever they live. Probes,
// centres of crowds, digests and adoption work on host memory; the passes of a merge are
// HostModel's or DeviceModel's. Compute lane.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/local_model.hpp"
#include "runtime/host/snapshot_pool.hpp"
#include "runtime/train/trainer.hpp"

namespace hearsay::runtime {

enum class DigestMode : std::uint8_t { off, automatic, on };
// --log-digests: what `auto` means depends on the host.
inline DigestMode digest_mode(std::string_view text, DigestMode automatic) {
  return text == "on" ? DigestMode::on : text == "off" ? DigestMode::off : automatic;
}

class OwnModel : public gossip::LocalModel {
 public:
  // `worker`: whose scratch memory probes use.
  OwnModel(Trainer& trainer, SnapshotPool& pool, std::size_t worker);

  std::size_t size() const override { return size_; }
  void adopt(const merge::Snapshot& in, std::uint64_t steps) override;
  gossip::Probe probe(const merge::Snapshot* other) override;
  std::vector<double> probe_losses(const gossip::Blend* tried) override;
  merge::SnapshotRef crowd_center(const merge::CrowdRule& rule,
                                  std::span<const merge::SnapshotRef> models) override;
  std::span<float> gradient() override { return trainer_.gradient(); }
  merge::SnapshotRef copy(std::span<const float> values) override { return pool_.copy(values); }
  std::shared_ptr<merge::Snapshot> blank() override { return pool_.blank(size_); }

  // `automatic`: while digests cost less than a hundredth of the time since the first one was asked
  // for.
  void keep_digests(DigestMode mode) { digests_ = mode; }
  std::string digest() override;
  void heard(kernels::PeerId from, const merge::Snapshot& in) override;
  void set_lr_factor(double factor) override { trainer_.set_lr_factor(factor); }
  double doubt(const merge::Snapshot* model) override;
  gossip::ExampleStore* examples() override { return trainer_.example_store(worker_); }
  std::vector<gossip::Event> take_events() override { return trainer_.take_events(); }
  std::vector<float> block_sketch(const kernels::SketchPlan& plan) override;
  // Tile by tile, of the oldest digest not yet asked for: several merges may belong to one turn.
  std::vector<std::uint64_t> take_tiles();

  virtual void state(gossip::Archive& archive) = 0;  // beyond the trainer's

 protected:
  // The weights at the block's start with merges taken along, in host memory; empty: none yet.
  // The copy, where one is needed, goes into `room`.
  virtual std::span<const float> mark(kernels::Buffer<float>& room) = 0;
  virtual void forget_mark() = 0;  // of the block's start: it is worth nothing after adoption
  SnapshotPool& pool() { return pool_; }

 private:
  Trainer& trainer_;
  SnapshotPool& pool_;
  std::size_t size_;
  std::size_t worker_;
  DigestMode digests_ = DigestMode::off;
  std::deque<std::vector<std::uint64_t>> tiles_;  // of digests not yet taken
  std::chrono::steady_clock::time_point digests_since_{};
  std::chrono::nanoseconds digests_took_{0};
};

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// A trainer's weights as the protocol sees them, in host memory. Keeps a mark of the weights at the
// start of the block and moves it along with every merge, so that the block's own displacement can
// be told from what came in.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/local_model.hpp"
#include "kernels/core/workers.hpp"
#include "runtime/host/snapshot_pool.hpp"
#include "runtime/train/trainer.hpp"

namespace hearsay::runtime {

enum class DigestMode : std::uint8_t { off, automatic, on };
// --log-digests: what `auto` means depends on the host.
inline DigestMode digest_mode(std::string_view text, DigestMode automatic) {
  return text == "on" ? DigestMode::on : text == "off" ? DigestMode::off : automatic;
}

class HostModel final : public gossip::LocalModel {
 public:
  // `worker`: whose scratch memory probes use. `track_blocks` = false saves the mark (and reports
  // displacement 0).
  HostModel(Trainer& trainer, SnapshotPool& pool, std::size_t worker, bool track_blocks);

  // Threads for passes over the weights, from now on; without, the caller's own.
  void lend(kernels::Workers& workers) { lent_ = &workers; }

  std::size_t size() const override { return size_; }
  merge::SnapshotRef snapshot() override { return pool_.copy(trainer_.read_weights()); }
  kernels::MergeStats measure(const merge::Snapshot& in, const merge::Snapshot* base) override;
  void blend(double alpha, const merge::Snapshot& in, const merge::Snapshot* base) override;
  void adopt(const merge::Snapshot& in, std::uint64_t steps) override;
  gossip::Probe probe(const merge::Snapshot* other) override;
  std::vector<double> probe_losses(const gossip::Blend* tried) override;
  merge::SnapshotRef crowd_center(const merge::CrowdRule& rule,
                                  std::span<const merge::SnapshotRef> models) override;
  void begin_block() override;
  double block_displacement() override;
  std::span<float> gradient() override { return trainer_.gradient(); }
  merge::SnapshotRef copy(std::span<const float> values) override { return pool_.copy(values); }

  // `automatic`: while digests cost less than a hundredth of the time since the first one was asked
  // for.
  void keep_digests(DigestMode mode) { digests_ = mode; }
  std::string digest() override;
  // Tile by tile, of the oldest digest not yet asked for: several merges may belong to one turn.
  std::vector<std::uint64_t> take_tiles();

  void state(gossip::Archive& archive) { archive.array("mark", mark_); }  // beyond the trainer's

 private:
  kernels::Workers& workers();

  Trainer& trainer_;
  SnapshotPool& pool_;
  kernels::OneWorker alone_;
  kernels::Workers* lent_ = nullptr;
  std::size_t size_;
  std::size_t worker_;
  bool track_blocks_;
  DigestMode digests_ = DigestMode::off;
  std::deque<std::vector<std::uint64_t>> tiles_;  // of digests not yet taken
  std::chrono::steady_clock::time_point digests_since_{};
  std::chrono::nanoseconds digests_took_{0};
  kernels::Buffer<float> mark_;  // empty before the first block
};

}  // namespace hearsay::runtime

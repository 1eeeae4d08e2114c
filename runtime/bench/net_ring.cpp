// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/net_ring.hpp"

#include <limits>
#include <utility>
#include <variant>

#include "gossip/baselines/ddp.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/bench/distribution.hpp"
#include "runtime/bench/net_workload.hpp"

namespace hearsay::runtime {
namespace {

// A model of which only the gradient exists.
class GradientOnly final : public gossip::LocalModel {
 public:
  GradientOnly(std::size_t values, SnapshotPool& pool) : gradient_(values), pool_(pool) {}

  std::size_t size() const override { return gradient_.size(); }
  std::span<float> gradient() override { return gradient_.span(); }
  merge::SnapshotRef copy(std::span<const float> values) override { return pool_.copy(values); }
  std::shared_ptr<merge::Snapshot> blank() override { return pool_.blank(gradient_.size()); }

  merge::SnapshotRef snapshot() override { return nullptr; }
  kernels::MergeStats measure(const merge::Snapshot&, const merge::Snapshot*) override {
    return {};
  }
  void blend(double, const merge::Snapshot&, const merge::Snapshot*) override {}
  void adopt(const merge::Snapshot&, std::uint64_t) override {}
  gossip::Probe probe(const merge::Snapshot*) override { return {}; }
  std::vector<double> probe_losses(const gossip::Blend*) override { return {}; }
  merge::SnapshotRef crowd_center(const merge::CrowdRule&,
                                  std::span<const merge::SnapshotRef> models) override {
    return models.front();
  }
  void begin_block() override {}
  double block_displacement() override { return 0.0; }
  std::vector<float> block_sketch(const kernels::SketchPlan&) override { return {}; }

 private:
  kernels::Buffer<float> gradient_;
  SnapshotPool& pool_;
};

gossip::DdpSettings settings_for(const NetPeer& peer) {
  gossip::DdpSettings settings;
  settings.self = kernels::PeerId(peer.self());
  settings.peers = peer.processes();
  settings.steps_per_epoch = std::numeric_limits<std::uint32_t>::max();  // it never ends by itself
  return settings;
}

class Ring {
 public:
  Ring(NetPeer& peer, std::size_t values)
      : peer_(peer), model_(values, peer.snapshots()), ddp_(settings_for(peer)) {
    feed(gossip::input::Start{});
  }

  std::span<float> gradient() { return model_.gradient(); }
  void reduce() {
    reduced_ = false;
    feed(gossip::input::StepDone{{1, 0.0, 0, 0.0}});
    while (!reduced_) feed(gossip::input::FrameIn{peer_.next()});
  }

 private:
  void feed(const gossip::Input& input) {
    gossip::Actions actions;
    ddp_.on(input, gossip::Time{0}, model_, actions);
    for (gossip::Action& action : actions) {
      if (auto* send = std::get_if<gossip::action::Send>(&action)) {
        peer_.send(std::move(send->frame));
      } else if (std::holds_alternative<gossip::action::ApplyGradient>(action)) {
        reduced_ = true;
      } else if (const auto* record = std::get_if<gossip::action::Record>(&action)) {
        if (record->event.name == "fault.seen")
          throw kernels::Fault(kernels::ExitCode::check_failed, "bench net: the ring is broken");
      }
    }
  }

  NetPeer& peer_;
  GradientOnly model_;
  gossip::Ddp ddp_;
  bool reduced_ = false;
};

}  // namespace

NetReport ring_all_reduce(NetPeer& peer, std::size_t values) {
  NetReport report;
  const net_workload::Rounds rounds = net_workload::rounds_for(values);
  Ring ring(peer, values);
  for (std::uint32_t k = 0; k < rounds.total(); ++k) {
    net_workload::fill(ring.gradient(), peer.self(), k);
    peer.meet();
    const double seconds = seconds_of([&] { ring.reduce(); });
    report.wrong += net_workload::wrong_sums(ring.gradient(), peer.processes(), k);
    if (k >= rounds.warm_up) report.seconds.push_back(seconds);
  }
  report.digest = kernels::digest(ring.gradient());
  return report;
}

}  // namespace hearsay::runtime

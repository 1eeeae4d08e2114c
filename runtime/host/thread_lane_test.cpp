// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/thread_lane.hpp"

#include <atomic>
#include <numeric>

#include "runtime/sim/vector_trainer.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

struct Counting final : Trainer {
  hearsay::gossip::StepReport train(std::size_t) override { return {++steps, 0.0, 0, 0.0}; }
  hearsay::gossip::StepReport train_gradient(std::size_t) override {
    return {1000 + ++steps, 0.0, 0, 0.0};
  }
  void apply_gradient(float) override {}
  std::span<float> weights() override { return {}; }
  std::span<float> gradient() override { return {}; }
  hearsay::gossip::Probe probe(std::span<const float>, std::size_t) override { return {}; }
  std::uint64_t examples() const override { return 1; }
  void take_optimizer(hearsay::gossip::Archive&) override {}
  std::uint64_t steps_per_epoch() const override { return 1; }
  void state(hearsay::gossip::Archive&) override {}
  std::vector<std::pair<std::string_view, std::span<float>>> moments() override { return {}; }
  void skip_to(std::uint64_t) override {}
  std::uint32_t steps = 0;
};

}  // namespace

TEST_CASE(
    "every job runs once and its report is there after wait, with one thread and with several") {
  const std::size_t threads = GENERATE(1u, 2u, 4u);
  ThreadLane lane(threads);
  CHECK(lane.workers() == threads);
  std::vector<Counting> trainers(20);
  std::vector<ComputeJob> jobs(20);
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].trainer = &trainers[i];
  for (std::uint32_t round = 1; round <= 50; ++round) {
    for (auto& job : jobs) {
      job.kind = round % 2 == 0 ? ComputeJob::Kind::gradient : ComputeJob::Kind::train;
      lane.submit(job);
    }
    for (std::size_t i = jobs.size(); i-- > 0;) {
      lane.wait(jobs[i]);
      REQUIRE(jobs[i].report.samples == (round % 2 == 0 ? 1000 + round : round));
    }
  }
  ComputeJob idle;
  lane.wait(idle);  // returns at once
}

TEST_CASE("parallel_for visits every index once while jobs are in flight") {
  ThreadLane lane(3);
  Counting trainer;
  ComputeJob job;
  job.trainer = &trainer;
  lane.submit(job);
  std::vector<std::atomic<int>> hits(500);
  lane.parallel_for(hits.size(), [&](std::size_t i, std::size_t worker) {
    REQUIRE(worker < 3);
    ++hits[i];
  });
  for (const auto& h : hits) CHECK(h == 1);
  lane.parallel_for(0, [](std::size_t, std::size_t) {});
  lane.wait(job);
  CHECK(trainer.steps == 1);
  CHECK(lane.spent().other_s > 0.0);
}

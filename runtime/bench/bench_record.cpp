// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/bench_record.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/core/digest.hpp"
#include "kernels/core/errc.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/bench/bench_train.hpp"
#include "runtime/bench/distribution.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/log/input_journal.hpp"

namespace hearsay::runtime {
namespace {

using namespace std::chrono_literals;
namespace input = gossip::input;

constexpr int kRounds = 200, kEntriesARound = 1000, kMergesARound = 20;
constexpr std::uint32_t kBatch = 32;

// Gone with its folder, whatever happens.
class TemporaryJournal {
 public:
  TemporaryJournal()
      : path_((std::filesystem::temp_directory_path() /
               ("hearsay-bench-" + std::to_string(getpid()) + ".bin"))
                  .string()),
        journal_(path_, {{"bench", "record"}}) {}
  ~TemporaryJournal() { std::filesystem::remove(path_, ignored_); }
  TemporaryJournal(const TemporaryJournal&) = delete;
  TemporaryJournal& operator=(const TemporaryJournal&) = delete;
  InputJournal& operator*() { return journal_; }
  InputJournal* operator->() { return &journal_; }

 private:
  std::error_code ignored_;
  std::string path_;
  InputJournal journal_;
};

gossip::Frame frame_of(gossip::FrameKind kind, bool has_values) {
  gossip::Frame frame;
  frame.kind = kind;
  frame.from = kernels::PeerId(3);
  frame.to = kernels::PeerId(1);
  frame.seq = 7;
  frame.alpha = 0.5;
  for (std::uint32_t peer = 0; peer < 8; ++peer)
    frame.pulses.push_back({kernels::PeerId(peer), 1, 99});
  if (has_values) {
    auto values = std::make_shared<merge::Snapshot>();
    values->values = kernels::Buffer<float>(1);
    frame.values = std::move(values);
  }
  return frame;
}

std::vector<float> some_weights(const Spec& model) {
  ImageSet images;
  images.rows = images.cols = 28;
  images.classes = 10;
  std::vector<float> weights(build_model(model, images).layout().size());
  kernels::Rng rng = kernels::Rng::stream(3, "bench-record");
  for (float& w : weights) w = static_cast<float>(rng.normal());
  return weights;
}

}  // namespace

RecordCost bench_record(const Spec& model, std::uint64_t steps_between_merges) {
  RecordCost cost;
  cost.steps_between_merges = steps_between_merges;
  cost.step_s = bench_train(model, {kBatch}).front().step_p50_s;
  TemporaryJournal journal;
  Distribution entries, merges, digests;
  gossip::Time now = 0ns;
  std::uint64_t bytes = journal->bytes();
  for (int round = 0; round < kRounds; ++round) {
    entries.add(seconds_of([&] {
                  for (int i = 0; i < kEntriesARound; ++i) {
                    journal->trained();
                    journal->turn(input::StepDone{}, now += 300us);
                  }
                }) /
                kEntriesARound);
  }
  journal->flush();
  cost.entry_bytes = static_cast<double>(journal->bytes() - bytes) / (kRounds * kEntriesARound);
  bytes = journal->bytes();
  const gossip::Frame request = frame_of(gossip::FrameKind::request, true);
  for (int round = 0; round < kRounds; ++round) {
    merges.add(seconds_of([&] {
                 for (int i = 0; i < kMergesARound; ++i) {
                   journal->turn(input::FrameIn{request}, now += 1ms);
                   journal->flush();
                 }
               }) /
               kMergesARound);
  }
  cost.merge_bytes = static_cast<double>(journal->bytes() - bytes) / (kRounds * kMergesARound);
  bytes = journal->bytes();
  const std::vector<float> weights = some_weights(model);
  for (int round = 0; round < kRounds; ++round) {
    digests.add(seconds_of([&] {
      kernels::DigestBuilder builder;
      builder.add(weights);
      journal->digests(static_cast<std::uint64_t>(round), builder.tiles());
      builder.finish();
    }));
  }
  journal->flush();
  cost.merge_bytes += static_cast<double>(journal->bytes() - bytes) / kRounds;
  if (journal->failure())
    throw kernels::Fault(kernels::ExitCode::check_failed, "bench record: " + *journal->failure());
  cost.entry_s = entries.at(0.5);
  cost.merge_s = merges.at(0.5);
  cost.digest_s = digests.at(0.5);
  return cost;
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/device_api.h"
#include "kernels/cuda/snapshot_testkit.hpp"
#include "kernels/ops/merge_ops.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

// Slot 0 of `trainer`, which holds random_values(0), merges `in`, which holds `in_values`.
void check_merges(const TrainerPtr& trainer, const SnapshotPtr& in, const Values& in_values,
                  bool with_base, bool with_mark) {
  const SnapshotPtr base = take(trainer, 0);
  const Values base_values = random_values(0), moved = random_values(77);
  Values w = random_values(0), mark = random_values(78);
  std::transform(w.begin(), w.end(), moved.begin(), w.begin(), std::plus<>());  // trained on
  put(trainer, 0, w);
  done(hs_cuda_slot_put_mark(trainer.get(), 0, mark.data()));
  using Span = std::span<const float>;
  const Span base_span = with_base ? Span(base_values) : Span();
  for (const float alpha : {0.0f, 0.3f, 0.5f, 1.0f}) {
    CAPTURE(alpha);
    HsMergeStats stats{};
    done(hs_cuda_slot_measure(trainer.get(), 0, in.get(), with_base ? base.get() : nullptr,
                              with_mark, &stats));
    const MergeStats expected =
        merge_stats(w, in_values, base_span, with_mark ? Span(mark) : Span());
    CHECK(stats.displacement_sq == expected.displacement_sq);
    CHECK(stats.weights_sq == expected.weights_sq);
    CHECK(stats.local_sq == expected.local_sq);
    CHECK(stats.dot == expected.dot);
    CHECK(stats.bad == 0);
    done(hs_cuda_slot_blend(trainer.get(), 0, alpha, in.get(), with_base ? base.get() : nullptr,
                            with_mark));
    merge_blend(alpha, w, in_values, base_span,
                with_mark ? std::span<float>(mark) : std::span<float>());
    CHECK(same(weights_of(trainer, 0), w));
    CHECK(same(mark_of(trainer, 0), mark));
    double squared = 0.0;
    done(hs_cuda_slot_moved(trainer.get(), 0, &squared));
    CHECK(squared == squared_distance(w, mark));
  }
}

int device_count() {
  int why = 0;
  return hs_cuda_device_count(&why);
}

}  // namespace

TEST_CASE("a snapshot keeps its values while slots change and memory is used again") {
  const TrainerPtr trainer = make_trainer(0, 3);
  const SnapshotPtr kept = take(trainer, 0), other = take(trainer, 1, true);
  for (std::uint64_t round = 0; round < 20; ++round) {
    const Values now = random_values(100 + round);
    put(trainer, 2, now);
    const SnapshotPtr a = take(trainer, 2, true);
    take(trainer, 1, true);  // freed with its copy under way: its memory comes next
    const SnapshotPtr b = take(trainer, 2), c = take(trainer, 0, round % 2 == 0);
    CHECK(same(host_of(a), now));
    CHECK(same(host_of(b), now));
    CHECK(same(host_of(c), random_values(0)));
  }
  put(trainer, 0, random_values(9));
  put(trainer, 1, random_values(9));
  CHECK(same(host_of(kept), random_values(0)));
  CHECK(same(host_of(kept), random_values(0)));  // and again
  CHECK(same(host_of(other), random_values(1)));
}

TEST_CASE("a snapshot may outlive its trainer") {
  TrainerPtr trainer = make_trainer(0, 2);
  const SnapshotPtr kept = take(trainer, 1), sent = take(trainer, 0, true);
  trainer.reset();
  CHECK(same(host_of(kept), random_values(1)));
  CHECK(same(host_of(sent), random_values(0)));
}

TEST_CASE("merges on the device have the bits of the CPU, wherever the snapshot is") {
  const bool with_base = GENERATE(false, true), with_mark = GENERATE(false, true);
  CAPTURE(with_base, with_mark);
  const TrainerPtr trainer = make_trainer(0, 2);
  SECTION("of the same trainer") {
    check_merges(trainer, take(trainer, 1), random_values(1), with_base, with_mark);
  }
  SECTION("of host memory") {
    const Values values = random_values(5);
    HsCudaSnapshot* made = nullptr;
    done(hs_cuda_snapshot_upload(trainer.get(), values.data(), &made));
    const SnapshotPtr in(made);
    check_merges(trainer, in, values, with_base, with_mark);
  }
  SECTION("of another trainer on this device") {
    const TrainerPtr other = make_trainer(0, 3);
    check_merges(trainer, take(other, 2), random_values(2), with_base, with_mark);
  }
  SECTION("of another device, where there is one") {
    const int device = device_count() - 1;
    const TrainerPtr other = make_trainer(device, 3);
    check_merges(trainer, take(other, 2), random_values(2), with_base, with_mark);
  }
}

TEST_CASE("a snapshot that another trainer reads is not overwritten, and the newest is read") {
  const TrainerPtr mine = make_trainer(0, 1), theirs = make_trainer(device_count() - 1, 1);
  for (std::uint64_t round = 0; round < 20; ++round) {
    const Values now = random_values(200 + round);
    put(theirs, 0, now);
    {
      const SnapshotPtr in = take(theirs, 0);
      done(hs_cuda_slot_blend(mine.get(), 0, 1.0f, in.get(), nullptr, 0));  // nobody waits
    }
    put(theirs, 0, random_values(1));
    take(theirs, 0);  // in the memory of the one before
    CHECK(same(weights_of(mine, 0), now));
  }
}

TEST_CASE("a mark is the weights of its moment") {
  const TrainerPtr trainer = make_trainer(0, 2);
  done(hs_cuda_slot_mark(trainer.get(), 1));
  put(trainer, 1, random_values(0));
  CHECK(same(mark_of(trainer, 1), random_values(1)));
  double squared = 0.0;
  done(hs_cuda_slot_moved(trainer.get(), 1, &squared));
  CHECK(squared == squared_distance(random_values(0), random_values(1)));
}

TEST_CASE("values that are not finite are counted") {
  const TrainerPtr trainer = make_trainer(0, 2);
  Values broken = random_values(1);
  broken[7] = broken[20'000] = std::numeric_limits<float>::infinity();
  put(trainer, 1, broken);
  HsMergeStats stats{};
  done(hs_cuda_slot_measure(trainer.get(), 0, take(trainer, 1).get(), nullptr, 0, &stats));
  CHECK(stats.bad == 2);
}

TEST_CASE("slots that are not there are refused in one line, and the trainer goes on") {
  const TrainerPtr trainer = make_trainer(0, 2);
  HsCudaSnapshot* made = nullptr;
  CHECK(hs_cuda_snapshot_take(trainer.get(), 2, 0, &made) == 1);
  CHECK(std::string(hs_cuda_train_error()) == "there is no such slot");
  const SnapshotPtr in = take(trainer, 0);
  CHECK(hs_cuda_slot_blend(trainer.get(), 2, 0.5f, in.get(), nullptr, 0) == 1);
  CHECK(hs_cuda_slot_mark(trainer.get(), 9) == 1);
  CHECK(same(host_of(in), random_values(0)));
}

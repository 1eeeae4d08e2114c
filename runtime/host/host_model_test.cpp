// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host_model.hpp"

#include <cmath>

#include "runtime/sim/vector_trainer.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

TEST_CASE("the block displacement counts local movement and leaves merges out") {
  VectorTrainer trainer(100, 1, 0), other(100, 1, 1);
  SnapshotPool pool;
  HostModel model(trainer, pool, 0, true), theirs(other, pool, 0, true);
  CHECK(model.block_displacement() == 0.0);
  model.begin_block();
  const auto in = theirs.snapshot();
  model.blend(0.5, *in, nullptr);
  CHECK(model.block_displacement() == Approx(0.0).margin(1e-5));
  trainer.weights()[7] += 3.0f;
  CHECK(model.block_displacement() == Approx(3.0).epsilon(1e-5));
  model.begin_block();
  CHECK(model.block_displacement() == 0.0);
}

TEST_CASE(
    "a blend against a base adds the displacement between two snapshots to weights that moved on") {
  VectorTrainer trainer(4, 1, 0), other(4, 1, 1);
  SnapshotPool pool;
  HostModel model(trainer, pool, 0, false), theirs(other, pool, 0, false);
  const auto mine = model.snapshot(), in = theirs.snapshot();
  trainer.weights()[0] += 10.0f;
  model.blend(0.25, *in, mine.get());
  CHECK(trainer.weights()[0] ==
        Approx(mine->values[0] + 10.0f + 0.25f * (in->values[0] - mine->values[0])).epsilon(1e-6));
}

TEST_CASE("snapshots keep their values, are recycled, and may outlive the pool") {
  VectorTrainer trainer(1000, 1, 0);
  hearsay::merge::SnapshotRef kept;
  {
    SnapshotPool pool;
    const float* address = nullptr;
    {
      const auto first = pool.copy(trainer.weights());
      address = first->values.data();
    }
    kept = pool.copy(trainer.weights());
    CHECK(kept->values.data() == address);
    CHECK(pool.copy(std::vector<float>(10, 1.0f))->values.size() == 10);
  }
  CHECK(std::equal(kept->span().begin(), kept->span().end(), trainer.weights().begin()));
}

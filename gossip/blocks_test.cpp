// SPDX-License-Identifier: Apache-2.0
#include "gossip/blocks.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace hearsay::gossip;
using hearsay::kernels::Rng;

namespace {

double mean_k(BlockMode mode, double lambda) {
  Blocks blocks({lambda, mode, 50, 1'000'000}, Rng::stream(3, "blocks-test"));
  double sum = 0;
  const int draws = 40'000;
  for (int i = 0; i < draws; ++i) sum += static_cast<double>(blocks.next(0).k);
  return sum / draws;
}

}  // namespace

TEST_CASE("every mode has the mean its definition gives") {
  const double lambda = GENERATE(1.0, 2.0, 4.0);
  CAPTURE(lambda);
  CHECK(mean_k(BlockMode::literal, lambda) == Approx(lambda).epsilon(0.02));
  CHECK(mean_k(BlockMode::truncated, lambda) ==
        Approx(lambda / (1 - std::exp(-lambda))).epsilon(0.02));
  CHECK(mean_k(BlockMode::shifted, lambda) == Approx(lambda).epsilon(0.02));
  CHECK(mean_k(BlockMode::steps, lambda) == Approx(50 * lambda).epsilon(0.02));
}

TEST_CASE("only mode literal draws zero, and mode steps works below one epoch") {
  Blocks literal({1.0, BlockMode::literal, 10, 100}, Rng::stream(1, "b")),
      truncated({1.0, BlockMode::truncated, 10, 100}, Rng::stream(1, "b")),
      shifted({1.0, BlockMode::shifted, 10, 100}, Rng::stream(1, "b")),
      steps({0.01, BlockMode::steps, 10, 100}, Rng::stream(1, "b"));
  int zeros = 0;
  for (int i = 0; i < 1000; ++i) {
    zeros += literal.next(0).steps == 0;
    CHECK(truncated.next(0).k >= 1);
    CHECK(shifted.next(0).k == 1);
    CHECK(steps.next(0).steps >= 1);
  }
  CHECK(zeros == Approx(368).margin(60));
}

TEST_CASE("a block is cut at the budget") {
  Blocks blocks({4.0, BlockMode::truncated, 10, 3}, Rng::stream(1, "b"));
  CHECK(blocks.budget_steps() == 30);
  for (int i = 0; i < 50; ++i) CHECK(blocks.next(25).steps <= 5);
}

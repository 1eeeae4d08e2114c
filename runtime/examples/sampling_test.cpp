// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "runtime/examples/tiers.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::PeerId;
using hearsay::kernels::Rng;

namespace {

struct Shelf {
  explicit Shelf(std::size_t rows) : ledger(rows, PeerId(0), 8), present(rows, 1) {}
  ExampleLedger ledger;
  std::vector<std::uint8_t> present;
};

Look look(float confidence) {
  return {confidence, 2.0f * confidence - 1.0f, -std::log(confidence)};
}

SamplingPlan hard() {
  SamplingPlan plan;
  plan.rule = SamplingPlan::Rule::hard;
  return plan;
}

}  // namespace

TEST_CASE("uniform sampling takes each example once, and fewer of those in reserve") {
  Shelf shelf(1000);
  for (std::size_t row = 0; row < 400; ++row) shelf.ledger.tier[row] = Tier::reserve;
  for (std::size_t row = 400; row < 500; ++row) shelf.ledger.tier[row] = Tier::quarantine;
  shelf.present[999] = 0;
  Rng rng = Rng::stream(1, "sampling-test");
  const Epoch epoch = draw_epoch({}, shelf.present, shelf.ledger, 0, 0.0, 10, rng);
  const std::set<std::uint32_t> rows(epoch.rows.begin(), epoch.rows.end());
  CHECK(rows.size() == epoch.rows.size());
  CHECK(epoch.weights.empty());
  const auto reserve = std::count_if(rows.begin(), rows.end(), [](auto row) { return row < 400; });
  CHECK(std::abs(reserve - 80) < 40);  // five deviations
  CHECK(rows.size() - static_cast<std::size_t>(reserve) == 499);
  CHECK(std::none_of(rows.begin(), rows.end(), [](auto row) { return row >= 400 && row < 500; }));
  CHECK(rows.count(999) == 0);
  CHECK_FALSE(std::is_sorted(epoch.rows.begin(), epoch.rows.end()));
}

TEST_CASE("a pass has at least one example for each of its mini-batches, if there are any") {
  Shelf shelf(50);
  std::fill(shelf.ledger.tier.begin(), shelf.ledger.tier.end(), Tier::retired);
  Rng rng = Rng::stream(2, "sampling-test");
  CHECK(draw_epoch({}, shelf.present, shelf.ledger, 0, 0.0, 20, rng).rows.size() >= 20);
  CHECK(draw_epoch(hard(), shelf.present, shelf.ledger, 0, 0.0, 20, rng).rows.size() >= 20);
  std::fill(shelf.ledger.tier.begin(), shelf.ledger.tier.end(), Tier::quarantine);
  CHECK(draw_epoch(hard(), shelf.present, shelf.ledger, 0, 0.0, 20, rng).rows.size() == 20);
  std::fill(shelf.present.begin(), shelf.present.end(), 0);
  CHECK(draw_epoch({}, shelf.present, shelf.ledger, 0, 0.0, 20, rng).rows.empty());
}

TEST_CASE("hard sampling prefers what models are not sure of, and what has waited long") {
  Shelf shelf(4);
  shelf.ledger.validated(0, PeerId(1), look(0.9f), true, {});
  shelf.ledger.validated(1, PeerId(1), look(0.1f), true, {});
  shelf.ledger.validated(2, PeerId(1), look(0.9f), true, {});
  shelf.ledger.trained(0, look(0.9f), 400);
  shelf.ledger.trained(1, look(0.1f), 400);
  shelf.ledger.train_confidence[3] = 0.6f;  // never validated
  shelf.ledger.last_seen[3] = 400;
  const std::vector<double> u = sampling_weights(hard(), shelf.present, shelf.ledger, 400);
  CHECK(u[0] == Approx(0.2));
  CHECK(u[1] == Approx(1.0));
  CHECK(u[2] == Approx(0.2 * (1.0 + 0.25 * std::log1p(100.0))));
  CHECK(u[3] == Approx(0.5));
}

TEST_CASE("no example counts more than ten times the median: it may be mislabelled") {
  Shelf shelf(1001);
  for (std::size_t row = 0; row < 1001; ++row)
    shelf.ledger.validated(row, PeerId(1), look(row < 5 ? 0.001f : 0.999f), true, {});
  SamplingPlan plan = hard();
  plan.floor = 0.01;
  plan.age = 0.0;
  const std::vector<double> u = sampling_weights(plan, shelf.present, shelf.ledger, 0);
  CHECK(u[0] == Approx(10.0 * 0.011));
  CHECK(u[500] == Approx(0.011));
}

TEST_CASE("with zeta 1, weighted losses have no bias: their mean is that of all examples") {
  Shelf shelf(200);
  Rng values = Rng::stream(3, "sampling-test");
  double all = 0.0;
  for (std::size_t row = 0; row < 200; ++row) {
    const auto confidence = static_cast<float>(values.uniform());
    shelf.ledger.validated(row, PeerId(1), look(confidence), true, {});
    all += confidence / 200.0;
  }
  SamplingPlan plan = hard();
  plan.clip = 1000.0;
  Rng rng = Rng::stream(4, "sampling-test");
  double weighted = 0.0, plain = 0.0;
  constexpr int kEpochs = 400;
  for (int i = 0; i < kEpochs; ++i) {
    const Epoch epoch = draw_epoch(plan, shelf.present, shelf.ledger, 0, 1.0, 1, rng);
    REQUIRE(epoch.rows.size() == 200);
    for (const std::uint32_t row : epoch.rows) {
      weighted += epoch.weights[row] * shelf.ledger.confidence[row] / (200.0 * kEpochs);
      plain += shelf.ledger.confidence[row] / (200.0 * kEpochs);
    }
  }
  CHECK(weighted == Approx(all).epsilon(0.02));
  CHECK(plain < 0.9 * all);
  plan.clip = 1.0;
  const Epoch clipped = draw_epoch(plan, shelf.present, shelf.ledger, 0, 1.0, 1, rng);
  CHECK(*std::max_element(clipped.weights.begin(), clipped.weights.end()) == 1.0f);
  CHECK(draw_epoch(plan, shelf.present, shelf.ledger, 0, 0.0, 1, rng).weights.empty());
}

TEST_CASE("rho prefers what another model knows, not what none does") {
  Shelf shelf(3);
  for (std::size_t row = 0; row < 3; ++row)
    shelf.ledger.trained(row, look(row == 2 ? 0.9f : 0.1f), 1);
  shelf.ledger.validated(0, PeerId(1), look(0.9f), true, {});
  shelf.ledger.validated(1, PeerId(1), look(0.05f), true, {});
  shelf.ledger.validated(2, PeerId(1), look(0.95f), true, {});
  SamplingPlan plan = hard();
  plan.rule = SamplingPlan::Rule::rho;
  plan.age = 0.0;
  const std::vector<double> u = sampling_weights(plan, shelf.present, shelf.ledger, 1);
  CHECK(u[1] == Approx(0.1));
  CHECK(u[0] > 8.0 * u[1]);
  CHECK(u[2] < 2.0 * u[1]);
}

// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/passing.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::PeerId;
using hearsay::kernels::Rng;
using By = PassingPlan::By;

namespace {

constexpr std::size_t kRows = 100;

// Row i is known with confidence i / 100; even rows were with peer 5 before.
struct Shelf {
  Shelf() : ledger(kRows, PeerId(0), 8), rows(kRows), labels(kRows), confidence(kRows) {
    std::iota(rows.begin(), rows.end(), 0u);
    for (std::size_t i = 0; i < kRows; ++i) {
      confidence[i] = static_cast<float>(i) / 100.0f;
      labels[i] = static_cast<std::uint8_t>(i < 90 ? 0 : i % 10);
      if (i % 2 == 0) ledger.visitors[i].add(PeerId(5), 8);
    }
  }
  std::vector<std::uint32_t> choose(const PassingPlan& plan, std::uint32_t to, std::size_t most,
                                    std::optional<double> alike = {},
                                    std::vector<float> partner = {}) {
    const PassingChoice from{ledger, rows, labels, confidence, partner, PeerId(to), alike};
    return choose_rows(plan, from, most, rng);
  }

  ExampleLedger ledger;
  std::vector<std::uint32_t> rows;
  std::vector<std::uint8_t> labels;
  std::vector<float> confidence;
  Rng rng = Rng::stream(1, "passing-test");
};

PassingPlan by(By rule) {
  PassingPlan plan;
  plan.by = rule;
  return plan;
}

double mean(const std::vector<std::uint32_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0) / static_cast<double>(rows.size());
}

}  // namespace

TEST_CASE("by=sender offers what the own model is least sure of, new to the partner first") {
  Shelf shelf;
  CHECK(shelf.choose(by(By::sender), 3, 4) == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(shelf.choose(by(By::sender), 5, 4) == std::vector<std::uint32_t>{1, 3, 5, 7});
  CHECK(shelf.choose(by(By::sender), 3, 1000).size() == kRows);
  CHECK(shelf.choose(by(By::sender), 3, 0).empty());
}

TEST_CASE("by=receiver goes by the partner's model, by=rho by what it could still learn") {
  Shelf shelf;
  std::vector<float> partner(kRows, 0.9f);
  partner[70] = 0.1f;
  partner[2] = 0.05f;
  CHECK(shelf.choose(by(By::receiver), 3, 2, {}, partner) == std::vector<std::uint32_t>{2, 70});
  CHECK(shelf.choose(by(By::rho), 3, 1, {}, partner) == std::vector<std::uint32_t>{70});
}

TEST_CASE("rules that draw take every row at most once, and what they draw differs") {
  for (const By rule : {By::random, By::classes, By::novel, By::signed_}) {
    Shelf shelf;
    const auto first = shelf.choose(by(rule), 5, 20), second = shelf.choose(by(rule), 5, 20);
    CHECK(first.size() == 20);
    CHECK(std::set<std::uint32_t>(first.begin(), first.end()).size() == 20);
    CHECK(first != second);
    CHECK(shelf.choose(by(rule), 5, kRows).size() == kRows);
  }
}

TEST_CASE("by=classes takes as many of each class, by=novel what the partner has not had") {
  Shelf shelf;
  const auto rows = shelf.choose(by(By::classes), 3, 20);
  CHECK(std::count_if(rows.begin(), rows.end(), [](auto row) { return row < 90; }) == 10 + 1 - 1);
  const auto novel = shelf.choose(by(By::novel), 5, 30);
  CHECK(std::count_if(novel.begin(), novel.end(), [](auto row) { return row % 2 == 1; }) >= 27);
}

TEST_CASE("by=signed gives unlike partners what is hard and like ones what is easy, or reversed") {
  Shelf shelf;
  PassingPlan plan = by(By::signed_);
  plan.gain = 4.0;
  const double unlike = mean(shelf.choose(plan, 3, 20, 0.0)),
               like = mean(shelf.choose(plan, 3, 20, 1.0));
  CHECK(unlike < 30.0);
  CHECK(like > 70.0);
  plan.sign = -1;
  CHECK(mean(shelf.choose(plan, 3, 20, 0.0)) > 70.0);
  plan.sign = 0;
  CHECK(std::abs(mean(shelf.choose(plan, 3, 50, 0.0)) - 49.5) < 15.0);
}

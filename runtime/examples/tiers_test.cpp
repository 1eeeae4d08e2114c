// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/tiers.hpp"

#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::PeerId;

namespace {

constexpr std::uint32_t kPeers = 8;

Look look(float confidence) { return {confidence, 2.0f * confidence - 1.0f, 1.0f}; }

struct Shelf {
  explicit Shelf(std::size_t rows, std::uint8_t classes = 1)
      : ledger(rows, PeerId(0), kPeers), labels(rows), present(rows, 1) {
    for (std::size_t row = 0; row < rows; ++row)
      labels[row] = static_cast<std::uint8_t>(row % classes);
  }
  void all_look(std::uint32_t models, float confidence) {
    for (std::uint32_t model = 0; model < models; ++model) {
      for (std::size_t row = 0; row < ledger.rows(); ++row)
        ledger.validated(row, PeerId(model), look(confidence), true, {});
    }
  }
  std::uint64_t in(Tier tier) const {
    return count_tiers(present, ledger).rows[static_cast<std::size_t>(tier)];
  }

  ExampleLedger ledger;
  std::vector<std::uint8_t> labels, present;
};

}  // namespace

TEST_CASE("what enough models know goes to the reserve, then retires, at most 70 % of a class") {
  const RetirePlan plan;
  CHECK(reserve_models(plan, 8) == 2);
  CHECK(reserve_models(plan, 16) == 3);
  CHECK(retire_models(plan, 16) == 8);
  Shelf shelf(100, 4);
  shelf.all_look(1, 0.99f);
  retire(plan, shelf.labels, shelf.present, shelf.ledger);
  CHECK(shelf.in(Tier::active) == 100);
  shelf.all_look(3, 0.99f);
  retire(plan, shelf.labels, shelf.present, shelf.ledger);
  CHECK(shelf.in(Tier::reserve) == 100);
  retire(plan, shelf.labels, shelf.present, shelf.ledger);
  CHECK(shelf.in(Tier::retired) == 0);  // three of eight agree, four are wanted
  shelf.all_look(4, 0.99f);
  retire(plan, shelf.labels, shelf.present, shelf.ledger);
  CHECK(shelf.in(Tier::retired) == 4 * 17);  // of 25 each
  CHECK(shelf.in(Tier::reserve) == 100 - 68);
}

TEST_CASE("one that is forgotten comes back at once, and leaves room for another of its class") {
  const RetirePlan plan;
  Shelf shelf(10);
  shelf.all_look(5, 0.99f);
  retire(plan, shelf.labels, shelf.present, shelf.ledger);
  retire(plan, shelf.labels, shelf.present, shelf.ledger);
  REQUIRE(shelf.in(Tier::retired) == 7);
  REQUIRE(shelf.ledger.tier[0] == Tier::retired);
  REQUIRE(shelf.ledger.tier[9] == Tier::reserve);
  shelf.ledger.validated(0, PeerId(5), look(0.69f), true, {});
  retire(plan, shelf.labels, shelf.present, shelf.ledger);
  CHECK(shelf.ledger.tier[0] == Tier::active);
  CHECK(shelf.in(Tier::retired) == 7);
}

TEST_CASE("what is not there is neither judged nor counted") {
  Shelf shelf(10);
  shelf.present[3] = 0;
  shelf.all_look(5, 0.99f);
  retire({}, shelf.labels, shelf.present, shelf.ledger);
  CHECK(shelf.ledger.tier[3] == Tier::active);
  CHECK(shelf.in(Tier::reserve) == 9);
}

TEST_CASE("what several models find wrong and alike is put in quarantine, and may come back") {
  const QuarantinePlan plan;
  Shelf shelf(4);
  for (std::uint32_t model = 0; model < 3; ++model) {
    shelf.ledger.validated(0, PeerId(model), look(0.02f), true, {});
    shelf.ledger.validated(1, PeerId(model), look(model == 0 ? 0.5f : 0.01f), true, {});
    shelf.ledger.validated(2, PeerId(0), look(0.02f), true, {});  // one model, three times
    shelf.ledger.validated(3, PeerId(model), look(0.9f), true, {});
  }
  quarantine(plan, shelf.present, shelf.ledger);
  CHECK(shelf.ledger.tier[0] == Tier::quarantine);
  CHECK(shelf.in(Tier::quarantine) == 1);
  shelf.ledger.validated(0, PeerId(4), look(0.9f), true, {});
  quarantine(plan, shelf.present, shelf.ledger);
  CHECK(shelf.ledger.tier[0] == Tier::active);
}

// SPDX-License-Identifier: Apache-2.0
// A bucket of bytes: what it lets through in a given time, debt, and a state that goes on.
#include "gossip/bandwidth.hpp"

#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace std::chrono_literals;

constexpr double kRate = 1000.0;  // bytes a second

}  // namespace

TEST_CASE("Who starts and answers whenever it may sends no more than the rate, credit and burst") {
  for (const std::uint64_t message : {1u, 90u, 700u, 5000u}) {
    Bandwidth budget(kRate);
    double sent = 0.0;
    for (Bandwidth::Time now{0}; now <= 60s; now += 7ms) {
      for (int i = 0; i < 3; ++i) {
        const bool may = i == 0 ? budget.may_start(now) : budget.may_answer(now);
        if (!may) continue;
        budget.pay(message, now);
        sent += static_cast<double>(message);
      }
    }
    const double most = kRate * (60.0 + Bandwidth::kBurst_s + Bandwidth::kCredit_s);
    CHECK(sent <= most + static_cast<double>(message));
    const double offered = 3.0 * static_cast<double>(message) * 60.0 / 0.007;
    CHECK(sent >= 0.9 * std::min(most, offered));
  }
}

TEST_CASE("A debt is paid by time, and idle time saves up no more than the burst") {
  Bandwidth budget(kRate);
  CHECK(budget.may_start(0s));
  budget.pay(2500, 0s);
  CHECK_FALSE(budget.may_start(0s));
  CHECK(budget.may_answer(0s));  // 1500 in debt, of 2000
  budget.pay(1000, 0s);
  CHECK_FALSE(budget.may_answer(0s));
  CHECK_FALSE(budget.may_start(2400ms));
  CHECK(budget.may_start(2501ms));
  CHECK(budget.may_start(3600s));
  CHECK(budget.left() == kRate * Bandwidth::kBurst_s);
}

TEST_CASE("A budget goes on from a kept state, and refuses one that is none") {
  Bandwidth budget(kRate), again(kRate);
  budget.pay(1700, 3s);
  Archive kept;
  budget.state(kept);
  Archive from(Archive::Json::parse(kept.json().dump()), kept.arrays());
  again.state(from);
  for (const Bandwidth::Time now : {3s, 4s, 5s})
    CHECK(budget.may_start(now) == again.may_start(now));
  CHECK(budget.left() == again.left());
  for (const char* wrong : {"nan", "inf", "-inf"}) {
    Archive::Json changed = kept.json();
    changed["left"] = wrong;
    Archive bad(changed, {});
    CHECK_THROWS_AS(again.state(bad), ArchiveFault);
  }
  Archive::Json rich = kept.json();
  rich["left"] = 1e9;
  Archive bad(rich, {});
  CHECK_THROWS_AS(again.state(bad), ArchiveFault);
}

}  // namespace hearsay::gossip

// SPDX-License-Identifier: Apache-2.0
// Several runs side by side: those that differ in nothing but the seed are one group, whose numbers
// are means with 95 % intervals. Invariant: groups keep the order in which runs were named. Pure;
// any lane. Cost: runs x options.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/report/figure.hpp"
#include "runtime/report/run_facts.hpp"
#include "runtime/report/series.hpp"
#include "runtime/study/estimate.hpp"

namespace hearsay::runtime::report {

struct Group {
  std::string label;  // "protocol push, merge-every 2"; the run's name when it stands alone
  std::vector<const RunFacts*> runs;
  bool is_baseline = false;  // ddp, fedavg, diloco or local

  // Over the runs that have it.
  Estimate interval(const std::optional<double> Result::*member) const;
};

struct Comparison {
  std::vector<Group> groups;
  std::vector<std::string> differing;  // keys of the configuration, in its order
};

Comparison compare(std::span<const RunFacts> runs);

std::string group_table(const Comparison& comparison);       // HTML
std::string difference_table(const Comparison& comparison);  // HTML; empty when nothing differs
std::string comparison_finding(const Comparison& comparison);

// Figure 3: accuracy and loss against samples, seconds and bytes.
Figure curves_figure(const Comparison& comparison);

}  // namespace hearsay::runtime::report

// SPDX-License-Identifier: Apache-2.0
// The page: one HTML file that asks nobody for anything. Pictures stand in it as SVG and need no
// script; the scripts, allowed by their digest alone, add pointing, tabs and the slider. Invariant:
// all text that comes from a run is escaped. Lane: any (pure). Cost: the size of the page.
#pragma once

#include <span>
#include <string>

#include "runtime/report/comparison.hpp"
#include "runtime/report/run_facts.hpp"

namespace hearsay::runtime::report {

struct Report {
  Comparison comparison;
  std::vector<Figure> figures;  // of the first run; curves of all
  std::string headline;         // one line of findings, plain text
};

// `runs` is not empty and outlives the report.
Report make_report(std::span<const RunFacts> runs);
// `command` remakes the page.
std::string page_of(const Report& report, std::span<const RunFacts> runs,
                    const std::string& command);

// "hearsay sim --peers 8 --chaos kill=p03@40%": what was given as flags; empty without run.json.
std::string command_of(const RunFacts& run);
// As a shell word.
std::string quoted(const std::string& word);

}  // namespace hearsay::runtime::report

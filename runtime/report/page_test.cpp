// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/page.hpp"

#include <string>
#include <vector>

#include "runtime/report/figures.hpp"
#include "runtime/report/report_testkit.hpp"
#include "runtime/report/summary.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime::report {
namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

RunFacts pair_of(const std::string& first, const std::string& second) {
  TestLog log;
  for (const std::string& peer : {first, second}) {
    log.add(0.0, peer, "peer.joined", {{"inc", 0}}).block(1.0, peer, 320, 10, 0.1);
    log.add(1.0, peer, "eval.finished", {{"split", "test"}, {"loss", 0.4}, {"acc", 0.9}});
    log.add(2.0, peer, "eval.finished", {{"split", "test"}, {"loss", 0.3}, {"acc", 0.95}});
  }
  log.send(1.0, first, second, 0).merge(1.5, second, first, 0);
  return facts_of({log.log()}, {first, second});
}

std::string page_of_one(const RunFacts& facts) {
  const std::vector<RunFacts> runs{facts};
  return page_of(make_report(runs), runs, "hearsay report run");
}

RunFacts run_with(const std::string& protocol, std::uint64_t seed, double accuracy) {
  RunFacts facts = pair_of("p00", "p01");
  facts.command = "sim";
  facts.protocol = protocol;
  facts.name = facts.path = protocol + std::to_string(seed);
  facts.seed = seed;
  facts.config = {{"seed", std::to_string(seed), "flag"},
                  {"protocol", protocol, "flag"},
                  {"batch", "32", "default"}};
  facts.result = Result{};
  facts.result->accuracy_mean = accuracy;
  return facts;
}

}  // namespace

TEST_CASE("names out of a log cannot leave their place in the page") {
  const std::string evil = "</script><img src=x onerror=alert(1)>", quote = "\" onload=\"alert(1)";
  RunFacts facts = pair_of(evil, quote);
  facts.name = evil;
  facts.missing.push_back(evil);
  const std::string page = page_of_one(facts);
  CHECK(page.find("<img") == std::string::npos);
  CHECK(page.find("\" onload") == std::string::npos);
  CHECK(occurrences(page, "</script>") == 2);  // the graph's data and the page's script
  CHECK(page.find("&lt;img src=x") != std::string::npos);
}

TEST_CASE("a page asks nobody for anything") {
  const std::string page = page_of_one(pair_of("p00", "p01"));
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK(page.find("script-src 'sha256-") != std::string::npos);
  CHECK(page.find("http://") == std::string::npos);
  CHECK(page.find("https://") == std::string::npos);
  CHECK(page.find("{{") == std::string::npos);
}

TEST_CASE("figures without data say how to get them and draw no empty axes") {
  const Figure figure = benefit_figure(pair_of("p00", "p01"));
  CHECK_FALSE(figure.is_drawn());
  CHECK(figure.finding.find("+gate") != std::string::npos);
}

TEST_CASE("merges that were measured are drawn, refused ones hollow") {
  TestLog log;
  for (int i = 0; i < 2; ++i)
    log.add(1.0 + i, "p00", "merge.decided",
            {{"from", "p01"},
             {"seq", i},
             {"verdict", i == 0 ? "accept" : "refuse"},
             {"alpha", 0.5},
             {"age_samples", 32},
             {"cos", 0.5},
             {"rel_norm", 0.1},
             {"eval_before", 0.5},
             {"eval_after", 0.4 + 0.3 * i}});
  const Figure figure = benefit_figure(facts_of({log.log()}, {"p00", "p01"}));
  REQUIRE(figure.is_drawn());
  CHECK(occurrences(figure.drawing, "class=\"point\"") ==
        3);  // against age, against cosine, legend
  CHECK(occurrences(figure.drawing, "class=\"point refused\"") == 3);
  CHECK(figure.finding.find("1 merge of the 1") != std::string::npos);
}

TEST_CASE("the finding of a death names the peer, the time and what followed") {
  TestLog log;
  log.add(1.0, "p03", "peer.joined", {{"inc", 0}});
  log.send(2.0, "p01", "p02", 0).merge(3.0, "p02", "p01", 0);
  log.add(4.0, "p01", "peer.lost", {{"who", "p03"}, {"reason", "silent"}});
  const Figure figure = timeline_figure(facts_of({log.log()}, {"p01", "p02", "p03"}));
  CHECK(figure.finding.find(
            "Peer p03 died (last sign of life at 1 s); the others merged 1 time after that.") == 0);
  CHECK(occurrences(figure.drawing, "class=\"cross\"") == 2);  // its own and that of the legend
}

TEST_CASE("a run of nothing but its header still makes a page") {
  const std::string page = page_of_one(facts_of({TestLog().log()}, {}));
  CHECK(page.find("</html>") != std::string::npos);
}

TEST_CASE("runs that differ in their seeds alone are one group with an interval") {
  const std::vector<RunFacts> runs{run_with("push", 0, 0.80), run_with("push", 1, 0.82),
                                   run_with("ddp", 0, 0.90)};
  const Report report = make_report(runs);
  REQUIRE(report.comparison.groups.size() == 2);
  CHECK(report.comparison.groups[0].runs.size() == 2);
  CHECK(report.comparison.groups[0].label == "protocol push");
  CHECK(report.comparison.groups[1].is_baseline);
  CHECK(report.comparison.differing == std::vector<std::string>{"protocol"});
  const auto summary = summary_of(report, runs, "page.html");
  CHECK(summary["groups"][0]["test_acc_mean"]["mean"].get<double>() == Approx(0.81));
  CHECK(summary["groups"][0]["test_acc_mean"]["half_width_95"].get<double>() ==
        Approx(12.7062047 * 0.01));
  CHECK(summary["groups"][1]["test_acc_mean"]["half_width_95"].is_null());
  const std::string page = page_of(report, runs, "hearsay report a b c");
  CHECK(page.find("81.00 ± 12.71 %") != std::string::npos);
  CHECK(page.find("<td>push</td>") != std::string::npos);
  CHECK(page.find(">batch<") == std::string::npos);  // only what differs
}

TEST_CASE("the command of a run is what was given, as a shell reads it") {
  RunFacts facts = run_with("push", 3, 0.8);
  facts.config.push_back({"wait", "true", "flag"});
  facts.config.push_back({"chaos", "kill=p01@30%; drop=1%", "flag"});
  facts.config.push_back({"data", "idx:my files", "flag"});
  CHECK(command_of(facts) ==
        "hearsay sim --seed 3 --protocol push --wait --chaos kill=p01@30% --chaos drop=1% --data "
        "'idx:my files'");
}

TEST_CASE("a large pool stays within its size") {
  TestLog log;
  std::vector<std::string> names;
  for (int p = 0; p < 64; ++p)
    names.push_back("p" + std::to_string(p / 10) + std::to_string(p % 10));
  for (int i = 0; i < 40000; ++i) {
    const std::string &from = names[i % 64], &to = names[(i * 7 + 1 + i % 64) % 64];
    if (from == to) continue;
    log.send(i * 0.09, from, to, i).merge(i * 0.09 + 0.01, to, from, i);
    if (i % 4 == 0) log.block(i * 0.09 + 0.02, from, i, 50, 0.01);
    if (i % 16 == 0)
      log.add(i * 0.09 + 0.03, from, "eval.finished",
              {{"split", "test"}, {"loss", 0.4}, {"acc", 0.9}});
  }
  const std::string page = page_of_one(facts_of({log.log()}, names));
  CHECK(page.size() < 5'000'000);
  CHECK(page.find("every 33rd merge") != std::string::npos);
}

}  // namespace hearsay::runtime::report

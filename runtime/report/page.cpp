// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/page.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "runtime/report/figures.hpp"
#include "runtime/report/page_files.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

// 'sha256-...' of a script: the page's policy lets it run, and nothing else.
std::string script_digest(std::string_view script) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(script.data(), script.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    return "none";
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> text{};
  const int length = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(size));
  return "'sha256-" + std::string(text.begin(), text.begin() + length) + "'";
}

// Replaces {{name}} by its value; values are not looked at again.
std::string filled(std::string_view text,
                   const std::map<std::string, std::string, std::less<>>& values) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find("{{", at);
    const std::size_t close = open == text.npos ? text.npos : text.find("}}", open);
    if (close == text.npos) return out + std::string(text.substr(at));
    out += text.substr(at, open - at);
    const auto value = values.find(text.substr(open + 2, close - open - 2));
    if (value != values.end()) out += value->second;
    at = close + 2;
  }
  return out;
}

std::string fact(const std::string& term, const std::string& value) {
  return "<div><dt>" + escape(term) + "</dt><dd>" + escape(value) + "</dd></div>\n";
}

std::string deaths_of(const RunFacts& run) {
  std::vector<std::string> dead;
  for (PeerIndex peer = 0; peer < run.peers.size(); ++peer) {
    if (!run.is_dead(peer)) continue;
    const std::string& reason = run.peers[peer].reason;
    dead.push_back(run.peer_name(peer) + " at " + seconds_text(run.last_sign_s(peer)) +
                   (reason.empty() ? "" : " (" + reason + ")"));
  }
  return dead.empty() ? "nobody" : list_text(dead, 6);
}

std::string facts_of(const RunFacts& run) {
  std::string out;
  const Result none;
  const Result& r = run.result ? *run.result : none;
  out += fact("verdict", run.result ? r.verdict : "not ended");
  out += fact("accuracy, mean", or_dash(r.accuracy_mean, percent));
  out += fact("accuracy, worst peer", or_dash(r.accuracy_min, percent));
  out += fact(
      "peers",
      count_text(static_cast<double>(run.peers.size())) +
          (r.peers_lost.value_or(0.0) > 0.0 ? ", " + count_text(*r.peers_lost) + " lost" : ""));
  out += fact(run.is_virtual ? "virtual time" : "time", seconds_text(run.end_s));
  out += fact("samples", or_dash(r.samples, count_text));
  out += fact("merges applied", or_dash(r.merges_applied, count_text));
  out += fact("on the wire", or_dash(r.wire_bytes, bytes_text));
  out += fact("seed", run.seed ? std::to_string(*run.seed) : "–");
  out += fact("died", deaths_of(run));
  return out;
}

std::string missing_of(std::span<const RunFacts> runs) {
  std::string out;
  for (const RunFacts& run : runs) {
    for (const std::string& sentence : run.missing)
      out += "<li>" + (runs.size() > 1 ? escape(run.name) + ": " : std::string()) +
             escape(sentence) + "</li>\n";
    for (const Life& life : run.lives) {
      if (life.is_torn)
        out += "<li>" + escape(run.peer_name(life.peer)) +
               ": its log ends in the middle of a line, as logs of killed processes do; the rest "
               "of that line is lost.</li>\n";
    }
  }
  if (out.empty()) return out;
  return "<section class=\"missing\" aria-labelledby=\"missing\"><h2 id=\"missing\">What is "
         "missing</h2><ul>\n" +
         out + "</ul></section>\n";
}

std::string html_of(const Figure& figure, const std::string& command) {
  std::string out = "<figure id=\"" + figure.id + "\">\n<h2>" + escape(figure.title) +
                    "</h2>\n<figcaption>" + escape(figure.finding) + "</figcaption>\n";
  if (!figure.is_drawn()) return out + "</figure>\n";
  const bool scrolls_itself = figure.drawing.starts_with("<div");
  out += scrolls_itself ? figure.drawing : "<div class=\"scroll\">" + figure.drawing + "</div>\n";
  if (!figure.data.empty())
    out += "<script type=\"application/json\" id=\"" + figure.id + "-data\">" +
           script_safe(figure.data) + "</script>\n";
  out += "<p class=\"note\">" + escape(figure.note) + "</p>\n";
  out += "<details><summary>The data as a table</summary><div class=\"scroll\">" + figure.table +
         "</div></details>\n";
  return out + "<p class=\"remake\">Remade by <code>" + escape(command) +
         "</code></p>\n</figure>\n";
}

std::string comparison_of(const Comparison& comparison, std::span<const RunFacts> runs,
                          const std::string& command) {
  if (runs.size() < 2) return {};
  std::string out =
      "<section id=\"comparison\">\n<h2>The runs side by side</h2>\n<p class=\"finding\">" +
      escape(comparison_finding(comparison)) + "</p>\n<div class=\"scroll\">" +
      group_table(comparison) + "</div>\n";
  const std::string differences = difference_table(comparison);
  out += differences.empty() ? "<p>The runs differ in nothing but their seeds.</p>\n"
                             : "<div class=\"scroll\">" + differences + "</div>\n";
  return out + "<p class=\"remake\">Remade by <code>" + escape(command) +
         "</code></p>\n</section>\n";
}

std::string details_heading(std::span<const RunFacts> runs) {
  if (runs.size() < 2) return {};
  std::string out =
      "<section><h2>One of them: " + escape(runs.front().name) +
      "</h2>\n<p>The figures below show the first run. The others have pages of their own: ";
  for (std::size_t i = 1; i < runs.size() && i < 9; ++i)
    out += (i > 1 ? ", " : "") + std::string("<code>hearsay report ") +
           escape(quoted(runs[i].path)) + "</code>";
  return out + (runs.size() > 9 ? ", …" : "") + "</p></section>\n";
}

std::string navigation(const Report& report, bool has_comparison) {
  std::string out = has_comparison ? "<a href=\"#comparison\">Comparison</a>\n" : "";
  for (const Figure& figure : report.figures)
    out += "<a href=\"#" + figure.id + "\">" + escape(figure.title) + "</a>\n";
  return out;
}

}  // namespace

std::string quoted(const std::string& word) {
  const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:=,+@%^").find(c) != std::string_view::npos;
  });
  if (is_plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string command_of(const RunFacts& run) {
  if (run.command.empty()) return {};
  std::string text = "hearsay " + run.command;
  for (const ConfigEntry& entry : run.config) {
    if (entry.origin == "default" || entry.origin.starts_with("preset") || entry.origin.empty())
      continue;
    if (entry.value == "true") {
      text += " --" + entry.key;
      continue;
    }
    // Options that were given several times are one entry, joined.
    for (std::size_t at = 0; at <= entry.value.size();) {
      const std::size_t end = std::min(entry.value.find("; ", at), entry.value.size());
      text += " --" + entry.key + " " + quoted(entry.value.substr(at, end - at));
      at = end + 2;
    }
  }
  return text;
}

Report make_report(std::span<const RunFacts> runs) {
  Report report;
  report.comparison = compare(runs);
  const RunFacts& run = runs.front();
  Figure curves = curves_figure(report.comparison);
  report.headline = curves.finding;
  if (runs.size() > 1) report.figures.push_back(std::move(curves));
  report.figures.push_back(timeline_figure(run));
  report.figures.push_back(graph_figure(run));
  if (runs.size() == 1) report.figures.push_back(std::move(curves));
  report.figures.push_back(mixing_figure(run));
  report.figures.push_back(benefit_figure(run));
  report.figures.push_back(similarity_figure(run));
  report.figures.push_back(communities_figure(run));
  report.figures.push_back(ancestry_figure(run));
  report.figures.push_back(traffic_figure(run));
  report.figures.push_back(examples_figure(run));
  return report;
}

std::string page_of(const Report& report, std::span<const RunFacts> runs,
                    const std::string& command) {
  const RunFacts& run = runs.front();
  const bool is_comparison = runs.size() > 1;
  std::string figures;
  for (std::size_t i = 0; i < report.figures.size(); ++i) {
    if (is_comparison && i == 1) figures += details_heading(runs);
    figures += html_of(report.figures[i], command);
  }
  const std::string title =
      is_comparison ? "Comparison of " + plural(runs.size(), "run") : run.name;
  const std::string run_command = command_of(run);
  std::string made = "hearsay " + run.version;
  if (!run.started.empty()) made += ", started " + run.started;
  return filled(
      kPageTemplate,
      {{"title", escape(title)},
       {"policy", "default-src 'none'; style-src 'unsafe-inline'; script-src " +
                      script_digest(kPageScript) +
                      (run.thumbnails.empty() ? "" : "; img-src data:") +
                      "; base-uri 'none'; form-action 'none'"},
       {"style", std::string(kPageStyle)},
       {"script", std::string(kPageScript)},
       {"kind", is_comparison    ? "Comparison"
                : run.is_virtual ? "Simulation"
                                 : "Live pool"},
       {"headline", escape(report.headline)},
       {"facts", is_comparison ? "" : "<dl class=\"facts\">\n" + facts_of(run) + "</dl>\n"},
       {"command",
        run_command.empty() || is_comparison
            ? ""
            : "<p class=\"command\">Run by <code>" + escape(run_command) + "</code></p>\n"},
       {"missing", missing_of(runs)},
       {"navigation", navigation(report, is_comparison)},
       {"comparison", comparison_of(report.comparison, runs, command)},
       {"figures", figures},
       {"made", escape(made)}});
}

}  // namespace hearsay::runtime::report

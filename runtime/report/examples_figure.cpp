// SPDX-License-Identifier: Apache-2.0
// Figure 10: the examples that changed hands most often, what their takers learned of them, and how
// sure takers were of all that came, before and after. Pictures only where the page was asked for
// them (thumbnails.hpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/report/figures.hpp"
#include "runtime/report/journeys.hpp"
#include "runtime/report/plot.hpp"
#include "runtime/report/series.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr double kCardWidth = 222.0, kCardHeight = 92.0, kPicture = 64.0, kPlotHeight = 240.0;
constexpr std::size_t kAcross = 4;

std::string route_of(const Journey& journey, const RunFacts& facts) {
  std::vector<std::string> stops{facts.peer_name(journey.legs.front()->from)};
  for (const Delivery* leg : journey.legs) stops.push_back(facts.peer_name(leg->to));
  std::string text;
  const std::size_t n = stops.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (n > 3 && i >= 1 && i + 1 < n) {  // a card has room for three
      if (i == 1) text += " → …";
      continue;
    }
    text += (i > 0 ? " → " : "") + stops[i].substr(0, 5);
  }
  return text;
}

std::string full_route(const Journey& journey, const RunFacts& facts) {
  std::string text = facts.peer_name(journey.legs.front()->from);
  for (std::size_t i = 0; i < journey.legs.size() && i < 16; ++i)
    text += " → " + facts.peer_name(journey.legs[i]->to) + " at " +
            seconds_text(journey.legs[i]->time_s);
  return text + (journey.legs.size() > 16 ? " → …" : "");
}

std::string lesson_text(const Lesson& lesson, const RunFacts& facts) {
  return facts.peer_name(lesson.peer) + ": " + fixed(100.0 * lesson.before, 0) + " → " +
         fixed(100.0 * lesson.after, 0) + "\u00a0%";
}

std::string number_text(std::uint32_t id) { return "#" + std::to_string(id); }

void draw_card(const Journey& journey, const RunFacts& facts, double x, double y, Drawing& d) {
  d.rect(x, y, kCardWidth - 8.0, kCardHeight - 8.0, "card");
  const auto picture = facts.thumbnails.find(journey.id);
  double left = x + 10.0;
  std::string title = number_text(journey.id);
  if (picture != facts.thumbnails.end()) {
    title += ", label " + std::to_string(picture->second.label);
    d.image(x + 8.0, y + 10.0, kPicture, picture->second.png,
            title + ": " + full_route(journey, facts));
    left = x + kPicture + 15.0;
  }
  d.text(left, y + 20.0, title, "strong");
  d.text(left, y + 38.0, "moved " + plural(journey.legs.size(), "time"), "small");
  d.text(left, y + 55.0, route_of(journey, facts), "small");
  if (!journey.lessons.empty())
    d.text(left, y + 72.0, lesson_text(*journey.lessons.back(), facts), "small");
}

// Mean confidence after an epoch, by tenths of the confidence before.
void draw_learning(const RunFacts& facts, double top, Drawing& d) {
  std::array<double, 10> sum{}, count{};
  for (const Lesson& lesson : facts.lessons) {
    const auto tenth = std::min<std::size_t>(9, static_cast<std::size_t>(lesson.before * 10.0));
    sum[tenth] += lesson.after;
    count[tenth] += 1.0;
  }
  Plot plot = Plot::at(0.0, top, 445.0, kPlotHeight);
  plot.x_unit = plot.y_unit = Unit::percent;
  plot.x_label = "confidence of the taker on arrival";
  plot.y_label = "mean confidence an epoch later";
  plot.draw_axes(d);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (count[i] == 0.0) continue;
    const double from = plot.x.at(static_cast<double>(i) / 10.0) + 2.0;
    const double width = plot.x.at(0.1) - plot.x.at(0.0) - 4.0, y = plot.y.at(sum[i] / count[i]);
    d.rect(from, y, width, plot.y.from_px - y, "gain",
           "on arrival " + std::to_string(10 * i) + " to " + std::to_string(10 * i + 10) +
               " %: " + percent(sum[i] / count[i]) + " an epoch later, of " +
               plural(static_cast<std::size_t>(count[i]), "example"),
           "data-m");
  }
  PathText same;
  same.add(plot.x.at(0.0), plot.y.at(0.0));
  same.add(plot.x.at(1.0), plot.y.at(1.0));
  d.path(same.text(), "even");
}

// How many examples moved once, twice, and so on; the last bar holds all that moved more often.
void draw_moves(const std::vector<Journey>& journeys, double top, Drawing& d) {
  constexpr std::size_t kMostBars = 12;
  std::array<double, kMostBars> count{};
  for (const Journey& journey : journeys)
    count[std::min(kMostBars, journey.legs.size()) - 1] += 1.0;
  std::size_t bars = std::min(kMostBars, journeys.front().legs.size());
  bars = std::max<std::size_t>(bars, 4);
  Plot plot = Plot::at(455.0, top, 445.0, kPlotHeight);
  plot.x = {0.0, 0.0, plot.x.from_px, plot.x.to_px};  // places are labelled here
  plot.y.high = *std::max_element(count.begin(), count.end());
  plot.y_unit = Unit::count;
  plot.y_label = "examples by moves";
  plot.draw_axes(d);
  const double width = (plot.x.to_px - plot.x.from_px) / static_cast<double>(bars);
  for (std::size_t i = 0; i < bars; ++i) {
    const double x = plot.x.from_px + static_cast<double>(i) * width, y = plot.y.at(count[i]);
    const std::string moves = std::to_string(i + 1) + (i + 1 == kMostBars ? "+" : "");
    d.rect(x + 0.1 * width, y, 0.8 * width, plot.y.from_px - y, "bytes-sent",
           count_text(count[i]) + " examples moved " + moves + (i == 0 ? " time" : " times"),
           "data-m");
    d.text(x + 0.5 * width, plot.y.from_px + 19.0, moves, "tick", Drawing::Anchor::middle);
  }
  d.text(plot.x.to_px, plot.y.from_px + 37.0, "moves", "label", Drawing::Anchor::end);
}

double moves_of(const RunFacts& facts) {
  double moves = 0.0;
  for (const Delivery& delivery : facts.deliveries) moves += static_cast<double>(delivery.taken);
  return moves;
}

std::string finding_of(const RunFacts& facts, const std::vector<Journey>& journeys) {
  const Journey& most = journeys.front();
  std::string text = count_text(static_cast<double>(journeys.size())) + " examples changed hands " +
                     count_text(moves_of(facts)) + " times, " + number_text(most.id) +
                     " the most (" + std::to_string(most.legs.size()) + ").";
  if (facts.lessons.empty()) return text;
  std::vector<double> before, after;
  std::size_t rose = 0;
  for (const Lesson& lesson : facts.lessons) {
    before.push_back(lesson.before);
    after.push_back(lesson.after);
    rose += lesson.after > lesson.before ? 1 : 0;
  }
  return text + " Takers gave their label " + percent(quantile(before, 0.5)) + " on arrival and " +
         percent(quantile(after, 0.5)) + " an epoch later (medians of " +
         count_text(static_cast<double>(before.size())) + "); " +
         percent(static_cast<double>(rose) / static_cast<double>(before.size())) + " rose.";
}

std::string table_of(const RunFacts& facts, const std::vector<Journey>& journeys) {
  TableText table({"example", "label", "moves", "route", "confidence, before and an epoch later"},
                  "The examples that moved most");
  for (std::size_t i = 0; i < journeys.size() && i < kMostJourneys; ++i) {
    const Journey& journey = journeys[i];
    std::string learned;
    for (const Lesson* lesson : journey.lessons)
      learned += (learned.empty() ? "" : ", ") + lesson_text(*lesson, facts);
    const auto picture = facts.thumbnails.find(journey.id);
    table.row({number_text(journey.id),
               picture == facts.thumbnails.end() ? "–" : std::to_string(picture->second.label),
               std::to_string(journey.legs.size()), full_route(journey, facts),
               learned.empty() ? "–" : learned});
  }
  return std::move(table).finish();
}

std::string without_ids(const RunFacts& facts) {
  if (moves_of(facts) == 0.0)
    return "No examples changed hands. With --share hard peers pass some on after merges, which "
           "gives up their privacy.";
  return "Examples changed hands " + count_text(moves_of(facts)) +
         " times. Which ones, and what was learned of them, was not logged: --log-examples does.";
}

}  // namespace

Figure examples_figure(const RunFacts& facts) {
  Figure figure{"examples", "Which examples travelled, and what came of it", "", "", "", "", ""};
  const std::vector<Journey> journeys = journeys_of(facts);
  if (journeys.empty()) {
    figure.finding = without_ids(facts);
    return figure;
  }
  figure.finding = finding_of(facts, journeys);
  const std::size_t cards = std::min(kMostJourneys, journeys.size());
  const double rows = static_cast<double>((cards + kAcross - 1) / kAcross);
  const double plots = 8.0 + rows * kCardHeight;
  Drawing d(plots + kPlotHeight, "The examples that changed hands most often", "examples");
  for (std::size_t i = 0; i < cards; ++i)
    draw_card(journeys[i], facts, 8.0 + static_cast<double>(i % kAcross) * kCardWidth,
              static_cast<double>(i / kAcross) * kCardHeight, d);
  if (!facts.lessons.empty()) draw_learning(facts, plots, d);
  draw_moves(journeys, plots, d);
  figure.drawing = std::move(d).finish();
  if (!facts.lessons.empty())
    figure.drawing += legend(
        {{"gain", "bar", "confidence an epoch after arrival"}, {"even", "dash", "as on arrival"}});
  figure.note = "The " + plural(cards, "example") +
                " that moved most; the last line of a card is what the newest taker made of it, in "
                "percent, on arrival and an epoch later.";
  figure.note += facts.thumbnails.empty()
                     ? " hearsay report --thumbnails adds their pictures."
                     : " This page shows raw data of the run: whoever gets it sees them.";
  figure.table = table_of(facts, journeys);
  return figure;
}

}  // namespace hearsay::runtime::report

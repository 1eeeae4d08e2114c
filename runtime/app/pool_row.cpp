// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/pool_row.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "runtime/app/pool_numbers.hpp"
#include "runtime/app/result_json.hpp"

namespace hearsay::runtime {
namespace {

using State = PeerStatus::State;

struct StateSign {
  const char *glyph, *ascii, *word;
  Style style;
};

StateSign sign_of(State state) {
  switch (state) {
    case State::starting: return {"○", ".", "starts", Style::dim};
    case State::training: return {"●", "*", "trains", Style::good};
    case State::waiting: return {"◐", "~", "waits", Style::waiting};
    case State::lingering: return {"◇", "-", "serves", Style::busy};
    case State::ended: return {"✓", "+", "ended", Style::good};
    case State::lost: return {"✗", "x", "lost", Style::bad};
  }
  return {"?", "?", "?", Style::plain};
}

std::string fixed(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

const char* heading_of(Field field) {
  switch (field) {
    case Field::name: return "peer";
    case Field::bar: return "progress";
    case Field::loss: return "loss";
    case Field::accuracy: return "acc";
    case Field::speed: return "speed";
    case Field::partner: return "partner";
    case Field::bytes: return "sent";
    default: return "";
  }
}

bool is_number(Field field) {
  return field == Field::loss || field == Field::accuracy || field == Field::speed ||
         field == Field::bytes;
}

void add_bar(StyledLine& line, double progress, int width, bool utf8) {
  // In half columns, of which ASCII shows the whole ones.
  const int halves = static_cast<int>(std::clamp(progress, 0.0, 1.0) * 2 * width + 1e-9);
  std::string done, rest;
  for (int i = 0; i < halves / 2; ++i) done += utf8 ? "━" : "#";
  if (utf8 && halves % 2 == 1) done += "╸";
  for (int i = columns_of(done); i < width; ++i) rest += utf8 ? "─" : "-";
  line.add(done, Style::busy);
  line.add(rest, Style::dim);
}

std::string partner_of(const PeerStatus& status, int width) {
  if (status.partner.empty()) return "-";
  const std::string alpha = fixed(" %.2f", status.alpha);
  const std::string name = printable(status.partner);
  return std::string(first_columns(name, width - columns_of(alpha))) + alpha;
}

std::string spark_of(const RowLook& look, const LossHistory& losses, int width) {
  return look.scale ? sparkline(losses.means(width), *look.scale, look.utf8) : std::string();
}

void add_field(StyledLine& line, const RowLook& look, const PeerView& view,
               const LossHistory& losses, const Column& column) {
  const PeerStatus& status = view.status;
  const StateSign sign = sign_of(status.state);
  const bool trained = has_trained(status);
  const double progress = std::clamp(status.progress, 0.0, 1.0);
  line.gap(column.gap);
  switch (column.field) {
    case Field::name: line.add_left(printable(view.name), column.width); break;
    case Field::glyph: line.add(look.utf8 ? sign.glyph : sign.ascii, sign.style); break;
    case Field::word: line.add_left(sign.word, column.width, sign.style); break;
    case Field::bar: add_bar(line, progress, column.width, look.utf8); break;
    case Field::percent:
      line.add_right(fixed("%.0f%%", std::floor(100.0 * progress + 1e-9)), column.width);
      break;
    case Field::loss: line.add_right(trained ? loss_text(status.loss) : "-", column.width); break;
    case Field::spark:
      line.add_left(spark_of(look, losses, column.width), column.width, Style::busy);
      break;
    case Field::accuracy:
      line.add_right(status.accuracy < 0.0 ? "-" : fixed("%.3f", status.accuracy), column.width);
      break;
    case Field::speed:
      line.add_right(trained ? rate_text(status.samples_per_s) : "-", column.width, Style::dim);
      break;
    case Field::partner: line.add_left(partner_of(status, column.width), column.width); break;
    case Field::bytes:
      line.add_right(human_bytes(static_cast<double>(status.payload_bytes)), column.width,
                     Style::dim);
      break;
  }
}

bool fits_after_percent(const RowLook& look, int room, const std::string& text) {
  int used = 2;
  for (const Column& column : look.columns) {
    if (column.field <= Field::percent) used += column.gap + column.width;
  }
  return used + columns_of(text) <= room;
}

}  // namespace

StyledLine pool_heading(const RowLook& look) {
  StyledLine line;
  int begin = 0;
  for (const Column& column : look.columns) {
    begin += column.gap;
    const std::string_view text = heading_of(column.field);
    // "peer" and "progress" may stand over the next column too, which has no heading.
    if (!text.empty()) {
      line.gap(begin - line.columns() +
               (is_number(column.field) ? std::max(column.width - columns_of(text), 0) : 0));
      line.add(text, Style::dim);
    }
    begin += column.width;
  }
  return line;
}

StyledLine pool_row(const RowLook& look, const PeerView& view, const LossHistory& losses) {
  const bool tells_why = view.status.state == State::lost && !view.ended.empty();
  const std::string why = printable(view.ended);
  const int room = std::accumulate(
      look.columns.begin(), look.columns.end(), 0,
      [](int sum, const Column& column) { return sum + column.gap + column.width; });
  StyledLine line;
  for (const Column& column : look.columns) {
    // In place of the bar where there is no room beside it.
    const bool is_measured = column.field >= Field::loss;
    const bool is_tight = column.field >= Field::bar && !fits_after_percent(look, room, why);
    if (tells_why && (is_measured || is_tight)) {
      line.gap(2);
      line.add(why, Style::bad);
      break;
    }
    add_field(line, look, view, losses, column);
  }
  return line;
}

}  // namespace hearsay::runtime

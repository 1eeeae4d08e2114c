// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/progress_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "runtime/app/result_json.hpp"

namespace hearsay::runtime {
namespace {

std::string number(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::string clock_text(double seconds) {
  const long s = std::lround(std::clamp(seconds, 0.0, 3.6e8));
  char text[32];
  std::snprintf(text, sizeof text, "%02ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  return text;
}

std::string short_count(double count) {
  if (count < 1e4) return number("%.0f", count);
  return count < 1e7 ? number("%.0fk", count / 1e3) : number("%.1fM", count / 1e6);
}

std::string rate_text(double per_second) {
  if (per_second < 999.5) return number("%.0f/s", per_second);
  if (per_second < 99.95e3) return number("%.1fk/s", per_second / 1e3);
  return per_second < 999.5e3 ? number("%.0fk/s", per_second / 1e3)
                              : number("%.1fM/s", per_second / 1e6);
}

std::string loss_text(double loss) {
  if (!std::isfinite(loss)) return std::isnan(loss) ? "nan" : "inf";
  if (loss < 9.9995) return number("%.3f", loss);
  return loss < 999.995 ? number("%.2f", loss) : number("%.0e", loss);
}

const char* plus_minus(bool utf8) { return utf8 ? "\u00b1" : "+-"; }

std::string accuracy_text(double accuracy) { return number("acc %.3f", accuracy); }

std::string merges_text(const PoolNumbers& numbers, bool always_refused) {
  std::string text = "merges " + std::to_string(numbers.merges);
  if (always_refused || numbers.refused > 0) {
    text += " (" + std::to_string(numbers.refused) + " refused)";
  }
  return text;
}

std::string progress_line(const PoolNumbers& numbers, bool utf8) {
  std::string line = std::to_string(numbers.live) + "/" + std::to_string(numbers.peers) +
                     " peers  samples " + short_count(static_cast<double>(numbers.samples));
  if (!std::isnan(numbers.loss_mean)) {
    line += "  loss " + loss_text(numbers.loss_mean) + plus_minus(utf8) +
            loss_text(numbers.loss_deviation);
  }
  if (!std::isnan(numbers.accuracy)) line += "  " + accuracy_text(numbers.accuracy);
  return line + "  " + merges_text(numbers, true) + "  sent " +
         human_bytes(static_cast<double>(numbers.payload_bytes));
}

}  // namespace hearsay::runtime

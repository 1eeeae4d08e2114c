// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/bandwidth.hpp"

#include <string_view>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

std::optional<double> parse_bandwidth(const std::string& flag, const std::string& text) {
  if (text == "off") return std::nullopt;
  constexpr double kKi = 1024.0;
  constexpr std::pair<std::string_view, double> kUnits[] = {{"GiB/s", kKi * kKi * kKi},
                                                            {"MiB/s", kKi * kKi},
                                                            {"KiB/s", kKi},
                                                            {"GB/s", 1e9},
                                                            {"MB/s", 1e6},
                                                            {"kB/s", 1e3},
                                                            {"Gb/s", 1e9 / 8.0},
                                                            {"Mb/s", 1e6 / 8.0},
                                                            {"kb/s", 1e3 / 8.0},
                                                            {"B/s", 1.0}};
  for (const auto& [unit, bytes] : kUnits) {
    if (text.size() <= unit.size() || !text.ends_with(unit)) continue;
    const double rate = bytes * parse_number(flag, text.substr(0, text.size() - unit.size()));
    if (rate >= 1.0 && rate <= 1e15) return rate;
    throw kernels::UsageError(flag + " " + text + ": 1 byte to 1e15 bytes a second, or off");
  }
  throw kernels::UsageError(flag + " " + text +
                            ": write a number with its unit, such as 10MiB/s, 500kB/s or 100Mb/s "
                            "(bits), or off");
}

}  // namespace hearsay::runtime

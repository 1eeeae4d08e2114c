// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/progress.hpp"

#include <cmath>
#include <cstdio>

#include "runtime/app/result_json.hpp"

namespace hearsay::runtime {
namespace {

std::string hms(double seconds) {
  const long s = std::lround(seconds);
  char text[32];
  std::snprintf(text, sizeof text, "%02ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  return text;
}

std::string thousands(double count) {
  char text[32];
  std::snprintf(text, sizeof text,
                count < 1e4   ? "%.0f"
                : count < 1e7 ? "%.0fk"
                              : "%.1fM",
                count < 1e4   ? count
                : count < 1e7 ? count / 1e3
                              : count / 1e6);
  return text;
}

}  // namespace

ProgressPrinter::ProgressPrinter(std::uint32_t peers, bool quiet)
    : peers_(peers), quiet_(quiet), start_(std::chrono::steady_clock::now()), last_(start_) {}

std::string ProgressPrinter::clock() const {
  return hms(std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
}

void ProgressPrinter::tick(const std::function<SimProgress()>& numbers) {
  const auto now = std::chrono::steady_clock::now();
  if (quiet_ || now - last_ < kInterval) return;
  last_ = now;
  const SimProgress p = numbers();
  std::string line = "[" + clock() + "] " + std::to_string(p.live) + "/" + std::to_string(peers_) +
                     " peers  samples " + thousands(static_cast<double>(p.samples));
  char part[128];
  std::snprintf(part, sizeof part, "  loss %.3f+-%.3f", p.loss_mean, p.loss_deviation);
  line += part;
  if (!std::isnan(p.accuracy)) {
    std::snprintf(part, sizeof part, "  acc %.3f", p.accuracy);
    line += part;
  }
  line += "  merges " + std::to_string(p.merges) + " (" + std::to_string(p.refused) +
          " refused)  sent " + human_bytes(static_cast<double>(p.payload_bytes));
  if (p.progress > 0.01) {
    const double spent = std::chrono::duration<double>(now - start_).count();
    line += "  left " + hms(spent * (1.0 - p.progress) / p.progress);
  }
  std::fprintf(stderr, "%s\n", line.c_str());
}

void ProgressPrinter::notice(gossip::Time virtual_time, const std::string& line) {
  if (quiet_ || ++notices_ > kMostNotices) return;
  std::fprintf(stderr, "[%s] virtual %.3f s: %s\n", clock().c_str(),
               std::chrono::duration<double>(virtual_time).count(), line.c_str());
  if (notices_ == kMostNotices) std::fprintf(stderr, "further changes are in events.jsonl only\n");
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/progress.hpp"

#include <cstdio>

#include "runtime/app/progress_text.hpp"
#include "runtime/app/terminal.hpp"

namespace hearsay::runtime {

ProgressPrinter::ProgressPrinter(std::uint32_t peers, bool quiet)
    : peers_(peers),
      quiet_(quiet),
      utf8_(speaks_utf8(process_environment())),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

double ProgressPrinter::spent_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void ProgressPrinter::tick(const std::function<SimProgress()>& numbers) {
  const auto now = std::chrono::steady_clock::now();
  if (quiet_ || now - last_ < kInterval) return;
  last_ = now;
  const SimProgress p = numbers();
  const PoolNumbers pool{p.live,     peers_,   p.samples, p.loss_mean,    p.loss_deviation,
                         p.accuracy, p.merges, p.refused, p.payload_bytes};
  std::string line = "[" + clock_text(spent_s()) + "] " + progress_line(pool, utf8_);
  if (p.progress > 0.01) {
    line += "  left " + clock_text(spent_s() * (1.0 - p.progress) / p.progress);
  }
  std::fprintf(stderr, "%s\n", line.c_str());
}

void ProgressPrinter::notice(gossip::Time virtual_time, const std::string& line) {
  if (quiet_ || ++notices_ > kMostNotices) return;
  std::fprintf(stderr, "[%s] virtual %.3f s: %s\n", clock_text(spent_s()).c_str(),
               std::chrono::duration<double>(virtual_time).count(), line.c_str());
  if (notices_ == kMostNotices) std::fprintf(stderr, "further changes are in events.jsonl only\n");
}

}  // namespace hearsay::runtime

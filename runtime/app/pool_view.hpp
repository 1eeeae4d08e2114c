// SPDX-License-Identifier: Apache-2.0
// Shows a live pool to people: a table that is redrawn in place on a terminal, else one line an
// interval and one line a change. The cursor always waits below the table, so whoever ends the
// program, and whenever, the last state stays readable. Invariant: never waits for a terminal that
// takes nothing (Ctrl-S): that frame is left out and its notices come with the next.
// Lane: the launcher's thread. Cost: one write of a few kilobytes an update.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/app/loss_history.hpp"
#include "runtime/config/config.hpp"
#include "runtime/launch/pool_display.hpp"

namespace hearsay::runtime {

class PoolView final : public PoolDisplay {
 public:
  enum class Mode { silent, plain, terminal };
  struct Options {
    Mode mode = Mode::plain;
    bool utf8 = false;
    int fd = 2;
    std::function<double()> seconds;  // since the run began; the time since construction when empty
  };

  explicit PoolView(Options options);
  // What stderr and the environment allow.
  static Options options_for(bool quiet, const Environment& environment);

  void update_pool(const PoolNow& now) override { now_ = now; }
  void update(const std::vector<PeerView>& peers) override;
  void notice(const std::string& text) override;

 private:
  static constexpr double kFirstLine_s = 2.0, kInterval_s = 10.0;  // of plain mode
  // Notices, while the terminal takes nothing; in plain mode, between two lines of progress.
  static constexpr std::size_t kMostPending = 100;
  void print_line();
  void redraw();
  int lines_up(int columns, int rows) const;
  void write_all(std::string_view text);

  Options options_;
  std::optional<PoolNow> now_;
  std::vector<PeerView> peers_;
  std::vector<LossHistory> losses_;
  double next_line_s_ = kFirstLine_s;
  std::vector<std::string> pending_;   // notices not yet on the terminal
  std::size_t said_ = 0, unsaid_ = 0;  // in plain mode; beyond kMostPending
  std::vector<int> drawn_;             // columns of each line of the table on the screen
};

}  // namespace hearsay::runtime

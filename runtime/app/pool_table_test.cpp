// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/pool_table.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/app/pool_columns.hpp"
#include "runtime/app/pool_numbers.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

using State = PeerStatus::State;
using Lines = std::vector<std::string>;

std::vector<PeerView> example() {
  std::vector<PeerView> peers(4);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    PeerStatus& status = peers[i].status;
    peers[i].name = "p0" + std::to_string(i);
    status.state = State::training;
    status.clock_s = 20.0;
    status.progress = 0.625;
    status.epochs = 5.0;
    status.samples = 37500;
    status.samples_per_s = 3125.0;
    status.merges = 12;
    status.merges_applied = 24;
    status.payload_bytes = 6291456;
    status.loss = 0.25;
    status.accuracy = 0.875;
    status.evaluated_epochs = 5.0;
    status.partner = "p03";
    status.alpha = 0.5;
  }
  peers[1].status.state = State::waiting;
  peers[1].status.progress = 0.5;
  peers[1].status.merges_refused = 2;
  peers[2].status = {};
  peers[3].status.state = State::lost;
  peers[3].ended = "killed by SIGKILL";
  return peers;
}

std::vector<LossHistory> example_losses() {
  std::vector<LossHistory> losses(4);
  for (int step = 0; step <= 60; ++step) losses[0].add(step / 96.0, 2.0 / (1 + step));
  for (int step = 0; step <= 48; ++step) losses[1].add(step / 96.0, 2.0 / (1 + step));
  return losses;
}

Lines drawn(const std::vector<PeerView>& peers, int columns, int rows, bool utf8 = true) {
  const std::vector<LossHistory> losses = example_losses();
  Lines lines;
  for (const StyledLine& line : draw_pool({peers, losses, 31.0, utf8, {}}, columns, rows)) {
    lines.push_back(line.plain());
  }
  return lines;
}

std::string joined(const Lines& lines) {
  std::string text = "\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("a pool at 100 columns shows everything", "[app]") {
  CHECK(joined(drawn(example(), 100, 20)) == R"(
peer          progress                 loss                     acc    speed  partner         sent
p00 ● trains  ━━━━━━━━━━──────  62%   0.250 █▅▄▃▃▂▂▂▁▁▁       0.875   3.1k/s  p03 0.50     6.0 MiB
p01 ◐ waits   ━━━━━━━━────────  50%   0.250 █▅▄▃▃▂▂▂▁         0.875   3.1k/s  p03 0.50     6.0 MiB
p02 ○ starts  ────────────────   0%       -                       -        -  -                0 B
p03 ✗ lost    ━━━━━━━━━━──────  62%  killed by SIGKILL
00:00:31  left 00:00:20  3/4 peers  merges 36 (2 refused)  sent 18.0 MiB  acc 0.875
)");
}

TEST_CASE("a pool at 80 columns has shorter bars", "[app]") {
  CHECK(joined(drawn(example(), 80, 20)) == R"(
peer          progress        loss            acc    speed  partner         sent
p00 ● trains  ━━━━───  62%   0.250 ▇▄▂▂▁    0.875   3.1k/s  p03 0.50     6.0 MiB
p01 ◐ waits   ━━━╸───  50%   0.250 ▇▄▂▂     0.875   3.1k/s  p03 0.50     6.0 MiB
p02 ○ starts  ───────   0%       -              -        -  -                0 B
p03 ✗ lost    ━━━━───  62%  killed by SIGKILL
00:00:31  left 00:00:20  3/4 peers  merges 36 (2 refused)  sent 18.0 MiB
acc 0.875  loss 0.250±0.000  samples 112k
)");
}

TEST_CASE("a pool at 40 columns keeps state, progress, loss and accuracy", "[app]") {
  CHECK(joined(drawn(example(), 40, 20)) == R"(
peer          progress       loss    acc
p00 ● trains  ━━━╸──  62%   0.250  0.875
p01 ◐ waits   ━━━───  50%   0.250  0.875
p02 ○ starts  ──────   0%       -      -
p03 ✗ lost    killed by SIGKILL
00:00:31  left 00:00:20  3/4 peers
merges 36 (2 refused)  sent 18.0 MiB
)");
}

TEST_CASE("without UTF-8 the same table is ASCII", "[app]") {
  CHECK(joined(drawn(example(), 80, 20, false)) == R"(
peer          progress        loss            acc    speed  partner         sent
p00 * trains  ####---  62%   0.250 *-.._    0.875   3.1k/s  p03 0.50     6.0 MiB
p01 ~ waits   ###----  50%   0.250 *-..     0.875   3.1k/s  p03 0.50     6.0 MiB
p02 . starts  -------   0%       -              -        -  -                0 B
p03 x lost    ####---  62%  killed by SIGKILL
00:00:31  left 00:00:20  3/4 peers  merges 36 (2 refused)  sent 18.0 MiB
acc 0.875  loss 0.250+-0.000  samples 112k
)");
}

TEST_CASE("no window is too small or too wide", "[app]") {
  std::vector<PeerView> peers = example();
  peers[0].name = "a name that is longer than any window";
  peers[0].status.loss = 1e300;
  peers[0].status.samples_per_s = 1e300;
  peers[0].status.progress = 7.0;
  peers[0].status.partner = "\x1b[2J\xff";
  peers[1].status.payload_bytes = ~0ull;
  peers.resize(9, peers[1]);
  for (const bool utf8 : {true, false}) {
    for (int columns = -1; columns <= 130; ++columns) {
      for (int rows = 1; rows <= 14; ++rows) {
        CAPTURE(columns, rows, utf8);
        const Lines lines = drawn(peers, columns, rows, utf8);
        REQUIRE(!lines.empty());
        REQUIRE(static_cast<int>(lines.size()) <= rows);
        for (const std::string& line : lines) {
          CAPTURE(line);
          REQUIRE(columns_of(line) <= std::clamp(columns, 1, kWidestTable));
          REQUIRE(line.find('\x1b') == std::string::npos);
          if (!utf8) REQUIRE(printable(line) == line);
        }
      }
    }
  }
}

TEST_CASE("more peers than rows are counted", "[app]") {
  std::vector<PeerView> peers(12, example()[0]);
  peers[11] = example()[3];
  const Lines lines = drawn(peers, 100, 6);
  REQUIRE(lines.size() == 6);
  CHECK(lines[0].starts_with("peer "));
  CHECK(lines[3].starts_with("p00 "));
  CHECK(lines[4] == "+ 9 more (1 lost)");
  CHECK(lines[5].starts_with("00:00:31  left 00:00:12  11/12 peers"));
}

TEST_CASE("columns give way in one order and never come back", "[app]") {
  std::size_t before = choose_columns(200, 3).size();
  CHECK(before == 11);
  for (int room = 100; room > 0; --room) {
    const std::vector<Column> columns = choose_columns(room, 3);
    CAPTURE(room);
    REQUIRE(columns.size() <= before);
    before = columns.size();
    int sum = 0;
    for (const Column& column : columns) sum += column.gap + column.width;
    CHECK(sum <= std::max(room, 5));
  }
  CHECK(before == 2);
}

TEST_CASE("a pool's numbers leave out what lost peers measured", "[app]") {
  std::vector<PeerView> peers = example();
  peers[3].status.loss = 99.0;
  const PoolNumbers pool = numbers_of(peers, {});
  CHECK(pool.live == 3);
  CHECK(pool.peers == 4);
  CHECK(pool.samples == 112500);
  CHECK(pool.merges == 36);
  CHECK(pool.refused == 2);
  CHECK(pool.loss_mean == Approx(0.25));
  CHECK(pool.loss_deviation == Approx(0.0));
  CHECK(pool.accuracy == Approx(0.875));
  CHECK(seconds_left(peers) == Approx(20.0));  // p01 has the other half to do
  CHECK(seconds_left({}) < 0.0);
  PoolNow now;
  now.live = 2;
  CHECK(numbers_of(peers, now).live == 2);
  CHECK(target_text(now).empty());
  now.target = 0.88;
  CHECK(target_text(now) == "target 0.880");
  now.target_now = 0.853;
  CHECK(target_text(now) == "target 0.880, now 0.853");
}

TEST_CASE("a pool's line is the documented one", "[app]") {
  PoolNumbers pool{8, 8, 412345, 0.381, 0.022, 0.884, 126, 2, 32925286};
  CHECK(progress_line(pool, true) ==
        "8/8 peers  samples 412k  loss 0.381±0.022  acc 0.884  merges 126 (2 refused)  "
        "sent 31.4 MiB");
  pool.accuracy = pool.loss_mean = std::nan("");
  CHECK(progress_line(pool, false) ==
        "8/8 peers  samples 412k  merges 126 (2 refused)  sent 31.4 MiB");
}

TEST_CASE("numbers keep to their columns", "[app]") {
  for (const double value : {0.0, 0.9999, 9.9996, 99.996, 999.996, 1e5, 1e300, -1.0 / 0.0}) {
    CHECK(loss_text(value).size() <= 6);
  }
  CHECK(rate_text(999.6) == "1.0k/s");
  CHECK(rate_text(99960) == "100k/s");
  CHECK(rate_text(999600) == "1.0M/s");
  CHECK(clock_text(3723.4) == "01:02:03");
  CHECK(clock_text(-1.0) == "00:00:00");
}

TEST_CASE("text is broken at blanks, else where it must be", "[app]") {
  CHECK(broken_into("one two three", 7) == Lines{"one two", "three"});
  CHECK(broken_into("one two", 7) == Lines{"one two"});
  CHECK(broken_into("abcdefgh i", 3) == Lines{"abc", "def", "gh", "i"});
  CHECK(broken_into("", 3) == Lines{""});
  CHECK(printable("a\nb\x1b[0m\xc3\xa9") == "a?b?[0m?");
}

TEST_CASE("a loss history keeps its size and fills gaps", "[app]") {
  LossHistory history;
  CHECK(history.means(8).empty());
  history.add(0.5, std::nan(""));
  CHECK(history.means(8).empty());
  history.add(0.2, 3.0);
  history.add(0.99, 1.0);
  CHECK(history.means(4) == std::vector<double>{3.0, 3.0, 3.0, 1.0});
  history.add(5.0, 1.0);  // beyond its budget: the last part
  CHECK(history.means(4).size() == 4);
  CHECK(sparkline({4.0, 2.0, 1.0}, {1.0, 4.0}, false) == "#=_");
  CHECK(sparkline({1.0, 1.001}, {1.0, 1.001}, false) == "__");
}

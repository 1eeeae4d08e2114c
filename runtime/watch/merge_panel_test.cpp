// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/merge_panel.hpp"

#include <algorithm>
#include <string>

#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

std::vector<PeerView> peers(std::size_t count) {
  std::vector<PeerView> views(count);
  for (std::size_t i = 0; i < count; ++i) views[i].name = (i < 10 ? "p0" : "p") + std::to_string(i);
  return views;
}

MergeTrail example() {
  MergeTrail trail;
  for (int i = 0; i < 12; ++i) trail.add({"p00", "p01", 0.5, i * 0.1});
  for (int i = 0; i < 3; ++i) trail.add({"p02", "p00", 0.25, 1.2 + i * 0.1});
  return trail;
}

std::string drawn(const std::vector<PeerView>& views, const MergeTrail& trail, int columns,
                  int rows, bool utf8 = true) {
  std::string text = "\n";
  for (const StyledLine& line : draw_merges({views, trail, 2.0, utf8}, columns, rows))
    text += line.plain() + "\n";
  return text;
}

}  // namespace

TEST_CASE("a row counts what a peer took in, from whom", "[watch]") {
  CHECK(drawn(peers(3), example(), 40, 20) == R"(
merges  the last 15, in 2.0 s; a row too
    p00 p01 p02   sum
p00   ╲  12   ·    12
p01   ·   ╲   ·     0
p02   3   ·   ╲     3
)");
}

TEST_CASE("where there is room, the newest merges stand beside the matrix", "[watch]") {
  CHECK(drawn(peers(3), example(), 100, 20) == R"(
merges  the last 15, in 2.0 s; a row took in a column's model
    p00 p01 p02   sum      1.400s  p02 ← p00  0.25     1.000s  p00 ← p01  0.50
p00   ╲  12   ·    12      1.300s  p02 ← p00  0.25     0.900s  p00 ← p01  0.50
p01   ·   ╲   ·     0      1.200s  p02 ← p00  0.25     0.800s  p00 ← p01  0.50
p02   3   ·   ╲     3      1.100s  p00 ← p01  0.50     0.700s  p00 ← p01  0.50
)");
}

TEST_CASE("without UTF-8 the panel is ASCII", "[watch]") {
  CHECK(drawn(peers(2), example(), 60, 20, false) == R"(
merges  the last 15, in 2.0 s; row <- column
    p00 p01   sum      1.400s  p02 <- p00  0.25
p00   \  12    12      1.300s  p02 <- p00  0.25
p01   .   \     0      1.200s  p02 <- p00  0.25
)");
}

TEST_CASE("more peers than a matrix holds, or few lines, give the newest merges only", "[watch]") {
  const std::string few_lines = drawn(peers(3), example(), 50, 4);
  CHECK(few_lines == R"(
merges  the last 15, in 2.0 s
  1.400s  p02 ← p00  0.25
  1.300s  p02 ← p00  0.25
  1.200s  p02 ← p00  0.25
)");
  const std::string many_peers = drawn(peers(17), example(), 100, 40);
  CHECK(std::count(many_peers.begin(), many_peers.end(), '\n') == 8 + 2);
  CHECK(many_peers.find("sum") == std::string::npos);
  CHECK(matrix_lines(16) == 18);
  CHECK(matrix_lines(17) == 0);
}

TEST_CASE("a pool without merges says so, and one peer has none to make", "[watch]") {
  CHECK(drawn(peers(2), {}, 60, 20).starts_with("\nmerges  none yet\n"));
  CHECK(drawn(peers(1), {}, 60, 20) == "\n");
  CHECK(drawn({}, example(), 60, 20) == "\n");
}

TEST_CASE("no window is too small for the panel, and no name too long", "[watch]") {
  for (const std::size_t count : {2, 5, 16, 40}) {
    std::vector<PeerView> views = peers(count);
    views[0].name = "a name that is longer than any column\x1b[2J";
    views[1].status.state = PeerStatus::State::lost;
    MergeTrail trail = example();
    trail.add({views[0].name, "\xff\n", 1e300, 1e300});
    for (const bool utf8 : {true, false}) {
      for (int columns = 1; columns <= 110; columns += 3) {
        for (int rows = 0; rows <= 25; ++rows) {
          CAPTURE(count, columns, rows, utf8);
          const auto lines = draw_merges({views, trail, 2.0, utf8}, columns, rows);
          REQUIRE(static_cast<int>(lines.size()) <= rows);
          for (const StyledLine& line : lines) {
            REQUIRE(columns_of(line.plain()) <= columns);
            REQUIRE(line.plain().find('\x1b') == std::string::npos);
            if (!utf8) REQUIRE(printable(line.plain()) == line.plain());
          }
        }
      }
    }
  }
}

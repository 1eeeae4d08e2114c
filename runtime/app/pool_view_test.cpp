// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/pool_view.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "runtime/app/terminal.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

struct Pipe {
  Pipe() { REQUIRE(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  std::string read() {
    std::array<char, 65536> buffer{};
    const ssize_t got = ::read(ends[0], buffer.data(), buffer.size());
    return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
  }
  std::array<int, 2> ends{};
};

std::vector<PeerView> two_peers() {
  std::vector<PeerView> peers(2);
  for (PeerView& peer : peers) {
    peer.name = "p00";
    peer.status.state = PeerStatus::State::training;
    peer.status.samples = 1000;
    peer.status.loss = 0.5;
  }
  return peers;
}

}  // namespace

TEST_CASE("plain mode says a line after 2 s, every 10 s, and every change", "[app]") {
  Pipe pipe;
  double now = 0.0;
  PoolView view({PoolView::Mode::plain, true, pipe.ends[1], [&] { return now; }});
  view.update(two_peers());
  CHECK(pipe.read().empty());
  now = 2.0;
  view.update(two_peers());
  CHECK(pipe.read() ==
        "[00:00:02] 2/2 peers  samples 2000  loss 0.500±0.000  merges 0 (0 refused)  sent 0 B\n");
  now = 11.9;
  view.update(two_peers());
  CHECK(pipe.read().empty());
  view.notice("p03 lost (\x1b[2J)");
  CHECK(pipe.read() == "[00:00:12] p03 lost (?[2J)\n");
  now = 12.1;
  view.update(two_peers());
  CHECK(pipe.read().starts_with("[00:00:12] 2/2 peers"));
}

TEST_CASE("plain mode counts what it cannot say", "[app]") {
  Pipe pipe;
  double now = 3.0;
  PoolView view({PoolView::Mode::plain, true, pipe.ends[1], [&] { return now; }});
  view.update(two_peers());
  pipe.read();
  for (int i = 0; i < 1000; ++i) view.notice("p" + std::to_string(i) + " lost");
  const std::string said = pipe.read();
  CHECK(std::count(said.begin(), said.end(), '\n') == 100);
  now = 13.0;
  view.update(two_peers());
  CHECK(pipe.read().starts_with("[00:00:13] and 900 more notices\n[00:00:13] 2/2 peers"));
  view.notice("p00 lost");
  CHECK(pipe.read() == "[00:00:13] p00 lost\n");
}

TEST_CASE("silent mode says nothing at all", "[app]") {
  Pipe pipe;
  PoolView view({PoolView::Mode::silent, true, pipe.ends[1], [] { return 100.0; }});
  view.update(two_peers());
  view.notice("p03 lost");
  CHECK(pipe.read().empty());
}

TEST_CASE("a stream that takes nothing costs frames, not time", "[app]") {
  Pipe pipe;
  const std::string block(65536, 'x');
  while (::write(pipe.ends[1], block.data(), block.size()) > 0) {
  }
  PoolView view({PoolView::Mode::terminal, true, pipe.ends[1], [] { return 1.0; }});
  for (int i = 0; i < 150; ++i) view.notice("change " + std::to_string(i));
  view.update(two_peers());
  while (!pipe.read().empty()) {
  }
  view.update(two_peers());
  const std::string frame = pipe.read();
  CHECK(frame.find("change 0\x1b") != std::string::npos);
  CHECK(frame.find("change 99\x1b") != std::string::npos);
  CHECK(frame.find("change 100") == std::string::npos);
  CHECK(frame.find("and 50 more notices") != std::string::npos);
}

TEST_CASE("the locale decides about UTF-8, the first variable that is set", "[app]") {
  CHECK_FALSE(speaks_utf8({}));
  CHECK(speaks_utf8({{"LANG", "en_US.UTF-8"}}));
  CHECK(speaks_utf8({{"LC_CTYPE", "C.utf8"}, {"LANG", "C"}}));
  CHECK_FALSE(speaks_utf8({{"LC_ALL", "C"}, {"LANG", "en_US.UTF-8"}}));
  CHECK(speaks_utf8({{"LC_ALL", ""}, {"LANG", "en_US.UTF-8"}}));
}

TEST_CASE("only a terminal is redrawn", "[app]") {
  Pipe pipe;
  CHECK_FALSE(may_redraw(pipe.ends[1], {{"TERM", "xterm"}}));
  CHECK(window_size(pipe.ends[1]) == WindowSize{80, 24});
}

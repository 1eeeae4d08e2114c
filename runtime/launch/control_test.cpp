// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/control.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>

#include "runtime/launch/relay.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

PeerStatus some_status() {
  PeerStatus status;
  status.state = PeerStatus::State::waiting;
  status.clock_s = 12.5;
  status.progress = 0.25;
  status.epochs = 5.0;
  status.samples = 1234567890123;
  status.merges = 7;
  status.loss = 0.5;
  status.accuracy = 0.875;
  status.partner = "p03";
  status.alpha = 0.5;
  return status;
}

std::vector<std::string> all_lines() {
  return {
      control::encode(control::FromPeer(control::Ready{"[::1]:40123"})),
      control::encode(control::FromPeer(some_status())),
      control::encode(control::FromPeer(control::Notice{"p01 \"lost\"\n\xff"})),
      control::encode(control::FromPeer(control::Ended{"diverged", false})),
      control::encode(control::ToPeer(control::Start{"runs/x", {"a:1", "b:2"}})),
      control::encode(control::ToPeer(control::Stop{"time"})),
      control::encode(control::ToPeer(control::Slow{4.0})),
      control::encode(control::ToPeer(control::Network{0.25, 0.5, {hearsay::kernels::PeerId(3)}})),
      relay::encode(relay::FromSupervisor(relay::Hello{"n1", 4711})),
      relay::encode(relay::FromSupervisor(relay::Exit{{"exit code 3", 3, 0}, 1.5, "why"})),
      relay::encode(relay::FromSupervisor(relay::Cpu{2.5})),
      relay::encode(relay::ToSupervisor(relay::Signal{9})),
      relay::encode(relay::ToSupervisor(relay::Verdict{3})),
      relay::encode(relay::ToSupervisor(relay::StartAgain{})),
      control::encode(control::ToPeer(control::Hostile{"noise", 0.5, false}))};
}

void decode_everywhere(std::string_view text) {
  (void)control::decode_from_peer(text);
  (void)control::decode_to_peer(text);
  (void)relay::decode_from_supervisor(text);
  (void)relay::decode_to_supervisor(text);
}

struct Pair {
  Pair() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0); }
  std::array<int, 2> ends{};
};

}  // namespace

TEST_CASE("what a peer says comes out as it went in", "[launch]") {
  const auto lines = all_lines();
  CHECK(std::get<control::Ready>(*control::decode_from_peer(lines[0])).address == "[::1]:40123");
  const auto status = std::get<PeerStatus>(*control::decode_from_peer(lines[1]));
  CHECK(status.state == PeerStatus::State::waiting);
  CHECK(status.samples == 1234567890123);
  CHECK(status.accuracy == 0.875);
  CHECK(status.partner == "p03");
  CHECK(std::get<control::Notice>(*control::decode_from_peer(lines[2])).text.size() > 10);
  const auto ended = std::get<control::Ended>(*control::decode_from_peer(lines[3]));
  CHECK(ended.reason == "diverged");
  CHECK_FALSE(ended.alive);
  for (const std::string& line : lines) {
    CHECK(std::count(line.begin(), line.end(), '\n') <= 1);  // one line, whatever the text
  }
}

TEST_CASE("orders come out as they went in, and only possible ones", "[launch]") {
  const auto lines = all_lines();
  const auto start = std::get<control::Start>(*control::decode_to_peer(lines[4]));
  CHECK(start.run == "runs/x");
  CHECK(start.peers == std::vector<std::string>{"a:1", "b:2"});
  CHECK(std::get<control::Stop>(*control::decode_to_peer(lines[5])).reason == "time");
  CHECK(std::get<control::Slow>(*control::decode_to_peer(lines[6])).factor == 4.0);
  CHECK(std::get<control::Network>(*control::decode_to_peer(lines[7])) ==
        control::Network{0.25, 0.5, {hearsay::kernels::PeerId(3)}});
  const auto hostile = std::get<control::Hostile>(*control::decode_to_peer(lines[14]));
  CHECK((hostile.what == "noise" && hostile.strength == 0.5 && !hostile.begins));
  for (const char* impossible :
       {R"({"do":"slow","factor":0.5})", R"({"do":"network","drop":1.5,"corrupt":0,"parted":[]})",
        R"({"do":"slow"})", R"({"do":"network","drop":"x","corrupt":0,"parted":[]})",
        R"({"do":"network","drop":0,"corrupt":0,"parted":[-1]})",
        R"({"do":"network","drop":0,"corrupt":0,"parted":[4294967296]})",
        R"({"do":"start","run":1,"peers":[]})", R"({"do":"start","run":"x","peers":[1]})",
        R"({"do":"dance"})", R"(["do"])", "", "null"}) {
    CAPTURE(impossible);
    CHECK_FALSE(control::decode_to_peer(impossible));
  }
}

TEST_CASE("a loss that is not finite can still be told", "[launch]") {
  PeerStatus status = some_status();
  status.loss = std::nan("");
  const auto back = control::decode_from_peer(control::encode(control::FromPeer(status)));
  REQUIRE(back);
  CHECK(std::get<PeerStatus>(*back).loss > 1e20);
}

TEST_CASE("supervisors understand each other and pass on what peers say", "[launch]") {
  const auto lines = all_lines();
  const auto hello = std::get<relay::Hello>(*relay::decode_from_supervisor(lines[8]));
  CHECK(hello.host == "n1");
  CHECK(hello.pid == 4711);
  const auto exit = std::get<relay::Exit>(*relay::decode_from_supervisor(lines[9]));
  CHECK(exit.exit.text == "exit code 3");
  CHECK(exit.exit.code == 3);
  CHECK(exit.stderr_line == "why");
  CHECK(std::get<relay::Cpu>(*relay::decode_from_supervisor(lines[10])).cpu_s == 2.5);
  CHECK(std::get<relay::Signal>(*relay::decode_to_supervisor(lines[11])).number == 9);
  CHECK(std::get<relay::Verdict>(*relay::decode_to_supervisor(lines[12])).code == 3);
  CHECK(std::holds_alternative<relay::StartAgain>(*relay::decode_to_supervisor(lines[13])));
  const auto status = std::get<control::FromPeer>(*relay::decode_from_supervisor(lines[1]));
  CHECK(std::get<PeerStatus>(status).samples == 1234567890123);
  CHECK_FALSE(relay::decode_to_supervisor(R"({"do":"signal","number":1000000})"));
  CHECK_FALSE(relay::decode_from_supervisor(R"({"is":"hello","host":"n1","pid":-1})"));
}

TEST_CASE("cut lines and random bytes are no messages, and harmless", "[launch]") {
  for (const std::string& line : all_lines()) {
    const auto brace = line.rfind('}');
    for (std::size_t cut = 0; cut <= brace; ++cut) {
      const std::string_view part(line.data(), cut);
      CHECK_FALSE(control::decode_from_peer(part));
      CHECK_FALSE(control::decode_to_peer(part));
      CHECK_FALSE(relay::decode_from_supervisor(part));
      CHECK_FALSE(relay::decode_to_supervisor(part));
    }
  }
  const auto seed = 20260102u;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto lines = all_lines();
  for (int i = 0; i < 5'000; ++i) {
    std::string text = lines[random() % lines.size()];
    for (auto changes = random() % 4; changes-- > 0;)
      text[random() % text.size()] = static_cast<char>(random() % 256);
    decode_everywhere(text);
    for (char& c : text) c = static_cast<char>(random() % 256);
    decode_everywhere(text);
  }
}

TEST_CASE("a channel puts lines together from pieces", "[launch]") {
  Pair pair;
  ControlChannel here(pair.ends[0]);
  for (const std::string piece : {"one\ntw", "o\n", "\nthr"})
    REQUIRE(::send(pair.ends[1], piece.data(), piece.size(), 0) ==
            static_cast<ssize_t>(piece.size()));
  CHECK(here.receive() == std::vector<std::string>{"one", "two", ""});
  CHECK_FALSE(here.closed());
  ::close(pair.ends[1]);
  CHECK(here.receive().empty());
  CHECK(here.closed());
  here.send("into the void\n");  // no SIGPIPE
}

TEST_CASE("a reader that sleeps costs statuses, not memory, and no order", "[launch]") {
  Pair pair;
  ControlChannel here(pair.ends[0]), there(pair.ends[1]);
  const std::string status(1000, 's');
  for (int i = 0; i < 5000; ++i) here.send(status + "\n", true);
  here.send("order\n");
  CHECK_FALSE(here.flush());
  std::size_t statuses = 0;
  std::string last;
  for (int i = 0; i < 1000 && last != "order"; ++i) {
    here.flush();
    for (const std::string& line : there.receive()) {
      last = line;
      statuses += line == status ? 1 : 0;
    }
  }
  CHECK(last == "order");
  CHECK(statuses > 10);
  CHECK(statuses < 2000);
}

TEST_CASE("a line without end is thrown away", "[launch]") {
  Pair pair;
  ControlChannel here(pair.ends[0]), there(pair.ends[1]);
  const std::string flood(64 * 1024, 'x');
  for (int i = 0; i < 40; ++i) {
    here.send(flood);
    while (!here.flush()) CHECK(there.receive().empty());
  }
  here.send("\nwhole\n");
  std::vector<std::string> lines;
  while (!here.flush() || lines.empty()) {
    for (const std::string& line : there.receive()) lines.push_back(line);
  }
  CHECK(lines.back() == "whole");
}

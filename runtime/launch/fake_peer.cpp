// SPDX-License-Identifier: Apache-2.0
// A peer process that trains nothing, for tests of watchers: says what peers say, obeys what
// watchers order, and misbehaves as its arguments tell it.
//   usage-error=ID   prints an error and exits 2 before it is ready
//   dies=ID          exits 3 in the middle, in every start
//   dies-once=ID     exits 3 in the middle of its first start
//   hangs=ID         when it has finished, never ends and obeys nobody
//   deaf=ID          obeys no stop
//   steps=N          of 10 ms each; 50 unless said
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "runtime/launch/control.hpp"

using namespace hearsay::runtime;

namespace {

using namespace std::chrono_literals;

struct Behaviour {
  int id = std::atoi(std::getenv("HEARSAY_PEER"));
  int usage_error = -1, dies = -1, dies_once = -1, hangs = -1, deaf = -1, steps = 50;

  Behaviour(int count, char** words) {
    for (int i = 1; i < count; ++i) {
      const std::string word = words[i], key = word.substr(0, word.find('='));
      const int value = std::atoi(word.substr(word.find('=') + 1).c_str());
      if (key == "usage-error") usage_error = value;
      if (key == "dies") dies = value;
      if (key == "dies-once") dies_once = value;
      if (key == "hangs") hangs = value;
      if (key == "deaf") deaf = value;
      if (key == "steps") steps = value;
    }
  }
};

class FakePeer {
 public:
  FakePeer(Behaviour behaviour, ControlChannel& channel)
      : behaviour_(behaviour), channel_(channel) {}

  int run() {
    say(control::Ready{"127.0.0.1:" + std::to_string(1000 + behaviour_.id)});
    while (!started_ && !stop_ && !channel_.closed()) hear(100ms);
    if (!started_) return 2;
    log("block.finished");
    PeerStatus status;
    status.state = PeerStatus::State::training;
    for (int step = 0; step < behaviour_.steps && !stop_ && !channel_.closed(); ++step) {
      const bool dies = behaviour_.dies == behaviour_.id ||
                        (behaviour_.dies_once == behaviour_.id && incarnation_ == 0);
      if (dies && step == behaviour_.steps / 2) return 3;
      std::this_thread::sleep_for(10ms * factor_);
      status.clock_s += 0.01 * factor_;
      status.progress = (step + 1.0) / behaviour_.steps;
      if (evaluation_ > status.evaluation_round) {
        status.evaluation_round = evaluation_;
        status.accuracy = status.progress;
        status.evaluated_s = status.clock_s;
      }
      ++status.samples;
      say(status);
      hear(0ms);
    }
    while (behaviour_.hangs == behaviour_.id) pause();
    say(control::Ended{stop_.value_or("finished"), true});
    return 0;
  }

 private:
  void say(const control::FromPeer& message) {
    channel_.send(control::encode(message));
    channel_.flush();
  }
  std::string folder() const { return run_ + "/peers/p0" + std::to_string(behaviour_.id); }
  void log(const std::string& event) const {
    std::ofstream(folder() + "/events.jsonl")
        << "{\"ev\":\"" << event << "\",\"t_ns\":1500000000}\n{\"ev\":\"torn";
  }
  void hear(std::chrono::milliseconds patience) {
    pollfd ready{channel_.fd(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(patience.count()));
    for (const std::string& line : channel_.receive()) {
      const auto order = control::decode_to_peer(line);
      if (!order) continue;
      if (const auto* start = std::get_if<control::Start>(&*order)) {
        started_ = true;
        run_ = start->run;
        incarnation_ = start->incarnation;
        std::ofstream(folder() + "/starts", std::ios::app)
            << start->incarnation << (start->late ? " late" : "") << "\n";
      } else if (const auto* stop = std::get_if<control::Stop>(&*order)) {
        if (behaviour_.deaf != behaviour_.id) stop_ = stop->reason;
      } else if (const auto* evaluate = std::get_if<control::Evaluate>(&*order)) {
        evaluation_ = evaluate->round;
      } else if (const auto* slow = std::get_if<control::Slow>(&*order)) {
        factor_ = static_cast<int>(slow->factor);
        say(control::Notice{"p0" + std::to_string(behaviour_.id) + " slower"});
      } else if (std::holds_alternative<control::Network>(*order)) {
        say(control::Notice{"p0" + std::to_string(behaviour_.id) + " drops"});
      }
    }
  }

  Behaviour behaviour_;
  ControlChannel& channel_;
  bool started_ = false;
  std::string run_;
  std::uint64_t incarnation_ = 0;
  std::optional<std::string> stop_;
  int factor_ = 1;
  std::uint64_t evaluation_ = 0;  // newest round asked for
};

}  // namespace

int main(int count, char** words) {
  const Behaviour behaviour(count, words);
  if (behaviour.deaf == behaviour.id || behaviour.hangs == behaviour.id)
    std::signal(SIGTERM, SIG_IGN);
  if (behaviour.usage_error == behaviour.id) {
    std::fprintf(stderr, "a line before\nhearsay: --data: nothing there\n");
    return 2;
  }
  ControlChannel channel(std::atoi(std::getenv("HEARSAY_CONTROL_FD")));
  return FakePeer(behaviour, channel).run();
}

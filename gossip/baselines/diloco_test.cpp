// SPDX-License-Identifier: Apache-2.0
#include "gossip/baselines/diloco.hpp"

#include <cmath>
#include <deque>
#include <memory>
#include <vector>

#include "gossip/protocols/testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using testkit::TinyModel;

namespace {

const StepReport kStep{32, 1.0, 0, 0.1};

// n peers whose mini-batches and frames go in turn.
struct Pool {
  Pool(std::uint32_t n, std::uint64_t steps, std::uint64_t a_round) {
    for (std::uint32_t i = 0; i < n; ++i) {
      DilocoSettings s;
      s.self = PeerId(i);
      s.peers = n;
      s.epochs = steps;
      s.steps_a_round = a_round;
      s.outer.kind = OuterSettings::Kind::nesterov;
      s.outer.momentum = 0.9;
      peers.push_back(std::make_unique<Diloco>(s));
      models.push_back(std::make_unique<TinyModel>(std::vector<float>{1, 2, 3, 4, 5}));
    }
    wants_step.resize(n);
    ends.resize(n);
  }
  void feed(std::uint32_t i, const Input& input) {
    Actions out;
    peers[i]->on(input, Time(0), *models[i], out);
    for (Action& action : out) {
      if (const auto* send = std::get_if<action::Send>(&action)) frames.push_back(send->frame);
      if (std::holds_alternative<action::Train>(action)) wants_step[i] = true;
      if (const auto* end = std::get_if<action::Finish>(&action)) ends[i] = end->reason;
    }
  }
  void start() {
    for (std::uint32_t i = 0; i < peers.size(); ++i) feed(i, input::Start{});
  }
  void step(std::uint32_t i, const StepReport& report = kStep) {
    REQUIRE(wants_step[i]);
    wants_step[i] = false;
    for (float& w : models[i]->w) w += static_cast<float>(i + 1);
    feed(i, input::StepDone{report});
  }
  void deliver() {
    while (!frames.empty()) {
      const Frame frame = frames.front();
      frames.pop_front();
      feed(frame.to.value, input::FrameIn{frame});
    }
  }
  void step_all() {
    for (std::uint32_t i = 0; i < peers.size(); ++i) {
      if (wants_step[i]) step(i);
    }
    deliver();
  }
  std::vector<std::unique_ptr<Diloco>> peers;
  std::vector<std::unique_ptr<TinyModel>> models;
  std::vector<bool> wants_step;
  std::vector<std::string> ends;
  std::deque<Frame> frames;
};

}  // namespace

TEST_CASE("rounds of a pool are Nesterov's steps towards the mean, with the same bits everywhere") {
  const std::uint32_t n = GENERATE(1u, 2u, 3u, 7u);
  CAPTURE(n);
  Pool pool(n, 7, 3);  // rounds of 3, 3 and 1
  pool.start();
  double slow = 1, m = 0;
  for (int step = 1; step <= 7; ++step) {
    pool.step_all();
    if (step % 3 != 0 && step != 7) continue;
    const double delta = (n + 1) / 2.0 * (step == 7 ? 1 : 3);
    m = 0.9 * m + delta;
    slow += 0.7 * (delta + 0.9 * m);
    for (const auto& model : pool.models) {
      CHECK(model->w == pool.models[0]->w);
      for (std::size_t i = 0; i < 5; ++i)
        CHECK(model->w[i] == Approx(slow + static_cast<double>(i)).epsilon(1e-5));
    }
  }
  CHECK(pool.ends == std::vector<std::string>(n, "finished"));
}

TEST_CASE("who wants to stop ends the pool with the round, all at the same mini-batch") {
  Pool pool(3, 100, 10);
  pool.start();
  pool.step_all();
  pool.feed(1, input::Stop{"interrupted"});
  for (int i = 0; i < 8; ++i) pool.step_all();
  CHECK(pool.ends == std::vector<std::string>(3));  // the round goes on
  pool.step_all();
  CHECK(pool.ends == std::vector<std::string>{"stopped", "interrupted", "stopped"});
  for (const auto& model : pool.models) CHECK(model->w == pool.models[0]->w);
}

TEST_CASE("one loss that is not finite ends the pool in that round, without an outer step") {
  Pool pool(2, 100, 2);
  pool.start();
  pool.step(0);
  pool.step(1, {32, std::nan(""), 0, 0.1});
  pool.deliver();
  pool.step(0);
  pool.deliver();
  CHECK(pool.ends == std::vector<std::string>(2, "diverged"));
  CHECK(pool.models[0]->w[0] == 3.0f);  // as it had trained it
}

TEST_CASE("a pool that has lost a peer is stuck, and keeps what it has trained") {
  Pool pool(3, 100, 2);
  pool.start();
  pool.step_all();
  pool.feed(0, input::PeerDown{PeerId(2)});
  CHECK(pool.ends[0] == "stuck");
}

TEST_CASE("a round that was cut off is done again from the state of its peers") {
  Pool pool(3, 8, 4);
  pool.start();
  for (int i = 0; i < 6; ++i) pool.step_all();  // in the second round
  std::vector<Archive::Json> states;
  std::vector<Archive::Arrays> arrays;
  for (const auto& peer : pool.peers) {
    Archive archive;
    archive("protocol", *peer);
    states.push_back(archive.json());
    arrays.push_back(archive.arrays());
  }
  Pool again(3, 8, 4);
  for (std::uint32_t i = 0; i < 3; ++i) {
    Archive archive(states[i], arrays[i]);
    archive("protocol", *again.peers[i]);
    again.models[i]->w = pool.models[i]->w;
  }
  again.start();
  for (Pool* each : {&pool, &again}) {
    each->step_all();
    each->step_all();
    CHECK(each->ends == std::vector<std::string>(3, "finished"));
  }
  CHECK(again.models[0]->w == pool.models[0]->w);
}

TEST_CASE("a peer alone that was cut off before the end of its round goes on") {
  Pool pool(1, 8, 4);
  pool.start();
  for (int i = 0; i < 4; ++i) pool.step_all();
  Archive archive;
  archive("protocol", *pool.peers[0]);
  Archive::Json cut = archive.json();
  cut["protocol"]["steps_in_round"] = 4;  // as before its sum was there
  cut["protocol"]["round"] = 0;
  Pool again(1, 8, 4);
  Archive from(cut, archive.arrays());
  from("protocol", *again.peers[0]);
  again.start();
  for (int i = 0; i < 4; ++i) again.step_all();
  CHECK(again.ends[0] == "finished");
}

TEST_CASE("slow weights of another model are refused") {
  Pool pool(2, 8, 4);
  pool.start();
  pool.step_all();
  Archive archive;
  archive("protocol", *pool.peers[0]);
  for (const std::size_t size : {4u, 5u, 6u}) {
    Pool again(2, 8, 4);
    Archive from(archive.json(), archive.arrays());
    from.of_model(size);
    if (size == 5)
      CHECK_NOTHROW(from("protocol", *again.peers[0]));
    else
      CHECK_THROWS_AS(from("protocol", *again.peers[0]), ArchiveFault);
  }
}

TEST_CASE("a pool of another size takes the weights it begins with for its slow ones") {
  Pool pool(2, 8, 4), plain(2, 4, 4);
  Archive fresh;
  fresh("protocol", *pool.peers[0]);
  for (std::uint32_t i = 0; i < 2; ++i) {
    Archive::Json json = fresh.json();
    json["protocol"]["counters"]["steps"] = 4;
    Archive from(json, fresh.arrays());
    from("protocol", *pool.peers[i]);
  }
  pool.start();
  plain.start();
  for (int i = 0; i < 4; ++i) {
    pool.step_all();
    plain.step_all();
  }
  CHECK(pool.ends == std::vector<std::string>(2, "finished"));
  CHECK(pool.models[0]->w == plain.models[0]->w);
  CHECK(pool.models[1]->w == plain.models[0]->w);
}

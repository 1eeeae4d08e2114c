// SPDX-License-Identifier: Apache-2.0
// Joining by hand: what both sides say survives encoding, and any running peer lets others in,
// into places that are free for certain.
#include "runtime/net/join.hpp"

#include <thread>

#include "runtime/net/own_address.hpp"
#include "runtime/net/test_socket.hpp"
#include "runtime/net/test_support.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

using kernels::PeerId;
using What = JoinClient::Reply::What;

Hello member(std::uint32_t id, std::uint32_t peers, std::uint64_t incarnation = 0) {
  Hello hello = hello_of(id, peers, 10);
  hello.incarnation = incarnation;
  hello.nonce = 100 * (id + 1) + incarnation + 1;
  return hello;
}

void start(PoolPeer& peer, const std::vector<BookEntry>& book = {}, bool greets = false) {
  Hello self = peer.hello;
  self.book = book;
  peer.transport.start(std::move(self), peer.seen, greets, {"{\"seed\":1}", "/runs/x"});
}

JoinClient::Reply ask(const PoolPeer& peer, std::uint64_t nonce, std::optional<PeerId> place = {},
                      std::vector<PeerId> not_free = {}, Endpoint address = {"127.0.0.1", 9}) {
  const auto tick = [] { return true; };
  JoinClient client(peer.address(), tick);
  REQUIRE(client.fault().empty());
  JoinRequest request;
  request.address = std::move(address);
  request.nonce = nonce;
  request.place = place;
  request.not_free = std::move(not_free);
  return client.ask(request, tick, [](const std::string&) {});
}

bool has_heard(const PoolPeer& peer) { return peer.transport.meter().wire_bytes_received > 0; }

}  // namespace

TEST_CASE("requests and answers survive encoding") {
  JoinRequest request;
  request.address = {"fe80::1%eth0", 7400};
  request.nonce = ~std::uint64_t{0};
  request.place = PeerId(3);
  request.not_free = {PeerId(1), PeerId(2)};
  const auto asked = decode_join(encode_join(request));
  REQUIRE(asked);
  CHECK(asked->address == request.address);
  CHECK(asked->nonce == request.nonce);
  CHECK(asked->place == request.place);
  CHECK(asked->not_free == request.not_free);
  JoinAnswer answer;
  answer.peer = PeerId(2);
  answer.incarnation = 7;
  answer.late = true;
  answer.pool = {"{\"seed\":1}", "/runs/\"x\""};
  answer.present = {PeerId(0), PeerId(2)};
  answer.book = {{PeerId(0), 1, {"n1", 7400}}};
  const auto told = decode_answer(encode_answer(answer));
  REQUIRE(told);
  CHECK(told->what == JoinAnswer::What::place);
  CHECK(told->peer == answer.peer);
  CHECK(told->incarnation == 7);
  CHECK(told->late);
  CHECK(told->pool.config == answer.pool.config);
  CHECK(told->pool.run == answer.pool.run);
  CHECK(told->present == answer.present);
  CHECK(told->book.front().address == answer.book.front().address);
  answer.what = JoinAnswer::What::busy;
  answer.text = "later";
  CHECK(decode_answer(encode_answer(answer))->text == "later");
}

TEST_CASE("any other text is no request and no answer") {
  for (const char* text :
       {"", "{}", "[]", "7", R"({"address":"n1"})", R"({"address":"n1:1"})",
        R"({"address":"n1:0","nonce":1})", R"({"address":"n1:1","nonce":-1})",
        R"({"address":"n1:1","nonce":1,"place":-1})",
        R"({"address":"n1:1","nonce":1,"place":1e99})",
        R"({"address":"n1:1","nonce":1,"not_free":["x"]})", R"({"what":"place","book":[]})",
        R"({"what":"maybe","book":[]})", R"({"what":"busy"})", R"({"what":"busy","book":[[1,2]]})",
        R"({"what":"busy","book":[[4294967295,2,"n1:1"]]})", R"({"what":7,"book":[]})",
        R"({"what":"busy","text":7,"book":[]})"}) {
    CAPTURE(text);
    CHECK_FALSE(decode_join(text));
    CHECK_FALSE(decode_answer(text));
  }
}

TEST_CASE("options nested 400,000 deep are no answer, and do not use up the stack") {
  JoinAnswer answer;
  answer.pool = {R"({"peers":1})", "runs/live"};
  std::string text = encode_answer(answer);
  REQUIRE(decode_answer(text));
  const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
  text.replace(text.find("{\"peers\":1}") + 9, 1, deep);
  CHECK_FALSE(decode_answer(text));
}

TEST_CASE("a running peer gives away its free places, each once") {
  PoolPeer a(member(0, 3));
  start(a);
  const TestSocket loading = TestSocket::listen();  // the joiners, until they say hello
  const auto first = ask(a, 1, {}, {}, loading.address());
  const auto second = ask(a, 2, {}, {}, loading.address()), third = ask(a, 3);
  REQUIRE(first.what == What::place);
  REQUIRE(second.what == What::place);
  CHECK(first.answer.peer == PeerId(1));
  CHECK(second.answer.peer == PeerId(2));
  CHECK(first.answer.incarnation == 0);
  CHECK(first.answer.late);
  CHECK(first.answer.pool.run == "/runs/x");
  CHECK(first.answer.present == std::vector<PeerId>{PeerId(0), PeerId(1)});
  REQUIRE(first.answer.book.size() == 1);
  CHECK(first.answer.book[0].address == a.address());
  CHECK(third.what == What::busy);  // until those who were promised them have said hello
  CHECK(third.text == "the last free place is being taken");
  CHECK(third.answer.book.size() == 1);
  const auto again = ask(a, 1, {}, {}, loading.address());  // whose answer was lost
  REQUIRE(again.what == What::place);
  CHECK(again.answer.peer == PeerId(1));
  CHECK(again.answer.incarnation == 0);
}

TEST_CASE("a place that was promised to a process that has died is free again") {
  PoolPeer a(member(0, 2));
  start(a);
  REQUIRE(ask(a, 1).what == What::place);  // nobody listens at its address
  const auto second = ask(a, 2);
  REQUIRE(second.what == What::place);
  CHECK(second.answer.incarnation == 1);  // the first might come to life yet
}

TEST_CASE("a pool of which everybody is there is full") {
  PoolPeer a(member(0, 2)), b(member(1, 2));
  start(a);
  start(b, {{PeerId(0), 0, a.address()}}, true);
  REQUIRE(eventually([&] { return has_heard(b); }));
  for (const PoolPeer* peer : {&a, &b}) {
    const auto reply = ask(*peer, 1);
    CHECK(reply.what == What::refused);
    CHECK(reply.text ==
          "the pool is full: all 2 places are taken (the first peer's --peers sets the number)");
  }
  CHECK(ask(a, 1, PeerId(1)).text == "p01 is taken, and its peer is there");
  CHECK(ask(a, 1, PeerId(0)).text == "p00 is taken, and its peer is there");
  CHECK(ask(a, 1, PeerId(5)).text == "there is no p05 in a pool of 2 peers");
}

TEST_CASE("the place of a dead peer is given to a later start") {
  PoolPeer a(member(0, 2));
  auto b = std::make_unique<PoolPeer>(member(1, 2, 4));
  start(a);
  start(*b, {{PeerId(0), 0, a.address()}}, true);
  REQUIRE(eventually([&] { return has_heard(*b); }));
  b.reset();
  const auto reply = ask(a, 1, PeerId(1));
  REQUIRE(reply.what == What::place);
  CHECK(reply.answer.incarnation == 5);
  CHECK(ask(a, 1, PeerId(1)).answer.incarnation == 5);
  PoolPeer again(member(1, 2, 5));
  start(again, reply.answer.book, true);
  REQUIRE(eventually([&] { return has_heard(again); }));
  CHECK(ask(a, 2, PeerId(1)).what == What::refused);
}

TEST_CASE("a place that was found taken elsewhere is not given again") {
  PoolPeer a(member(0, 3));
  start(a);
  const auto reply = ask(a, 1, {}, {PeerId(1)});
  REQUIRE(reply.what == What::place);
  CHECK(reply.answer.peer == PeerId(2));
  CHECK(ask(a, 2, {}, {PeerId(1)}).answer.peer == PeerId(2));
}

TEST_CASE("a frozen owner does not keep its place from whoever asks") {
  PoolPeer a(member(0, 2));
  const TestSocket frozen = TestSocket::listen();  // the system connects, nobody says hello
  start(a, {{PeerId(1), 3, frozen.address()}});
  const auto reply = ask(a, 1);
  REQUIRE(reply.what == What::place);
  CHECK(reply.answer.peer == PeerId(1));
  CHECK(reply.answer.incarnation == 4);
}

TEST_CASE("a silent port is given up, and an absent one named") {
  const auto tick = [] { return true; };
  const TestSocket silent = TestSocket::listen();
  JoinClient client(silent.address(), tick);
  REQUIRE(client.fault().empty());
  JoinRequest request;
  request.address = {"127.0.0.1", 9};
  const auto reply = client.ask(request, tick, [](const std::string&) {});
  CHECK(reply.what == What::lost);
  CHECK(reply.text == "no answer within 8 s; is that a hearsay peer?");
  CHECK(JoinClient({"127.0.0.1", 1}, tick).fault().find("Connection refused") != std::string::npos);
}

TEST_CASE("a first peer gathers: who waits hears for how many, who leaves is not counted") {
  PoolPeer first(member(0, 3));
  Gathering plan;
  plan.wanted = 2;
  plan.judge = [](const JoinRequest& request, const Gathering::Requests&) {
    return request.nonce == 13 ? std::string("not that one") : std::string();
  };
  plan.answers = [](const Gathering::Requests& here) {
    std::vector<JoinAnswer> answers(here.size());
    for (std::uint32_t i = 0; i < here.size(); ++i) {
      answers[i].peer = PeerId(i + 1);
      answers[i].incarnation = here[i].nonce;
      answers[i].pool.config = "{}";
    }
    return answers;
  };
  plan.waiting = [](std::size_t here) { return std::to_string(2 - here) + " to come"; };
  plan.tick = [](std::size_t) { return true; };
  bool gathered = false;
  std::thread gatherer([&] { gathered = first.transport.gather(plan); });
  {
    TestSocket leaver = TestSocket::dial(first.address());
    JoinRequest request;
    request.address = {"127.0.0.1", 9};
    leaver.send(message_of(gossip::wire::Kind::join, encode_join(request)));
    const auto waiting = leaver.receive();
    CHECK((waiting && decode_answer(waiting->text)->text == "1 to come"));
  }
  CHECK(ask(first, 13).text == "not that one");
  std::vector<JoinClient::Reply> replies(2);
  std::vector<std::thread> joiners;
  for (std::uint64_t i = 0; i < 2; ++i)
    joiners.emplace_back([&, i] { replies[i] = ask(first, 20 + i); });
  for (std::thread& joiner : joiners) joiner.join();
  gatherer.join();
  CHECK(gathered);
  for (std::uint64_t i = 0; i < 2; ++i) {
    REQUIRE(replies[i].what == What::place);
    CHECK(replies[i].answer.incarnation == 20 + i);
    CHECK_FALSE(replies[i].answer.late);
  }
  CHECK(replies[0].answer.peer != replies[1].answer.peer);
}

TEST_CASE("a peer at a loopback address is of no use to others") {
  for (const std::string& host : machine_addresses()) {
    if (is_loopback(host) || is_ipv6(host)) continue;
    PoolPeer a(member(0, 2), 0, {host, 0});
    start(a);
    const auto reply = ask(a, 1);
    CHECK(reply.what == What::refused);
    CHECK(reply.text.find("means nothing") != std::string::npos);
    return;
  }
  SUCCEED("this machine has no address but loopback");
}

}  // namespace hearsay::runtime

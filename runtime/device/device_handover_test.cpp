// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_handover.hpp"

#include <bit>

#include "runtime/net/hello.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

TEST_CASE("an offer is read as it was said, and nothing else is one") {
  HandoverOffer offer;
  offer.boot_id = boot_id();
  for (std::size_t i = 0; i < offer.first.size(); ++i)
    offer.first[i] = static_cast<std::byte>(37 * i + 200);
  const std::string text = text_of(offer);
  CHECK(text.size() <= kHandoverLetters);
  const auto read = read_offer(text);
  REQUIRE(read);
  CHECK(read->boot_id == offer.boot_id);
  CHECK(read->first == offer.first);
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const auto part = read_offer(text.substr(0, cut));
    CHECK_FALSE((part && part->boot_id == offer.boot_id));
  }
  std::string broken = text;
  broken.back() = 'g';
  CHECK_FALSE(read_offer(broken));
  CHECK_FALSE(read_offer(""));
  CHECK_FALSE(read_offer("cuda "));
  CHECK_FALSE(read_offer("sycl" + text.substr(4)));
}

TEST_CASE("an offer travels in a hello, and one that is too long does not") {
  Hello hello;
  hello.run = "r";
  hello.peers = 2;
  hello.layout.add("w", {3});
  CHECK(decode_hello(encode_hello(hello))->handover.empty());
  hello.handover = std::string(kHandoverLetters, 'x');
  CHECK(decode_hello(encode_hello(hello))->handover == hello.handover);
  hello.handover += 'x';
  CHECK(decode_hello(encode_hello(hello))->handover.empty());
}

TEST_CASE("tickets are given for as many pieces of memory as a reader opens, and no more") {
  LentMemory lent;
  const auto ticket = [](std::size_t piece, std::uint64_t at) {
    HsCudaTicket made{};
    made.memory[1] = static_cast<unsigned char>(piece);
    made.memory[63] = static_cast<unsigned char>(piece / 7);
    made.values_at = at;
    return std::bit_cast<HandoverTicket>(made);
  };
  CHECK(LentMemory::kMost == 64);
  for (std::size_t piece = 0; piece < 100; ++piece) {
    for (std::uint64_t at = 0; at < 3; ++at)
      CHECK(lent.admits(ticket(piece, 4096 * at)) == (piece < LentMemory::kMost));
  }
  for (std::size_t piece = 0; piece < 100; ++piece)  // what was lent before still is
    CHECK(lent.admits(ticket(piece, 1)) == (piece < LentMemory::kMost));
}

// SPDX-License-Identifier: Apache-2.0
// Answers that name a message: no two messages that a name can mean are ever mixed.
#include "gossip/codec/mirror_book.hpp"

#include <map>
#include <optional>
#include <utility>

#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

PackedBytes message(std::uint64_t number) {
  PackedBytes bytes;
  put_number(bytes, number);
  return bytes;
}

// Two messages of one name: among n messages there are n^2 / 2^33.
std::pair<PackedBytes, PackedBytes> of_one_name() {
  std::map<std::uint32_t, std::uint64_t> seen;
  for (std::uint64_t number = 0;; ++number) {
    const auto [first, is_new] = seen.emplace(MirrorBook::name_of(message(number)), number);
    if (!is_new) return {message(first->second), message(number)};
  }
}

std::optional<PackedBytes> named(const MirrorBook& book, std::uint32_t name) {
  PackedBytes bytes;
  put_number(bytes, name);
  PackedReader reader(bytes);
  PackedView where;
  if (!book.look_up(reader, where).empty()) return std::nullopt;
  return PackedBytes(where.begin(), where.end());
}

}  // namespace

TEST_CASE("A name means one message, also where two messages share it") {
  const auto [first, second] = of_one_name();
  const std::uint32_t name = MirrorBook::name_of(first);
  REQUIRE(first != second);
  REQUIRE(MirrorBook::name_of(second) == name);
  MirrorBook book;
  book.sent(first);
  CHECK(named(book, name) == first);
  CHECK_FALSE(book.answers(second));  // its answer would be read as one to the own message
  CHECK(named(book, name) == first);
  CHECK(book.answers(first));
  book.sent(second);
  CHECK(named(book, name) == second);
  CHECK(book.remembered().size() == 1);
  MirrorBook other;
  CHECK(other.answers(first));
  CHECK(named(other, name) == first);
  other.sent(second);
  CHECK(named(other, name) == second);
}

TEST_CASE("The last four messages have names, and the one that was answered") {
  MirrorBook book;
  for (std::uint64_t number = 0; number < 6; ++number) book.sent(message(number));
  CHECK(book.answers(message(9)));
  for (std::uint64_t number = 0; number < 10; ++number) {
    const auto found = named(book, MirrorBook::name_of(message(number)));
    CHECK(found.has_value() == ((number >= 2 && number < 6) || number == 9));
    if (found) CHECK(*found == message(number));
  }
  PackedBytes cut{1, 2, 3};
  PackedReader reader(cut);
  PackedView where;
  CHECK_FALSE(book.look_up(reader, where).empty());
  book.forget();
  CHECK_FALSE(named(book, MirrorBook::name_of(message(9))));
}

}  // namespace hearsay::gossip

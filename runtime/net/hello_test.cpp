// SPDX-License-Identifier: Apache-2.0
// What peers say before the first frame: it survives encoding, no other text is taken for it, and
// peers that do not belong together are told why.
#include "runtime/net/hello.hpp"

#include <algorithm>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

Hello sample() {
  Hello hello;
  hello.run = "2026-01-02-fashion";
  hello.peer = kernels::PeerId(3);
  hello.peers = 8;
  hello.incarnation = 1'767'348'900'000'000'000;
  hello.codec = "topk:0.01+ef";
  hello.sketch_values = 2048;
  hello.layout.add("0.weight", {256, 784});
  hello.layout.add("0.bias", {256});
  hello.layout.add("3.weight", {10, 256});
  hello.layout.add("scale", {});
  return hello;
}

bool same_layout(const kernels::Layout& a, const kernels::Layout& b) {
  return a.size() == b.size() && a.first_difference(b).empty();
}

// A text with one tensor of that shape, with the hash of `hashed`.
std::string text_with(const std::string& tensors, const kernels::Layout& hashed) {
  Hello hello = sample();
  hello.layout = hashed;
  std::string text = encode_hello(hello);
  const std::size_t begin = text.find("\"tensors\":");
  return text.substr(0, begin) + "\"tensors\":" + tensors + "}";
}

void mutate(std::string& text, kernels::Rng& rng) {
  constexpr std::string_view kLetters = "{}[]\",:0123456789abcdef-.e\\ \xff";
  const auto somewhere = [&] { return rng.below(static_cast<std::uint32_t>(text.size())); };
  if (text.empty()) return;
  switch (rng.below(5)) {
    case 0: text[somewhere()] = static_cast<char>(rng.below(256)); break;
    case 1: text[somewhere()] = kLetters[rng.below(kLetters.size())]; break;
    case 2: text.erase(somewhere(), 1 + rng.below(8)); break;
    case 3: text.insert(somewhere(), 1, kLetters[rng.below(kLetters.size())]); break;
    default: text.insert(somewhere(), text.substr(somewhere(), 1 + rng.below(40)));
  }
}

}  // namespace

TEST_CASE("a hello survives encoding") {
  const Hello hello = sample();
  const auto back = decode_hello(encode_hello(hello));
  REQUIRE(back);
  CHECK(back->run == hello.run);
  CHECK(back->peer == hello.peer);
  CHECK(back->peers == hello.peers);
  CHECK(back->incarnation == hello.incarnation);
  CHECK(back->codec == hello.codec);
  CHECK(back->sketch_values == 2048);
  CHECK(same_layout(back->layout, hello.layout));
  CHECK(schema_hash(back->layout) == schema_hash(hello.layout));
}

TEST_CASE("whoever says no codec has none, and a codec has a name of some length") {
  std::string text = encode_hello(sample());
  const std::string said = "\"codec\":\"topk:0.01+ef\",";
  const std::size_t at = text.find(said);
  REQUIRE(at != std::string::npos);
  const auto with = [&](const std::string& other) {
    return decode_hello(std::string(text).replace(at, said.size(), other));
  };
  REQUIRE(with(""));
  CHECK(with("")->codec == "raw");
  CHECK(with("\"codec\":\"" + std::string(kCodecLetters, 'x') + "\","));
  CHECK_FALSE(with("\"codec\":\"" + std::string(kCodecLetters + 1, 'x') + "\","));
  CHECK_FALSE(with("\"codec\":7,"));
}

TEST_CASE("the schema hash tells names, shapes and order apart") {
  const auto hash = [](auto... tensors) {
    kernels::Layout layout;
    (layout.add(tensors.first, tensors.second), ...);
    return schema_hash(layout);
  };
  using Tensor = std::pair<std::string, std::vector<std::size_t>>;
  const Tensor a{"a", {2, 3}}, turned{"a", {3, 2}}, flat{"a", {6}}, b{"b", {2, 3}};
  const std::vector<std::uint64_t> all{hash(),  hash(a),    hash(turned), hash(flat),
                                       hash(b), hash(a, b), hash(b, a),   hash(a, a)};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK(all[i] != all[j]);
  }
}

TEST_CASE("a hello that is cut off anywhere is refused") {
  const std::string text = encode_hello(sample());
  for (std::size_t length = 0; length < text.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(decode_hello(std::string_view(text).substr(0, length)));
  }
  CHECK(decode_hello(text));
}

TEST_CASE("50,000 damaged hellos are refused or name the schema that they hold") {
  const std::string text = encode_hello(sample());
  const std::uint64_t right = schema_hash(sample().layout);
  for (std::uint64_t seed = 0; seed < 50'000; ++seed) {
    kernels::Rng rng = kernels::Rng::stream(seed, "hello noise");
    std::string damaged = text;
    for (std::uint32_t i = 0, count = 1 + rng.below(4); i < count; ++i) mutate(damaged, rng);
    CAPTURE(seed, damaged);
    const auto hello = decode_hello(damaged);
    if (!hello) continue;
    REQUIRE(hello->peer.value < hello->peers);
    REQUIRE(schema_hash(hello->layout) == right);
    REQUIRE(same_layout(hello->layout, sample().layout));
  }
}

TEST_CASE("sizes that overflow or are no sizes are refused") {
  kernels::Layout layout;
  layout.add("w", {});
  CHECK(decode_hello(text_with("[[\"w\",[]]]", layout)));
  for (const char* shape :
       {"[4294967296,4294967296]", "[18446744073709551615]", "[18446744073709551616]",
        "[1099511627777]", "[65536,65536,65536,65536]", "[0]", "[-1]", "[1.5]", "[\"1\"]", "[[1]]",
        "[1,1,1,1,1,1,1,1,1]", "{}", "null", "3"}) {
    CAPTURE(shape);
    CHECK_FALSE(decode_hello(text_with("[[\"w\"," + std::string(shape) + "]]", layout)));
  }
  // Each fits, all together do not.
  std::string many = "[";
  for (int i = 0; i < 64; ++i) many += "[\"w\",[1099511627776]],";
  many.back() = ']';
  CHECK_FALSE(decode_hello(text_with(many, layout)));
}

TEST_CASE("deep, long and foreign texts are no hello") {
  const std::size_t deep = 500'000;
  CHECK_FALSE(decode_hello(std::string(deep, '[')));
  CHECK_FALSE(decode_hello(std::string(deep, '[') + std::string(deep, ']')));
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "{\"run\":";
  CHECK_FALSE(decode_hello(nested + "0" + std::string(100'000, '}')));
  for (const char* text : {"", "null", "[]", "{}", "\"hello\"", "GET / HTTP/1.1\r\n\r\n", "\0"})
    CHECK_FALSE(decode_hello(text));
}

TEST_CASE("peers that do not belong together are told why") {
  const Hello mine = sample();
  const auto fault = [&](auto change) {
    Hello theirs = sample();
    theirs.peer = kernels::PeerId(5);
    change(theirs);
    return find_fault(mine, theirs);
  };
  CHECK(fault([](Hello&) {}).empty());
  CHECK(fault([](Hello& h) { h.incarnation += 7; }).empty());
  CHECK(fault([](Hello& h) { h.run = "yesterday"; }) ==
        "another run: yesterday, this is 2026-01-02-fashion");
  CHECK(fault([](Hello& h) { h.peers = 9; }) == "a pool of 9 peers, this one has 8");
  CHECK(fault([](Hello& h) { h.peer = kernels::PeerId(3); }) == "the name p03 is taken");
  CHECK(fault([](Hello& h) { h.codec = "raw"; }) ==
        "another codec: raw at p05 and topk:0.01+ef at p03");
  CHECK(fault([](Hello& h) { h.sketch_values = 0; }) ==
        "another --share: sketches of 0 values at p05 and 2048 at p03");
}

TEST_CASE("the first tensor that differs is named with both shapes") {
  const auto fault = [](auto... tensors) {
    Hello theirs = sample();
    theirs.peer = kernels::PeerId(5);
    theirs.layout = {};
    (theirs.layout.add(tensors.first, tensors.second), ...);
    return find_fault(sample(), theirs);
  };
  using Tensor = std::pair<std::string, std::vector<std::size_t>>;
  const Tensor first{"0.weight", {256, 784}}, bias{"0.bias", {256}}, last{"3.weight", {10, 256}};
  CHECK(fault(Tensor{"0.weight", {128, 784}}, Tensor{"0.bias", {128}}) ==
        "another model: tensor 0 is 0.weight [128,784] at p05 and 0.weight [256,784] at p03");
  CHECK(fault(first, Tensor{"0.gain", {256}}, last) ==
        "another model: tensor 1 is 0.gain [256] at p05 and 0.bias [256] at p03");
  CHECK(fault(first, bias, last) ==
        "another model: tensor 3 is no tensor at p05 and scale [] at p03");
  CHECK(fault(first, bias, last, Tensor{"scale", {}}, Tensor{"extra", {1}}) ==
        "another model: tensor 4 is extra [1] at p05 and no tensor at p03");
}

TEST_CASE("a hello tells where its sender and those it knows listen") {
  Hello hello = sample();
  hello.nonce = ~std::uint64_t{0};
  hello.address = {"fe80::1%eth0", 7400};
  hello.book = {{kernels::PeerId(0), 0, {"127.0.0.1", 1}}, {kernels::PeerId(7), 9, {"n1", 65535}}};
  const auto back = decode_hello(encode_hello(hello));
  REQUIRE(back);
  CHECK(back->nonce == hello.nonce);
  CHECK(back->address == hello.address);
  REQUIRE(back->book.size() == 2);
  CHECK(back->book[1].peer == kernels::PeerId(7));
  CHECK(back->book[1].incarnation == 9);
  CHECK(back->book[1].address == hello.book[1].address);
  const auto bare = decode_hello(encode_hello(sample()));
  REQUIRE(bare);
  CHECK(bare->address.host.empty());
  CHECK(bare->nonce == 0);
  CHECK(bare->book.empty());
}

TEST_CASE("addresses that cannot be dialled are not read") {
  const auto with = [](const std::string& more) {
    std::string text = encode_hello(sample());
    return decode_hello(text.insert(1, more + ","));
  };
  for (const char* address : {"\"n1\"", "\"n1:0\"", "\":7400\"", "\"n1:70000\"", "7400", "[]"})
    CHECK_FALSE(with(std::string("\"address\":") + address));
  const auto book = [&](const std::string& lines) {
    const auto hello = with("\"book\":" + lines);
    return hello ? static_cast<int>(hello->book.size()) : -1;
  };
  CHECK(
      book(
          R"([[0,1,"n1:7400"],[8,1,"n1:7400"],[1,-1,"n1:7400"],[1,1,"n1"],[1,1],3,[2,1,"n2:1"]])") ==
      2);
  CHECK(book("7") == 0);
  std::string many = "[[0,0,\"n1:1\"]";
  for (std::size_t i = 0; i < kBookEntries; ++i) many += ",[0,0,\"n1:1\"]";
  CHECK(book(many + "]") == static_cast<int>(kBookEntries));
}

}  // namespace hearsay::runtime

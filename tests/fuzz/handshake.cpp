// SPDX-License-Identifier: Apache-2.0
// Texts of a handshake, as any stranger may send them: hello, join and its answer. What is decoded
// and encoded again must decode to the same.
#include "runtime/net/hello.hpp"
#include "runtime/net/join_text.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using namespace hearsay::runtime;
using fuzz::require;

namespace {

void check_hello(std::string_view text) {
  const auto first = decode_hello(text);
  if (!first) return;
  const std::string encoded = encode_hello(*first);
  const auto second = decode_hello(encoded);
  require(second.has_value(), "an encoded hello can be decoded");
  require(encode_hello(*second) == encoded, "a hello survives a second round");
  require(second->layout.first_difference(first->layout).empty(), "tensors survive");
  require(second->peer == first->peer && second->peers == first->peers, "who it is survives");
  require(second->book.size() == first->book.size(), "the book survives");
  Hello other;
  other.run = "runs";
  other.peers = 4;
  other.layout.add("0.weight", {3, 2});
  find_fault(other, *first);
  find_fault(*first, other);
  Hello same = *first;
  same.peer = kernels::PeerId(first->peer.value + 1);
  require(find_fault(same, *first).empty(), "a peer fits one of the same run and model");
}

void check_join(std::string_view text) {
  const auto first = decode_join(text);
  if (!first) return;
  const std::string encoded = encode_join(*first);
  const auto second = decode_join(encoded);
  require(second.has_value() && encode_join(*second) == encoded, "a join survives");
  require(second->address == first->address && second->nonce == first->nonce, "its fields survive");
  require(second->place == first->place && second->not_free == first->not_free,
          "its places survive");
}

void check_answer(std::string_view text) {
  const auto first = decode_answer(text);
  if (!first) return;
  const std::string encoded = encode_answer(*first);
  const auto second = decode_answer(encoded);
  require(second.has_value() && encode_answer(*second) == encoded, "an answer survives");
  require(second->pool.config == first->pool.config && second->pool.run == first->pool.run,
          "the pool's options survive");
  require(second->present == first->present && second->text == first->text, "its fields survive");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_hello(text);
  check_join(text);
  check_answer(text);
  return 0;
}

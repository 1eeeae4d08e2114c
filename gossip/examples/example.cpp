// SPDX-License-Identifier: Apache-2.0
#include "gossip/examples/example.hpp"

#include <bit>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

struct Writer {
  std::uint8_t* out;
  template <typename T>
  void operator()(const T& value) {
    std::memcpy(out, &value, sizeof value);
    out += sizeof value;
  }
};

struct Reader {
  const std::uint8_t* in;
  template <typename T>
  void operator()(T& value) {
    std::memcpy(&value, in, sizeof value);
    in += sizeof value;
  }
};

// One order for both directions.
template <typename Bytes, typename Head>
void pass_head(Bytes& bytes, Head& e, std::uint8_t& zero) {
  bytes(e.id);
  bytes(e.label);
  bytes(zero);
  bytes(e.hops);
  for (auto& word : e.visitors) bytes(word);
  for (auto& opinion : e.opinions) {
    bytes(opinion.model);
    bytes(opinion.confidence);
  }
}

bool is_sound(const Example& example, std::uint8_t zero, const ExampleShape& shape) {
  if (example.id >= shape.examples || example.label >= shape.classes || zero != 0) return false;
  for (const Example::Opinion& opinion : example.opinions) {
    const bool is_share = opinion.confidence >= 0.0f && opinion.confidence <= 1.0f;
    if (!is_share || (opinion.model >= shape.peers && opinion.model != Example::kNobody))
      return false;
  }
  return true;
}

}  // namespace

merge::PackedRef encode(const std::vector<Example>& examples, const ExampleShape& shape) {
  auto packed = std::make_shared<merge::Packed>();
  packed->bytes.resize(examples.size() * shape.bytes());
  std::uint8_t* at = packed->bytes.data();
  for (const Example& example : examples) {
    HS_CHECK(example.image.size() == shape.values);
    Writer writer{at};
    std::uint8_t zero = 0;
    pass_head(writer, example, zero);
    HS_CHECK(writer.out == at + ExampleShape::kHeadBytes);
    if (shape.values > 0) std::memcpy(writer.out, example.image.data(), shape.values);
    at += shape.bytes();
  }
  return packed;
}

std::optional<std::vector<Example>> decode(const merge::Packed& packed, const ExampleShape& shape,
                                           std::size_t most) {
  const std::size_t size = packed.bytes.size();
  const std::size_t count = size / shape.bytes();
  if (count == 0 || count > most || size % shape.bytes() != 0) return std::nullopt;
  std::vector<Example> examples(count);
  std::set<std::uint32_t> ids;
  const std::uint8_t* at = packed.bytes.data();
  for (Example& example : examples) {
    Reader reader{at};
    std::uint8_t zero = 0;
    pass_head(reader, example, zero);
    if (!is_sound(example, zero, shape) || !ids.insert(example.id).second) return std::nullopt;
    example.image.assign(reader.in, reader.in + shape.values);
    at += shape.bytes();
  }
  return examples;
}

}  // namespace hearsay::gossip

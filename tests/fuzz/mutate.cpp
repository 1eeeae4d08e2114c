// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace hearsay::fuzz {
namespace {

constexpr std::size_t kMostBytes = 16 * 1024;  // of an input; nests are longer
constexpr std::size_t kNestDepth = 100'000;
constexpr std::size_t kBetweenNests = 2'000;
// Bytes that decoders treat in their own way.
constexpr char kTelling[] = "\0\xff\x7f\x80\"{}[]:,\\+-=%;\n\r\t .09eE#/&ntf";

std::ptrdiff_t at(std::size_t place) { return static_cast<std::ptrdiff_t>(place); }

}  // namespace

// Steele, Lea, Flood 2014: SplitMix64.
std::uint64_t Mutator::draw() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::size_t Mutator::below(std::size_t bound) { return draw() % bound; }

Input Mutator::next(const std::vector<Input>& corpus) {
  Input input = corpus.empty() ? Input{} : corpus[below(corpus.size())];
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) change(input, corpus);
  if (input.size() > kMostBytes) input.resize(kMostBytes);
  if (below(kBetweenNests) == 0) {
    const bool array = below(2) == 0;
    const Input deep =
        array ? nest(kNestDepth, "[", "", "]") : nest(kNestDepth, "{\"a\":", "1", "}");
    // Where a value stands in JSON: behind a colon.
    const auto colon = std::find(input.begin() + at(below(input.size() + 1)), input.end(), ':');
    input.insert(colon == input.end() ? colon : colon + 1, deep.begin(), deep.end());
  }
  return input;
}

void Mutator::change(Input& input, const std::vector<Input>& corpus) {
  const std::size_t place = below(input.size() + 1);
  const std::size_t length = std::min(input.size() - place, 1 + below(below(2) == 0 ? 4 : 64));
  const auto begin = input.begin() + at(place), end = begin + at(length);
  switch (below(9)) {
    case 0:
      if (length > 0) input[place] ^= static_cast<std::uint8_t>(1u << below(8));
      return;
    case 1:
      if (length > 0)
        input[place] = static_cast<std::uint8_t>(kTelling[below(sizeof kTelling - 1)]);
      return;
    case 2:
      input.insert(begin, static_cast<std::uint8_t>(kTelling[below(sizeof kTelling - 1)]));
      return;
    case 3: input.erase(begin, end); return;
    case 4: input.resize(place); return;
    case 5: {
      const Input twice(begin, end);
      input.insert(begin, twice.begin(), twice.end());
      return;
    }
    case 6: {  // a whole number of the machine at one of its edges
      std::array<std::uint8_t, 8> number{};
      const std::uint64_t value = (std::uint64_t{1} << below(64)) - below(2);
      std::memcpy(number.data(), &value, sizeof value);
      std::copy_n(number.begin(), std::min<std::size_t>(length, number.size()), begin);
      return;
    }
    case 7: {  // a number as people write it
      static constexpr const char* kNumbers[] = {
          "-1",   "1e999", "18446744073709551616", "4294967296", "1e300",
          "-0.0", "null",  "9223372036854775808"};
      const char* const text = kNumbers[below(std::size(kNumbers))];
      const auto where = input.erase(begin, end);
      input.insert(where, text, text + std::strlen(text));
      return;
    }
    default:
      if (!corpus.empty()) {
        const Input& other = corpus[below(corpus.size())];
        input.resize(place);
        input.insert(input.end(), other.begin() + at(below(other.size() + 1)), other.end());
      }
  }
}

Input nest(std::size_t depth, const char* open, const char* inside, const char* close) {
  Input deep;
  const auto add = [&](const char* text) {
    deep.insert(deep.end(), text, text + std::strlen(text));
  };
  for (std::size_t i = 0; i < depth; ++i) add(open);
  add(inside);
  for (std::size_t i = 0; i < depth; ++i) add(close);
  return deep;
}

}  // namespace hearsay::fuzz

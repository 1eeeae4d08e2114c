// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/safetensors.hpp"

#include <cstring>
#include <limits>
#include <vector>

#include "kernels/core/errc.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::DamagedFile;
using hearsay::kernels::Fault;
using hearsay::kernels::Layout;
using hearsay::kernels::Rng;
using hearsay::kernels::UsageError;

namespace {

Layout small_layout() {
  Layout layout;
  layout.add("0.weight", {2, 3});
  layout.add("empty", {0, 4});
  layout.add("0.bias", {3});
  layout.add("scale", {});
  return layout;
}

std::vector<float> small_values() {
  return {1.0f, -0.0f, std::numeric_limits<float>::quiet_NaN(), 1e-42f, 5.0f,
          6.0f, 7.0f,  std::numeric_limits<float>::infinity(),  9.0f,   10.0f};
}

std::string file_of(const std::string& header, const std::string& data, std::uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

std::string file_of(const std::string& header, const std::string& data) {
  return file_of(header, data, header.size());
}

// What the reader says about these bytes; empty when it accepts them.
template <typename Error>
std::string refusal(const std::string& path, const std::string& bytes) {
  write_text(path, bytes);
  try {
    read_safetensors(path);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string tensor(const std::string& name, const std::string& shape, std::size_t begin,
                   std::size_t end) {
  return "\"" + name + R"(":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

}  // namespace

TEST_CASE("a model file reads back bit for bit", "[log]") {
  TempDir dir;
  const std::string path = dir.file("model.safetensors");
  const std::vector<float> values = small_values();
  const TensorMetadata metadata{{"format", "pt"}, {"hearsay.peer", "p03"}, {"quote", "\"\\\n"}};
  write_safetensors(path, small_layout(), values, metadata);
  const TensorFile file = read_safetensors(path);
  CHECK(file.layout.first_difference(small_layout()).empty());
  CHECK(file.layout.slots()[2].offset == 6);
  CHECK(file.metadata == metadata);
  REQUIRE(file.values.size() == values.size());
  CHECK(std::memcmp(file.values.data(), values.data(), values.size() * sizeof(float)) == 0);
  const std::string bytes = read_text(path);
  CHECK(bytes.substr(8, 16) == R"({"__metadata__":)");
  CHECK((bytes.size() - values.size() * sizeof(float)) % 8 == 0);
}

TEST_CASE("metadata without tensors and tensors without metadata read back", "[log]") {
  TempDir dir;
  const std::string path = dir.file("model.safetensors");
  write_safetensors(path, Layout(), {}, {{"a", "b"}});
  CHECK(read_safetensors(path).metadata == TensorMetadata{{"a", "b"}});
  write_safetensors(path, small_layout(), small_values(), {});
  CHECK(read_safetensors(path).metadata.empty());
  write_safetensors(path, Layout(), {}, {});
  CHECK(read_safetensors(path).layout.size() == 0);
}

TEST_CASE("names that no reader could tell apart are refused when writing", "[log]") {
  TempDir dir;
  Layout twice;
  twice.add("w", {1});
  twice.add("w", {1});
  const std::vector<float> values(2);
  CHECK_THROWS_AS(write_safetensors(dir.file("x"), twice, values, {}), UsageError);
  Layout reserved;
  reserved.add("__metadata__", {2});
  CHECK_THROWS_AS(write_safetensors(dir.file("x"), reserved, values, {}), UsageError);
  CHECK(entries(dir.path()) == 0);
}

TEST_CASE("a header over the limit of the format is refused when writing", "[log]") {
  TempDir dir;
  Layout layout;
  for (int i = 0; i < 60; ++i) layout.add(std::string(2'000'000, 'n') + std::to_string(i), {0});
  CHECK_THROWS_AS(write_safetensors(dir.file("x"), layout, {}, {}), UsageError);
}

TEST_CASE("a model file cut at any byte is refused with the offset", "[log]") {
  TempDir dir;
  const std::string path = dir.file("model.safetensors");
  write_safetensors(path, small_layout(), small_values(), {{"format", "pt"}});
  const std::string bytes = read_text(path);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CAPTURE(length);
    const std::string line = refusal<DamagedFile>(path, bytes.substr(0, length));
    REQUIRE(line.find(path + ": offset " + std::to_string(length) + ": the file ends") == 0);
  }
  const std::string line = refusal<DamagedFile>(path, bytes + "x");
  CHECK(line ==
        path + ": offset " + std::to_string(bytes.size()) + ": 1 bytes too many at the end");
}

TEST_CASE("each kind of damage in the header is named", "[log]") {
  TempDir dir;
  const std::string path = dir.file("model.safetensors");
  const std::string four(4, '\0'), eight(8, '\0');
  const auto says = [&](const std::string& bytes, const std::string& words) {
    const std::string line = refusal<DamagedFile>(path, bytes);
    CAPTURE(line, words);
    CHECK(line.find(path + ": offset ") == 0);
    CHECK(line.find(words) != std::string::npos);
  };
  CHECK(refusal<Fault>(path, file_of("{" + tensor("a", "[1]", 0, 4) + "}", four)).empty());
  CHECK(refusal<Fault>(
            path,
            file_of("{" + tensor("a", "[1]", 4, 8) + "," + tensor("b", "[1]", 0, 4) + "}", eight))
            .empty());
  says(file_of("{}", "", 100'000'001), "over the limit");
  says(file_of("{}", "", 0xFFFF'FFFF'FFFF'FFFF), "over the limit");
  says(file_of("{}", "", 3), "inside the header");
  says(file_of("", ""), "does not begin with '{'");
  says(file_of("[]", ""), "does not begin with '{'");
  says(file_of("{\"a\":", ""), "not JSON");
  says(file_of("{\"\xFF\":1}", ""), "not JSON");
  says(file_of("{} {}", ""), "not JSON");
  says(file_of("{\"a\":{\"b\":{\"c\":{\"d\":{}}}}}", ""), "nested too deeply");
  says(file_of("{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}", ""),
       "nested too deeply");
  says(file_of("{" + tensor("a", "[1]", 0, 4) + "," + tensor("a", "[1]", 4, 8) + "}", eight),
       "'a' twice");
  says(file_of("{\"a\":1}", ""), "not an object");
  says(file_of("{\"a\":{}}", ""), "no dtype");
  says(file_of(R"({"a":{"dtype":"F32","dtype":"F32"}})", ""), "'dtype' twice");
  says(file_of(R"({"a":{"dtype":"F32"}})", ""), "no shape");
  says(file_of(R"({"a":{"dtype":"F32","shape":[1]}})", four), "no pair of data_offsets");
  says(file_of(R"({"__metadata__":{"a":1}})", ""), "not a string");
  says(file_of(R"({"__metadata__":[]})", ""), "not an object");
  says(file_of("{" + tensor("a", "[-1]", 0, 4) + "}", four), "no whole number");
  says(file_of("{" + tensor("a", "[1.0]", 0, 4) + "}", four), "no whole number");
  says(file_of("{" + tensor("a", "[99999999999999999999]", 0, 4) + "}", four), "no whole number");
  says(file_of("{" + tensor("a", "[1e999]", 0, 4) + "}", four), "");
  says(file_of("{" + tensor("a", "[2]", 0, 4) + "}", four), "its shape needs 8");
  says(file_of("{" + tensor("a", "[4611686018427387904,4]", 0, 4) + "}", four), "overflows");
  says(file_of("{" + tensor("a", "[4611686018427387905]", 0, 4) + "}", four), "overflows");
  says(file_of("{" + tensor("a", "[1]", 4, 0) + "}", four), "ends before it begins");
  says(file_of("{" + tensor("a", "[2]", 0, 8) + "}", four), "needs data up to byte 8 of 4");
  says(file_of("{" + tensor("a", "[1]", 4, 8) + "}", eight), "after a gap");
  says(file_of("{" + tensor("a", "[1]", 0, 4) + "," + tensor("b", "[1]", 0, 4) + "}", four),
       "overlaps");
  says(file_of("{" + tensor("a", "[1]", 0, 4) + "}", eight), "4 bytes too many");
}

TEST_CASE("another dtype is refused by name", "[log]") {
  TempDir dir;
  const std::string path = dir.file("model.safetensors");
  const std::string line = refusal<UsageError>(
      path, file_of(R"({"w":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}})", "xx"));
  CHECK(line == path + ": tensor 'w' has dtype BF16; only F32 is read, convert it first");
  CHECK_THROWS_AS(read_safetensors(dir.file("absent")), UsageError);
  CHECK_THROWS_AS(read_safetensors(dir.path()), UsageError);
}

TEST_CASE("a mutated model file is read or refused, never worse", "[log]") {
  TempDir dir;
  const std::string path = dir.file("model.safetensors");
  write_safetensors(path, small_layout(), small_values(), {{"format", "pt"}});
  const std::string bytes = read_text(path);
  const std::size_t header_bytes = bytes.size() - small_values().size() * sizeof(float);
  const std::string alphabet = "0123456789{}[]\",:-.eE \\uF32";
  Rng rng = Rng::stream(21, "safetensors fuzz");  // seed 21
  for (int round = 0; round < 4000; ++round) {
    CAPTURE(round);
    std::string mutated = bytes;
    const std::uint32_t changes = 1 + rng.below(4);
    for (std::uint32_t i = 0; i < changes; ++i) {
      const std::uint32_t at = rng.below(static_cast<std::uint32_t>(header_bytes));
      switch (rng.below(4)) {
        case 0: mutated[at] = static_cast<char>(rng.below(256)); break;
        case 1:
          mutated[at] = alphabet[rng.below(static_cast<std::uint32_t>(alphabet.size()))];
          break;
        case 2: mutated.erase(at, 1 + rng.below(4)); break;
        default:
          mutated.insert(at, mutated.substr(rng.below(static_cast<std::uint32_t>(header_bytes)),
                                            rng.below(40)));
      }
    }
    const std::string line = refusal<Fault>(path, mutated);
    REQUIRE((line.empty() || line.find(path) != std::string::npos));
  }
}

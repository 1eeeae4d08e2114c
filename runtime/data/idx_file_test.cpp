// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/idx_file.hpp"

#include <numeric>

#include "kernels/core/errc.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/data/gzip_stream.hpp"
#include "runtime/data/idx_testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using namespace hearsay::runtime::testkit;
using hearsay::kernels::DamagedFile;
using hearsay::kernels::Rng;
using hearsay::kernels::UsageError;

namespace {

Bytes counting(std::size_t count) {
  Bytes values(count);
  std::iota(values.begin(), values.end(), std::uint8_t{1});
  return values;
}

Bytes small_file() { return idx_bytes({3, 2, 4}, counting(24)); }

// The line with which the bytes are refused; "" when they are read.
std::string refusal(const Bytes& bytes, std::size_t dimensions = 3) {
  return thrown_line<DamagedFile>([&] { decode_idx("some.idx", bytes, dimensions); });
}

Bytes changed(Bytes bytes, std::size_t at, std::uint8_t value) {
  bytes.at(at) = value;
  return bytes;
}

// Flips, sets, cuts and inserts a few bytes.
Bytes mutated(Bytes bytes, Rng& rng) {
  const std::uint32_t changes = 1 + rng.below(4);
  for (std::uint32_t i = 0; i < changes && !bytes.empty(); ++i) {
    const std::uint32_t at = rng.below(static_cast<std::uint32_t>(bytes.size()));
    const auto value = static_cast<std::uint8_t>(rng.below(256));
    switch (rng.below(5)) {
      case 0: bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1u << rng.below(8))); break;
      case 1: bytes[at] = value; break;
      case 2: bytes.resize(at); break;
      case 3: bytes.insert(bytes.begin() + at, value); break;
      default: bytes.erase(bytes.begin() + at); break;
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("an IDX file is read back as written, plain or gzip, whatever its name") {
  const TempFolder folder;
  const bool gzip = GENERATE(false, true);
  const std::string name = GENERATE("images", "images.gz");
  CAPTURE(gzip, name);
  const auto path = folder.write(name, gzip ? gzip_bytes(small_file()) : small_file());
  const IdxFile file = read_idx(path, 3);
  CHECK(file.dims == std::vector<std::size_t>{3, 2, 4});
  CHECK(file.values == counting(24));
  CHECK(file.packed == gzip);
}

TEST_CASE("a file of many pieces and of several gzip members is read whole") {
  Rng rng = Rng::stream(3, "idx-large");
  Bytes values(300'001);
  for (auto& value : values) value = static_cast<std::uint8_t>(rng.below(256));
  const Bytes plain = idx_bytes({300'001}, values);
  CHECK(decode_idx("x", plain, 1).values == values);
  CHECK(decode_idx("x", gzip_bytes(plain), 1).values == values);

  Bytes members = gzip_bytes(Bytes(plain.begin(), plain.begin() + 1000));
  const Bytes second = gzip_bytes(Bytes(plain.begin() + 1000, plain.end()));
  members.insert(members.end(), second.begin(), second.end());
  CHECK(decode_idx("x", members, 1).values == values);
}

TEST_CASE("a plain file cut at any byte is refused with its path and the offset of the cut") {
  const Bytes whole = small_file();
  REQUIRE(refusal(whole).empty());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const std::string line = refusal(Bytes(whole.begin(), whole.begin() + size));
    REQUIRE(holds(line, "some.idx: offset " + std::to_string(size) + ": "));
    REQUIRE(holds(line, size == 0 ? "empty" : "truncated"));
  }
}

TEST_CASE("a gzip file cut at any byte is refused") {
  const Bytes whole = gzip_bytes(small_file());
  REQUIRE(refusal(whole).empty());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const std::string line = refusal(Bytes(whole.begin(), whole.begin() + size));
    REQUIRE(holds(line, "some.idx: offset "));
  }
}

TEST_CASE("a gzip file whose content is cut at any byte is refused at that offset") {
  const Bytes whole = small_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const std::string line = refusal(gzip_bytes(Bytes(whole.begin(), whole.begin() + size)));
    REQUIRE(holds(line, "some.idx: offset " + std::to_string(size) + ": "));
    REQUIRE(holds(line, "unpacked"));
  }
}

TEST_CASE("wrong magic, type, dimension count and trailing bytes are named with their offset") {
  const Bytes whole = small_file();
  CHECK(holds(refusal(changed(whole, 0, 1)), "offset 0: not an IDX file"));
  CHECK(holds(refusal(changed(whole, 1, 1)), "offset 0: not an IDX file"));
  CHECK(holds(refusal(changed(whole, 2, 0x0d)), "offset 2: IDX type 13"));
  CHECK(holds(refusal(changed(whole, 3, 1)), "offset 3: IDX file of 1 dimensions, expected 3"));
  CHECK(holds(refusal(whole, 1), "offset 3: IDX file of 3 dimensions, expected 1"));
  CHECK(holds(refusal(changed(whole, 11, 0)), "offset 8: a dimension of size 0"));

  Bytes longer = whole;
  longer.push_back(0);
  CHECK(holds(refusal(longer), "offset 40: bytes behind"));
  CHECK(holds(refusal(gzip_bytes(longer)), "offset 40: bytes behind"));
  Bytes behind_gzip = gzip_bytes(whole);
  behind_gzip.push_back('x');
  CHECK(holds(refusal(behind_gzip), "gzip data is truncated"));  // might have been a member
  behind_gzip.push_back('y');
  CHECK(holds(refusal(behind_gzip), "gzip data is damaged (incorrect header check)"));
}

TEST_CASE("sizes that no file can hold are refused before memory is taken") {
  const std::uint32_t huge = 0xffff'ffff;
  CHECK(holds(refusal(idx_bytes({huge, huge, huge}, {})), "offset 8: the dimensions promise"));
  CHECK(holds(refusal(idx_bytes({65'536, 65'536, 65'536}, {})), "the dimensions promise"));
  // 2^32 values: allowed by the limit, but the file is far shorter.
  CHECK(holds(refusal(idx_bytes({65'536, 65'536, 1}, {1, 2, 3})), "there are 3"));
  const Bytes packed = gzip_bytes(idx_bytes({65'536, 65'536, 1}, {1, 2, 3}));
  CHECK(holds(refusal(packed), "bytes of gzip can hold"));
}

TEST_CASE("a gzip file that unpacks to more than its header says is left off early") {
  Bytes content = idx_bytes({2}, {7, 7});
  content.resize(64 << 20, 0);
  const Bytes packed = gzip_bytes(content);
  REQUIRE(packed.size() < 100'000);
  CHECK(holds(refusal(packed, 1), "offset 10: bytes behind the 2 values"));
}

TEST_CASE("a wrong gzip checksum or length is damage") {
  Bytes packed = gzip_bytes(small_file());
  const std::size_t trailer = packed.size() - 8;
  for (std::size_t i = trailer; i < packed.size(); ++i) {
    CAPTURE(i);
    const auto other = static_cast<std::uint8_t>(packed[i] ^ 0x10);
    const std::string line = refusal(changed(packed, i, other));
    CHECK(holds(line, "gzip data is damaged"));
  }
}

TEST_CASE("mutated files never crash: they are read with consistent sizes or refused as damaged") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  const bool gzip = GENERATE(false, true);
  CAPTURE(seed, gzip);
  Rng rng = Rng::stream(seed, "idx-fuzz");
  const Bytes original = gzip ? gzip_bytes(small_file()) : small_file();
  int read = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    const Bytes bytes = mutated(original, rng);
    CAPTURE(round, bytes);
    try {
      const IdxFile file = decode_idx("fuzz", bytes, 3);
      REQUIRE(file.dims.size() == 3);
      REQUIRE(file.values.size() == file.dims[0] * file.dims[1] * file.dims[2]);
      REQUIRE(!file.values.empty());
      ++read;
    } catch (const DamagedFile& error) {
      REQUIRE(holds(error.what(), "fuzz: offset "));
      ++refused;
    }
  }
  CHECK(read > 0);
  CHECK(refused > 1000);
}

TEST_CASE("random bytes behind a gzip magic number never crash") {
  Rng rng = Rng::stream(9, "gzip-fuzz");
  for (int round = 0; round < 5000; ++round) {
    Bytes bytes{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    const std::uint32_t size = rng.below(200);
    for (std::uint32_t i = 0; i < size; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(rng.below(256)));
    }
    CAPTURE(round, bytes);
    REQUIRE(holds(refusal(bytes), "some.idx: offset "));
  }
}

TEST_CASE("a missing file and a folder are usage errors that name the path") {
  const TempFolder folder;
  const auto missing = folder.path() / "nothing";
  CHECK(holds(thrown_line<UsageError>([&] { read_idx(missing, 1); }), missing.string()));
  CHECK(holds(thrown_line<UsageError>([&] { read_idx(folder.path(), 1); }), "no such file"));
}

// SPDX-License-Identifier: Apache-2.0
// Dense messages and sections of values: random rounding has the mean of the weight, the error
// memory makes the mean of messages the weight, and pieces do not change a bit.
#include "gossip/codec/values.hpp"

#include <cmath>

#include "gossip/codec/entry_records.hpp"
#include "gossip/codec/testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;

// Mean over messages of weights that stand still, minus the weights; in units of their spread.
double mean_error(const CodecSettings& settings, int messages) {
  const std::size_t n = 4096 + 70;
  const std::vector<float> start = normals(n, 1.0, 1);
  std::vector<float> w = start;
  drift(w, 0.01, 2);
  const auto plan = make_codec_plan(settings, plain(n), start, 3);
  const auto codec = plan->make(PeerId(0));
  std::vector<double> sum(n);
  std::vector<float> in(n);
  for (int m = 0; m < messages; ++m) {
    REQUIRE(codec->decode(*codec->encode(w, nullptr), w, in).fault == "");
    for (std::size_t i = 0; i < n; ++i) sum[i] += in[i];
  }
  double squares = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double off = sum[i] / messages - w[i];
    squares += off * off;
  }
  return std::sqrt(squares / static_cast<double>(n)) / 0.01;
}

}  // namespace

TEST_CASE("Rounding at random is unbiased: the mean over M messages errs as 1 / sqrt(M)") {
  for (const ValueKind kind : {ValueKind::int8, ValueKind::int4, ValueKind::bf16}) {
    const CodecSettings settings = dense(kind, true);
    INFO(text_of(settings));
    const double once = mean_error(settings, 1), many = mean_error(settings, 400);
    CHECK(many < once / 20.0 * 1.15 + 1e-5);
    CHECK(many > once / 20.0 * 0.85 - 1e-5);
  }
}

TEST_CASE("With an error memory the mean over M messages errs as 1 / M") {
  for (const ValueKind kind : {ValueKind::int8, ValueKind::int4, ValueKind::bf16}) {
    const CodecSettings settings = dense(kind, false, true);
    INFO(text_of(settings));
    const double once = mean_error(settings, 1);
    CHECK(mean_error(settings, 100) < once / 60.0 + 1e-5);
  }
}

TEST_CASE("bf16 without memory repeats itself, and errs by half of its last bit at most") {
  const CodecSettings settings = dense(ValueKind::bf16);
  CHECK(mean_error(settings, 10) == Approx(mean_error(settings, 1)).margin(1e-6));
  CHECK(mean_error(settings, 1) < 0x1p-9);
}

TEST_CASE("Two peers round at random differently, one peer each message anew") {
  const std::size_t n = 1000;
  const std::vector<float> start = normals(n, 1.0, 1), w = normals(n, 1.0, 2);
  const auto plan = make_codec_plan(dense(ValueKind::int4, true), plain(n), start, 3);
  const auto a = plan->make(PeerId(0)), b = plan->make(PeerId(1));
  const auto first = a->encode(w, nullptr)->bytes;
  CHECK(b->encode(w, nullptr)->bytes != first);
  CHECK(a->encode(w, nullptr)->bytes != first);
  CHECK(plan->make(PeerId(0))->encode(w, nullptr)->bytes == first);
}

TEST_CASE("fp32 messages are the weights, bit for bit") {
  const std::vector<float> start = normals(777, 1.0, 1), w = normals(777, 1e-20, 2);
  const auto plan = make_codec_plan(dense(ValueKind::fp32), plain(777), start, 3);
  const auto codec = plan->make(PeerId(0));
  std::vector<float> in(777);
  REQUIRE(codec->decode(*codec->encode(w, nullptr), start, in).fault == "");
  CHECK(in == w);
  CHECK(plan->most_bytes() == kPackedHead + 4 * 777);
}

TEST_CASE("Records of positions come back, refuse what is not theirs, and keep their bound") {
  kernels::Rng rng = kernels::Rng::stream(7, "records");
  for (const std::size_t positions : {1, 100, 65'536, 65'537, 300'000}) {
    for (const double share : {0.0, 0.0005, 0.02, 0.2, 0.6, 1.0}) {
      std::vector<std::uint32_t> at, back;
      for (std::uint32_t i = 0; i < positions; ++i)
        if (rng.uniform() < share) at.push_back(i);
      PackedBytes bytes;
      put_entries(bytes, at, positions);
      REQUIRE(bytes.size() <= most_entry_bytes(positions, at.size()));
      PackedReader reader(bytes);
      REQUIRE(read_entries(reader, positions, at.size(), back) == "");
      CHECK(back == at);
      CHECK(reader.rest().empty());
      if (at.empty()) continue;
      PackedReader narrow(bytes), less(bytes);
      CHECK(read_entries(narrow, at.back(), at.size(), back) != "");
      CHECK(read_entries(less, positions, at.size() - 1, back) != "");
      PackedBytes more = bytes, fewer = bytes;
      ++more[0];
      --fewer[0];
      PackedReader wrong(more), wrong_too(fewer);
      CHECK(read_entries(wrong, positions + 1, at.size() + 1, back) != "");
      CHECK(read_entries(wrong_too, positions, at.size(), back) != "");
    }
  }
}

}  // namespace hearsay::gossip

// SPDX-License-Identifier: Apache-2.0
// Every codec: what one peer says another reads, with codec objects of their own; a history goes on
// after its state has been kept and taken up; weights that are no numbers do no harm.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "gossip/codec/testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;

constexpr float kUnsaid = -7777.0f;  // no weight has this value

float tolerance(const CodecSettings& settings, float most, float w) {
  const float levels = settings.values.kind == ValueKind::int8 ? 127.0f : 7.0f;
  const float rounding = std::fabs(w) * 0x1p-22f;
  if (settings.smoothing.mode != SmoothingRule::Mode::none) return 2.2f * most;  // on its way
  if (settings.values.is_lloyd() || settings.fits_bits) return 2.0f * most + rounding;
  if (settings.kind == Kind::lossless) return std::fabs(w) * 0x1p-8f;
  if (settings.values.kind == ValueKind::fp32) return 0.0f;
  if (settings.values.kind == ValueKind::bf16) return most * 0x1p-7f + rounding;
  // The error memory may add half a step to what is said.
  return 1.6f * most / levels + rounding;
}

bool says_all(const CodecSettings& settings) {
  return settings.kind == Kind::dense || settings.kind == Kind::lossless;
}

// Whether what is published is what was decoded.
bool publishes(const CodecSettings& settings) {
  using Mode = SmoothingRule::Mode;
  const Mode mode = settings.smoothing.mode;
  return !says_all(settings) && !settings.fits_bits && (mode == Mode::none || mode == Mode::ef);
}

// Three messages of drifting weights, each read by another peer.
void round_trip(const CodecSettings& settings, const kernels::Layout& layout) {
  const std::size_t n = layout.size();
  const std::vector<float> start = normals(n, 0.05, 1);
  const auto plan = make_codec_plan(settings, layout, start, 3);
  const auto speaker = plan->make(PeerId(0)), listener = plan->make(PeerId(1));
  std::vector<float> w = start, in(n);
  const std::vector<float> base(n, kUnsaid);
  for (std::uint64_t message = 0; message < 3; ++message) {
    drift(w, 0.01, 10 + message);
    float most = 0.0f;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::fabs(w[i] - start[i]));
    const auto said = speaker->encode(w, nullptr);
    REQUIRE(said->bytes.size() <= plan->most_bytes());
    const Unpacked read = listener->decode(*said, base, in);
    REQUIRE(read.fault == "");
    std::size_t values = 0, wrong = 0, unpublished = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (in[i] == kUnsaid) continue;
      ++values;
      wrong += !(std::fabs(in[i] - w[i]) <= tolerance(settings, most, w[i]));
      if (publishes(settings)) unpublished += in[i] != published(*speaker)[i];
    }
    CHECK(values == read.values);
    CHECK(wrong == 0);
    CHECK(unpublished == 0);
    CHECK(values > 0);
    if (says_all(settings)) CHECK(values == n);
  }
}

std::vector<std::uint8_t> next(Codec& codec, std::vector<float>& w, std::uint64_t message,
                               const merge::Packed* like) {
  drift(w, 0.01, 100 + message);
  return codec.encode(w, like)->bytes;
}

}  // namespace

TEST_CASE("What a codec says, another peer's codec reads, for models of every size") {
  for (const CodecSettings& settings : all_settings()) {
    for (const std::size_t n : {1, 2, 63, 64, 65, 1023, 1024, 4097}) {
      INFO(text_of(settings) << " of " << n);
      round_trip(settings, plain(n));
    }
    INFO(text_of(settings) << " of layers");
    round_trip(settings, layered());
  }
}

TEST_CASE("What a codec says, another peer's codec reads, around the edges of tiles") {
  for (const CodecSettings& settings : all_settings()) {
    for (const std::size_t n : {65'535, 65'536, 65'537, 200'000}) {
      INFO(text_of(settings) << " of " << n);
      round_trip(settings, plain(n));
    }
  }
}

TEST_CASE("A history goes on with the same bytes from a kept state") {
  const kernels::Layout layout = layered();
  const std::vector<float> start = normals(layout.size(), 0.05, 1);
  for (const CodecSettings& settings : all_settings()) {
    INFO(text_of(settings));
    const auto plan = make_codec_plan(settings, layout, start, 3);
    const auto codec = plan->make(PeerId(2)), partner = plan->make(PeerId(3));
    std::vector<float> w = start, other = start;
    drift(other, 0.01, 5);
    const auto question = partner->encode(other, nullptr);
    for (std::uint64_t m = 0; m < 3; ++m) next(*codec, w, m, m == 1 ? question.get() : nullptr);
    const auto asked = codec->encode(w, nullptr);

    Archive kept;
    codec->state(kept);
    const auto again = plan->make(PeerId(2));
    Archive from(Archive::Json::parse(kept.json().dump()), kept.arrays());
    from.of_model(layout.size());
    from.of_pool(4);
    again->state(from);

    // An answer on its way when the state was kept is understood after it has been taken up.
    std::vector<float> in(layout.size());
    CHECK(again->decode(*partner->encode(other, asked.get()), w, in).fault == "");
    std::vector<float> twin = w;
    for (std::uint64_t m = 3; m < 8; ++m) {
      const merge::Packed* like = m == 5 ? question.get() : nullptr;
      CHECK(next(*codec, w, m, like) == next(*again, twin, m, like));
    }
  }
}

TEST_CASE("A state of another model or of anything else is refused") {
  const auto settings = sparse(Kind::threshold, 0.05, ValueKind::fp32, true);
  const auto plan_of = [&](std::size_t n) {
    return make_codec_plan(settings, plain(n), normals(n, 1.0, 1), 3)->make(PeerId(0));
  };
  const auto small = plan_of(2000), large = plan_of(3000);
  const std::vector<float> w = normals(2000, 1.0, 2);
  small->encode(w, nullptr);
  Archive kept;
  small->state(kept);
  {
    Archive from(kept.json(), kept.arrays());
    CHECK_THROWS_AS(large->state(from), ArchiveFault);
  }
  const auto refused = [&](const char* pointer, const Archive::Json& value) {
    Archive::Json changed = kept.json();
    changed[Archive::Json::json_pointer(pointer)] = value;
    Archive from(changed, kept.arrays());
    CHECK_THROWS_AS(small->state(from), ArchiveFault);
  };
  refused("/remembered/0", "0g");
  refused("/remembered/0", "012");
  refused("/remembered", std::vector<std::string>(9, "00"));
  refused("/support/threshold", -1.0);
  refused("/support/threshold", "nan");
  refused("/published", nullptr);
  refused("/said", -1);
}

TEST_CASE("A state of averages, momentum or density of another model is refused") {
  const kernels::Layout layout = layered();
  const std::vector<float> start = normals(layout.size(), 0.05, 1);
  CodecSettings settings = averaged(AverageRule::Kind::score, 0.05, ValueKind::int8);
  settings.smoothing.mode = SmoothingRule::Mode::ef;
  settings.density.emplace();
  const auto plan = make_codec_plan(settings, layout, start, 3);
  const auto codec = plan->make(PeerId(0));
  codec->encode(normals(layout.size(), 1.0, 2), nullptr);
  Archive kept;
  codec->state(kept);
  const auto refused = [&](const char* pointer, const Archive::Json& value, const char* key) {
    Archive::Json changed = kept.json();
    changed[Archive::Json::json_pointer(pointer)] = value;
    Archive from(changed, kept.arrays());
    CHECK_THROWS_WITH(plan->make(PeerId(0))->state(from), Catch::Contains(key));
  };
  refused("/support/average", nullptr, "average");
  refused("/support/last", nullptr, "last");
  refused("/support/threshold", -1.0, "threshold");
  refused("/smoothing/y", nullptr, "smoothing.y");
  refused("/density/share", 0.5, "density.share");
  refused("/density/losses", std::vector<double>(6, 1.0), "density.losses");
  refused("/density/losses", std::vector<double>{-1.0}, "density.losses");
  refused("/density/average", -1.0, "density.average");
}

TEST_CASE("Forgetting makes a codec say again what it has said") {
  const std::size_t n = 5000;
  const auto plan = make_codec_plan(sparse(Kind::topk, 0.01), plain(n), normals(n, 1.0, 1), 3);
  const auto codec = plan->make(PeerId(0));
  const std::vector<float> w = normals(n, 1.0, 2);
  const auto first = codec->encode(w, nullptr);
  CHECK(codec->encode(w, nullptr)->bytes != first->bytes);
  codec->forget();
  CHECK(codec->encode(w, nullptr)->bytes == first->bytes);
}

TEST_CASE("Weights that are no numbers are never said, and leave what is published finite") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kMost = std::numeric_limits<float>::max();
  const kernels::Layout layout = layered();
  const std::vector<float> start = normals(layout.size(), 0.05, 1);
  for (const CodecSettings& settings : all_settings()) {
    INFO(text_of(settings));
    const auto plan = make_codec_plan(settings, layout, start, 3);
    const auto speaker = plan->make(PeerId(0)), listener = plan->make(PeerId(1));
    std::vector<float> w = start, in(layout.size());
    for (std::size_t i = 0; i < w.size(); i += 97)
      w[i] = i % 3 == 0 ? std::nanf("") : i % 3 == 1 ? kInfinity : -kInfinity;
    for (int message = 0; message < 3; ++message) {
      const auto said = speaker->encode(w, nullptr);
      REQUIRE(listener->decode(*said, start, in).fault == "");
      std::size_t bad = 0;
      for (const float each : in) bad += !std::isfinite(each);
      CHECK(bad == 0);
    }
    // Magnitudes at the end of the range may overflow, but nothing else may happen.
    for (std::size_t i = 0; i < w.size(); i += 2) w[i] = i % 4 == 0 ? kMost : -kMost;
    for (int message = 0; message < 3; ++message)
      REQUIRE(listener->decode(*speaker->encode(w, nullptr), start, in).fault == "");
    if (says_all(settings) || settings.fits_bits) continue;
    for (const float each : published(*speaker)) REQUIRE(std::isfinite(each));
  }
}

TEST_CASE("A start with values that are no numbers counts them as zero") {
  std::vector<float> start = normals(3000, 1.0, 1), w = normals(3000, 1.0, 2), in(3000);
  start[5] = std::nanf("");
  start[6] = std::numeric_limits<float>::infinity();
  const auto plan = make_codec_plan(dense(ValueKind::bf16), plain(3000), start, 3);
  const auto codec = plan->make(PeerId(0));
  REQUIRE(codec->decode(*codec->encode(w, nullptr), w, in).fault == "");
  CHECK(std::fabs(in[5] - w[5]) <= std::fabs(w[5]) * 0x1p-8f);
  CHECK(std::fabs(in[6] - w[6]) <= std::fabs(w[6]) * 0x1p-8f);
}

}  // namespace hearsay::gossip

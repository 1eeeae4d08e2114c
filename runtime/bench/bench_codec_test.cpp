// SPDX-License-Identifier: Apache-2.0
// Every codec of the bench decodes to what was said, and its bytes are near what entropy asks.
#include "runtime/bench/bench_codec.hpp"

#include "tests/catch.hpp"

namespace hearsay::runtime {

TEST_CASE("Codecs of the bench: no value wrong, bytes between entropy and a tenth above it") {
  for (const std::string& text : bench_codec_specs()) {
    for (const Drift drift : kDrifts) {
      const CodecRow row = bench_codec(parse_spec("--spec", text), 200'000, drift);
      INFO(row.codec << " " << row.drift << " " << row.bits_of_said() << " " << row.bound_bits);
      CHECK(row.wrong == 0);
      CHECK(row.bits_of_said() < 1.1 * row.bound_bits + 1.0);
      // Positions that lie together have less entropy than scattered ones; values do not.
      CHECK(row.bits_of_said() > 0.9 * row.bound_bits);
      CHECK(row.encode_p50_s > 0.0);
    }
  }
}

TEST_CASE("A chosen share is said, on average") {
  for (const char* text :
       {"topk:0.02", "threshold:0.02", "ma:0.02", "score:0.02", "randk:0.02", "blocks:0.02"}) {
    const CodecRow row = bench_codec(parse_spec("--spec", text), 200'000, Drift::even);
    INFO(text << " " << row.said);
    CHECK(row.said == Approx(4000.0).epsilon(0.25));
  }
}

TEST_CASE(
    "Models that are given are gone through, and small tensors are no question of positions") {
  ModelWalk walk{.name = "walk", .layout = {}, .models = {}};
  walk.layout.add("large", {100, 200});
  walk.layout.add("small", {100});
  for (int model = 0; model < 3; ++model) {
    walk.models.emplace_back(20'100, 0.0f);
    for (std::size_t i = 0; i < 20'100; ++i)  // all that moves lies together
      walk.models.back()[i] =
          (i / 200) % 50 == 0 ? 0.01f * static_cast<float>(model + 1 + int(i % 7)) : 0.5f;
  }
  const CodecRow row = bench_codec(parse_spec("--spec", "topk:0.02"), walk);
  INFO(row.said << " " << row.bits_of_said() << " " << row.bound_bits);
  CHECK(row.drift == "walk");
  CHECK(row.wrong == 0);
  CHECK(row.said == Approx(400.0 + 100.0).epsilon(0.05));
  CHECK(row.bound_bits == Approx(32.0 + 0.8 * 7.07).epsilon(0.02));  // H(0.02) / 0.02
}

TEST_CASE("Few directions say nearly all of a matrix that moves along few, and little of noise") {
  const auto error = [](const char* text, Drift drift) {
    return bench_codec(parse_spec("--spec", text), 40'000, drift).error;
  };
  CHECK(error("lowrank:4", Drift::aligned) < 0.15);
  CHECK(error("lowrank:1", Drift::aligned) < 0.6);
  CHECK(error("lowrank:4", Drift::aligned) < error("topk:0.01", Drift::aligned) / 3);
  CHECK(error("lowrank:4", Drift::even) > 0.3);
  CHECK(error("bf16", Drift::even) < 0.01);
}

}  // namespace hearsay::runtime

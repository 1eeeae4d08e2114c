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

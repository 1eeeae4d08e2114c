// SPDX-License-Identifier: Apache-2.0
// Every codec of the bench decodes to what was said, and its bytes are near what entropy asks.
#include "runtime/bench/bench_codec.hpp"

#include "tests/catch.hpp"

namespace hearsay::runtime {

TEST_CASE("Codecs of the bench: no value wrong, bytes between entropy and a tenth above it") {
  for (const std::string& text : bench_codec_specs()) {
    for (const bool is_clustered : {false, true}) {
      const CodecRow row = bench_codec(parse_spec("--spec", text), 200'000, is_clustered);
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
  for (const char* text : {"topk:0.02", "threshold:0.02", "randk:0.02", "blocks:0.02"}) {
    const CodecRow row = bench_codec(parse_spec("--spec", text), 200'000, false);
    INFO(text << " " << row.said);
    CHECK(row.said == Approx(4000.0).epsilon(0.25));
  }
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// Messages of codecs, as a peer may send them. The first byte chooses the codec, the lowest bit of
// the second puts the right tag in, so that what lies behind it is reached.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "gossip/codec/message.hpp"
#include "tests/fuzz/codec_plans.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using fuzz::require;
using kernels::PeerId;

namespace {

std::string decode(const gossip::Codec& codec, const merge::Packed& message,
                   const fuzz::CodecUnderTest& test) {
  std::vector<float> in(test.start.size());
  const gossip::Unpacked result = codec.decode(message, test.start, in);
  require(result.fault.find('\n') == std::string::npos, "a fault is one line");
  if (!result.fault.empty()) return result.fault;
  require(result.values <= in.size(), "no more is said than there are weights");
  std::size_t changed = 0;
  for (std::size_t i = 0; i < in.size(); ++i)
    changed += std::memcmp(&in[i], &test.start[i], sizeof in[i]) != 0;
  // Low rank says sums of them; lossless all, by what has changed.
  const bool says_weights =
      !test.plan->text().starts_with("lowrank") && !test.plan->text().starts_with("lossless");
  require(!says_weights || changed <= result.values, "only what is said differs from the base");
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<fuzz::CodecUnderTest> tests = fuzz::codecs_under_test();
  fuzz::Bytes input(data, size);
  const fuzz::CodecUnderTest& test = tests[input.byte() % tests.size()];
  const bool is_mended = (input.byte() & 1u) != 0;
  merge::Packed message;
  message.bytes.assign(input.rest().begin(), input.rest().end());

  const auto codec = test.plan->make(PeerId(0));
  if (!message.bytes.empty() && message.bytes[0] % 16 == 4)
    codec->encode(test.weights, nullptr);  // what an answer may refer to
  if (is_mended && message.bytes.size() >= gossip::kPackedHead)
    std::copy(test.tag.begin(), test.tag.end(), message.bytes.begin() + 1);
  if (!decode(*codec, message, test).empty()) return 0;

  // As a partner's, which may count on what it has said before.
  std::vector<float> in(test.start.size());
  codec->decode_from(PeerId(1), message, test.start, in);
  const std::size_t most = test.plan->most_bytes();
  require(message.bytes.size() <= most, "no message is longer than the bound");
  const auto answer = codec->encode(test.weights, &message);
  require(answer->bytes.size() <= most, "nor is an answer");
  const auto next = codec->encode(test.weights, nullptr);
  require(decode(*test.plan->make(PeerId(1)), *next, test).empty(), "the codec goes on");
  return 0;
}

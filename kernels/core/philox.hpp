// SPDX-License-Identifier: Apache-2.0
// The Philox4x32 bijection with 10 rounds (Salmon et al. 2011, "Parallel random numbers: as easy as
// 1, 2, 3"), for CPU and GPU: a pure function of counter and key, so that a random number belongs to
// an element and not to a thread. Cost: 20 multiplications for four 32-bit words.
#pragma once

#include <cstdint>

#include "kernels/core/host_device.hpp"

namespace hearsay::kernels {

struct PhiloxBlock {
  std::uint32_t word[4];
};

HS_HD inline PhiloxBlock philox_block(PhiloxBlock counter, std::uint32_t key0, std::uint32_t key1) {
  std::uint32_t a = counter.word[0], b = counter.word[1], c = counter.word[2], d = counter.word[3];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * a;
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c;
    a = static_cast<std::uint32_t>(p1 >> 32) ^ b ^ key0;
    b = static_cast<std::uint32_t>(p1);
    c = static_cast<std::uint32_t>(p0 >> 32) ^ d ^ key1;
    d = static_cast<std::uint32_t>(p0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{a, b, c, d}};
}

}  // namespace hearsay::kernels

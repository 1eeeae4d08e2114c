// SPDX-License-Identifier: Apache-2.0
// The key that all peers of a pool share, derived from a secret that people keep in a file or in a
// variable of the environment. Neither the secret nor the key is ever part of a message.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>

namespace hearsay::runtime {

inline constexpr std::size_t kLeastSecretBytes = 16;

using Warn = std::function<void(const std::string&)>;

// Wiped when it goes away.
class PoolKey {
 public:
  PoolKey() = default;
  PoolKey(const PoolKey&) = delete;
  PoolKey& operator=(const PoolKey&) = delete;
  ~PoolKey();
  std::array<unsigned char, 32> bytes{};
};

// `where` is a file, or env:NAME; line ends behind the secret do not count. Throws UsageError in
// words that hold nothing of the secret, also where the secret itself was given for a file name.
void read_pool_key(const std::string& where, const Warn& warn, PoolKey& out);

// Says so when others than its owner may read that file.
void warn_if_others_read(const std::string& flag, const std::string& path, const Warn& warn);

}  // namespace hearsay::runtime

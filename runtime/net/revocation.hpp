// SPDX-License-Identifier: Apache-2.0
// Certificates that no longer count, from a file that may change while peers train. One a line: a
// serial number in hex, or the SHA-256 fingerprint, with or without colons, also as openssl prints
// them ("serial=0A1B"); '#' begins a comment. Any thread; looks at the file at most once a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace hearsay::runtime {

// What a certificate is called in such a list: lower-case hex, serials without leading zeros.
struct CertificateNames {
  std::string serial, fingerprint;
};

class RevocationList {
 public:
  explicit RevocationList(std::string path);  // throws UsageError: no such file, or a bad line
  bool has(const CertificateNames& names);
  bool has_any_of(const std::vector<CertificateNames>& chain);
  // Once for every change of the file that cannot be read as a whole: what is wrong with it. Then
  // the names from before hold as well, so that a file that is being written lets nobody in.
  std::string take_fault();

 private:
  using Clock = std::chrono::steady_clock;
  struct State {  // of the file, to tell a change
    std::int64_t seconds = 0, nanoseconds = 0, bytes = -1;
    std::uint64_t inode = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  State look() const;
  void refresh();
  std::string read();

  std::string path_;
  std::mutex mutex_;
  std::set<std::string> names_;
  State state_;
  Clock::time_point looked_at_{};
  std::string fault_;
};

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// Secrets and certificates for the tests of this folder, made when they are needed.
#pragma once

#include <memory>
#include <string>

#include "runtime/log/test_support.hpp"
#include "runtime/net/security.hpp"

namespace hearsay::runtime {

// An authority, and what it has signed: PEM files in a folder that disappears with it.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "test authority");
  ~TestAuthority();
  // A peer's files; the certificate holds from and until so many seconds from now.
  SecurityFiles issue(const std::string& name, long from_s = -3600, long until_s = 3600);
  // As `openssl x509 -serial` prints it.
  static std::string serial_line(const SecurityFiles& files);
  const TempDir& folder() const { return folder_; }

 private:
  struct Keys;
  TempDir folder_;
  std::unique_ptr<Keys> keys_;
  long next_serial_ = 0xab01;
};

std::shared_ptr<Security> open_quietly(const SecurityFiles& files);
// Of a file that holds it, for as long as the call takes.
std::shared_ptr<Security> with_secret(const std::string& secret);

}  // namespace hearsay::runtime

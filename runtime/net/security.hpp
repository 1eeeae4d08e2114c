// SPDX-License-Identifier: Apache-2.0
// How the peers of a pool prove to each other that they belong there: TLS 1.3, by a key that all
// share (--secret) or by certificates of one authority (--tls), which can be revoked one by one.
// Ephemeral keys in both: whoever learns the secret later cannot read what was recorded before.
// Names in certificates mean nothing here, as peers have no fixed addresses; whom the authority
// vouches for may come in. Sessions are never resumed: every connection is proved anew.
// Knows OpenSSL and no sockets; stream.hpp carries it out. Any thread once it is open.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/net/revocation.hpp"
#include "runtime/net/secret.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace hearsay::runtime {

struct SecurityFiles {
  std::string secret;                       // FILE or env:NAME; or empty, and then
  std::string authority, certificate, key;  // PEM
  std::string revoked;                      // of certificates only; may be empty
};

// The files of CA,CERT,KEY. Throws UsageError.
SecurityFiles files_of_tls(const std::string& text);

class Security {
 public:
  enum class Side { dialler, acceptor };

  // Reads all files. Throws UsageError with one line that holds no secret; `warn` hears of files
  // that others may read.
  static std::shared_ptr<Security> open(const SecurityFiles& files, const Warn& warn);
  ~Security();
  Security(const Security&) = delete;
  Security& operator=(const Security&) = delete;

  ssl_st* new_session();  // one connection's; for whoever frees it
  // Of a handshake that ended well by OpenSSL's rules: why it proves nothing all the same; or
  // empty.
  std::string fault_of(ssl_st* session) const;
  // Of one that OpenSSL ended with an error of its own: what is wrong with the other side, and what
  // to try.
  std::string explain(ssl_st* session, unsigned long error) const;
  // Where one side speaks TLS and the other does not: of the other side, who does not; what that
  // one is told; and of the other side, who does where this peer does not.
  static const char* plain_there();
  static const char* told_to_plain();
  static const char* plain_here();

  // From the other side's certificate to the authority's; none with a secret.
  static std::vector<CertificateNames> chain_of(ssl_st* session);
  RevocationList* revoked() noexcept { return revoked_ ? &*revoked_ : nullptr; }

 private:
  Security() = default;
  void use_secret(const std::string& where, const Warn& warn);
  void use_certificates(const SecurityFiles& files, const Warn& warn);
  std::string why_not(long verify_result) const;

  std::unique_ptr<ssl_ctx_st, void (*)(ssl_ctx_st*)> context_{nullptr, nullptr};
  bool shares_secret_ = false;
  PoolKey key_;
  std::optional<RevocationList> revoked_;

  friend struct SecurityCallbacks;
};

}  // namespace hearsay::runtime

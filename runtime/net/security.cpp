// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/security.hpp"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;

// Goes over the wire in the clear, so it says nothing.
constexpr std::string_view kIdentity = "hearsay";
constexpr unsigned char kAes128Gcm[] = {0x13, 0x01};  // its hash is the one of the key, SHA-256
// Both sides compare it with the session's, which says that they mean the same use of it.
constexpr unsigned char kContextName[] = "hearsay";
constexpr unsigned int kContextBytes = sizeof kContextName - 1;

// OpenSSL's own words for what went wrong last; its queue of errors is empty afterwards.
std::string last_error() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : "unknown reason";
}

int no_passphrase(char*, int, int, void*) { return 0; }

std::string hex_of(const unsigned char* bytes, std::size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

CertificateNames names_of(X509* certificate) {
  CertificateNames names;
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> serial(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr), BN_free);
  if (serial) {
    char* const text = BN_bn2hex(serial.get());
    for (const char* c = text; *c != 0; ++c)
      names.serial += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
    OPENSSL_free(text);
    const std::size_t first = names.serial.find_first_not_of('0');
    names.serial = first == std::string::npos ? "0" : names.serial.substr(first);
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int bytes = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &bytes) == 1)
    names.fingerprint = hex_of(digest, bytes);
  return names;
}

}  // namespace

// What OpenSSL calls back: it hands on the session, whose context leads to the object.
struct SecurityCallbacks {
  static int index() {
    static const int number = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return number;
  }
  static Security& of(SSL* session) {
    return *static_cast<Security*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(session), index()));
  }
  // OpenSSL changes what it is given, so every connection gets one of its own.
  static SSL_SESSION* key_session(SSL* session) {
    const PoolKey& key = of(session).key_;
    SSL_SESSION* const made = SSL_SESSION_new();
    if (made != nullptr && SSL_SESSION_set1_master_key(made, key.bytes.data(), key.bytes.size()) &&
        SSL_SESSION_set_cipher(made, SSL_CIPHER_find(session, kAes128Gcm)) &&
        SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION) &&
        SSL_SESSION_set1_id_context(made, kContextName, kContextBytes))
      return made;
    SSL_SESSION_free(made);
    return nullptr;
  }
  static int use_key(SSL* session, const EVP_MD*, const unsigned char** id, std::size_t* bytes,
                     SSL_SESSION** out) {
    *id = reinterpret_cast<const unsigned char*>(kIdentity.data());
    *bytes = kIdentity.size();
    *out = key_session(session);
    return *out != nullptr ? 1 : 0;
  }
  static int find_key(SSL* session, const unsigned char* id, std::size_t bytes, SSL_SESSION** out) {
    const bool is_ours = bytes == kIdentity.size() && std::memcmp(id, kIdentity.data(), bytes) == 0;
    *out = is_ours ? key_session(session) : nullptr;
    return !is_ours || *out != nullptr ? 1 : 0;
  }
  // With a secret no certificate counts, whoever has signed it.
  static int refuse(int, X509_STORE_CTX* store) {
    X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
  }
  // Once for each certificate of the chain, also for the authority's own.
  static int look_up(int is_good, X509_STORE_CTX* store) {
    auto* const session =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    RevocationList* const revoked = of(session).revoked();
    X509* const certificate = X509_STORE_CTX_get_current_cert(store);
    if (is_good == 0 || revoked == nullptr || certificate == nullptr) return is_good;
    if (!revoked->has(names_of(certificate))) return 1;
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REVOKED);
    return 0;
  }
};

SecurityFiles files_of_tls(const std::string& text) {
  const std::size_t first = text.find(','), second = text.find(',', first + 1);
  SecurityFiles files;
  if (first != std::string::npos && second != std::string::npos) {
    files.authority = text.substr(0, first);
    files.certificate = text.substr(first + 1, second - first - 1);
    files.key = text.substr(second + 1);
  }
  if (files.authority.empty() || files.certificate.empty() || files.key.empty() ||
      files.key.find(',') != std::string::npos)
    throw UsageError("--tls '" + text +
                     "': write CA,CERT,KEY, three PEM files: the pool's authority, this peer's "
                     "certificate, and the key to it");
  return files;
}

std::shared_ptr<Security> Security::open(const SecurityFiles& files, const Warn& warn) {
  const std::shared_ptr<Security> security(new Security());
  security->context_ = {SSL_CTX_new(TLS_method()), SSL_CTX_free};
  SSL_CTX* const context = security->context_.get();
  if (context == nullptr) throw UsageError("OpenSSL has no TLS: " + last_error());
  SSL_CTX_set_ex_data(context, SecurityCallbacks::index(), security.get());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(context, kContextName, kContextBytes);
  if (files.secret.empty()) {
    security->use_certificates(files, warn);
  } else {
    security->use_secret(files.secret, warn);
  }
  return security;
}

Security::~Security() = default;

void Security::use_secret(const std::string& where, const Warn& warn) {
  shares_secret_ = true;
  read_pool_key(where, warn, key_);
  HS_CHECK(SSL_CTX_set_ciphersuites(context_.get(), "TLS_AES_128_GCM_SHA256") == 1);
  SSL_CTX_set_psk_use_session_callback(context_.get(), SecurityCallbacks::use_key);
  SSL_CTX_set_psk_find_session_callback(context_.get(), SecurityCallbacks::find_key);
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     SecurityCallbacks::refuse);
}

void Security::use_certificates(const SecurityFiles& files, const Warn& warn) {
  SSL_CTX* const context = context_.get();
  const auto must = [](bool is_good, const std::string& what, const std::string& path) {
    if (!is_good) throw UsageError("--tls: " + path + ": " + what + ": " + last_error());
  };
  HS_CHECK(SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384") == 1);
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);  // nobody is there to be asked
  must(SSL_CTX_load_verify_locations(context, files.authority.c_str(), nullptr) == 1,
       "no authority's certificate", files.authority);
  must(SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) == 1,
       "no certificate", files.certificate);
  must(SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) == 1,
       "no key that is readable without a passphrase and fits the certificate", files.key);
  must(SSL_CTX_check_private_key(context) == 1, "not the key to the certificate", files.key);
  warn_if_others_read("--tls", files.key, warn);
  if (!files.revoked.empty()) revoked_.emplace(files.revoked);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     SecurityCallbacks::look_up);
}

ssl_st* Security::new_session() {
  SSL* const session = SSL_new(context_.get());
  HS_CHECK(session != nullptr);
  return session;
}

// With a secret everything hangs on the key having been used; with certificates, on there being
// one.
std::string Security::fault_of(ssl_st* session) const {
  if (SSL_version(session) != TLS1_3_VERSION) return "not TLS 1.3";
  if (shares_secret_) return SSL_session_reused(session) == 1 ? "" : "it has not used the secret";
  const bool is_proved =
      SSL_get0_peer_certificate(session) != nullptr && SSL_get_verify_result(session) == X509_V_OK;
  return is_proved && SSL_session_reused(session) == 0 ? "" : "it has shown no certificate";
}

std::vector<CertificateNames> Security::chain_of(ssl_st* session) {
  std::vector<CertificateNames> names;
  const STACK_OF(X509)* const chain = SSL_get0_verified_chain(session);
  for (int i = 0; chain != nullptr && i < sk_X509_num(chain); ++i)
    names.push_back(names_of(sk_X509_value(chain, i)));
  return names;
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/test_certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace hearsay::runtime {
namespace {

using KeyRef = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using CertificateRef = std::unique_ptr<X509, decltype(&X509_free)>;

void must(bool is_good, const char* what) {
  if (!is_good) throw std::runtime_error(std::string("test certificate: ") + what);
}

template <typename Write>
void write_pem(const std::string& path, Write write) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  must(file != nullptr, "fopen");
  const bool is_good = write(file) == 1;
  must(std::fclose(file) == 0 && is_good, "write");
}

CertificateRef certificate(const std::string& name, long serial, EVP_PKEY* key, long from_s,
                           long until_s) {
  CertificateRef made(X509_new(), X509_free);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), from_s);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), until_s);
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return made;
}

void write_certificate(const std::string& path, X509* made) {
  write_pem(path, [&](std::FILE* file) { return PEM_write_X509(file, made); });
}

}  // namespace

struct TestAuthority::Keys {
  KeyRef key{EVP_EC_gen("P-256"), EVP_PKEY_free};
  CertificateRef own{nullptr, X509_free};
};

TestAuthority::TestAuthority(const std::string& name) : keys_(std::make_unique<Keys>()) {
  keys_->own = certificate(name, 1, keys_->key.get(), -7200, 7200);
  X509* const own = keys_->own.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  X509_EXTENSION* const is_authority =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
  must(X509_add_ext(own, is_authority, -1) == 1, "extension");
  X509_EXTENSION_free(is_authority);
  must(X509_sign(own, keys_->key.get(), EVP_sha256()) > 0, "sign");
  write_certificate(folder_.file("ca.pem"), own);
}

TestAuthority::~TestAuthority() = default;

SecurityFiles TestAuthority::issue(const std::string& name, long from_s, long until_s) {
  const KeyRef key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const CertificateRef made = certificate(name, next_serial_++, key.get(), from_s, until_s);
  X509_set_issuer_name(made.get(), X509_get_subject_name(keys_->own.get()));
  must(X509_sign(made.get(), keys_->key.get(), EVP_sha256()) > 0, "sign");
  SecurityFiles files;
  files.authority = folder_.file("ca.pem");
  files.certificate = folder_.file(name + ".pem");
  files.key = folder_.file(name + ".key");
  write_certificate(files.certificate, made.get());
  write_pem(files.key, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  ::chmod(files.key.c_str(), 0600);
  return files;
}

std::string TestAuthority::serial_line(const SecurityFiles& files) {
  std::FILE* const file = std::fopen(files.certificate.c_str(), "r");
  must(file != nullptr, "fopen");
  const CertificateRef made(PEM_read_X509(file, nullptr, nullptr, nullptr), X509_free);
  std::fclose(file);
  char text[32];
  std::snprintf(text, sizeof text, "serial=%lX\n",
                static_cast<unsigned long>(ASN1_INTEGER_get(X509_get0_serialNumber(made.get()))));
  return text;
}

std::shared_ptr<Security> open_quietly(const SecurityFiles& files) {
  return Security::open(files, [](const std::string&) {});
}

std::shared_ptr<Security> with_secret(const std::string& secret) {
  const TempDir folder;
  SecurityFiles files;
  files.secret = folder.file("pool.key");
  write_text(files.secret, secret);
  return open_quietly(files);
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/secret.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string_view>

#include "kernels/core/errc.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;

constexpr std::string_view kVariable = "env:";
constexpr std::size_t kMostSecretBytes = 64 * 1024;
// Keys for anything else that a secret may be used for one day differ by their label.
constexpr std::string_view kLabel = "hearsay pool key 1";

struct Secret {
  ~Secret() { OPENSSL_cleanse(text.data(), text.size()); }
  std::string text;
};

void read_variable(const std::string& name, Secret& out) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr)
    throw UsageError("--secret: the variable " + name +
                     " is not set here; export it (mpirun hands it on with -x " + name + ")");
  out.text = value;
}

// In one read of a bounded size, so that no copies are left behind in a buffer that has grown.
void read_file(const std::string& path, Secret& out) {
  std::ifstream file;
  file.rdbuf()->pubsetbuf(nullptr, 0);
  errno = 0;
  file.open(path, std::ios::binary);
  struct stat about {};
  if (!file || ::stat(path.c_str(), &about) != 0 || S_ISDIR(about.st_mode)) {
    const std::string why = error_text(errno != 0 ? errno : EISDIR);
    throw UsageError("--secret: it names no file that can be read (" + why +
                     "); give a FILE that holds the secret, or env:NAME");
  }
  out.text.resize(kMostSecretBytes + 1);
  file.read(out.text.data(), static_cast<std::streamsize>(out.text.size()));
  out.text.resize(static_cast<std::size_t>(file.gcount()));
}

void derive(const Secret& secret, PoolKey& out) {
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(
      EVP_KDF_fetch(nullptr, "HKDF", nullptr), EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(
      EVP_KDF_CTX_new(kdf.get()), EVP_KDF_CTX_free);
  std::string digest = "SHA256", label(kLabel);
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, const_cast<char*>(secret.text.data()),
                                        secret.text.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, label.data(), label.size()),
      OSSL_PARAM_construct_end()};
  if (!context ||
      EVP_KDF_derive(context.get(), out.bytes.data(), out.bytes.size(), parameters) != 1)
    throw UsageError("--secret: OpenSSL cannot derive a key by HKDF with SHA-256");
}

}  // namespace

PoolKey::~PoolKey() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

void read_pool_key(const std::string& where, const Warn& warn, PoolKey& out) {
  Secret secret;
  const bool in_variable = where.starts_with(kVariable);
  if (in_variable) {
    read_variable(where.substr(kVariable.size()), secret);
  } else {
    read_file(where, secret);
  }
  while (!secret.text.empty() && (secret.text.back() == '\n' || secret.text.back() == '\r'))
    secret.text.pop_back();
  if (secret.text.size() < kLeastSecretBytes || secret.text.size() > kMostSecretBytes) {
    const bool is_short = secret.text.size() < kLeastSecretBytes;
    throw UsageError("--secret: " + where +
                     (is_short ? " holds " + std::to_string(secret.text.size()) +
                                     " bytes, and 16 are the least; openssl rand -hex 32 makes one"
                               : " holds more than 64 KiB; is that the right file?"));
  }
  derive(secret, out);
  if (!in_variable) warn_if_others_read("--secret", where, warn);
}

void warn_if_others_read(const std::string& flag, const std::string& path, const Warn& warn) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode) || (about.st_mode & 077) == 0)
    return;
  char mode[16];
  std::snprintf(mode, sizeof mode, "%04o", about.st_mode & 07777u);
  warn(flag + ": others than its owner may use " + path + " (mode " + mode + "); chmod 600 " +
       path);
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/peer_security.hpp"

#include <iostream>

#include "kernels/core/errc.hpp"
#include "runtime/net/own_address.hpp"

namespace hearsay::runtime {

std::shared_ptr<Security> security_of(const RunConfig& config) {
  if (!is_protected(config)) return nullptr;
  SecurityFiles files;
  if (config.tls) files = files_of_tls(*config.tls);
  files.secret = config.secret.value_or("");
  files.revoked = config.revoked.value_or("");
  return Security::open(files, [](const std::string& line) {
    std::cerr << "hearsay: warning: " << line << std::endl;
  });
}

bool is_protected(const RunConfig& config) { return config.secret || config.tls; }

void refuse_open_address(const RunConfig& config, const Endpoint& listen) {
  if (is_loopback(listen.host) || config.insecure || is_protected(config)) return;
  throw kernels::UsageError("--listen: " + listen.text() +
                            " is not loopback, and frames travel unprotected; protect them with "
                            "--secret FILE or --tls CA,CERT,KEY, or add --insecure on a network "
                            "where everybody is trusted");
}

std::string join_words(const RunConfig& config) {
  if (config.secret) return " --secret " + *config.secret;
  return config.tls ? " --tls CA,CERT,KEY" : "";
}

}  // namespace hearsay::runtime

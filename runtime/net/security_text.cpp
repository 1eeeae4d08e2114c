// SPDX-License-Identifier: Apache-2.0
// What a failed handshake means, in words for the log: whose fault, and what to try.
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "runtime/net/security.hpp"

namespace hearsay::runtime {
namespace {

constexpr const char* kOneSecret = "; give all peers the same --secret";
constexpr const char* kOneAuthority = "; give all peers certificates of one authority by --tls";

// What the other side has found wrong with this peer; alerts are numbers of RFC 8446.
std::string words_for_alert(int alert) {
  switch (alert) {
    case SSL_AD_CERTIFICATE_REVOKED: return "it says that this peer's certificate is revoked";
    case SSL_AD_CERTIFICATE_EXPIRED: return "it says that this peer's certificate has expired";
    case SSL_AD_UNKNOWN_CA: return "it does not know the authority of this peer's certificate";
    case SSL_AD_DECRYPT_ERROR:
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_UNKNOWN: return "it does not accept this peer's certificate";
    case SSL_AD_CERTIFICATE_REQUIRED: return "it wants a certificate";
    case SSL_AD_PROTOCOL_VERSION: return "it speaks another version of TLS than 1.3";
    default: return "it has refused this peer (alert " + std::to_string(alert) + ")";
  }
}

bool is_no_tls(int reason) {
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
         reason == SSL_R_HTTPS_PROXY_REQUEST || reason == SSL_R_PACKET_LENGTH_TOO_LONG ||
         reason == SSL_R_UNKNOWN_PROTOCOL || reason == SSL_R_RECORD_LENGTH_MISMATCH;
}

// Another key, found by the acceptor or told by it; or none at all, so that a certificate is looked
// for, of which there are none here.
bool is_other_secret(int reason) {
  return reason == SSL_R_BINDER_DOES_NOT_VERIFY ||
         reason == SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM || reason == SSL_R_NO_SHARED_CIPHER ||
         reason == SSL_AD_REASON_OFFSET + SSL_AD_ILLEGAL_PARAMETER ||
         reason == SSL_AD_REASON_OFFSET + SSL_AD_DECRYPT_ERROR ||
         reason == SSL_AD_REASON_OFFSET + SSL_AD_HANDSHAKE_FAILURE;
}

}  // namespace

const char* Security::plain_here() {
  return "it speaks TLS and this peer does not; give this one the pool's --secret or --tls";
}

const char* Security::told_to_plain() {
  return "TLS is spoken here; give your peer the pool's --secret or --tls";
}

const char* Security::plain_there() {
  return "it does not speak TLS: started without --secret or --tls, or no hearsay peer";
}

std::string Security::why_not(long verify_result) const {
  switch (verify_result) {
    case X509_V_ERR_CERT_REVOKED: return "its certificate is revoked";
    case X509_V_ERR_CERT_HAS_EXPIRED: return "its certificate has expired; it needs a new one";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate does not hold yet; do the clocks of both machines agree?";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return std::string("its certificate is of another authority") + kOneAuthority;
    default:
      return std::string("its certificate does not hold (") +
             X509_verify_cert_error_string(verify_result) + ")" + kOneAuthority;
  }
}

std::string Security::explain(ssl_st* session, unsigned long error) const {
  const int reason = ERR_GET_REASON(error);
  if (is_no_tls(reason)) return plain_there();
  const char* const words = ERR_reason_error_string(error);
  const std::string unforeseen = std::string("TLS: ") + (words != nullptr ? words : "failed");
  if (shares_secret_) {
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
      return std::string("it has a certificate and not this pool's secret") + kOneSecret;
    return (is_other_secret(reason) ? "it does not have this peer's secret" : unforeseen) +
           kOneSecret;
  }
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) return why_not(SSL_get_verify_result(session));
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
    return std::string("it has no certificate") + kOneAuthority;
  if (reason > SSL_AD_REASON_OFFSET)
    return words_for_alert(reason - SSL_AD_REASON_OFFSET) + kOneAuthority;
  return unforeseen + kOneAuthority;
}

}  // namespace hearsay::runtime

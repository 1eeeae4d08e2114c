// SPDX-License-Identifier: Apache-2.0
// Short texts that people write: addresses, numbers with units, specs, lists of revoked
// certificates, secrets. The first byte chooses which.
#include <cmath>

#include "kernels/core/errc.hpp"
#include "runtime/config/spec.hpp"
#include "runtime/net/endpoint.hpp"
#include "runtime/net/revocation.hpp"
#include "runtime/net/secret.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using namespace hearsay::runtime;
using fuzz::require;
using kernels::UsageError;

namespace {

void check_endpoint(std::string_view text) {
  fuzz::decodes<UsageError>([&] {
    const Endpoint first = parse_endpoint("--listen", text);
    require(parse_endpoint("--listen", first.text()) == first, "an address survives");
  });
}

void check_numbers(std::string_view text) {
  fuzz::decodes<UsageError>(
      [&] { require(std::isfinite(parse_number("--x", text)), "numbers are finite"); });
  fuzz::decodes<UsageError>([&] { parse_count("--x", text); });
  fuzz::decodes<UsageError>([&] {
    const double share = parse_share("--x", text);
    require(share >= 0.0 && share <= 1.0, "a share lies between 0 and 1");
  });
  fuzz::decodes<UsageError>([&] {
    const double seconds = parse_seconds("--x", text);
    require(std::isfinite(seconds) && seconds >= 0.0, "a time is finite and not negative");
  });
  fuzz::decodes<UsageError>([&] { parse_boolean("--x", text); });
}

void check_spec(std::string_view text) {
  fuzz::decodes<UsageError>([&] {
    const Spec spec = parse_spec("--merge", text);
    require(spec.text == text, "a spec keeps its text");
    for (const Spec& modifier : spec.modifiers) {
      const Spec again = parse_spec("--merge", modifier.text);
      require(again.name == modifier.name && again.args == modifier.args, "a piece reads alone");
    }
  });
}

void check_revocations(std::string_view text) {
  static fuzz::MemoryFile file;
  const std::string& path = file.holding(text);
  fuzz::decodes<UsageError>([&] {
    RevocationList list(path);
    require(!list.has({"", ""}), "a line without a name shuts nobody out");
    list.has({"a1", std::string(64, '0')});
    list.take_fault();
  });
}

void check_secret(std::string_view text) {
  static fuzz::MemoryFile file;
  const std::string& path = file.holding(text);
  PoolKey key;
  const bool read = fuzz::decodes<UsageError>([&] {
    read_pool_key(
        path, [](const auto&) {}, key);
  });
  require(!read || text.size() >= kLeastSecretBytes, "no short secret is taken");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  const std::uint8_t which = bytes.byte();
  const std::string_view text = bytes.text();
  switch (which % 5) {
    case 0: check_endpoint(text); break;
    case 1: check_numbers(text); break;
    case 2: check_spec(text); break;
    case 3: check_revocations(text); break;
    default: check_secret(text); break;
  }
  return 0;
}

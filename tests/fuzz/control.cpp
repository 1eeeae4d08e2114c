// SPDX-License-Identifier: Apache-2.0
// What processes of one pool tell each other on one machine or under mpirun: control lines,
// relayed lines, /peers.json, endpoint.json and started.json. What is decoded and encoded again
// must decode to the same text.
#include "runtime/launch/control.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/launch/endpoint_file.hpp"
#include "runtime/launch/relay.hpp"
#include "runtime/launch/rendezvous.hpp"
#include "runtime/metrics/peers_json.hpp"
#include "tests/fuzz/run_folder.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using namespace hearsay::runtime;
using fuzz::require;

namespace {

template <typename Decode, typename Encode>
void check_round(std::string_view text, const Decode& decode, const Encode& encode) {
  const auto first = decode(text);
  if (!first) return;
  const std::string encoded = encode(*first);
  const auto second = decode(encoded);
  require(second.has_value(), "what was encoded can be decoded");
  require(encode(*second) == encoded, "and says the same");
}

void check_lines(std::string_view text) {
  const auto encode_line = [](const auto& message) { return control::encode(message); };
  const auto encode_relayed = [](const auto& message) { return relay::encode(message); };
  check_round(text, control::decode_from_peer, encode_line);
  check_round(text, control::decode_to_peer, encode_line);
  check_round(text, relay::decode_from_supervisor, encode_relayed);
  check_round(text, relay::decode_to_supervisor, encode_relayed);
  check_round(text, read_peers_json,
              [](const PoolSnapshot& pool) { return text_of(peers_json(pool)); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_lines(text);
  static const std::string path = file.holding(text);
  file.holding(text);
  static const fuzz::RunFolder folder(path);
  read_endpoint(RunDir::open(folder.path()), "p00");
  fuzz::decodes<kernels::DamagedFile>([&] { read_started(path, "s"); });
  return 0;
}

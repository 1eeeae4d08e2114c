// SPDX-License-Identifier: Apache-2.0
// Shows a recorded pool on stderr exactly as a live one, for tests that look at it through a
// terminal. One JSON object a line on stdin: {"peers":[{"name":"p00","state":1,...}]} updates,
// {"notice":"..."} says something; an optional {"ended":"..."} in a peer is why it is lost. Writes
// "." to stdout after each line, so that the other side knows what has been drawn.
#include <cstdio>
#include <iostream>

#include <nlohmann/json.hpp>

#include "runtime/app/pool_view.hpp"

namespace {

using namespace hearsay::runtime;

PeerView peer_from(const nlohmann::json& text) {
  PeerView view;
  PeerStatus& status = view.status;
  view.name = text.at("name");
  view.ended = text.value("ended", "");
  status.state = static_cast<PeerStatus::State>(text.value("state", 1));
  status.clock_s = text.value("clock_s", 0.0);
  status.progress = text.value("progress", 0.0);
  status.samples = text.value("samples", std::uint64_t{0});
  status.samples_per_s = text.value("samples_per_s", 0.0);
  status.merges = text.value("merges", std::uint64_t{0});
  status.merges_refused = text.value("refused", std::uint64_t{0});
  status.payload_bytes = text.value("payload_bytes", std::uint64_t{0});
  status.loss = text.value("loss", 0.0);
  status.accuracy = text.value("accuracy", -1.0);
  status.partner = text.value("partner", "");
  status.alpha = text.value("alpha", 0.0);
  return view;
}

}  // namespace

int main(int argc, char** argv) {
  const bool quiet = argc > 1 && std::string(argv[1]) == "--quiet";
  PoolView view(PoolView::options_for(quiet, process_environment()));
  for (std::string line; std::getline(std::cin, line);) {
    const nlohmann::json step = nlohmann::json::parse(line);
    if (step.contains("notice")) view.notice(step["notice"]);
    if (step.contains("peers")) {
      std::vector<PeerView> peers;
      for (const auto& peer : step["peers"]) peers.push_back(peer_from(peer));
      view.update(peers);
    }
    std::cout << "." << std::flush;
  }
}

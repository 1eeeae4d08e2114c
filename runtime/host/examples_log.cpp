// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/examples_log.hpp"

#include <filesystem>

#include "kernels/core/errc.hpp"
#include "runtime/examples/example_plan.hpp"

namespace hearsay::runtime {
namespace {

bool examples_change_hands(const RunConfig& config) {
  const auto plan = build_examples(config);
  return plan && plan->passing && !plan->passing->copies;
}

// A start that died before it opened its log has left its claim.
bool knows_an_earlier_start(const RunDir& run, const std::string& peer, std::uint64_t incarnation) {
  if (std::filesystem::exists(examples_log(run, peer))) return true;
  for (std::uint64_t earlier = 0; earlier < incarnation; ++earlier) {
    const std::string claim = run.peer_dir(peer) + "/.start-" + std::to_string(earlier);
    if (std::filesystem::exists(claim)) return true;
  }
  return false;
}

}  // namespace

std::string examples_log(const RunDir& run, const std::string& peer) {
  return run.peer_dir(peer) + "/examples.log";
}

void refuse_unknown_examples(const RunConfig& config, const RunDir& run, const std::string& peer,
                             std::uint64_t incarnation) {
  if (incarnation == 0 || !examples_change_hands(config)) return;
  if (knows_an_earlier_start(run, peer, incarnation)) return;
  throw kernels::UsageError("--share: which examples belong to " + peer +
                            " since its earlier start stands in " + examples_log(run, peer) +
                            ", which is not there; join with --run where that start ran, or take "
                            "another place with --name");
}

}  // namespace hearsay::runtime

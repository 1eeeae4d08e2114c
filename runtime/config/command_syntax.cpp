// SPDX-License-Identifier: Apache-2.0
// Which options of the table `hearsay sim`, `train` and `launch` take, and what a syntax accepts.
#include <algorithm>
#include <initializer_list>

#include "kernels/core/check.hpp"
#include "runtime/config/option_table.hpp"

namespace hearsay::runtime {

namespace {

// Every option of the table but those named.
std::vector<std::string> all_but(std::initializer_list<std::string_view> left_out) {
  std::vector<std::string> names = option_names();
  std::erase_if(names, [&](const std::string& name) {
    return std::find(left_out.begin(), left_out.end(), name) != left_out.end();
  });
  return names;
}

}  // namespace

const CommandSyntax& sim_syntax() {
  static const CommandSyntax syntax{
      .name = "sim",
      .words = "",
      .summary = "train a pool of peers in one process, in virtual time",
      .options = all_but({"listen", "join", "insecure", "secret", "tls", "revoked", "announce",
                          "name", "start-with", "restarts", "metrics"}),
      .own = {Option{.name = "study",
                     .default_text = "",
                     .kind = ValueKind::file,
                     .placeholder = "FILE",
                     .help = "many runs: JSON with a base and what varies",
                     .detail =
                         "{\"base\": {...}, \"vary\": {\"seed\": [0, 1, 2]}}: all combinations, "
                         "--threads at a time, into --run DIR; the same command goes on where "
                         "it was cut off. Prints means and 95 % intervals over seeds.",
                     .group = "run"}},
      .max_words = 0,
      .examples = {"hearsay sim --preset digits",
                   "hearsay sim --protocol push --chaos kill=p03@30%"}};
  return syntax;
}

const CommandSyntax& train_syntax() {
  static const CommandSyntax syntax{
      .name = "train",
      .words = "",
      .summary = "be one peer: by a launcher or by hand",
      .options = all_but({"net", "compute", "scenario", "check", "threads"}),
      .own = {Option{.name = "no-supervisor",
                     .default_text = "false",
                     .kind = ValueKind::boolean,
                     .placeholder = "",
                     .help = "under mpirun: be the peer itself, for debuggers",
                     .detail = "Peers find each other by files, and mpirun ends the whole job when "
                               "one of them dies.",
                     .group = "pool",
                     .in_short_help = false}},
      .max_words = 0,
      .examples = {"mpirun -n 4 --bind-to none hearsay train",
                   "hearsay train --peers 2 --listen 127.0.0.1:7400",
                   "hearsay train --join 127.0.0.1:7400"}};
  return syntax;
}

const CommandSyntax& launch_syntax() {
  static const CommandSyntax syntax{
      .name = "launch",
      .words = "-n N",
      .summary = "N peers as processes here, watched",
      .options = all_but({"net", "compute", "scenario", "check", "threads", "listen", "join",
                          "insecure", "announce", "name", "start-with"}),
      .own = {},
      .max_words = 0,
      .examples = {"hearsay launch -n 4", "hearsay launch -n 4 --chaos kill=1@30%"}};
  return syntax;
}

std::vector<Option> accepted_options(const CommandSyntax& syntax) {
  std::vector<Option> accepted;
  for (const std::string& name : syntax.options) {
    const Option* const option = find_option(name);
    HS_CHECK(option != nullptr);  // a syntax names only what the table has
    accepted.push_back(*option);
  }
  accepted.insert(accepted.end(), syntax.own.begin(), syntax.own.end());
  return accepted;
}

}  // namespace hearsay::runtime

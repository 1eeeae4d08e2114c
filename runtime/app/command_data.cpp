// SPDX-License-Identifier: Apache-2.0
// hearsay data: describe (what a set holds) and split (who gets what).
#include <iostream>

#include "kernels/core/errc.hpp"
#include "runtime/app/command.hpp"
#include "runtime/config/config.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/data/describe.hpp"
#include "runtime/data/partition.hpp"

namespace hearsay::runtime {

namespace {

// The word after the verb is the data set: `hearsay data describe synthetic:digits` is short for
// --data.
void take_word(const CommandSyntax& syntax, Arguments& arguments) {
  if (arguments.words.empty()) {
    return;
  }
  if (arguments.has("data")) {
    throw kernels::UsageError("hearsay " + syntax.name + ": two data sets, " +
                              *arguments.value("data") + " and " + arguments.words.front());
  }
  arguments.flags.emplace_back("data", arguments.words.front());
}

int describe(const std::vector<std::string>& args) {
  CommandSyntax syntax;
  syntax.name = "data describe";
  syntax.words = "[SPEC]";
  syntax.summary = "what a data set holds";
  syntax.options = {"preset", "config", "data", "seed", "json"};
  syntax.max_words = 1;
  syntax.examples = {"hearsay data describe synthetic:digits"};
  Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  take_word(syntax, arguments);
  const RunConfig config = typed_config(merge_settings(arguments, process_environment()));
  const Dataset dataset = load_dataset(config.data, config.seed);
  if (config.json) {
    std::cout << describe_json(dataset).dump(2) << "\n";
  } else {
    std::cout << describe_text(dataset);
  }
  return 0;
}

int split(const std::vector<std::string>& args) {
  CommandSyntax syntax;
  syntax.name = "data split";
  syntax.words = "[SPEC]";
  syntax.summary = "who gets which examples";
  syntax.options = {"preset", "config", "peers", "data", "split", "seed", "json"};
  syntax.max_words = 1;
  syntax.examples = {"hearsay data split synthetic:digits --peers 4 --split dirichlet:0.3"};
  Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  take_word(syntax, arguments);
  const RunConfig config = typed_config(merge_settings(arguments, process_environment()));
  const Dataset dataset = load_dataset(config.data, config.seed);
  const Partition partition = make_partition(config.split, dataset.train.labels,
                                             dataset.train.classes, config.peers, config.seed);
  if (config.json) {
    std::cout << split_json(dataset, partition, config.seed).dump(2) << "\n";
  } else {
    std::cout << split_text(dataset, partition, config.seed);
  }
  return 0;
}

}  // namespace

int command_data(const std::vector<std::string>& args) {
  static const std::vector<Verb> verbs{{"describe", "what a data set holds", describe},
                                       {"split", "who gets which examples", split}};
  return run_verb("data", verbs, args);
}

}  // namespace hearsay::runtime

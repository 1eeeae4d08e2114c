// SPDX-License-Identifier: Apache-2.0
// The other process of handover_test.cpp. A line in, a line out: `lend SEED` (a ticket, in
// hexadecimal), `drop` (what was lent is written over), `take TICKET` (a digest, or why not), until
// the input ends or the process is killed.
#include <iostream>
#include <string>

#include "kernels/cuda/handover_testkit.hpp"

using namespace hearsay::kernels;

int main(int argc, char** argv) {
  const TrainerPtr trainer = make_trainer(argc > 1 ? std::stoi(argv[1]) : 0, 1);
  done(hs_cuda_handover_begin(trainer.get()));
  const SourcePtr source = make_source(trainer);
  std::vector<SnapshotPtr> lent;
  for (std::string line; std::getline(std::cin, line);) {
    std::string answer = "done";
    if (line.starts_with("lend ")) {
      put(trainer, 0, random_values(std::stoull(line.substr(5))));
      lent.push_back(take(trainer, 0));
      answer = text_of(ticket_of(lent.back()));
    } else if (line == "drop") {
      const std::size_t count = lent.size();
      lent.clear();
      put(trainer, 0, random_values(1000));
      for (std::size_t i = 0; i < count; ++i) lent.push_back(take(trainer, 0));
      weights_of(trainer, 0);  // waits
    } else if (line.starts_with("take ")) {
      answer = take_over(source, ticket_in(line.substr(5)));
    }
    std::cout << answer << std::endl;
  }
}

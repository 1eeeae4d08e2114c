// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/thumbnails.hpp"

#include <string>
#include <vector>

#include "kernels/core/errc.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/data/describe.hpp"
#include "runtime/report/journeys.hpp"
#include "runtime/report/png.hpp"

namespace hearsay::runtime::report {

void add_thumbnails(RunFacts& facts) {
  const std::string absent = "There are no pictures of examples: ";
  const std::vector<Journey> journeys = journeys_of(facts);
  if (journeys.empty()) {
    facts.missing.push_back(absent +
                            "which of them changed hands was not logged (--log-examples).");
    return;
  }
  const std::string spec = facts.config_value("data");
  if (spec.empty() || !facts.seed) {
    facts.missing.push_back(absent + "run.json does not say which data the run was about.");
    return;
  }
  try {
    const Dataset data = load_dataset(spec, *facts.seed);
    if (!facts.data_digest.empty() && dataset_digest(data) != facts.data_digest) {
      facts.missing.push_back(absent + "the data at " + data.origin +
                              " are not those of the run (digest " + dataset_digest(data) +
                              ", then " + facts.data_digest + ").");
      return;
    }
    for (std::size_t i = 0; i < journeys.size() && i < kMostJourneys; ++i) {
      const std::uint32_t id = journeys[i].id;
      if (id >= data.train.count()) continue;
      facts.thumbnails[id] = {data.train.labels[id],
                              grey_png(data.train.image(id), data.train.rows, data.train.cols)};
    }
  } catch (const kernels::Fault& fault) {
    facts.missing.push_back(absent + fault.what());
  }
}

}  // namespace hearsay::runtime::report

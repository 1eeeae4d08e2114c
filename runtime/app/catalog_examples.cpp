// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/catalog_examples.hpp"

namespace hearsay::runtime {

CatalogSection example_parts(std::string_view option) {
  if (option == "trade") {
    return {"trade",
            "trade of models",
            {{"off", "off", "models stay and merge", "nothing"},
             {"models", "models:10%,horizon=16",
              "now and then both move all the way: each goes on with the other's model",
              "no bytes; two forward passes over 256 examples a trade"}},
            {}};
  }
  if (option == "tune") {
    return {"tune",
            "learning of settings",
            {{"off", "off", "all peers go by the settings of the run", "nothing"},
             {"population", "population:lr,alpha,step=1.2,eager=200",
              "each by its own; those of better models are copied and changed a little",
              "no bytes; two passes over the probe set a merge, a tenth of the examples"}},
            {}};
  }
  if (option == "sampling") {
    return {"sampling",
            "sampling",
            {{"uniform", "uniform", "every example once an epoch", "nothing"},
             {"hard", "hard:g=1,floor=0.1,age=0.25,zeta=0..1,clip=10,every=5",
              "what models are not sure of, more often", "1/8 of training, 125 B an example"},
             {"rho", "rho | rho:g=1", "what another peer's model knows and the own one does not",
              "1/8 of training, 125 B an example"}},
            {}};
  }
  if (option == "retire") {
    return {"retire",
            "retirement",
            {{"off", "off", "all examples as often", "nothing"},
             {"agreed", "agreed:reserve=3,retire=50%,alike=0.9,every=5",
              "what several unlike models know, less often; back when forgotten",
              "1/8 of training, less what is left out"}},
            {}};
  }
  return {"quarantine",
          "quarantine",
          {{"off", "off", "all labels are believed", "nothing"},
           {"hard", "hard:confidence=0.1,spread=0.1,models=3,every=5",
            "what several models find wrong is not trained on", "1/8 of training"}},
          {}};
}

}  // namespace hearsay::runtime

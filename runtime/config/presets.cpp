// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/presets.hpp"

#include <string>

#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all{
      {"fashion",
       "8 peers on the real Fashion-MNIST set, a perceptron of 256 and 128 hidden units",
       {{"data", "fashion-mnist"}, {"model", "mlp:256,128"}}},
      {"digits",
       "8 peers on generated digits: no download, under 30 s on 2 cores",
       {{"peers", "8"}, {"data", "synthetic:digits"}, {"model", "mlp:64"}, {"epochs", "10"}}},
      {"communities",
       "16 peers of two populations that contradict each other, and find out who is who",
       {{"peers", "16"},
        {"data", "fashion-mnist"},
        {"split", "iid+rotate:groups=2,by=5"},
        {"model", "mlp:256,128"},
        {"epochs", "25"},
        {"cluster", "agglo:average,every=1,e=0"}}},
      {"share",
       "16 peers with few classes each that pass RAW EXAMPLES on after every merge",
       {{"peers", "16"},
        {"data", "fashion-mnist"},
        {"split", "dirichlet:0.1"},
        {"model", "mlp:256,128"},
        {"epochs", "25"},
        {"share", "hard:32,by=rho"},
        {"log-examples", "true"}}},
      {"wire-20x",
       "16 peers that send a twentieth of the bytes, and are as accurate",
       {{"peers", "16"},
        {"data", "fashion-mnist"},
        {"model", "mlp:256,128"},
        {"epochs", "25"},
        {"merge-every", "0.6"},
        {"codec", "blocks:0.25+auto+mirror"},
        {"outer", "noloco"}}},
      {"wire-60x",
       "16 peers that send a sixtieth of the bytes, and lose a point",
       {{"peers", "16"},
        {"data", "fashion-mnist"},
        {"model", "mlp:256,128"},
        {"epochs", "25"},
        {"merge-every", "0.6"},
        {"merge", "ema:0.55"},
        {"codec", "blocks:0.125+auto:noise=0.4+mirror"},
        {"outer", "noloco"}}},
  };
  return all;
}

const Preset& find_preset(std::string_view name) {
  std::vector<std::string> known;
  for (const Preset& preset : presets()) {
    if (preset.name == name) {
      return preset;
    }
    known.emplace_back(preset.name);
  }
  throw_unknown("preset", name, known);
}

}  // namespace hearsay::runtime

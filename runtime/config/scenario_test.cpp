// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/scenario.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include "kernels/core/errc.hpp"
#include "runtime/config/config.hpp"
#include "runtime/config/option_table.hpp"
#include "runtime/sim/compute_model.hpp"
#include "runtime/sim/faults.hpp"
#include "runtime/sim/network_model.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

std::string written(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / "hearsay-scenario-test.json";
  std::ofstream(path) << text;
  return path.string();
}

Settings settings_of(const std::vector<std::string>& args) {
  return merge_settings(parse_arguments(sim_syntax(), args), {});
}

}  // namespace

TEST_CASE("every seed is a scenario that can be read, and the same one again") {
  const std::uint32_t peers = GENERATE(1u, 2u, 5u, 16u, 100u);
  std::set<std::string> different;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed, peers);
    const OptionTexts texts = random_scenario(seed, peers);
    CHECK(texts == random_scenario(seed, peers));
    CHECK_NOTHROW(parse_network(parse_spec("--net", texts.at("net").front())));
    CHECK_NOTHROW(parse_compute(parse_spec("--compute", texts.at("compute").front())));
    std::string all = texts.at("net").front() + texts.at("compute").front();
    if (texts.at("chaos").front() != "off") {
      CHECK_NOTHROW(parse_faults(texts.at("chaos"), peers, seed));
      std::size_t killed = 0;
      for (const std::string& fault : texts.at("chaos")) {
        killed += fault.starts_with("kill") ? 1 : 0;
        all += fault;
      }
      CHECK(killed * 3 <= peers * 2);
    }
    different.insert(all);
  }
  CHECK(different.size() > 190);
}

TEST_CASE("a scenario gives net, compute and chaos, and flags go first") {
  const std::string path =
      written(R"({"net": {"name": "link", "latency": "7ms"}, "chaos": ["drop=3%", "slow=p01*2"]})");
  const Settings settings = settings_of({"--scenario", path, "--net", "ideal"});
  CHECK(settings.text("net") == "ideal");
  CHECK(settings.text("chaos") == "drop=3%; slow=p01*2");
  CHECK(settings.origin("chaos") == "scenario " + path);
  CHECK(settings.origin("compute") == "default");
  CHECK(settings_of({"--scenario", path}).text("net") == "link:latency=7ms");
  CHECK(settings_of({"--scenario", "random", "--seed", "3"}).text("compute") ==
        random_scenario(3, 8).at("compute").front());
}

TEST_CASE("what is no scenario is refused by name") {
  CHECK_THROWS_WITH(settings_of({"--scenario", "nowhere.json"}),
                    "nowhere.json: cannot be opened (--scenario)");
  const std::string path = written(R"({"peers": 3})");
  CHECK_THROWS_WITH(settings_of({"--scenario", path}),
                    path +
                        ": 'peers' is no part of a scenario; it has net, compute and chaos "
                        "(--config takes all options)");
}

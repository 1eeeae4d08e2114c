// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/scenario.hpp"

#include <algorithm>
#include <vector>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::runtime {
namespace {

using kernels::Rng;

// Draws for one scenario.
class Drawer {
 public:
  Drawer(std::uint64_t seed, std::uint64_t peers)
      : rng_(Rng::stream(seed, "scenario")), peers_(static_cast<std::uint32_t>(peers)) {
    for (std::uint32_t i = 0; i < peers_; ++i) left_.push_back(i);
    rng_.shuffle(left_);
  }

  bool happens(double share) { return rng_.uniform() < share; }
  std::uint32_t below(std::uint32_t n) { return rng_.below(n); }
  std::string any_peer() { return gossip::peer_name(kernels::PeerId(rng_.below(peers_))); }
  // One that no fault has taken yet; a third of the pool is left alone.
  bool has_victim() const { return left_.size() > (peers_ + 2) / 3; }
  std::string victim() {
    const std::uint32_t id = left_.back();
    left_.pop_back();
    return gossip::peer_name(kernels::PeerId(id));
  }
  // "12%" of 2 .. 60.
  std::string begin() { return std::to_string(begin_ = 2 + rng_.below(45)) + "%"; }
  std::string window() {
    const std::string from = begin();
    return from + ".." + std::to_string(begin_ + 1 + rng_.below(18)) + "%";
  }

 private:
  Rng rng_;
  std::uint32_t peers_;
  std::vector<std::uint32_t> left_;  // not yet taken
  std::uint32_t begin_ = 0;
};

std::string network(Drawer& draw) {
  static const char* const kRates[]{"1Gb/s", "100Mb/s", "10Mb/s"};
  static const char* const kLatencies[]{"0.2ms", "5ms", "80ms"};
  static const char* const kJitters[]{"0ms", "3ms", "60ms"};
  if (draw.happens(0.2)) return "ideal";
  return std::string("link:bandwidth=") + kRates[draw.below(3)] +
         ",latency=" + kLatencies[draw.below(3)] + ",jitter=" + kJitters[draw.below(3)];
}

std::string computers(Drawer& draw) {
  std::string text = draw.happens(0.3) ? "fixed:100ms" : "jitter:cv=0.3,step=100ms";
  if (draw.happens(0.4)) text += ",stragglers=20%*3";
  if (draw.happens(0.4)) text += ",pause=1%*2s";
  return text;
}

std::vector<std::string> faults(Drawer& draw) {
  std::vector<std::string> chaos;
  if (draw.happens(0.5)) chaos.push_back("drop=" + std::to_string(1 + draw.below(10)) + "%");
  if (draw.happens(0.3)) chaos.push_back("corrupt=" + std::to_string(1 + draw.below(3)) + "%");
  for (int i = 0; i < 3; ++i) {
    if (draw.has_victim() && draw.happens(0.4)) {
      const std::string who = draw.victim();
      chaos.push_back("kill=" + who + "@" + (draw.happens(0.5) ? draw.window() : draw.begin()));
    }
    if (draw.happens(0.4)) chaos.push_back("stall=" + draw.any_peer() + "@" + draw.window());
    if (draw.happens(0.4)) chaos.push_back("partition=" + draw.any_peer() + "@" + draw.window());
  }
  if (draw.happens(0.3)) chaos.push_back("slow=" + draw.any_peer() + "*4");
  if (draw.has_victim() && draw.happens(0.3))
    chaos.push_back("poison=" + draw.victim() + "@" + draw.begin());
  return chaos.empty() ? std::vector<std::string>{"off"} : chaos;
}

}  // namespace

OptionTexts read_scenario(const std::string& path) {
  OptionTexts texts = read_config_file(path, "--scenario");
  for (const auto& [name, values] : texts) {
    if (name != "net" && name != "compute" && name != "chaos") {
      throw kernels::UsageError(path + ": '" + name +
                                "' is no part of a scenario; it has net, compute and chaos "
                                "(--config takes all options)");
    }
  }
  return texts;
}

OptionTexts random_scenario(std::uint64_t seed, std::uint64_t peers) {
  Drawer draw(seed, std::max<std::uint64_t>(1, std::min<std::uint64_t>(peers, 1u << 20)));
  OptionTexts texts;
  texts["net"] = {network(draw)};
  texts["compute"] = {computers(draw)};
  texts["chaos"] = faults(draw);
  return texts;
}

}  // namespace hearsay::runtime

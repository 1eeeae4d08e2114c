// SPDX-License-Identifier: Apache-2.0
// The share of weights that follows the loss: when it moves, when it does not, and what of it
// partners see.
#include "gossip/codec/density.hpp"

#include <cmath>

#include "gossip/codec/testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;
using News = Density::News;

// News of a loss that changes by this factor a merge.
std::vector<News> told(Density& density, double loss, double factor, int merges) {
  std::vector<News> news;
  for (int m = 0; m < merges; ++m) news.push_back(density.add(loss *= factor));
  return news;
}

std::size_t said_of(const Codec& reader, const merge::Packed& message, std::size_t n) {
  std::vector<float> base(n), in(n);
  const Unpacked read = reader.decode(message, base, in);
  CHECK(read.fault == "");
  return read.values;
}

}  // namespace

TEST_CASE("A plateau raises the share, a fast fall lowers it, each after three merges that agree") {
  Density density(0.01, {});
  const std::vector<News> plateau = told(density, 1.0, 1.0, 10);
  for (std::size_t m = 0; m < plateau.size(); ++m)
    CHECK((plateau[m] == News::changed) == (m == 6 || m == 9));
  CHECK(density.share() == 0.0156);  // 0.01 x 1.25 x 1.25, three digits

  Density fast(0.01, {});
  const std::vector<News> fall = told(fast, 1.0, 0.95, 10);
  for (std::size_t m = 0; m < fall.size(); ++m)
    CHECK((fall[m] == News::changed) == (m == 6 || m == 9));
  CHECK(fast.share() == 0.0081);

  Density between(0.01, {});
  for (const News each : told(between, 1.0, 0.995, 100)) CHECK(each == News::nothing);
  CHECK(between.share() == 0.01);
}

TEST_CASE("Verdicts that change from merge to merge change nothing") {
  Density density(0.01, {});
  const double wave[] = {0.0, 0.1, 0.0, -0.1};  // of four merges: fast, neither, slow, neither
  double loss = 1.0;
  for (int m = 0; m < 60; ++m) {
    loss *= 0.995;
    CHECK(density.add(loss * (1.0 + wave[m % 4])) == News::nothing);
  }
}

TEST_CASE("The share stays within its bounds") {
  Density up(0.2, {}), down(0.0012, {});
  told(up, 1.0, 1.0, 60);
  told(down, 1e9, 0.5, 60);
  CHECK(up.share() == Density::kMost);
  CHECK(down.share() == Density::kLeast);
}

TEST_CASE("A jump doubles the share and is a divergence, until the fourth in a row is believed") {
  Density density(0.01, {});
  told(density, 1.0, 1.0, 5);
  CHECK(density.add(1.49) == News::nothing);
  CHECK(density.add(1.8) == News::diverged);
  CHECK(density.share() == 0.02);
  CHECK(density.add(1.0) == News::nothing);
  for (const double share : {0.04, 0.08, 0.16}) {
    CHECK(density.add(1.8) == News::diverged);
    CHECK(density.share() == share);
  }
  CHECK(density.add(1.8) == News::nothing);
  CHECK(density.add(1.8) == News::nothing);
  CHECK(density.share() == 0.16);
  for (int m = 0; m < 10; ++m) CHECK(density.add(std::nan("")) == News::diverged);
  CHECK(density.add(HUGE_VAL) == News::diverged);
  CHECK(density.share() == Density::kMost);
}

TEST_CASE("A codec with density says as much as its loss asks for, and its partner reads it") {
  const std::size_t n = 50'000;
  const std::vector<float> start = normals(n, 1.0, 1);
  for (const Kind kind : {Kind::topk, Kind::threshold, Kind::average}) {
    CodecSettings settings = sparse(kind, 0.01);
    settings.density.emplace();
    const auto plan = make_codec_plan(settings, plain(n), start, 3);
    const auto codec = plan->make(PeerId(0)), partner = plan->make(PeerId(1));
    REQUIRE(codec->minds_loss());
    std::vector<float> w = start;
    double share = 0.01;
    for (std::uint64_t m = 0; m < 80; ++m) {
      drift(w, 0.1, 10 + m);
      const auto message = codec->encode(w, nullptr);
      CHECK(message->bytes.size() <= plan->most_bytes());
      const auto said = static_cast<double>(said_of(*partner, *message, n));
      CHECK(said <= share * n * (kind == Kind::threshold ? 2.0 : 1.0) + 1.0);
      if (kind != Kind::threshold) CHECK(said == Approx(share * n).margin(1.0));
      CodecSettings now = settings;
      now.share = share;
      CHECK(*codec->spoken() == text_of(now));
      const LossNews news = codec->learned(1.0);
      CHECK(!news.has_diverged);
      if (!news.change) continue;
      CHECK(news.change->from == text_of(now));
      share = std::min(0.3, share * 1.25);
      const std::string to = news.change->to;
      share = std::stod(to.substr(to.find(':') + 1));  // three digits
    }
    CHECK(share == 0.3);
    CHECK(codec->learned(2.0).has_diverged);
  }
}

}  // namespace hearsay::gossip

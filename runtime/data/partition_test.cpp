// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/partition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "kernels/core/errc.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/data/idx_testkit.hpp"
#include "runtime/data/label_histogram.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::Rng;
using hearsay::kernels::UsageError;
using testkit::holds;

namespace {

constexpr std::uint32_t kClasses = 10;

// Labels in a drawn order; class c has about (c + 1) / 55 of them when uneven, else a tenth.
std::vector<std::uint8_t> drawn_labels(std::size_t count, std::uint64_t seed, bool uneven = false) {
  Rng rng = Rng::stream(seed, "partition-test");
  std::vector<std::uint8_t> labels(count);
  for (auto& label : labels) {
    const std::uint32_t a = rng.below(kClasses), b = rng.below(kClasses);
    label = static_cast<std::uint8_t>(uneven ? std::max(a, b) : a);
  }
  return labels;
}

ImageSet tiny_images(std::vector<std::uint8_t> labels) {
  ImageSet set{1, 2, kClasses, {}, std::move(labels)};
  for (std::size_t i = 0; i < set.count(); ++i) {  // each image tells its index
    set.pixels.push_back(static_cast<std::uint8_t>(i));
    set.pixels.push_back(static_cast<std::uint8_t>(i >> 8));
  }
  return set;
}

std::string refusal(const std::string& spec, std::size_t examples, std::uint32_t peers) {
  const auto labels = drawn_labels(examples, 1);
  return testkit::thrown_line<UsageError>(
      [&] { make_partition(spec, labels, kClasses, peers, 1); });
}

std::size_t owned_examples(const Partition& partition) {
  std::size_t total = 0;
  for (const auto& indices : partition.owned) total += indices.size();
  return total;
}

// Nothing is owned twice, indices exist and rise.
void require_disjoint(const Partition& partition, std::size_t examples) {
  std::vector<int> owners(examples, 0);
  for (const auto& indices : partition.owned) {
    REQUIRE(indices.size() >= kMinShardExamples);
    REQUIRE(std::ranges::is_sorted(indices));
    for (const std::uint32_t i : indices) {
      REQUIRE(i < examples);
      REQUIRE(++owners[i] == 1);
    }
  }
}

std::vector<std::size_t> histogram_of(const Partition& partition, std::uint32_t peer,
                                      std::span<const std::uint8_t> labels) {
  std::vector<std::uint8_t> own;
  for (const std::uint32_t i : partition.owned[peer]) own.push_back(labels[i]);
  return label_histogram(own, kClasses);
}

// Mean over peers of the total variation between the shard's class mix and the pool's.
double skew(const Partition& partition, std::span<const std::uint8_t> labels) {
  const auto pool = label_histogram(labels, kClasses);
  double sum = 0.0;
  for (std::uint32_t p = 0; p < partition.owned.size(); ++p) {
    const auto own = histogram_of(partition, p, labels);
    for (std::size_t c = 0; c < kClasses; ++c) {
      sum += 0.5 * std::fabs(static_cast<double>(own[c]) /
                                 static_cast<double>(partition.owned[p].size()) -
                             static_cast<double>(pool[c]) / static_cast<double>(labels.size()));
    }
  }
  return sum / static_cast<double>(partition.owned.size());
}

}  // namespace

TEST_CASE("every example is owned exactly once, for every split, seed and pool of 1 to 33 peers") {
  const std::string spec =
      GENERATE("iid", "dirichlet:0.5", "dirichlet:100", "labels:3", "iid+noise:10%");
  const std::uint64_t seed = GENERATE(0, 1, 12345678901234ull);
  const bool uneven = GENERATE(false, true);
  CAPTURE(spec, seed, uneven);
  const auto labels = drawn_labels(3301, seed, uneven);
  for (std::uint32_t peers = 1; peers <= 33; ++peers) {
    CAPTURE(peers);
    const Partition partition = make_partition(spec, labels, kClasses, peers, seed);
    REQUIRE(partition.owned.size() == peers);
    REQUIRE(partition.group == std::vector<std::uint32_t>(peers, 0));
    require_disjoint(partition, labels.size());
    const bool whole = spec != "labels:3" || peers * 3 >= kClasses;
    REQUIRE((owned_examples(partition) == labels.size()) == whole);
  }
}

TEST_CASE("iid shards differ by at most one example and have the pool's class mix") {
  const std::uint32_t peers = GENERATE(1u, 2u, 3u, 7u, 32u, 33u);
  CAPTURE(peers);
  const auto labels = drawn_labels(10'007, 4);
  const Partition partition = make_partition("iid", labels, kClasses, peers, 4);
  const auto [least, most] =
      std::ranges::minmax(partition.owned, {}, &std::vector<std::uint32_t>::size);
  CHECK(most.size() - least.size() <= 1);
  CHECK(skew(partition, labels) < 0.12);
  if (peers > 1)
    CHECK(partition.owned[0] != make_partition("iid", labels, kClasses, peers, 5).owned[0]);
  if (peers > 1) CHECK(partition.owned[0].back() > 5000);  // shuffled, not cut in order
}

TEST_CASE("a partition is a function of labels, spec, peers and seed") {
  const std::string spec = GENERATE("iid", "dirichlet:0.3", "labels:2");
  CAPTURE(spec);
  const auto labels = drawn_labels(4000, 2);
  const auto owned = [&](std::uint64_t seed) {
    return make_partition(spec, labels, kClasses, 8, seed).owned;
  };
  CHECK(owned(1) == owned(1));
  CHECK(owned(1) != owned(2));
  CHECK(make_partition(spec, labels, kClasses, 8, 1).spec == spec);
}

TEST_CASE("a smaller Dirichlet concentration makes a larger skew") {
  const auto labels = drawn_labels(20'000, 3);
  const auto mean_skew = [&](const std::string& spec) {
    double sum = 0.0;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      sum += skew(make_partition(spec, labels, kClasses, 10, seed), labels) / 5.0;
    }
    return sum;
  };
  const double even = mean_skew("dirichlet:1000"), mild = mean_skew("dirichlet:3"),
               strong = mean_skew("dirichlet:0.3"), extreme = mean_skew("dirichlet:0.05");
  CAPTURE(even, mild, strong, extreme);
  CHECK(even < 0.05);
  CHECK(mild > even + 0.1);
  CHECK(strong > mild + 0.1);
  CHECK(extreme > strong + 0.1);
}

TEST_CASE("Dirichlet shares have the variance of the distribution") {
  // Two peers: q ~ Beta(b, b), variance 1 / (4 (2b + 1)).
  const double beta = GENERATE(0.5, 2.0, 8.0);
  CAPTURE(beta);
  const auto labels = drawn_labels(20'000, 6);
  const auto pool = label_histogram(labels, kClasses);
  double sum = 0.0, squares = 0.0;
  const int seeds = 200;
  for (int seed = 0; seed < seeds; ++seed) {
    const auto partition = make_partition("dirichlet:" + std::to_string(beta), labels, kClasses, 2,
                                          static_cast<std::uint64_t>(seed));
    const auto own = histogram_of(partition, 0, labels);
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double share = static_cast<double>(own[c]) / static_cast<double>(pool[c]);
      sum += share;
      squares += share * share;
    }
  }
  const double n = seeds * kClasses, mean = sum / n;
  CHECK(mean == Approx(0.5).margin(0.03));
  CHECK(squares / n - mean * mean == Approx(1.0 / (4.0 * (2.0 * beta + 1.0))).epsilon(0.12));
}

TEST_CASE("a tiny concentration gives classes to single peers and never divides by zero") {
  const auto labels = drawn_labels(5000, 8);
  const Partition partition = make_partition("dirichlet:0.0001", labels, kClasses, 2, 8);
  require_disjoint(partition, labels.size());
  CHECK(owned_examples(partition) == labels.size());
  CHECK(skew(partition, labels) > 0.3);
}

TEST_CASE("labels:k gives every peer exactly k labels and deals classes evenly") {
  const std::uint64_t seed = GENERATE(0, 1, 2, 3);
  const std::uint32_t k = GENERATE(1u, 2u, 3u, 7u, 10u);
  const auto labels = drawn_labels(20'000, seed, true);
  const auto pool = label_histogram(labels, kClasses);
  for (std::uint32_t peers = 1; peers <= 33; ++peers) {
    CAPTURE(seed, k, peers);
    const auto partition =
        make_partition("labels:" + std::to_string(k), labels, kClasses, peers, seed);
    std::vector<std::vector<std::size_t>> parts(kClasses);  // sizes of a class at its holders
    for (std::uint32_t p = 0; p < peers; ++p) {
      const auto own = histogram_of(partition, p, labels);
      REQUIRE(kClasses - std::ranges::count(own, std::size_t{0}) == k);
      for (std::size_t c = 0; c < kClasses; ++c) {
        if (own[c] > 0) parts[c].push_back(own[c]);
      }
    }
    std::size_t fewest = peers, most = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      fewest = std::min(fewest, parts[c].size());
      most = std::max(most, parts[c].size());
      if (parts[c].empty()) continue;
      REQUIRE(std::ranges::max(parts[c]) - std::ranges::min(parts[c]) <= 1);
      REQUIRE(std::accumulate(parts[c].begin(), parts[c].end(), std::size_t{0}) == pool[c]);
    }
    REQUIRE(most - fewest <= 1);
    REQUIRE((fewest >= 1) == (peers * k >= kClasses));
  }
}

TEST_CASE("labels:k pairs labels differently among peers and skips classes without examples") {
  const auto labels = drawn_labels(20'000, 1);
  const auto partition = make_partition("labels:2", labels, kClasses, 30, 1);
  std::set<std::vector<bool>> mixes;
  for (std::uint32_t p = 0; p < 30; ++p) {
    std::vector<bool> mix;
    for (const std::size_t n : histogram_of(partition, p, labels)) mix.push_back(n > 0);
    mixes.insert(mix);
  }
  CHECK(mixes.size() > 8);

  std::vector<std::uint8_t> gaps(200);
  for (std::size_t i = 0; i < gaps.size(); ++i) gaps[i] = i % 2 == 0 ? 3 : 7;
  const auto pair = make_partition("labels:2", gaps, kClasses, 4, 1);
  for (std::uint32_t p = 0; p < 4; ++p) {
    CHECK(histogram_of(pair, p, gaps)[3] == 25);
    CHECK(histogram_of(pair, p, gaps)[7] == 25);
  }
}

TEST_CASE("rotate shifts the labels of equal groups of neighbours and leaves the split alone") {
  const auto labels = drawn_labels(1000, 1);
  const auto plain = make_partition("iid", labels, kClasses, 6, 9);
  const auto partition = make_partition("iid+rotate:groups=3,by=4", labels, kClasses, 6, 9);
  CHECK(partition.group == std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2});
  CHECK(partition.owned == plain.owned);
  CHECK(rotated_label(partition, 1, 7, kClasses) == 7);
  CHECK(rotated_label(partition, 2, 7, kClasses) == 1);
  CHECK(rotated_label(partition, 5, 7, kClasses) == 5);
  const ImageSet train = tiny_images(labels);
  for (std::uint32_t p = 0; p < 6; ++p) {
    const ImageSet shard = make_shard(train, partition, p, 9);
    REQUIRE(shard.count() == partition.owned[p].size());
    for (std::size_t i = 0; i < shard.count(); ++i) {
      const std::uint32_t index = partition.owned[p][i];
      REQUIRE(shard.labels[i] == (labels[index] + 4 * (p / 2)) % kClasses);
      REQUIRE(shard.image(i)[0] + 256u * shard.image(i)[1] == index);
    }
  }
}

TEST_CASE(
    "noise makes exactly its share of a shard's labels wrong, evenly over the other classes") {
  const std::uint64_t seed = GENERATE(0, 1, 2);
  const double percent = GENERATE(0.0, 10.0, 33.3, 100.0);
  CAPTURE(seed, percent);
  const ImageSet train = tiny_images(drawn_labels(20'003, seed));
  const std::string noise = "+noise:" + std::to_string(percent) + "%";
  const auto rotated = make_partition("iid+rotate:groups=2,by=5", train.labels, kClasses, 4, seed);
  const auto partition =
      make_partition("iid+rotate:groups=2,by=5" + noise, train.labels, kClasses, 4, seed);
  REQUIRE(partition.owned == rotated.owned);
  std::vector<std::size_t> shifts(kClasses, 0);
  std::size_t all_wrong = 0;
  for (std::uint32_t p = 0; p < 4; ++p) {
    const auto clean = make_shard(train, rotated, p, seed),
               noisy = make_shard(train, partition, p, seed);
    REQUIRE(noisy.pixels == clean.pixels);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < noisy.count(); ++i) {
      REQUIRE(noisy.labels[i] < kClasses);
      wrong += noisy.labels[i] != clean.labels[i];
      ++shifts[(noisy.labels[i] + kClasses - clean.labels[i]) % kClasses];
    }
    const double exact = percent / 100.0 * static_cast<double>(noisy.count());
    CHECK(std::fabs(static_cast<double>(wrong) - exact) <= 0.5 + 1e-6);
    CHECK(wrong == noisy_count(partition, p));
    CHECK(noisy.labels == make_shard(train, partition, p, seed).labels);
    if (percent > 0.0) CHECK(noisy.labels != make_shard(train, partition, p, seed + 1).labels);
    all_wrong += wrong;
  }
  const double expected = static_cast<double>(all_wrong) / (kClasses - 1);
  for (std::size_t shift = 1; shift < kClasses; ++shift) {
    CHECK(static_cast<double>(shifts[shift]) ==
          Approx(expected).margin(5.0 * std::sqrt(expected) + 1e-9));
  }
}

TEST_CASE("noise differs from peer to peer") {
  const ImageSet train = tiny_images(std::vector<std::uint8_t>(2000, 0));
  const auto partition = make_partition("iid+noise:50%", train.labels, kClasses, 2, 1);
  CHECK(make_shard(train, partition, 0, 1).labels != make_shard(train, partition, 1, 1).labels);
}

TEST_CASE("a pool that is too large for the data is refused with both numbers and a way out") {
  CHECK(holds(refusal("iid", 20, 21), "21 peers, but only 20 training examples; try"));
  CHECK(holds(refusal("iid", 0, 1), "1 peers, but only 0"));
  CHECK(holds(refusal("iid", 100, 0), "at least one peer"));
  CHECK(holds(refusal("iid", 109, 11), "try --peers 10"));
  CHECK(refusal("iid", 110, 11).empty());
  CHECK(holds(refusal("dirichlet:0.0001", 3000, 30), "after 1000 redraws"));
  CHECK(holds(refusal("labels:1", 400, 33), "would hold"));
}

TEST_CASE("a split that cannot be meant is refused by name") {
  const auto refused = [](const std::string& spec) { return refusal(spec, 5000, 8); };
  CHECK(holds(refused("idd"), "iid"));
  CHECK(holds(refused("dirichlet"), "dirichlet"));
  for (const char* spec : {"iid:3", "iid:x=1", "dirichlet:0", "dirichlet:-1", "dirichlet:nan",
                           "dirichlet:0.3,0.4", "dirichlet:0.3,beta=1", "dirichlet:gamma=1",
                           "labels", "labels:0", "labels:2.5", "labels:1,2"}) {
    CAPTURE(spec);
    CHECK_FALSE(refused(spec).empty());
  }
  CHECK(holds(refused("labels:11"), "has 10 labels; try labels:1 to labels:10"));
  CHECK(refused("labels:k=2").empty());
  CHECK(refused("dirichlet:beta=0.5").empty());
}

TEST_CASE("a modifier that cannot be meant is refused by name") {
  const auto refused = [](const std::string& spec) { return refusal(spec, 5000, 8); };
  CHECK(refused("iid+rotate:groups=2,by=5+noise:10%").empty());
  CHECK(holds(refused("iid+rotat:groups=2,by=5"), "rotate"));
  CHECK(holds(refused("iid+rotate:groups=2"), "by is missing"));
  CHECK(holds(refused("iid+rotate:by=2"), "groups is missing"));
  CHECK(holds(refused("iid+rotate:groups=3,by=5"),
              "8 peers cannot form 3 equal groups; try --peers 9"));
  CHECK(holds(refused("iid+noise:10%+noise:10%"), "twice"));
  for (const char* spec : {"iid+rotate:groups=0,by=5", "iid+rotate:groups=2,by=5,x=1", "iid+noise",
                           "iid+noise:-1%", "iid+noise:101%", "iid+noise:10%,20%"}) {
    CAPTURE(spec);
    CHECK_FALSE(refused(spec).empty());
  }
}

TEST_CASE("the variant of a split is said in one line") {
  CHECK(holds(describe_variant("dirichlet:0.3"), "NIID-Bench"));
  CHECK(holds(describe_variant("labels:2+noise:1%"), "+ noise"));
  CHECK_FALSE(holds(describe_variant("iid"), "\n"));
}

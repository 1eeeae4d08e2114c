// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/describe.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "runtime/data/idx_testkit.hpp"
#include "runtime/data/synthetic.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using testkit::holds;

namespace {

std::size_t longest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(in, line);) longest = std::max(longest, line.size());
  return longest;
}

Dataset small_set() {
  const ImageSet train{1, 2, 3, {0, 255, 51, 51, 102, 0}, {0, 2, 2}};
  return {"idx", "here", train, ImageSet{1, 2, 3, {9, 9}, {1}}};
}

// As large as sets get: seven-digit counts a class.
Dataset large_set() {
  Dataset dataset{"idx", "here", {1, 1, 10, {}, {}}, {1, 1, 10, {}, {}}};
  dataset.train.labels.assign(1'000'000, 9);
  dataset.train.pixels.assign(1'000'000, 1);
  return dataset;
}

}  // namespace

TEST_CASE("pixel mean and deviation are those of the training set on a scale of 0 to 1") {
  const PixelStats stats = pixel_stats(small_set().train);
  CHECK(stats.mean == Approx((0 + 1 + 0.2 + 0.2 + 0.4 + 0) / 6));
  CHECK(stats.deviation == Approx(std::sqrt((1 + 0.04 + 0.04 + 0.16) / 6 - 0.09)));
}

TEST_CASE("a digest follows every part of the data and not its name") {
  const Dataset original = small_set();
  const std::string digest = dataset_digest(original);
  CHECK(digest.size() == 16);
  Dataset named = original;
  named.name = named.origin = "elsewhere";
  CHECK(dataset_digest(named) == digest);
  Dataset pixels = original, labels = original, test = original, shape = original;
  pixels.train.pixels[3] ^= 1;
  labels.train.labels[0] = 1;
  test.test.labels[0] = 0;
  std::swap(shape.train.rows, shape.train.cols);
  for (const Dataset& other : {pixels, labels, test, shape}) CHECK(dataset_digest(other) != digest);
}

TEST_CASE("a data set is described with the same facts in text and JSON") {
  const Dataset dataset = small_set();
  const std::string text = describe_text(dataset);
  CAPTURE(text);
  const auto json = describe_json(dataset);
  CHECK(json["train"] == 3);
  CHECK(json["test"] == 1);
  CHECK(json["classes"] == 3);
  CHECK(json["rows"] == 1);
  CHECK(json["train_per_class"] == std::vector<int>{1, 0, 2});
  CHECK(json["test_per_class"] == std::vector<int>{0, 1, 0});
  CHECK(json["pixel_mean"].get<double>() == Approx(0.3));
  CHECK(holds(text, "3 train, 1 test, 1 x 2 pixels"));
  CHECK(holds(text, "mean 0.3000"));
  CHECK(holds(text, json["digest"].get<std::string>()));
  CHECK(holds(text, "train            1       0       2\n"));
}

TEST_CASE("a split is described with sizes and label histograms in text and JSON") {
  const Dataset dataset = synthetic_digits(1, {1000, 10});
  const auto partition = make_partition("labels:2+noise:10%", dataset.train.labels, 10, 3, 1);
  const auto json = split_json(dataset, partition, 1);
  const std::string text = split_text(dataset, partition, 1);
  CAPTURE(text);
  REQUIRE(json["per_peer"].size() == 3);
  std::size_t total = 0;
  for (std::uint32_t p = 0; p < 3; ++p) {
    const auto& peer = json["per_peer"][p];
    CHECK(peer["peer"] == "p0" + std::to_string(p));
    CHECK(peer["examples"] == partition.owned[p].size());
    CHECK(peer["wrong_labels"] == noisy_count(partition, p));
    const auto counts = peer["per_class"].get<std::vector<std::size_t>>();
    const auto labels = make_shard(dataset.train, partition, p, 1).labels;
    for (std::size_t c = 0; c < 10; ++c) {
      CHECK(counts[c] == static_cast<std::size_t>(std::ranges::count(labels, std::uint8_t(c))));
    }
    total += partition.owned[p].size();
  }
  CHECK(json["examples"] == total);
  CHECK(json["unowned"] == 1000 - total);
  CHECK(json["smallest"] == 200);
  CHECK(json["largest"] == 200);
  CHECK(json["rule"] == describe_variant("labels:2+noise:10%"));
  CHECK(holds(text, describe_variant("labels:2+noise:10%")));
  CHECK(holds(text, "600 of 1000 training examples, 3 shards of 200 to 200"));
}

TEST_CASE("ten classes fit into 100 columns, more classes too") {
  const Dataset large = large_set();
  CHECK(longest_line(describe_text(large)) <= 100);
  CHECK(longest_line(split_text(large, make_partition("iid", large.train.labels, 10, 2, 0), 0)) <=
        100);
  Dataset many = small_set();
  many.train = {1, 1, 256, std::vector<std::uint8_t>(512), {}};
  for (int i = 0; i < 512; ++i) many.train.labels.push_back(static_cast<std::uint8_t>(i % 256));
  many.test.classes = 256;
  CHECK(longest_line(describe_text(many)) <= 100);
  const auto partition = make_partition("labels:200", many.train.labels, 256, 2, 0);
  const std::string text = split_text(many, partition, 0);
  CHECK(longest_line(text) <= 100);
  CHECK(holds(text, " 200   class "));
}

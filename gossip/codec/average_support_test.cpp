// SPDX-License-Identifier: Apache-2.0
// Choice by moving averages: each rule against its definition in plain loops, and what it keeps.
#include "gossip/codec/average_support.hpp"

#include <algorithm>
#include <cmath>

#include "gossip/codec/testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;
using Rule = AverageRule::Kind;

struct Bench {
  Bench(Rule rule, double share, std::size_t n)
      : places(plain(n)),
        support({rule, AverageRule::usual_beta(rule)}, Budget(share, false, places), places, n) {}
  std::vector<std::uint32_t> next(std::span<const float> w, std::span<float> published) {
    PackedBytes where;
    std::vector<std::uint32_t> at, read;
    support.choose(w, published, where, at);
    PackedReader reader(where);
    CHECK(support.read(reader, read) == "");
    CHECK(read == at);
    return at;
  }
  Places places;
  AverageSupport support;
};

// Numbers of the k largest, ascending.
std::vector<std::uint32_t> largest(const std::vector<float>& rank, std::size_t k) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < rank.size(); ++i)
    if (rank[i] > 0.0f) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return rank[a] > rank[b]; });
  order.resize(std::min(k, order.size()));
  std::sort(order.begin(), order.end());
  return order;
}

// Of 10 % asked for, when what is compared is anew each message: unlike weights, gradients are.
double kept_of_gradients(Rule rule) {
  const std::size_t n = 40'000;
  Bench bench(rule, 0.1, n);
  std::vector<float> published(n);
  double kept = 0.0;
  for (std::uint64_t m = 0; m < 40; ++m) {
    const auto at = bench.next(normals(n, 1.0, m), published);
    if (m >= 20) kept += static_cast<double>(at.size()) / static_cast<double>(20 * n);
  }
  return kept;
}

std::size_t unsaid_after(const CodecSettings& settings, int messages) {
  const std::size_t n = 20'000;
  const std::vector<float> start = normals(n, 1.0, 1);
  std::vector<float> w = start, heard = start, in(n);
  drift(w, 0.1, 2);
  const auto plan = make_codec_plan(settings, plain(n), start, 3);
  const auto codec = plan->make(PeerId(0));
  for (int m = 0; m < messages; ++m) {
    REQUIRE(codec->decode(*codec->encode(w, nullptr), heard, in).fault == "");
    heard = in;
  }
  std::size_t unsaid = 0;
  for (std::size_t i = 0; i < n; ++i) unsaid += heard[i] != w[i];
  return unsaid;
}

}  // namespace

TEST_CASE("ma and score choose the largest of what they define") {
  const std::size_t n = 5000, k = 50;
  for (const Rule rule : {Rule::corrected, Rule::score}) {
    INFO("rule " << static_cast<int>(rule));
    Bench bench(rule, 0.01, n);
    const std::vector<float> start = normals(n, 1.0, 1);
    std::vector<float> w = start, published = start, last = start, average(n), rank(n);
    for (std::uint64_t m = 0; m < 12; ++m) {
      drift(w, 0.1, 10 + m % 5);
      for (std::size_t i = 0; i < n; ++i) {
        const float x = w[i] - published[i], u = rule == Rule::score ? w[i] - last[i] : x;
        average[i] = 0.9f * average[i] + (1.0f - 0.9f) * std::fabs(u);
        rank[i] = rule == Rule::score ? std::fabs(x) * average[i] : x != 0.0f ? average[i] : 0.0f;
      }
      const auto expected = largest(rank, k);
      CHECK(expected.size() == k);
      REQUIRE(bench.next(w, published) == expected);
      for (const std::uint32_t i : expected) published[i] = w[i];
      last = w;
    }
  }
}

TEST_CASE(
    "The literal rule keeps about half of what it is asked for, the corrected one just that") {
  CHECK(kept_of_gradients(Rule::literal) == Approx(0.059).margin(0.002));
  CHECK(kept_of_gradients(Rule::corrected) == Approx(0.1).margin(1e-9));
}

TEST_CASE("The literal rule never says what falls") {
  const std::size_t n = 4000;
  Bench bench(Rule::literal, 0.1, n);
  std::vector<float> w(n), published(n);
  std::size_t said = 0;
  for (int m = 0; m < 20; ++m) {
    for (std::size_t i = 0; i < n; ++i)
      w[i] += (i % 2 == 0 ? 0.01f : -0.01f) * static_cast<float>(i % 7 + 1);
    for (const std::uint32_t i : bench.next(w, published)) {
      CHECK(i % 2 == 0);
      published[i] = w[i];
      ++said;
    }
  }
  CHECK(said > 0);
}

TEST_CASE(
    "Weights that stand still are said completely, but for those that fell by the literal rule") {
  CHECK(unsaid_after(averaged(Rule::corrected, 0.05), 20) == 0);
  CHECK(unsaid_after(averaged(Rule::corrected, 0.05), 19) > 0);
  CHECK(unsaid_after(averaged(Rule::score, 0.05), 20) == 0);
  CHECK(unsaid_after(averaged(Rule::literal, 0.05), 100) > 9'000);
}

TEST_CASE("A share of each tensor says something of every tensor, of all of them the largest") {
  const kernels::Layout layout = layered();
  const std::vector<float> start = normals(layout.size(), 1.0, 1);
  std::vector<float> w = start;
  for (const kernels::TensorSlot& slot : layout.slots()) {
    const std::vector<float> step = normals(slot.count, slot.name == "2.weight" ? 1e-3 : 0.1, 2);
    for (std::size_t i = 0; i < slot.count; ++i) w[slot.offset + i] += step[i];
  }
  for (const bool is_per_tensor : {true, false}) {
    for (CodecSettings settings : {sparse(Kind::topk, 0.004), averaged(Rule::score, 0.004),
                                   averaged(Rule::corrected, 0.004)}) {
      settings.is_per_tensor = is_per_tensor;
      INFO(text_of(settings));
      const auto plan = make_codec_plan(settings, layout, start, 3);
      const auto codec = plan->make(PeerId(0));
      const std::vector<float> base(layout.size(), -7777.0f);
      std::vector<float> in(layout.size());
      const auto said = codec->encode(w, nullptr);
      CHECK(said->bytes.size() <= plan->most_bytes());
      REQUIRE(plan->make(PeerId(1))->decode(*said, base, in).fault == "");
      std::vector<std::size_t> counts;
      for (const kernels::TensorSlot& slot : layout.slots()) {
        const auto begin = in.begin() + static_cast<std::ptrdiff_t>(slot.offset);
        const auto unsaid =
            std::count(begin, begin + static_cast<std::ptrdiff_t>(slot.count), -7777.0f);
        counts.push_back(slot.count - static_cast<std::size_t>(unsaid));
      }
      // 72,000, 2,100 and 2,000 weights; 288, 8 and 8 of them, but at least 16.
      if (is_per_tensor) {
        CHECK(counts == std::vector<std::size_t>{3, 288, 80, 16, 16, 1});
      } else {
        CHECK(counts[1] + counts[3] == 304);
        CHECK(counts[4] == 0);
      }
    }
  }
}

}  // namespace hearsay::gossip

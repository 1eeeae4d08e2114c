// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/ema_ops.hpp"

#include <memory>

#include "kernels/cuda/ema_api.h"
#include "kernels/cuda/merge_test_support.hpp"
#include "kernels/ops/merge_test_data.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

const std::vector<std::size_t> kSizes = {0, 1, 7, 32, 255, 4095, 4096, 4097, 65'537};

HsEmaRule to_c(const EmaRule& rule) {
  return {static_cast<int>(rule.w_type), static_cast<int>(rule.v_type),
          static_cast<int>(rule.store), rule.seed, rule.merge_id};
}

void check_result(const DeviceArray<HsEmaResult>& d_result, const EmaResult& expected) {
  const HsEmaResult result = d_result.host()[0];
  CHECK(same_bits(result.update_sq, expected.update_sq));
  CHECK(result.max_update == expected.max_update);
  CHECK(result.bad == expected.bad);
  CHECK(result.changed == expected.changed);
  CHECK(d_result.guards_hold());
}

template <typename W, typename V>
void check_types(EmaStore store, float alpha, std::size_t n, std::size_t shift) {
  CAPTURE(sizeof(W), sizeof(V), static_cast<int>(store), alpha, n, shift);
  auto plain_w = test_values(n, "w"), plain_v = test_values(n, "v"),
       master = test_values(n, "master");
  poison(plain_w, 97);
  poison(plain_v, 61);
  auto w = stored_as<W>(plain_w);
  const auto v = stored_as<V>(plain_v);
  const EmaRule rule{type_of<W>(), type_of<V>(), store, 0x9876543210ull, 3};
  const DeviceArray<W> d_w(w, shift);
  const DeviceArray<V> d_v(v, shift);
  const DeviceArray<float> d_master(master, shift);
  const bool has_master = store == EmaStore::master;
  const HsEmaSpan span{
      d_w.data(), d_v.data(), has_master ? d_master.data() : nullptr, n, 1ull << 33, alpha, 0};
  const HsEmaRule c_rule = to_c(rule);
  HsEmaSpan counted = span;
  const Workspace workspace(hs_cuda_ema_workspace_bytes(hs_cuda_ema_tiles(&counted, 1)));
  const DeviceArray<HsEmaResult> d_result(1);
  OneWorker alone;
  const EmaSpan cpu{w.data(), v.data(), has_master ? master.data() : nullptr, n, 1ull << 33, alpha};
  for (int call = 0; call < 2; ++call) {  // the second finds the workspace as the first left it
    must(hs_cuda_ema(&c_rule, &span, workspace.data(), d_result.data(), nullptr), "ema");
    check_result(d_result, ema({&cpu, 1}, rule, alone));
    CHECK(same_bits(d_w.host(), w));
    CHECK(same_bits(d_master.host(), master));
    CHECK(workspace.is_as_promised());
  }
  CHECK(same_bits(d_v.host(), v));
  CHECK((d_w.guards_hold() && d_v.guards_hold() && d_master.guards_hold()));
}

}  // namespace

TEST_CASE("merges of all types agree with the CPU bit for bit") {
  const std::size_t n = GENERATE(from_range(kSizes));
  const float alpha = GENERATE(0.0f, 0.01f, 1.0f);
  const std::size_t shift = GENERATE(0u, 1u, 2u);
  check_types<float, float>(EmaStore::random, alpha, n, shift);
  check_types<float, Bf16>(EmaStore::random, alpha, n, shift);
  check_types<float, Fp16>(EmaStore::nearest, alpha, n, shift);
  for (const EmaStore store : {EmaStore::random, EmaStore::nearest, EmaStore::master}) {
    check_types<Bf16, Bf16>(store, alpha, n, shift);
    check_types<Bf16, float>(store, alpha, n, shift);
    check_types<Bf16, Fp16>(store, alpha, n, shift);
    check_types<Fp16, Fp16>(store, alpha, n, shift);
    check_types<Fp16, float>(store, alpha, n, shift);
    check_types<Fp16, Bf16>(store, alpha, n, shift);
  }
}

TEST_CASE("more than one group of tiles") {
  for (const std::size_t n :
       {std::size_t{4096} * 1024, std::size_t{4096} * 1025 + 3, std::size_t{30'000'001}}) {
    check_types<float, float>(EmaStore::random, 0.25f, n, 0);
    check_types<Bf16, Bf16>(EmaStore::random, 0.25f, n, 0);
  }
}

TEST_CASE("a model merged with itself stays") {
  const auto w = test_values(50'000, "w");
  const DeviceArray<float> d_w(w);
  const HsEmaRule rule{};
  HsEmaSpan span{d_w.data(), d_w.data(), nullptr, w.size(), 0, 0.5f, 0};
  const Workspace workspace(hs_cuda_ema_workspace_bytes(hs_cuda_ema_tiles(&span, 1)));
  const DeviceArray<HsEmaResult> d_result(1);
  must(hs_cuda_ema(&rule, &span, workspace.data(), d_result.data(), nullptr), "ema");
  CHECK(same_bits(d_w.host(), w));
  check_result(d_result, EmaResult{});
}

TEST_CASE("a table of spans is one merge, with the facts of all") {
  const std::vector<std::size_t> sizes = {5, 0, 4096, 100'000, 1, 4097, 0};
  std::vector<std::vector<Bf16>> w, v;
  std::vector<std::unique_ptr<DeviceArray<Bf16>>> d_w, d_v;
  std::vector<EmaSpan> spans;
  std::vector<HsEmaSpan> c_spans;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    w.push_back(stored_as<Bf16>(test_values(sizes[s], "w")));
    v.push_back(stored_as<Bf16>(test_values(sizes[s], "v")));
    d_w.push_back(std::make_unique<DeviceArray<Bf16>>(w[s], s % 3));
    d_v.push_back(std::make_unique<DeviceArray<Bf16>>(v[s]));
  }
  std::uint64_t first = 0;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    const float alpha = 0.1f * static_cast<float>(s);
    spans.push_back({w[s].data(), v[s].data(), nullptr, sizes[s], first, alpha});
    c_spans.push_back({d_w[s]->data(), d_v[s]->data(), nullptr, sizes[s], first, alpha, 0});
    first += (sizes[s] + 7) / 8 * 8;
  }
  const EmaRule rule{ElementType::bf16, ElementType::bf16, EmaStore::random, 7, 8};
  const HsEmaRule c_rule = to_c(rule);
  const std::size_t tiles = hs_cuda_ema_tiles(c_spans.data(), c_spans.size());
  const DeviceArray<HsEmaSpan> d_spans(c_spans);
  const Workspace workspace(hs_cuda_ema_workspace_bytes(tiles));
  const DeviceArray<HsEmaResult> d_result(1);
  must(hs_cuda_ema_spans(&c_rule, d_spans.data(), c_spans.size(), tiles, workspace.data(),
                         d_result.data(), nullptr),
       "spans");
  OneWorker alone;
  check_result(d_result, ema(spans, rule, alone));
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    CAPTURE(s);
    CHECK(same_bits(d_w[s]->host(), w[s]));
    CHECK(d_w[s]->guards_hold());
  }
  CHECK(workspace.is_as_promised());
}

TEST_CASE("what is not allowed is an error and starts nothing") {
  HsEmaSpan span{nullptr, nullptr, nullptr, 0, 4, 0.5f, 0};
  HsEmaRule rule{};
  const int invalid = static_cast<int>(cudaErrorInvalidValue);
  CHECK(hs_cuda_ema(&rule, &span, nullptr, nullptr, nullptr) == invalid);  // first is not 8 k
  span.first = 0;
  rule.store = HS_STORE_MASTER;  // fp32 has no master
  CHECK(hs_cuda_ema(&rule, &span, nullptr, nullptr, nullptr) == invalid);
  rule = {HS_BF16, 3, HS_STORE_RANDOM, 0, 0};
  CHECK(hs_cuda_ema(&rule, &span, nullptr, nullptr, nullptr) == invalid);
  rule = {HS_BF16, HS_BF16, HS_STORE_MASTER, 0, 0};
  span.n = 1;
  CHECK(hs_cuda_ema(&rule, &span, nullptr, nullptr, nullptr) == invalid);
  CHECK(hs_cuda_ema_spans(&rule, nullptr, 0, 1, nullptr, nullptr, nullptr) == invalid);
}

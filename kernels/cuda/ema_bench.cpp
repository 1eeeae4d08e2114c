// SPDX-License-Identifier: Apache-2.0
// Every value and fact is compared with the CPU, at any size: that runs on some threads.
#include <memory>

#include "kernels/bench/cuda_cases.hpp"
#include "kernels/bench/merge_data.hpp"
#include "kernels/bench/thread_workers.hpp"
#include "kernels/cuda/ema_api.h"
#include "kernels/cuda/merge_test_support.hpp"
#include "kernels/cuda/vector_api.h"
#include "kernels/ops/ema_ops.hpp"
#include "kernels/ops/merge_ops.hpp"
#include "kernels/ops/vector_ops.hpp"

namespace hearsay::kernels {
namespace {

constexpr float kAlpha = 0.25f;
constexpr std::size_t kThreads = 8;

template <typename T>
constexpr ElementType kTypeOf = std::is_same_v<T, float>  ? ElementType::fp32
                                : std::is_same_v<T, Bf16> ? ElementType::bf16
                                                          : ElementType::fp16;

template <typename T>
std::shared_ptr<DeviceArray<T>> on_device(const std::vector<T>& host) {
  return std::make_shared<DeviceArray<T>>(host);
}

bool differ(double a, double b) { return std::memcmp(&a, &b, sizeof a) != 0; }

template <typename W, typename V, EmaStore kStore>
KernelCase ema_case(std::size_t n, void* stream) {
  constexpr bool kHasMaster = kStore == EmaStore::master;
  const EmaRule rule{kTypeOf<W>, kTypeOf<V>, kStore, 5, 6};
  const HsEmaRule c_rule{static_cast<int>(rule.w_type), static_cast<int>(rule.v_type),
                         static_cast<int>(rule.store), rule.seed, rule.merge_id};
  auto d_w = on_device(bench_values<W>(n, "w"));
  auto d_v = on_device(bench_values<V>(n, "v"));
  auto d_master = on_device(kHasMaster ? bench_values(n, "w") : std::vector<float>{});
  HsEmaSpan counted{nullptr, nullptr, nullptr, n, 0, kAlpha, 0};
  auto workspace =
      std::make_shared<Workspace>(hs_cuda_ema_workspace_bytes(hs_cuda_ema_tiles(&counted, 1)));
  auto d_result = std::make_shared<DeviceArray<HsEmaResult>>(1);
  KernelCase each;
  each.bytes = static_cast<double>(n) * (2 * sizeof(W) + sizeof(V) + (kHasMaster ? 8 : 0));
  each.run = [=] {
    const HsEmaSpan all{d_w->data(), d_v->data(), d_master->data(), n, 0, kAlpha, 0};
    must(hs_cuda_ema(&c_rule, &all, workspace->data(), d_result->data(), stream), "ema");
  };
  each.wrong = [=] {
    auto w = bench_values<W>(n, "w");
    const auto v = bench_values<V>(n, "v");
    auto master = kHasMaster ? bench_values(n, "w") : std::vector<float>{};
    ThreadWorkers workers(kThreads);
    const EmaSpan cpu{w.data(), v.data(), master.data(), n, 0, kAlpha};
    const EmaResult expected = ema({&cpu, 1}, rule, workers);
    const HsEmaResult got = d_result->host()[0];
    std::uint64_t wrong = differences(d_w->host(), w) + differences(d_master->host(), master);
    wrong += differ(got.update_sq, expected.update_sq) + (got.max_update != expected.max_update);
    return wrong + (got.bad != expected.bad) + (got.changed != expected.changed);
  };
  return each;
}

KernelCase stats_case(std::size_t n, void* stream) {
  auto d_w = on_device(bench_values(n, "w")), d_in = on_device(bench_values(n, "v"));
  auto workspace = std::make_shared<Workspace>(hs_cuda_sums_workspace_bytes(n));
  auto d_result = std::make_shared<DeviceArray<HsMergeStats>>(1);
  KernelCase each;
  each.bytes = 8.0 * static_cast<double>(n);
  each.run = [=] {
    must(hs_cuda_merge_stats(d_w->data(), d_in->data(), nullptr, nullptr, n, workspace->data(),
                             d_result->data(), stream),
         "stats");
  };
  each.wrong = [=] {
    ThreadWorkers workers(kThreads);
    const MergeStats expected =
        merge_stats(bench_values(n, "w"), bench_values(n, "v"), {}, {}, workers);
    const HsMergeStats got = d_result->host()[0];
    return std::uint64_t{differ(got.displacement_sq, expected.displacement_sq)} +
           differ(got.weights_sq, expected.weights_sq) + differ(got.dot, 0.0) +
           differ(got.local_sq, 0.0) + (got.bad != expected.bad);
  };
  return each;
}

KernelCase dot_case(std::size_t n, void* stream) {
  auto d_x = on_device(bench_values(n, "w")), d_y = on_device(bench_values(n, "v"));
  auto workspace = std::make_shared<Workspace>(hs_cuda_sums_workspace_bytes(n));
  auto d_result = std::make_shared<DeviceArray<double>>(1);
  KernelCase each;
  each.bytes = 8.0 * static_cast<double>(n);
  each.run = [=] {
    must(hs_cuda_dot(d_x->data(), d_y->data(), n, workspace->data(), d_result->data(), stream),
         "dot");
  };
  each.wrong = [=] {
    ThreadWorkers workers(kThreads);
    const double expected = dot(bench_values(n, "w"), bench_values(n, "v"), workers);
    return std::uint64_t{differ(d_result->host()[0], expected)};
  };
  return each;
}

KernelCase axpy_case(std::size_t n, void* stream) {
  auto d_x = on_device(bench_values(n, "v")), d_y = on_device(bench_values(n, "w"));
  KernelCase each;
  each.bytes = 12.0 * static_cast<double>(n);
  each.run = [=] { must(hs_cuda_axpy(kAlpha, d_x->data(), d_y->data(), n, stream), "axpy"); };
  each.wrong = [=] {
    auto y = bench_values(n, "w");
    ThreadWorkers workers(kThreads);
    axpy(kAlpha, bench_values(n, "v"), y, workers);
    return differences(d_y->host(), y);
  };
  return each;
}

}  // namespace

std::vector<CudaCaseMaker> cuda_ema_cases() {
  return {{"ema fp32", ema_case<float, float, EmaStore::random>},
          {"ema fp32<-bf16", ema_case<float, Bf16, EmaStore::random>},
          {"ema bf16 sr", ema_case<Bf16, Bf16, EmaStore::random>},
          {"ema fp16 sr", ema_case<Fp16, Fp16, EmaStore::random>},
          {"ema bf16 master", ema_case<Bf16, Bf16, EmaStore::master>},
          {"stats fp32", stats_case},
          {"dot", dot_case},
          {"axpy", axpy_case}};
}

}  // namespace hearsay::kernels

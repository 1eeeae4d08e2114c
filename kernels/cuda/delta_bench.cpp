// SPDX-License-Identifier: Apache-2.0
// Every value and fact is compared with the CPU, at any size: that runs on some threads.
#include <cmath>
#include <memory>

#include "kernels/bench/cuda_cases.hpp"
#include "kernels/bench/merge_data.hpp"
#include "kernels/bench/thread_workers.hpp"
#include "kernels/cuda/delta_api.h"
#include "kernels/cuda/merge_test_support.hpp"
#include "kernels/cuda/moving_average_api.h"
#include "kernels/ops/delta_ops.hpp"
#include "kernels/ops/moving_average_ops.hpp"

namespace hearsay::kernels {
namespace {

constexpr float kMu = 0.9f, kBeta = 0.9f;
constexpr std::size_t kThreads = 8;

using Device = std::shared_ptr<DeviceArray<float>>;

Device on_device(const std::vector<float>& host) {
  return std::make_shared<DeviceArray<float>>(host);
}

// Nearly all of a delta's histogram lies within a few powers of two, as in training.
KernelCase delta_case(std::size_t n, void* stream, bool has_momentum) {
  const auto start_momentum = [=] {
    return has_momentum ? bench_values(n, "momentum", 0.1f) : std::vector<float>{};
  };
  const Device d_w = on_device(bench_values(n, "w")),
               d_anchor = on_device(bench_values(n, "anchor"));
  const Device d_error = on_device(bench_values(n, "error", 0.01f));
  const Device d_momentum = on_device(start_momentum());
  auto workspace = std::make_shared<Workspace>(hs_cuda_delta_workspace_bytes(n));
  auto d_result = std::make_shared<DeviceArray<HsDeltaResult>>(1);
  KernelCase each;
  each.bytes = (has_momentum ? 24.0 : 16.0) * static_cast<double>(n);
  each.run = [=] {
    const HsDelta all{d_w->data(),
                      d_anchor->data(),
                      has_momentum ? d_momentum->data() : nullptr,
                      d_error->data(),
                      d_error->data(),
                      n,
                      kMu,
                      0,
                      0};
    must(hs_cuda_delta(&all, workspace->data(), d_result->data(), stream), "delta");
  };
  each.wrong = [=] {
    auto anchor = bench_values(n, "anchor"), error = bench_values(n, "error", 0.01f);
    auto momentum = start_momentum();
    ThreadWorkers workers(kThreads);
    const DeltaResult expected =
        delta({bench_values(n, "w"), anchor, momentum, error, error}, {kMu, false, false}, workers);
    const HsDeltaResult got = d_result->host()[0];
    std::uint64_t wrong =
        differences(d_error->host(), error) + differences(d_momentum->host(), momentum);
    for (std::size_t bin = 0; bin < kCoarseBins; ++bin)
      wrong += got.histogram[bin] != expected.histogram[bin];
    return wrong + (std::memcmp(&got.update_sq, &expected.update_sq, sizeof(double)) != 0) +
           (got.max_update != expected.max_update) + (got.bad != expected.bad);
  };
  return each;
}

std::vector<float> start_averages(std::size_t n) {
  auto ma = bench_values(n, "w");
  for (float& x : ma) x = std::fabs(x);
  return ma;
}

KernelCase moving_case(std::size_t n, void* stream) {
  const Device d_ma = on_device(start_averages(n)), d_g = on_device(bench_values(n, "v"));
  const Device d_tau = on_device({1.0f});
  auto workspace = std::make_shared<Workspace>(hs_cuda_moving_average_workspace_bytes());
  auto d_result = std::make_shared<DeviceArray<HsMovingResult>>(1);
  KernelCase each;
  each.bytes = 12.0 * static_cast<double>(n);
  each.run = [=] {
    const HsMovingAverage all{
        d_ma->data(), d_g->data(), nullptr, d_tau->data(), n, kBeta, 0, 0, 0, 0, n / 100};
    must(hs_cuda_moving_average(&all, workspace->data(), d_result->data(), stream), "average");
  };
  each.wrong = [=] {
    auto ma = start_averages(n);
    ThreadWorkers workers(kThreads);
    MovingRule rule{kBeta};
    rule.keep = n / 100;
    rule.last_tau = 1.0f;
    const auto expected = moving_average(std::span(ma), bench_values(n, "v"), {}, rule, workers);
    const HsMovingResult got = d_result->host()[0];
    std::uint64_t wrong = differences(d_ma->host(), ma);
    for (std::size_t bin = 0; bin < kCoarseBins; ++bin)
      wrong += got.coarse[bin] != expected.coarse[bin];
    for (std::size_t bin = 0; bin < kZoomBins; ++bin) wrong += got.zoom[bin] != expected.zoom[bin];
    return wrong + (float_bits(got.tau) != float_bits(expected.tau)) + (got.kept != expected.kept) +
           (got.above != expected.above) + (got.bad != expected.bad);
  };
  return each;
}

}  // namespace

std::vector<CudaCaseMaker> cuda_delta_cases() {
  return {{"delta+histogram", [](auto n, auto* stream) { return delta_case(n, stream, false); }},
          {"delta momentum", [](auto n, auto* stream) { return delta_case(n, stream, true); }},
          {"moving average", moving_case}};
}

}  // namespace hearsay::kernels

// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/bench_train.hpp"

#include <utility>

#include "kernels/ops/gemm.hpp"
#include "runtime/bench/distribution.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/train/nn_trainer.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::size_t kPixels = 784, kClasses = 10, kExamples = 4096;

// The products of one step: forward, weight gradient, and input gradient but for the first layer.
struct Products {
  struct Factors {
    std::size_t rows, in, out;
    kernels::Buffer<float> x, w, y, d_w, d_x;
  };
  Products(const kernels::Network& network, std::size_t batch) {
    kernels::Rng rng = kernels::Rng::stream(2, "bench-train");
    for (const kernels::Layer& layer : network.layers()) {
      const std::size_t rows = batch * layer.positions(), in = layer.patch(), out = layer.out;
      Factors f{rows,
                in,
                out,
                kernels::Buffer<float>(rows * in),
                kernels::Buffer<float>(in * out),
                kernels::Buffer<float>(rows * out),
                kernels::Buffer<float>(in * out),
                kernels::Buffer<float>(factors.empty() ? 0 : rows * in)};
      for (kernels::Buffer<float>* buffer : {&f.x, &f.w, &f.y}) {
        for (float& v : buffer->span()) v = static_cast<float>(rng.normal());
      }
      factors.push_back(std::move(f));
    }
  }
  void run() {
    using kernels::gemm;
    using kernels::Op;
    for (Factors& f : factors) {
      gemm<float>(Op::none, Op::transpose, f.rows, f.out, f.in, f.x.data(), f.w.data(), 0.0f,
                  f.y.data());
      gemm<float>(Op::transpose, Op::none, f.out, f.in, f.rows, f.y.data(), f.x.data(), 0.0f,
                  f.d_w.data());
      if (f.d_x.size() > 0)
        gemm<float>(Op::none, Op::none, f.rows, f.in, f.out, f.y.data(), f.w.data(), 0.0f,
                    f.d_x.data());
    }
  }
  std::vector<Factors> factors;
};

}  // namespace

ImageSet random_bench_images() {
  ImageSet images{28, 28, kClasses, std::vector<std::uint8_t>(kExamples * kPixels),
                  std::vector<std::uint8_t>(kExamples)};
  kernels::Rng rng = kernels::Rng::stream(1, "bench-train");
  for (auto& p : images.pixels) p = static_cast<std::uint8_t>(rng.below(256));
  for (auto& l : images.labels) l = static_cast<std::uint8_t>(rng.below(kClasses));
  return images;
}

std::vector<TrainBenchRow> bench_train(const Spec& model_spec,
                                       const std::vector<std::uint32_t>& batches) {
  kernels::use_one_blas_thread();
  std::vector<TrainBenchRow> rows;
  for (const std::uint32_t batch : batches) {
    ImageSet images = random_bench_images();
    const std::unique_ptr<NnContext> made = build_context(model_spec, images, 1, batch);
    NnContext& context = *made;
    NnTrainerOptions options;
    options.batch = batch;
    options.epochs = 1'000'000;
    options.optimizer.clip = 1.0;
    NnTrainer trainer(context, std::move(images), options);
    Products products(context.model(), batch);
    Distribution steps, gemms;
    for (int round = -3; round < kTrainBenchRounds; ++round) {  // the first three warm up
      const double step_s = seconds_of([&] {
        for (int i = 0; i < kStepsARound; ++i) trainer.train(0);
      });
      const double gemm_s = seconds_of([&] {
        for (int i = 0; i < kStepsARound; ++i) products.run();
      });
      if (round < 0) continue;
      steps.add(step_s / kStepsARound);
      gemms.add(gemm_s / kStepsARound);
    }
    TrainBenchRow& row = rows.emplace_back();
    row.batch = batch;
    row.flops = context.model().step_flops(batch);
    row.step_p50_s = steps.at(0.5);
    row.step_p99_s = steps.at(0.99);
    row.gemm_p50_s = gemms.at(0.5);
  }
  return rows;
}

}  // namespace hearsay::runtime

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
constexpr int kRounds = 60, kStepsARound = 20;

ImageSet random_images() {
  ImageSet images{28, 28, kClasses, std::vector<std::uint8_t>(kExamples * kPixels),
                  std::vector<std::uint8_t>(kExamples)};
  kernels::Rng rng = kernels::Rng::stream(1, "bench-train");
  for (auto& p : images.pixels) p = static_cast<std::uint8_t>(rng.below(256));
  for (auto& l : images.labels) l = static_cast<std::uint8_t>(rng.below(kClasses));
  return images;
}

// The products of one step: forward, weight gradient, and input gradient but for the first layer.
struct Products {
  Products(const kernels::Mlp& m, std::size_t b)
      : model(m), batch(b), weights(m.layout().size()), gradient(weights.size()) {
    for (const std::size_t width : m.widths()) activations.emplace_back(b * width);
    kernels::Rng rng = kernels::Rng::stream(2, "bench-train");
    for (float& w : weights.span()) w = static_cast<float>(rng.normal());
    for (auto& a : activations) {
      for (float& v : a.span()) v = static_cast<float>(rng.normal());
    }
  }
  void run() {  // starts from the inputs every time, so values do not grow from run to run
    using kernels::gemm;
    using kernels::Op;
    for (std::size_t l = 0; l < model.layers(); ++l) {
      const std::size_t in = model.widths()[l], out = model.widths()[l + 1];
      const float* w = weights.data() + model.weight_offset(l);
      gemm<float>(Op::none, Op::transpose, batch, out, in, activations[l].data(), w, 0.0f,
                  activations[l + 1].data());
      gemm<float>(Op::transpose, Op::none, out, in, batch, activations[l + 1].data(),
                  activations[l].data(), 0.0f, gradient.data() + model.weight_offset(l));
      if (l > 0) {
        gemm<float>(Op::none, Op::none, batch, in, out, activations[l + 1].data(), w, 0.0f,
                    activations[l].data());
      }
    }
  }
  const kernels::Mlp& model;
  std::size_t batch;
  kernels::Buffer<float> weights, gradient;
  std::vector<kernels::Buffer<float>> activations;
};

}  // namespace

std::vector<TrainBenchRow> bench_train(const Spec& model_spec,
                                       const std::vector<std::uint32_t>& batches) {
  kernels::use_one_blas_thread();
  std::vector<TrainBenchRow> rows;
  for (const std::uint32_t batch : batches) {
    ImageSet images = random_images();
    NnContext context(build_model(model_spec, kPixels, kClasses), standardise(images), 1, batch);
    NnTrainerOptions options;
    options.batch = batch;
    options.epochs = 1'000'000;
    options.optimizer.clip = 1.0;
    NnTrainer trainer(context, std::move(images), options);
    Products products(context.model(), batch);
    Distribution steps, gemms;
    for (int round = -3; round < kRounds; ++round) {  // the first three warm up
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
    rows.push_back(
        {batch, context.model().step_flops(batch), steps.at(0.5), steps.at(0.99), gemms.at(0.5)});
  }
  return rows;
}

}  // namespace hearsay::runtime

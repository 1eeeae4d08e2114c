// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/cuda/train_api.h"
#include "kernels/nn/workspace.hpp"
#include "kernels/ops/gemm.hpp"
#include "kernels/ops/merge_ops.hpp"
#include "kernels/ops/optimizer_ops.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

constexpr std::size_t kImages = 300, kBatch = 32;

void done(int error) {
  if (error != 0) throw std::runtime_error(hs_cuda_train_error());
}

struct Task {
  explicit Task(Network of) : model(std::move(of)) {
    const std::size_t inputs = model.inputs();
    Rng rng = Rng::stream(5, "trainer-test");
    pixels.resize(kImages * inputs);
    for (auto& p : pixels) p = static_cast<std::uint8_t>(rng.below(256));
    const auto classes = static_cast<std::uint32_t>(model.classes());
    for (std::size_t i = 0; i < kImages; ++i)
      labels.push_back(static_cast<std::uint8_t>(rng.below(classes)));
    scale.assign(inputs, 1.0f / 128.0f);
    shift.assign(inputs, -1.0f);
    weights.resize(model.layout().size());
    model.initialise(rng, weights);
  }
  explicit Task(const std::vector<std::size_t>& widths) : Task(Network::mlp(widths)) {}
  Network model;
  std::vector<std::uint8_t> pixels, labels;
  std::vector<float> scale, shift, weights;
};

struct Free {
  void operator()(HsCudaTrainer* trainer) const { hs_cuda_train_destroy(trainer); }
};
using TrainerPtr = std::unique_ptr<HsCudaTrainer, Free>;

struct Rule {
  int optimizer = HS_CUDA_SGD;
  double clip = 1.0;
};

TrainerPtr make_trainer(const Task& task, std::size_t slots, const Rule& rule = {}) {
  HsCudaTrainPlan plan{};
  std::vector<HsCudaLayer> layers;
  for (const Layer& l : task.model.layers())
    layers.push_back({l.is_convolution(), l.is_hidden, l.in, l.out, l.height, l.width, l.kernel});
  plan.layers = layers.data();
  plan.layer_count = layers.size();
  plan.slots = slots;
  plan.max_batch = kBatch;
  plan.chunk = 128;
  plan.optimizer = rule.optimizer;
  plan.momentum = 0.9f;
  plan.beta1 = 0.9f;
  plan.beta2 = 0.999f;
  plan.epsilon = 1e-8f;
  plan.weight_decay = 0.01f;
  plan.clip = rule.clip;
  plan.scale = task.scale.data();
  plan.shift = task.shift.data();
  HsCudaTrainer* made = nullptr;
  done(hs_cuda_train_create(0, &plan, &made));
  TrainerPtr trainer(made);
  std::uint64_t first = 99;
  done(hs_cuda_train_add_images(made, task.pixels.data(), kImages, &first));
  REQUIRE(first == 0);
  for (std::size_t slot = 0; slot < slots; ++slot)
    done(hs_cuda_train_put(made, slot, HS_CUDA_WEIGHTS, task.weights.data()));
  return trainer;
}

// Mini-batch `step` of the peer `who`: other examples for each.
struct Batch {
  Batch(const Task& task, std::size_t who, std::size_t step) {
    Rng rng = Rng::stream(who, "batch", static_cast<std::uint32_t>(step));
    const std::size_t size = 20 + (who + step) % (kBatch - 19);
    for (std::size_t i = 0; i < size; ++i) {
      examples.push_back(rng.below(kImages));
      labels.push_back(task.labels[examples.back()]);
    }
  }
  HsCudaTrainJob job(std::size_t slot, std::size_t step) const {
    HsCudaTrainJob j{};
    j.slot = static_cast<std::uint32_t>(slot);
    j.batch = static_cast<std::uint32_t>(examples.size());
    j.examples = examples.data();
    j.labels = labels.data();
    j.lr = 0.05f;
    j.correction1 = static_cast<float>(1.0 - std::pow(0.9, step + 1));
    j.correction2 = static_cast<float>(1.0 - std::pow(0.999, step + 1));
    return j;
  }
  std::vector<std::uint64_t> examples;
  std::vector<std::uint8_t> labels;
};

std::vector<float> state_of(const TrainerPtr& trainer, const Task& task, std::size_t slot,
                            int what = HS_CUDA_WEIGHTS) {
  std::vector<float> values(task.weights.size());
  done(hs_cuda_train_get(trainer.get(), slot, what, values.data()));
  return values;
}

// One step of the slots `who`; peer p trains in slot slot_of[p].
std::vector<HsCudaTrainSums> step(const TrainerPtr& trainer, const Task& task,
                                  const std::vector<std::pair<std::size_t, std::size_t>>& who,
                                  std::size_t index) {
  std::vector<Batch> batches;
  std::vector<HsCudaTrainJob> jobs;
  for (const auto& [peer, slot] : who) batches.emplace_back(task, peer, index);
  for (std::size_t i = 0; i < who.size(); ++i) jobs.push_back(batches[i].job(who[i].second, index));
  std::vector<HsCudaTrainSums> sums(who.size());
  done(hs_cuda_train_begin(trainer.get(), jobs.data(), jobs.size()));
  done(hs_cuda_train_end(trainer.get(), sums.data()));
  return sums;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  return std::sqrt(squared_distance(a, b)) / std::sqrt(squared_distance(b, {}));
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("a training step on the GPU is that of the CPU but for rounding") {
  use_one_blas_thread();
  const Rule rule =
      GENERATE(Rule{HS_CUDA_SGD, 1.0}, Rule{HS_CUDA_SGD, 0.0}, Rule{HS_CUDA_ADAMW, 1.0});
  const Network model =
      GENERATE(Network::mlp({784, 64, 32, 10}), Network::mlp({49, 13, 7}), Network::mlp({30, 5}),
               Network::cnn(28, 28, {6, 16}, {40}, 10), Network::cnn(9, 7, {3}, {}, 4));
  const std::size_t inputs = model.inputs();
  CAPTURE(rule.optimizer, rule.clip, inputs, model.layout().size());
  const Task task(model);
  const TrainerPtr trainer = make_trainer(task, 3, rule);
  std::vector<float> w = task.weights, first(w.size()), second(w.size());
  Workspace<float> workspace(task.model, kBatch);
  for (std::size_t i = 0; i < 12; ++i) {
    const auto sums = step(trainer, task, {{1, 0}, {2, 1}, {3, 2}}, i);
    const Batch batch(task, 2, i);
    for (std::size_t row = 0; row < batch.examples.size(); ++row) {
      for (std::size_t p = 0; p < inputs; ++p) {
        workspace.input()[row * inputs + p] =
            static_cast<float>(task.pixels[batch.examples[row] * inputs + p]) * task.scale[p] +
            task.shift[p];
      }
    }
    const LossSums expected =
        workspace.differentiate(batch.examples.size(), w.data(), batch.labels.data());
    CHECK(sums[1].loss == Approx(expected.loss).epsilon(1e-4));
    CHECK(sums[1].confidence == Approx(expected.confidence).epsilon(1e-4));
    const HsCudaTrainJob job = batch.job(1, i);
    double scale = 1.0;
    const double norm = std::sqrt(squared_distance(workspace.gradient(), {}));
    if (rule.clip > 0.0 && norm > rule.clip) scale = rule.clip / norm;
    if (rule.optimizer == HS_CUDA_SGD) {
      sgd_momentum(job.lr, 0.9f, static_cast<float>(scale), w, first, workspace.gradient());
    } else {
      adamw({job.lr, 0.9f, 0.999f, 1e-8f, 0.01f, job.correction1, job.correction2},
            static_cast<float>(scale), w, first, second, workspace.gradient());
    }
  }
  CHECK(distance(state_of(trainer, task, 1), w) < (rule.optimizer == HS_CUDA_SGD ? 1e-4 : 3e-3));
  CHECK(distance(state_of(trainer, task, 1, HS_CUDA_FIRST), first) < 1e-2);
}

TEST_CASE("a slot's bits depend neither on its place nor on who shares the step") {
  const Task task(
      GENERATE(Network::mlp({784, 256, 128, 10}), Network::cnn(28, 28, {8, 16}, {32}, 10)));
  const TrainerPtr alone = make_trainer(task, 1), many = make_trainer(task, 7);
  for (std::size_t i = 0; i < 9; ++i) {
    const auto one = step(alone, task, {{4, 0}}, i);
    // peer 4 sits in slot 5; the others come and go, so that graphs and ranges both run
    std::vector<std::pair<std::size_t, std::size_t>> who{{4, 5}};
    if (i % 3 != 0) who = {{1, 0}, {2, 1}, {3, 3}, {4, 5}, {6, 6}};
    if (i % 3 == 2) who = {{1, 0}, {4, 5}};
    const auto all = step(many, task, who, i);
    const std::size_t at = i % 3 == 0 ? 0 : i % 3 == 1 ? 3 : 1;
    CHECK(all[at].loss == one[0].loss);
  }
  CHECK(same(state_of(alone, task, 0), state_of(many, task, 5)));
  CHECK(same(state_of(alone, task, 0, HS_CUDA_FIRST), state_of(many, task, 5, HS_CUDA_FIRST)));
  CHECK(same(state_of(many, task, 2), task.weights));  // who sat out is as before
  CHECK_FALSE(same(state_of(many, task, 6), task.weights));
}

TEST_CASE("a loss that is not finite leaves the slot as it was, and the others train on") {
  const Task task(std::vector<std::size_t>{784, 32, 10});
  const TrainerPtr trainer = make_trainer(task, 2);
  std::vector<float> broken = task.weights;
  broken[3] = std::numeric_limits<float>::quiet_NaN();
  done(hs_cuda_train_put(trainer.get(), 0, HS_CUDA_WEIGHTS, broken.data()));
  const auto sums = step(trainer, task, {{0, 0}, {1, 1}}, 0);
  CHECK(std::isnan(sums[0].loss));
  CHECK(std::isfinite(sums[1].loss));
  CHECK(same(state_of(trainer, task, 0), broken));
  CHECK_FALSE(same(state_of(trainer, task, 1), task.weights));
}

TEST_CASE("gradient and update apart give the bits of a step") {
  const Task task(std::vector<std::size_t>{784, 32, 10});
  const TrainerPtr whole = make_trainer(task, 2), apart = make_trainer(task, 2);
  for (std::size_t i = 0; i < 4; ++i) {
    step(whole, task, {{3, 1}}, i);
    const Batch batch(task, 3, i);
    HsCudaTrainJob job = batch.job(1, i);
    job.only_gradient = 1;
    HsCudaTrainSums sums{};
    done(hs_cuda_train_begin(apart.get(), &job, 1));
    done(hs_cuda_train_end(apart.get(), &sums));
    const auto gradient = state_of(apart, task, 1, HS_CUDA_GRADIENT);
    done(hs_cuda_train_apply(apart.get(), &job, 1.0, gradient.data()));
  }
  CHECK(same(state_of(whole, task, 1), state_of(apart, task, 1)));
  CHECK_FALSE(same(state_of(whole, task, 1), task.weights));
}

TEST_CASE("an evaluation on the GPU is that of the CPU") {
  use_one_blas_thread();
  const Task task(
      GENERATE(Network::mlp({784, 64, 32, 10}), Network::cnn(28, 28, {8, 16}, {32}, 10)));
  const TrainerPtr trainer = make_trainer(task, 1);
  HsCudaTrainSums sums{};
  done(hs_cuda_train_evaluate(trainer.get(), task.weights.data(), 7, 290, task.labels.data() + 7,
                              &sums));
  Workspace<float> workspace(task.model, kImages);
  for (std::size_t i = 0; i < 290 * 784; ++i)
    workspace.input()[i] = static_cast<float>(task.pixels[7 * 784 + i]) / 128.0f - 1.0f;
  const LossSums expected = workspace.evaluate(290, task.weights.data(), task.labels.data() + 7);
  CHECK(sums.loss == Approx(expected.loss).epsilon(1e-4));
  CHECK(std::abs(static_cast<double>(sums.correct) - static_cast<double>(expected.correct)) <= 1.0);
}

TEST_CASE("what a trainer cannot take is refused in one line") {
  const Task task(std::vector<std::size_t>{784, 32, 10});
  const TrainerPtr trainer = make_trainer(task, 2);
  const Batch batch(task, 0, 0);
  HsCudaTrainJob job = batch.job(2, 0);
  CHECK(hs_cuda_train_begin(trainer.get(), &job, 1) == 1);
  CHECK(std::string(hs_cuda_train_error()).find("out of range") != std::string::npos);
  job = batch.job(0, 0);
  const std::vector<std::uint64_t> far(job.batch, kImages);
  job.examples = far.data();
  CHECK(hs_cuda_train_begin(trainer.get(), &job, 1) == 1);
  CHECK(hs_cuda_train_put(trainer.get(), 0, HS_CUDA_SECOND, task.weights.data()) ==
        1);                                                        // SGD has none
  CHECK(std::isfinite(step(trainer, task, {{0, 0}}, 0)[0].loss));  // and it goes on
}

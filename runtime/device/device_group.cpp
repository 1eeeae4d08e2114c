// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_group.hpp"

#include <algorithm>
#include <string>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/device/device_choice.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
constexpr std::size_t kEvaluationRows = 2048;  // at once: fills a GPU; patches take room

}  // namespace

DeviceGroup::Calls DeviceGroup::find_calls() {
  std::string why;
  const CudaLibrary* const library = CudaLibrary::open(kCudaLibrary, why);
  if (library == nullptr) throw kernels::UsageError("--device: " + why);
  const auto find = [&]<typename Function>(Function& function, const char* name) {
    function = library->function<Function>(name);
  };
  Calls calls{};
  find(calls.create, "hs_cuda_train_create");
  find(calls.destroy, "hs_cuda_train_destroy");
  find(calls.error, "hs_cuda_train_error");
  find(calls.add_images, "hs_cuda_train_add_images");
  find(calls.staging, "hs_cuda_train_staging");
  find(calls.put, "hs_cuda_train_put");
  find(calls.get, "hs_cuda_train_get");
  find(calls.begin, "hs_cuda_train_begin");
  find(calls.end, "hs_cuda_train_end");
  find(calls.apply, "hs_cuda_train_apply");
  find(calls.evaluate, "hs_cuda_train_evaluate");
  find(calls.time, "hs_cuda_train_time");
  return calls;
}

DeviceGroup::DeviceGroup(int gpu, const NnContext& context, std::size_t slots, std::size_t batch,
                         const OptimizerOptions& optimizer)
    : calls_(find_calls()),
      gpu_(gpu),
      parameters_(context.model().layout().size()),
      trainer_(nullptr, calls_.destroy),
      shard_places_(slots, kNowhere) {
  std::vector<HsCudaLayer> layers;
  bool has_convolutions = false;
  for (const kernels::Layer& l : context.model().layers()) {
    layers.push_back({l.is_convolution(), l.is_hidden, l.in, l.out, l.height, l.width, l.kernel});
    has_convolutions = has_convolutions || l.is_convolution();
  }
  HsCudaTrainPlan plan{};
  plan.layers = layers.data();
  plan.layer_count = layers.size();
  plan.slots = slots;
  plan.max_batch = batch;
  plan.chunk = has_convolutions ? kEvaluationRows / 8 : kEvaluationRows;
  plan.optimizer = optimizer.kind == OptimizerOptions::Kind::adamw ? HS_CUDA_ADAMW : HS_CUDA_SGD;
  plan.momentum = static_cast<float>(optimizer.momentum);
  plan.beta1 = static_cast<float>(optimizer.beta1);
  plan.beta2 = static_cast<float>(optimizer.beta2);
  plan.epsilon = static_cast<float>(optimizer.epsilon);
  plan.weight_decay = static_cast<float>(optimizer.weight_decay);
  plan.clip = optimizer.clip;
  plan.scale = context.input().scale.data();
  plan.shift = context.input().shift.data();
  HsCudaTrainer* made = nullptr;
  if (calls_.create(gpu, &plan, &made) != 0) {
    throw NoRoomOnGpu("GPU " + std::to_string(gpu) + ", " + std::to_string(slots) + " models of " +
                      std::to_string(parameters_) + " parameters: " + calls_.error());
  }
  trainer_.reset(made);
  snapshots_ = std::make_unique<DeviceSnapshots>(gpu, made, parameters_);
}

void DeviceGroup::check(int error) const {
  if (error == 0) return;
  throw kernels::Fault(kernels::ExitCode::check_failed,
                       "GPU " + std::to_string(gpu_) + ": " + calls_.error());
}

void DeviceGroup::check_start(int error) const {
  if (error == 0) return;
  throw NoRoomOnGpu("GPU " + std::to_string(gpu_) + ": " + calls_.error());
}

std::uint64_t DeviceGroup::place_of_shard(std::size_t slot, const ImageSet& shard) {
  std::uint64_t& place = shard_places_[slot];
  if (place == kNowhere)
    check_start(calls_.add_images(trainer_.get(), shard.pixels.data(), shard.count(), &place));
  return place;
}

std::span<float> DeviceGroup::staging(std::size_t slot) const {
  return {calls_.staging(trainer_.get(), slot), parameters_};
}

void DeviceGroup::put(std::size_t slot, Array what, std::span<const float> host) {
  HS_CHECK(host.size() == parameters_);
  check(calls_.put(trainer_.get(), slot, static_cast<int>(what), host.data()));
}

void DeviceGroup::get(std::size_t slot, Array what, std::span<float> host) {
  HS_CHECK(host.size() == parameters_);
  check(calls_.get(trainer_.get(), slot, static_cast<int>(what), host.data()));
}

void DeviceGroup::begin(std::span<const HsCudaTrainJob> jobs) {
  check(calls_.begin(trainer_.get(), jobs.data(), jobs.size()));
  jobs_in_flight_ = jobs.size();
}

std::vector<HsCudaTrainSums> DeviceGroup::end() {
  std::vector<HsCudaTrainSums> sums(jobs_in_flight_);
  check(calls_.end(trainer_.get(), sums.data()));
  return sums;
}

void DeviceGroup::apply(const HsCudaTrainJob& job, double scale, std::span<const float> gradient) {
  check(calls_.apply(trainer_.get(), &job, scale, gradient.data()));
}

double DeviceGroup::seconds_of(Timed what, std::size_t times) {
  double seconds = 0.0;
  check(calls_.time(trainer_.get(), static_cast<int>(what), times, &seconds));
  return seconds;
}

void DeviceGroup::keep_test_set(const ImageSet& test) {
  test_labels_ = test.labels;
  check_start(calls_.add_images(trainer_.get(), test.pixels.data(), test.count(), &test_place_));
}

Evaluation DeviceGroup::evaluate(std::span<const float> weights, std::size_t limit,
                                 const std::function<std::uint8_t(std::uint8_t)>& label) {
  const std::size_t total = limit == 0 ? test_labels_.size() : std::min(limit, test_labels_.size());
  if (total == 0) return {};
  std::vector<std::uint8_t> labels(total);
  std::transform(test_labels_.begin(), test_labels_.begin() + static_cast<std::ptrdiff_t>(total),
                 labels.begin(), label);
  HsCudaTrainSums sums{};
  check(calls_.evaluate(trainer_.get(), weights.data(), test_place_, total, labels.data(), &sums));
  const double n = static_cast<double>(total);
  return {sums.loss / n, static_cast<double>(sums.correct) / n, total};
}

}  // namespace hearsay::runtime

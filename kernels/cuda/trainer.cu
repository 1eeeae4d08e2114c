// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/trainer.cuh"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "kernels/cuda/launch.cuh"

namespace hearsay::cuda {
namespace {

std::size_t rounded_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  must(cudaMemcpyAsync(to, from, bytes, kind, stream), "copying to or from the GPU");
}

}  // namespace

Trainer::Trainer(int device, const HsCudaTrainPlan& plan)
    : device_((must(cudaSetDevice(device), "choosing GPU " + std::to_string(device)), device)),
      slots_(plan.slots),
      max_batch_(plan.max_batch),
      rule_{plan.optimizer, plan.momentum,     plan.beta1, plan.beta2,
            plan.epsilon,   plan.weight_decay, plan.clip} {
  cublasLtHandle_t handle = nullptr;
  must(cublasLtCreate(&handle), "cuBLASLt");
  cublas_.reset(handle);
  read_layers(plan);
  pass_ =
      std::make_unique<NetworkPass>(handle, layers_, PassShape{slots_, max_batch_, stride_, true});
  weights_ = DeviceMemory<float>(slots_ * stride_);
  first_ = DeviceMemory<float>(slots_ * stride_);
  second_ = DeviceMemory<float>(rule_.optimizer == HS_CUDA_ADAMW ? slots_ * stride_ : 0);
  gradient_ = DeviceMemory<float>(slots_ * stride_);
  partials_ = DeviceMemory<double>(slots_ * tiles_);
  losses_ = DeviceMemory<LossRow>(slots_ * max_batch_);
  staging_ = PinnedMemory<float>(slots_ * stride_);
  examples_at_ = rounded_up(slots_ * sizeof(SlotStep), 64);
  labels_at_ = examples_at_ + rounded_up(slots_ * max_batch_ * sizeof(std::uint64_t), 64);
  order_bytes_ = labels_at_ + slots_ * max_batch_;
  orders_ = PinnedMemory<std::uint8_t>(order_bytes_);
  d_orders_ = DeviceMemory<std::uint8_t>(order_bytes_);
  sums_ = PinnedMemory<HsCudaTrainSums>(slots_);
  d_sums_ = DeviceMemory<HsCudaTrainSums>(slots_);
  scale_ = DeviceMemory<float>(inputs_);
  shift_ = DeviceMemory<float>(inputs_);
  copy(scale_.data(), plan.scale, inputs_ * sizeof(float), cudaMemcpyHostToDevice, stream_.get());
  copy(shift_.data(), plan.shift, inputs_ * sizeof(float), cudaMemcpyHostToDevice, stream_.get());
  evaluation_.rows = plan.chunk;
  merger_ = std::make_unique<SlotMerger>(device_, stream_.get(),
                                         SlotArrays{weights_.data(), slots_, size_, stride_});
  wait();
}

Trainer::~Trainer() {
  cudaSetDevice(device_);
  cudaStreamSynchronize(stream_.get());
  if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
}

void Trainer::read_layers(const HsCudaTrainPlan& plan) {
  for (std::size_t l = 0; l < plan.layer_count; ++l) {
    const HsCudaLayer& from = plan.layers[l];
    Layer layer;
    layer.kind = from.is_convolution != 0 ? Layer::Kind::convolution : Layer::Kind::dense;
    layer.in = from.in;
    layer.out = from.out;
    layer.height = from.height;
    layer.width = from.width;
    layer.kernel = from.kernel;
    layer.is_hidden = from.is_hidden != 0;
    layer.weight = size_;
    layer.bias = size_ + layer.patch() * layer.out;
    size_ = layer.bias + layer.out;
    layers_.push_back(layer);
  }
  inputs_ = layers_.front().inputs();
  stride_ = rounded_up(size_, 64);
  tiles_ = (size_ + kTile - 1) / kTile;
}

std::uint64_t Trainer::add_images(const std::uint8_t* pixels, std::size_t count) {
  use();
  const std::size_t before = image_count_ * inputs_, more = count * inputs_;
  if (before + more > images_.size()) {  // doubled, so that peer after peer costs O(total)
    DeviceMemory<std::uint8_t> larger(std::max(before + more, 2 * images_.size()));
    copy(larger.data(), images_.data(), before, cudaMemcpyDeviceToDevice, stream_.get());
    wait();
    images_ = std::move(larger);
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);  // it holds the old address
    graph_ = nullptr;
  }
  copy(images_.data() + before, pixels, more, cudaMemcpyHostToDevice, stream_.get());
  wait();
  image_count_ += count;
  return image_count_ - count;
}

float* Trainer::memory_of(std::size_t slot, int what) const {
  const DeviceMemory<float>* of[] = {&weights_, &first_, &second_, &gradient_};
  if (slot >= slots_ || what < HS_CUDA_WEIGHTS || what > HS_CUDA_GRADIENT || of[what]->size() == 0)
    throw CudaFault("there is no such slot or state");
  return of[what]->data() + slot * stride_;
}

void Trainer::put(std::size_t slot, int what, const float* host) {
  use();
  copy(memory_of(slot, what), host, size_ * sizeof(float), cudaMemcpyHostToDevice, stream_.get());
  wait();
}

void Trainer::get(std::size_t slot, int what, float* host) {
  use();
  copy(host, memory_of(slot, what), size_ * sizeof(float), cudaMemcpyDeviceToHost, stream_.get());
  wait();
}

void Trainer::give_orders(const HsCudaTrainJob* jobs, std::size_t count) {
  auto* steps = reinterpret_cast<SlotStep*>(orders_.data());
  auto* examples = reinterpret_cast<std::uint64_t*>(orders_.data() + examples_at_);
  for (std::size_t slot = 0; slot < slots_; ++slot) steps[slot].batch = 0;
  for (std::size_t j = 0; j < count; ++j) {
    const HsCudaTrainJob& job = jobs[j];
    if (job.slot >= slots_ || job.batch < 1 || job.batch > max_batch_ ||
        (j > 0 && job.slot <= jobs[j - 1].slot))
      throw CudaFault("a job's slot or mini-batch is out of range");
    steps[job.slot] = {job.batch, job.only_gradient != 0, job.lr, job.correction1, job.correction2};
    for (std::uint32_t row = 0; row < job.batch; ++row) {
      if (job.examples[row] >= image_count_) throw CudaFault("an example is not on the GPU");
      examples[job.slot * max_batch_ + row] = job.examples[row];
    }
    std::memcpy(orders_.data() + labels_at_ + job.slot * max_batch_, job.labels, job.batch);
  }
}

void Trainer::begin(const HsCudaTrainJob* jobs, std::size_t count) {
  use();
  if (count == 0 || !in_flight_.empty())
    throw CudaFault("a step is begun with jobs, one at a time");
  give_orders(jobs, count);
  const unsigned first = jobs[0].slot, span = jobs[count - 1].slot + 1 - first;
  launch(2 * count < slots_ ? SlotRange{first, span} : SlotRange{0, static_cast<unsigned>(slots_)});
  for (std::size_t j = 0; j < count; ++j) in_flight_.push_back(jobs[j].slot);
}

void Trainer::launch(SlotRange range) {
  const bool whole = range.count == slots_;
  if (!whole || !was_warm_) {
    enqueue(range);
    was_warm_ = was_warm_ || whole;
    return;
  }
  if (graph_ == nullptr) {
    cudaGraph_t recorded = nullptr;
    const std::lock_guard no_others(merger_->recording());
    must(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "CUDA graph");
    enqueue(range);
    must(cudaStreamEndCapture(stream_.get(), &recorded), "CUDA graph");
    const cudaError_t error = cudaGraphInstantiate(&graph_, recorded, 0);
    cudaGraphDestroy(recorded);
    must(error, "CUDA graph");
  }
  must(cudaGraphLaunch(graph_, stream_.get()), "CUDA graph");
}

void Trainer::enqueue(SlotRange range) {
  const cudaStream_t stream = stream_.get();
  copy(d_orders_.data(), orders_.data(), order_bytes_, cudaMemcpyHostToDevice, stream);
  const auto* steps = reinterpret_cast<const SlotStep*>(d_orders_.data());
  const auto* examples = reinterpret_cast<const std::uint64_t*>(d_orders_.data() + examples_at_);
  gather_inputs(range, inputs_of(max_batch_), steps, examples, pass_->input(), stream);
  pass_->forward(range, weights_.data(), stream);
  softmax_loss(range, max_batch_, layers_.back().out, steps, pass_->logits(),
               d_orders_.data() + labels_at_, pass_->d_logits(), losses_.data(), d_sums_.data(),
               stream);
  pass_->backward(range, weights_.data(), gradient_.data(), stream, beside_.get());
  if (rule_.clip > 0.0)
    gradient_norms(range, size_, stride_, gradient_.data(), partials_.data(), stream);
  update_weights(range, rule_, 1.0, steps, update_state(true), stream);
  copy(sums_.data(), d_sums_.data(), slots_ * sizeof(HsCudaTrainSums), cudaMemcpyDeviceToHost,
       stream);
  must(cudaGetLastError(), "a training step");
}

UpdateState Trainer::update_state(bool looks_at_loss) const {
  return {weights_.data(),
          first_.data(),
          second_.data(),
          gradient_.data(),
          partials_.data(),
          looks_at_loss ? d_sums_.data() : nullptr,
          size_,
          stride_};
}

void Trainer::end(HsCudaTrainSums* sums) {
  use();
  wait();
  for (std::size_t j = 0; j < in_flight_.size(); ++j) sums[j] = sums_[in_flight_[j]];
  in_flight_.clear();
}

void Trainer::apply(const HsCudaTrainJob& job, double scale, const float* gradient) {
  put(job.slot, HS_CUDA_GRADIENT, gradient);
  auto* steps = reinterpret_cast<SlotStep*>(orders_.data());
  steps[job.slot] = {1, 0, job.lr, job.correction1, job.correction2};
  copy(d_orders_.data() + job.slot * sizeof(SlotStep), &steps[job.slot], sizeof(SlotStep),
       cudaMemcpyHostToDevice, stream_.get());
  const SlotRange range{job.slot, 1};
  if (rule_.clip > 0.0)
    gradient_norms(range, size_, stride_, gradient_.data(), partials_.data(), stream_.get());
  update_weights(range, rule_, scale, reinterpret_cast<const SlotStep*>(d_orders_.data()),
                 update_state(false), stream_.get());
  must(cudaGetLastError(), "an update");
  wait();
}

}  // namespace hearsay::cuda

// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_snapshots.hpp"

#include <string>
#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/device/cuda_library.hpp"

namespace hearsay::runtime {
namespace {

struct Calls {  // of the library
  decltype(&hs_cuda_train_error) error;
  decltype(&hs_cuda_snapshot_take) take;
  decltype(&hs_cuda_snapshot_upload) upload;
  decltype(&hs_cuda_snapshot_free) free;
  decltype(&hs_cuda_snapshot_host) host;
  decltype(&hs_cuda_slot_measure) measure;
  decltype(&hs_cuda_slot_blend) blend;
  decltype(&hs_cuda_slot_mark) mark;
  decltype(&hs_cuda_slot_moved) moved;
  decltype(&hs_cuda_slot_put_mark) put_mark;
  decltype(&hs_cuda_slot_get_mark) get_mark;
  decltype(&hs_cuda_handover_begin) handover_begin;
  decltype(&hs_cuda_snapshot_ticket) ticket;
};

Calls find_calls() {
  std::string why;
  const CudaLibrary* const library = CudaLibrary::open(kCudaLibrary, why);
  if (library == nullptr) throw kernels::UsageError("--device: " + why);
  const auto find = [&]<typename Function>(Function& to, const char* name) {
    to = library->function<Function>(name);
  };
  Calls calls{};
  find(calls.error, "hs_cuda_train_error");
  find(calls.take, "hs_cuda_snapshot_take");
  find(calls.upload, "hs_cuda_snapshot_upload");
  find(calls.free, "hs_cuda_snapshot_free");
  find(calls.host, "hs_cuda_snapshot_host");
  find(calls.measure, "hs_cuda_slot_measure");
  find(calls.blend, "hs_cuda_slot_blend");
  find(calls.mark, "hs_cuda_slot_mark");
  find(calls.moved, "hs_cuda_slot_moved");
  find(calls.put_mark, "hs_cuda_slot_put_mark");
  find(calls.get_mark, "hs_cuda_slot_get_mark");
  find(calls.handover_begin, "hs_cuda_handover_begin");
  find(calls.ticket, "hs_cuda_snapshot_ticket");
  return calls;
}

const Calls& calls() {
  static const Calls found = find_calls();
  return found;
}

void check(int gpu, int error) {
  if (error == 0) return;
  throw kernels::Fault(kernels::ExitCode::check_failed,
                       "GPU " + std::to_string(gpu) + ": " + calls().error());
}

// A snapshot's own room is the one thing here that can be asked for too much.
void check_room(int gpu, int error) {
  if (error == 0) return;
  throw kernels::Fault(kernels::ExitCode::check_failed,
                       "GPU " + std::to_string(gpu) + ", a snapshot: " + calls().error() +
                           "; fewer peers on a GPU need less, --device cpu needs none");
}

class CopyOnGpu final : public merge::DeviceCopy {
 public:
  CopyOnGpu(int gpu, HsCudaSnapshot* handle, std::size_t size)
      : gpu_(gpu), handle_(handle, calls().free), size_(size) {}

  std::size_t size() const override { return size_; }
  std::span<const float> host() override {
    const float* values = nullptr;
    check(gpu_, calls().host(handle_.get(), &values));
    return {values, size_};
  }
  HsCudaSnapshot* handle() const noexcept { return handle_.get(); }

 private:
  int gpu_;
  std::unique_ptr<HsCudaSnapshot, void (*)(HsCudaSnapshot*)> handle_;
  std::size_t size_;
};

}  // namespace

DeviceSnapshots::DeviceSnapshots(int gpu, HsCudaTrainer* trainer, std::size_t parameters)
    : gpu_(gpu), trainer_(trainer), parameters_(parameters) {}

std::shared_ptr<merge::DeviceCopy> DeviceSnapshots::owned(HsCudaSnapshot* handle) const {
  return std::make_shared<CopyOnGpu>(gpu_, handle, parameters_);
}

merge::SnapshotRef DeviceSnapshots::take(std::size_t slot, bool sends) const {
  HsCudaSnapshot* handle = nullptr;
  check_room(gpu_, calls().take(trainer_, slot, sends ? 1 : 0, &handle));
  return adopt(handle);
}

merge::SnapshotRef DeviceSnapshots::adopt(HsCudaSnapshot* handle) const {
  auto snapshot = std::make_shared<merge::Snapshot>();
  snapshot->on_device = owned(handle);
  return snapshot;
}

void DeviceSnapshots::begin_handover() const { check(gpu_, calls().handover_begin(trainer_)); }

std::optional<HsCudaTicket> DeviceSnapshots::ticket(const merge::Snapshot& snapshot) const {
  if (!snapshot.on_device || snapshot.values.size() > 0) return std::nullopt;
  HsCudaTicket ticket{};
  check(gpu_,
        calls().ticket(dynamic_cast<const CopyOnGpu&>(*snapshot.on_device).handle(), &ticket));
  return ticket;
}

HsCudaSnapshot* DeviceSnapshots::handle_of(const merge::Snapshot& snapshot) const {
  HS_CHECK(snapshot.size() == parameters_);
  if (!snapshot.on_device) {
    HsCudaSnapshot* handle = nullptr;
    check_room(gpu_, calls().upload(trainer_, snapshot.values.data(), &handle));
    snapshot.on_device = owned(handle);
  }
  return dynamic_cast<const CopyOnGpu&>(*snapshot.on_device).handle();
}

kernels::MergeStats DeviceSnapshots::measure(std::size_t slot, const merge::Snapshot& in,
                                             const merge::Snapshot* base, bool with_mark) const {
  HsMergeStats s{};
  check(gpu_, calls().measure(trainer_, slot, handle_of(in),
                              base != nullptr ? handle_of(*base) : nullptr, with_mark, &s));
  return {s.displacement_sq, s.weights_sq, s.local_sq, s.dot, s.bad};
}

void DeviceSnapshots::blend(std::size_t slot, float alpha, const merge::Snapshot& in,
                            const merge::Snapshot* base, bool with_mark) const {
  check(gpu_, calls().blend(trainer_, slot, alpha, handle_of(in),
                            base != nullptr ? handle_of(*base) : nullptr, with_mark));
}

void DeviceSnapshots::mark(std::size_t slot) const { check(gpu_, calls().mark(trainer_, slot)); }

double DeviceSnapshots::moved_sq(std::size_t slot) const {
  double squared = 0.0;
  check(gpu_, calls().moved(trainer_, slot, &squared));
  return squared;
}

void DeviceSnapshots::put_mark(std::size_t slot, std::span<const float> host) const {
  HS_CHECK(host.size() == parameters_);
  check(gpu_, calls().put_mark(trainer_, slot, host.data()));
}

void DeviceSnapshots::get_mark(std::size_t slot, std::span<float> host) const {
  HS_CHECK(host.size() == parameters_);
  check(gpu_, calls().get_mark(trainer_, slot, host.data()));
}

}  // namespace hearsay::runtime

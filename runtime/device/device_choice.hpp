// SPDX-License-Identifier: Apache-2.0
// --device: where a process trains. `auto` takes the GPUs that can be used and else the CPU, `cuda`
// insists, `cuda:0,2` names them. A GPU that the library has no code for cannot be used.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/core/errc.hpp"
#include "kernels/cuda/device_api.h"

namespace hearsay::runtime {

struct DeviceChoice {
  std::vector<int> gpus;  // none: the CPU
  std::string text;       // "cpu", "cuda:0,1 NVIDIA H200": for run.json and people
  bool is_free = false;   // `auto`: the CPU will do
  std::string note{};     // why `auto` does without a GPU that is there, one line; or empty
  bool on_gpu() const { return !gpus.empty(); }
};

// Models find no place on a GPU: no memory, or somebody else's alone.
class NoRoomOnGpu : public kernels::UsageError {
 public:
  explicit NoRoomOnGpu(const std::string& reason)
      : UsageError("--device: " + reason + "; --device cpu trains without"), reason_(reason) {}
  const std::string& reason() const noexcept { return reason_; }

 private:
  std::string reason_;
};

// The GPUs of this machine, as the library sees them.
struct GpuList {
  std::vector<HsCudaDevice> devices;
  std::string why;   // there are none
  std::string code;  // architectures that the library was built for
};
GpuList find_gpus();

// Throws UsageError: no such word, no GPU where one is asked for, no GPU of that number, a GPU that
// the library has no code for.
DeviceChoice choose_devices(const std::string& spec);
DeviceChoice choose_among(const std::string& spec, const std::function<GpuList()>& find);

// One of them, for a peer that is a process of its own: by its place among the processes of its
// host where the launcher tells, else by its number.
DeviceChoice choose_device_of_peer(const std::string& spec, std::uint32_t peer);

// Runs `place`, which puts what is to be trained on the GPUs of the choice. Where these are free
// and it throws NoRoomOnGpu, the choice becomes the CPU, with a note, and false is returned: what
// was made is to be thrown away.
bool fits_on_gpu(DeviceChoice& choice, const std::function<void()>& place);

}  // namespace hearsay::runtime

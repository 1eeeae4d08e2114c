// SPDX-License-Identifier: Apache-2.0
// --device: where a process trains. `auto` takes the GPUs that can be used and else the CPU, `cuda`
// insists, `cuda:0,2` names them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearsay::runtime {

struct DeviceChoice {
  std::vector<int> gpus;  // none: the CPU
  std::string text;       // "cpu", "cuda:0,1 NVIDIA H200": for run.json and people
  bool on_gpu() const { return !gpus.empty(); }
};

// Throws UsageError: no such word, no GPU where one is asked for, no GPU of that number.
DeviceChoice choose_devices(const std::string& spec);

// One of them, for a peer that is a process of its own: by its place among the processes of its
// host where the launcher tells, else by its number.
DeviceChoice choose_device_of_peer(const std::string& spec, std::uint32_t peer);

}  // namespace hearsay::runtime

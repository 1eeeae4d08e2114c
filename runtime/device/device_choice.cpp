// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_choice.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/config/spec.hpp"
#include "runtime/device/cuda_library.hpp"

namespace hearsay::runtime {
namespace {

constexpr const char* kFlag = "--device";
// What hearsay's own launchers and supervisors tell first, then Open MPI, torchrun, Slurm, MPICH.
constexpr const char* kLocalRanks[]{"HEARSAY_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                    "LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID"};

DeviceChoice cpu(std::string note = {}) { return {{}, "cpu", false, std::move(note)}; }

DeviceChoice named(std::vector<int> gpus, const std::vector<HsCudaDevice>& devices) {
  DeviceChoice choice{std::move(gpus), "cuda:"};
  for (std::size_t i = 0; i < choice.gpus.size(); ++i)
    choice.text += (i == 0 ? "" : ",") + std::to_string(choice.gpus[i]);
  choice.text += std::string(" ") + devices[static_cast<std::size_t>(choice.gpus.front())].name;
  return choice;
}

std::string without_code(const GpuList& found, std::size_t gpu) {
  const HsCudaDevice& device = found.devices[gpu];
  return "GPU " + std::to_string(gpu) + " (" + device.name + ", compute " +
         std::to_string(device.compute_major) + "." + std::to_string(device.compute_minor) +
         ") is none that " + kCudaLibrary + " was built for (" + found.code + ")";
}

DeviceChoice choose_all(const GpuList& found, bool is_free) {
  std::vector<int> gpus;
  std::string refused;  // the first one
  for (std::size_t i = 0; i < found.devices.size(); ++i) {
    if (found.devices[i].has_code != 0)
      gpus.push_back(static_cast<int>(i));
    else if (refused.empty())
      refused = without_code(found, i);
  }
  if (gpus.empty() && is_free) return cpu(refused + "; training on the CPU");
  if (gpus.empty())
    throw kernels::UsageError(std::string(kFlag) + ": " + refused +
                              "; --device cpu trains without");
  DeviceChoice choice = named(std::move(gpus), found.devices);
  choice.is_free = is_free;
  if (!refused.empty()) choice.note = refused + "; training on " + choice.text;
  return choice;
}

DeviceChoice choose_numbers(const std::vector<std::string>& numbers, const GpuList& found) {
  std::vector<int> gpus;
  for (const std::string& value : numbers) {
    const std::uint64_t index = parse_count(kFlag, value);
    if (index >= found.devices.size()) {
      throw kernels::UsageError(std::string(kFlag) + ": there is no GPU " + value +
                                "; this machine has " + std::to_string(found.devices.size()) +
                                ", from 0 on");
    }
    if (std::count(gpus.begin(), gpus.end(), static_cast<int>(index)) > 0)
      throw kernels::UsageError(std::string(kFlag) + ": GPU " + value + " is named twice");
    if (found.devices[index].has_code == 0) {
      throw kernels::UsageError(std::string(kFlag) + ": " + without_code(found, index) +
                                "; --device cpu trains without");
    }
    gpus.push_back(static_cast<int>(index));
  }
  return named(std::move(gpus), found.devices);
}

}  // namespace

GpuList find_gpus() {
  GpuList found;
  found.devices = cuda_devices(found.why);
  if (found.devices.empty()) return found;
  const CudaLibrary* const library = CudaLibrary::open(kCudaLibrary, found.why);
  found.code = library->function<decltype(&hs_cuda_architectures)>("hs_cuda_architectures")();
  return found;
}

DeviceChoice choose_among(const std::string& text, const std::function<GpuList()>& find) {
  const Spec spec = parse_spec(kFlag, text);
  if (spec.name != "auto" && spec.name != "cpu" && spec.name != "cuda")
    throw_unknown("device", spec.name, {"auto", "cpu", "cuda"});
  reject_unknown(kFlag, spec, {}, spec.name == "cuda" ? 64 : 0);
  if (spec.name == "cpu") return cpu();
  const bool is_free = spec.name == "auto";
  const GpuList found = find();
  if (found.devices.empty()) {
    if (is_free) return cpu();
    throw kernels::UsageError(std::string(kFlag) + ": " + found.why +
                              "; --device cpu trains without");
  }
  return spec.values.empty() ? choose_all(found, is_free) : choose_numbers(spec.values, found);
}

DeviceChoice choose_devices(const std::string& text) { return choose_among(text, find_gpus); }

DeviceChoice choose_device_of_peer(const std::string& spec, std::uint32_t peer) {
  DeviceChoice all = choose_devices(spec);
  if (!all.on_gpu()) return all;
  std::size_t place = peer;
  for (const char* name : kLocalRanks) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    place = std::strtoul(value, nullptr, 10);
    break;
  }
  DeviceChoice one = named({all.gpus[place % all.gpus.size()]}, find_gpus().devices);
  one.is_free = all.is_free;
  return one;
}

bool fits_on_gpu(DeviceChoice& choice, const std::function<void()>& place) {
  try {
    place();
    return true;
  } catch (const NoRoomOnGpu& none) {
    if (!choice.is_free) throw;
    choice = cpu(none.reason() + "; training on the CPU");
    return false;
  }
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_choice.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "kernels/core/errc.hpp"
#include "runtime/config/spec.hpp"
#include "runtime/device/cuda_library.hpp"

namespace hearsay::runtime {
namespace {

constexpr const char* kFlag = "--device";
// What hearsay's own launchers and supervisors tell first, then Open MPI, torchrun, Slurm, MPICH.
constexpr const char* kLocalRanks[]{"HEARSAY_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                    "LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID"};

DeviceChoice cpu() { return {{}, "cpu"}; }

DeviceChoice named(std::vector<int> gpus, const std::vector<HsCudaDevice>& devices) {
  DeviceChoice choice{std::move(gpus), "cuda:"};
  for (std::size_t i = 0; i < choice.gpus.size(); ++i)
    choice.text += (i == 0 ? "" : ",") + std::to_string(choice.gpus[i]);
  choice.text += std::string(" ") + devices[static_cast<std::size_t>(choice.gpus.front())].name;
  return choice;
}

}  // namespace

DeviceChoice choose_devices(const std::string& text) {
  const Spec spec = parse_spec(kFlag, text);
  if (spec.name != "auto" && spec.name != "cpu" && spec.name != "cuda")
    throw_unknown("device", spec.name, {"auto", "cpu", "cuda"});
  reject_unknown(kFlag, spec, {}, spec.name == "cuda" ? 64 : 0);
  if (spec.name == "cpu") return cpu();
  std::string why;
  const std::vector<HsCudaDevice> devices = cuda_devices(why);
  if (devices.empty()) {
    if (spec.name == "auto") return cpu();
    throw kernels::UsageError(std::string(kFlag) + ": " + why + "; --device cpu trains without");
  }
  std::vector<int> gpus(devices.size());
  std::iota(gpus.begin(), gpus.end(), 0);
  if (spec.values.empty()) return named(std::move(gpus), devices);
  gpus.clear();
  for (const std::string& value : spec.values) {
    const std::uint64_t index = parse_count(kFlag, value);
    if (index >= devices.size()) {
      throw kernels::UsageError(std::string(kFlag) + ": there is no GPU " + value +
                                "; this machine has " + std::to_string(devices.size()) +
                                ", from 0 on");
    }
    if (std::count(gpus.begin(), gpus.end(), static_cast<int>(index)) > 0)
      throw kernels::UsageError(std::string(kFlag) + ": GPU " + value + " is named twice");
    gpus.push_back(static_cast<int>(index));
  }
  return named(std::move(gpus), devices);
}

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
  std::string why;
  return named({all.gpus[place % all.gpus.size()]}, cuda_devices(why));
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda_library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr int kNoDriver = 35;  // cudaErrorInsufficientDriver, also of a machine without one

std::string beside_program(const char* name) {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto path = program.parent_path() / name;
  return std::filesystem::exists(path, ignored) ? path.string() : std::string(name);
}

}  // namespace

const CudaLibrary* CudaLibrary::open(const char* name, std::string& why) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<CudaLibrary>> opened;
  const std::lock_guard lock(mutex);
  if (const auto found = opened.find(name); found != opened.end()) return found->second.get();
  const std::string path = beside_program(name);
  if (void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    std::unique_ptr<CudaLibrary>& library = opened[name];
    library.reset(new CudaLibrary(path, handle));
    return library.get();
  }
  if (path == name) {
    why = std::string(name) + " is not built (cmake --preset cuda)";
  } else {
    const char* const text = ::dlerror();
    why = path + " does not load: " + (text != nullptr ? text : "");
  }
  return nullptr;
}

void* CudaLibrary::symbol(const char* name) const {
  void* const found = ::dlsym(handle_, name);
  if (found == nullptr) {
    throw kernels::UsageError(path_ + " has no " + name +
                              ": it is of another build; build both by cmake --preset cuda");
  }
  return found;
}

std::vector<HsCudaDevice> cuda_devices(std::string& why) {
  // The library takes a tenth of a second to load; without a driver there is no need.
  static const bool has_driver = ::dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL) != nullptr;
  if (!has_driver) {
    why = std::string("there is no GPU driver (") + kDriver + " is not installed)";
    return {};
  }
  const CudaLibrary* const library = CudaLibrary::open(kCudaLibrary, why);
  if (library == nullptr) return {};
  int error = 0;
  const int count =
      library->function<decltype(&hs_cuda_device_count)>("hs_cuda_device_count")(&error);
  const auto text_of = library->function<decltype(&hs_cuda_error_text)>("hs_cuda_error_text");
  if (count == 0) {
    why = error == kNoDriver ? "there is no GPU driver (CUDA error 35)"
                             : "no GPU: " + std::string(text_of(error));
    return {};
  }
  const auto facts_of = library->function<decltype(&hs_cuda_device_facts)>("hs_cuda_device_facts");
  std::vector<HsCudaDevice> devices;
  for (int i = 0; i < count; ++i) {
    HsCudaDevice facts{};
    if ((error = facts_of(i, &facts)) != 0) {
      why = "GPU " + std::to_string(i) + ": " + text_of(error);
      return {};
    }
    devices.push_back(facts);
  }
  return devices;
}

}  // namespace hearsay::runtime

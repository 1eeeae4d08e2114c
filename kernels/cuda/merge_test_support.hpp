// SPDX-License-Identifier: Apache-2.0
// Workspaces of reductions for tests and benches: the header zero as the contract wants it, the
// rest poison, so that a kernel that reads a part that it has not written is caught.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cuda/device_array.hpp"

namespace hearsay::kernels {

class Workspace {
 public:
  explicit Workspace(std::size_t bytes) : memory_(contents(bytes)) {}

  void* data() const { return memory_.data(); }

  // The header is zero again and nothing was written beside the workspace.
  bool is_as_promised() const {
    const auto host = memory_.host();
    return memory_.guards_hold() && std::all_of(host.begin(), host.begin() + kHeader,
                                                [](unsigned char byte) { return byte == 0; });
  }

 private:
  static constexpr std::ptrdiff_t kHeader = 256;
  static std::vector<unsigned char> contents(std::size_t bytes) {
    std::vector<unsigned char> all(bytes, DeviceArray<unsigned char>::kPoison);
    std::fill(all.begin(), all.begin() + kHeader, static_cast<unsigned char>(0));
    return all;
  }
  DeviceArray<unsigned char> memory_;
};

}  // namespace hearsay::kernels

// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/blas_core.hpp"

#include <array>
#include <cstdlib>
#include <utility>

#include <unistd.h>

namespace hearsay::runtime {
namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

struct Parts {
  std::string_view library, core, rest;
};

// "OpenBLAS 0.3.21" "Haswell" ", 1 thread a peer"
std::optional<Parts> parts_of(std::string_view blas) {
  const std::size_t comma = blas.find(',');
  const std::string_view head = blas.substr(0, comma);
  const std::size_t space = head.rfind(' ');
  if (space == std::string_view::npos || !head.starts_with("OpenBLAS ")) return std::nullopt;
  return Parts{head.substr(0, space), head.substr(space + 1),
               comma == std::string_view::npos ? std::string_view() : blas.substr(comma)};
}

#if defined(__x86_64__)
// What the kernels of a core type execute, by OpenBLAS's own dispatch (driver/others/dynamic.c).
bool can_execute(std::string_view core) {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl");
  const std::array<std::pair<std::string_view, bool>, 8> known{{
      {"Prescott", true},
      {"Core2", __builtin_cpu_supports("ssse3") != 0},
      {"Nehalem", __builtin_cpu_supports("sse4.2") != 0},
      {"Sandybridge", __builtin_cpu_supports("avx") != 0},
      {"Haswell", avx2},
      {"Zen", avx2},
      {"SkylakeX", avx512},
      {"Cooperlake", avx512 && __builtin_cpu_supports("avx512bf16")},
  }};
  for (const auto& [name, possible] : known) {
    if (name == core) return possible;
  }
  return false;
}
#else
bool can_execute(std::string_view) { return false; }
#endif

}  // namespace

std::optional<std::string> core_to_take(std::string_view recorded, std::string_view own) {
  const auto then = parts_of(recorded), now = parts_of(own);
  if (!then || !now || then->library != now->library || then->rest != now->rest)
    return std::nullopt;
  if (then->core == now->core || !can_execute(then->core)) return std::nullopt;
  return std::string(then->core);
}

std::optional<std::string> wider_core(std::string_view core) {
  if (core != "Prescott" && core != "Core2" && core != "Nehalem") return std::nullopt;
  for (const char* wider : {"SkylakeX", "Haswell"})
    if (can_execute(wider)) return wider;
  return std::nullopt;
}

void start_with_core(const std::string& core, const std::vector<std::string>& words) {
  if (std::getenv(kVariable) != nullptr) return;  // done, or somebody has chosen
  if (setenv(kVariable, core.c_str(), 1) != 0) return;
  std::string program = "hearsay";
  std::vector<std::string> copies = words;
  std::vector<char*> arguments{program.data()};
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  unsetenv(kVariable);
}

}  // namespace hearsay::runtime

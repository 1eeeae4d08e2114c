// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/machine.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

#include "gossip/limits.hpp"
#include "runtime/app/control_group.hpp"

namespace hearsay::runtime {

namespace {

constexpr std::array<std::string_view, 13> kSimd{
    "sse4_2",      "avx",         "avx2",     "fma",      "f16c",  "avx512f", "avx512bw",
    "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "asimd", "sve"};

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  return first == std::string::npos
             ? std::string()
             : text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::uint64_t kibibytes_in(const std::string& line) {
  std::uint64_t value = 0;
  const std::size_t digit = line.find_first_of("0123456789");
  if (digit != std::string::npos) {
    std::from_chars(line.data() + digit, line.data() + line.size(), value);
  }
  return value * 1024;
}

// The function pointer of a C symbol that is loaded, or null.
template <typename Function>
Function loaded_symbol(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

std::string text_from(const char* symbol) {
  const auto call = loaded_symbol<char* (*)()>(symbol);
  const char* const text = call == nullptr ? nullptr : call();
  return text == nullptr ? std::string() : trimmed(text);
}

}  // namespace

CpuFacts cpu_facts() {
  CpuFacts facts;
  std::ifstream info("/proc/cpuinfo");
  std::vector<std::string> flags;
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) {
      continue;
    }
    const std::string key = trimmed(line.substr(0, colon));
    if (key == "model name" && facts.model.empty()) {
      facts.model = trimmed(line.substr(colon + 1));
    } else if ((key == "flags" || key == "Features") && flags.empty()) {
      std::istringstream words(line.substr(colon + 1));
      for (std::string word; words >> word;) {
        flags.push_back(word);
      }
    }
  }
  for (const std::string_view name : kSimd) {
    if (std::find(flags.begin(), flags.end(), name) != flags.end()) {
      facts.simd.emplace_back(name);
    }
  }
  facts.cores_online = static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  cpu_set_t set;
  CPU_ZERO(&set);
  facts.cores = ::sched_getaffinity(0, sizeof set, &set) == 0
                    ? static_cast<unsigned>(CPU_COUNT(&set))
                    : facts.cores_online;
  facts.cores_allowed = control_group_facts().cores;
  return facts;
}

BlasFacts blas_facts() {
  BlasFacts facts;
  facts.config = text_from("openblas_get_config");
  facts.core = text_from("openblas_get_corename");
  if (const auto threads = loaded_symbol<int (*)()>("openblas_get_num_threads")) {
    facts.threads = threads();
  }
  Dl_info library{};
  void* const symbol = ::dlsym(RTLD_DEFAULT, "openblas_get_config");
  if (symbol != nullptr && ::dladdr(symbol, &library) != 0 && library.dli_fname != nullptr) {
    facts.library = library.dli_fname;
  }
  return facts;
}

MemoryFacts memory_facts() {
  MemoryFacts facts;
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("MemTotal:")) {
      facts.total_bytes = kibibytes_in(line);
    } else if (line.starts_with("MemAvailable:")) {
      facts.available_bytes = kibibytes_in(line);
    }
  }
  const std::uint64_t limit = control_group_facts().memory_bytes;
  if (facts.total_bytes == 0 || limit < facts.total_bytes) facts.limit_bytes = limit;
  return facts;
}

LimitFacts limit_facts() {
  LimitFacts facts;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    facts.open_files = limit.rlim_cur;
    facts.open_files_hard = limit.rlim_max;
  }
  facts.processes = control_group_facts().processes;
  // Root may have more processes than its limit.
  if (::geteuid() != 0 && ::getrlimit(RLIMIT_NPROC, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY) {
    facts.processes =
        facts.processes == 0 ? limit.rlim_cur : std::min(facts.processes, limit.rlim_cur);
  }
  return facts;
}

std::uint64_t peers_for_open_files(std::uint64_t open_files) {
  // A peer has up to two connections with each other one, since both may dial at once; the launcher
  // has a control channel and the ends of the streams of each.
  constexpr std::uint64_t kEachPeer = 3;
  constexpr std::uint64_t kBesides = gossip::limits::kHalfOpenConnections + 32;
  return open_files <= kBesides ? 0 : (open_files - kBesides) / kEachPeer;
}

std::uint64_t free_disk_bytes(const std::string& folder) {
  struct statvfs stats {};
  if (::statvfs(folder.c_str(), &stats) != 0) {
    return 0;
  }
  return static_cast<std::uint64_t>(stats.f_bavail) * stats.f_frsize;
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/doctor.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "kernels/core/errc.hpp"
#include "runtime/app/blas_core.hpp"
#include "runtime/app/launcher.hpp"
#include "runtime/app/machine.hpp"
#include "runtime/app/version.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/device/cuda_library.hpp"
#include "runtime/device/device_choice.hpp"

namespace hearsay::runtime {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDriverLibrary = "libcuda.so.1";
constexpr std::uint64_t kManyPeers = 64;         // what one machine is likely to be asked for
constexpr std::uint64_t kProcessesEachPeer = 8;  // threads of a peer, and its supervisor's

// One loaded shared library.
struct CloseLibrary {
  void operator()(void* handle) const noexcept { ::dlclose(handle); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

Library open_library(const std::string& path) {
  return Library(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
}

template <typename Function>
Function symbol_of(const Library& library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library.get(), name));
}

std::string gigabytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB", static_cast<double>(bytes) / 1e9);
  return text;
}

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : separator) + words[i];
  }
  return text;
}

Finding examine_build() {
  return {"build",
          true,
          version_text() + ", " + build_text(),
          {{"version", version_number()}, {"git", git_commit()}, {"compiler", build_text()}}};
}

Finding examine_cpu() {
  const CpuFacts cpu = cpu_facts();
  std::string text = (cpu.model.empty() ? "unknown model" : cpu.model) + ", " +
                     std::to_string(cpu.cores) + " of " + std::to_string(cpu.cores_online) +
                     " cores";
  if (cpu.cores_allowed > 0.0) {
    char share[64];
    std::snprintf(share, sizeof share, " (the control group allows the time of %.3g)",
                  cpu.cores_allowed);
    text += share;
  }
  return {"cpu",
          true,
          text + ", " + joined(cpu.simd, " "),
          {{"model", cpu.model},
           {"cores", cpu.cores},
           {"cores_online", cpu.cores_online},
           {"cores_allowed", cpu.cores_allowed},
           {"simd", cpu.simd}}};
}

Finding examine_blas() {
  const BlasFacts blas = blas_facts();
  if (blas.config.empty()) {
    return {"blas", false, "the BLAS library is not OpenBLAS, its core type is unknown",
            Json::object()};
  }
  const std::string name = blas.config.substr(0, blas.config.find(' ', blas.config.find(' ') + 1));
  const auto wider = wider_core(blas.core);
  const std::string advice =
      wider ? "; it does not know this CPU: OPENBLAS_CORETYPE=" + *wider + " trains faster" : "";
  return {"blas",
          true,
          name + ", core type " + blas.core + ", " + blas.library + advice,
          {{"library", blas.library},
           {"config", blas.config},
           {"core", blas.core},
           {"wider_core", wider ? Json(*wider) : Json()},
           {"threads", blas.threads}}};
}

// The library with the GPU code lies beside the binary.
Finding examine_cuda_library() {
  std::string why;
  const CudaLibrary* const library = CudaLibrary::open(kCudaLibrary, why);
  if (library == nullptr) return {"cuda", false, "no CUDA: " + why, {{"library", nullptr}}};
  Json facts{{"library", library->path()}, {"devices", Json::array()}};
  const GpuList found = find_gpus();
  if (found.devices.empty()) return {"cuda", false, library->path() + ": " + found.why, facts};
  std::string can, cannot;
  for (const HsCudaDevice& device : found.devices) {
    const std::string compute =
        std::to_string(device.compute_major) + "." + std::to_string(device.compute_minor);
    std::string& text = device.has_code != 0 ? can : cannot;
    text += (text.empty() ? " " : ", ") + std::string(device.name) + " (" + compute + ")";
    facts["devices"].push_back({{"name", device.name},
                                {"compute", compute},
                                {"usable", device.has_code != 0},
                                {"multiprocessors", device.multiprocessors},
                                {"memory_bytes", device.memory_bytes},
                                {"l2_bytes", device.l2_bytes},
                                {"bus_id", device.bus_id}});
  }
  if (!can.empty()) can = ", can train on" + can;
  if (!cannot.empty()) cannot = ", has no code for" + cannot + ", only for " + found.code;
  return {"cuda", !can.empty(), library->path() + can + cannot, facts};
}

// Asks the driver itself, so that a missing driver is told from a missing library.
Finding examine_driver() {
  const Library driver = open_library(kDriverLibrary);
  if (!driver) {
    return {"gpu",
            false,
            std::string("no GPU driver: ") + kDriverLibrary + " is not installed",
            {{"devices", Json::array()}}};
  }
  const auto init = symbol_of<int (*)(unsigned)>(driver, "cuInit");
  const auto count = symbol_of<int (*)(int*)>(driver, "cuDeviceGetCount");
  const auto name = symbol_of<int (*)(char*, int, int)>(driver, "cuDeviceGetName");
  const auto memory = symbol_of<int (*)(std::size_t*, int)>(driver, "cuDeviceTotalMem_v2");
  const int error = init == nullptr ? -1 : init(0);
  int devices = 0;
  if (error != 0 || count == nullptr || count(&devices) != 0 || devices == 0) {
    return {"gpu",
            false,
            "the GPU driver is installed but offers no device (cuInit error " +
                std::to_string(error) + ")",
            {{"devices", Json::array()}, {"cuda_error", error}}};
  }
  Json list = Json::array();
  std::string text = std::to_string(devices) + " device(s):";
  for (int i = 0; i < devices; ++i) {
    std::array<char, 256> label{};
    std::size_t bytes = 0;
    if (name != nullptr) {
      name(label.data(), static_cast<int>(label.size()) - 1, i);
    }
    if (memory != nullptr) {
      memory(&bytes, i);
    }
    list.push_back({{"name", label.data()}, {"memory_bytes", bytes}});
    text += std::string(i == 0 ? " " : ", ") + label.data() + " " + gigabytes(bytes);
  }
  return {"gpu", true, text, {{"devices", list}}};
}

std::string find_in_path(const Environment& environment, const std::string& program) {
  const auto path = environment.find("PATH");
  if (path == environment.end()) {
    return {};
  }
  std::size_t begin = 0;
  while (begin <= path->second.size()) {
    const std::size_t end = std::min(path->second.find(':', begin), path->second.size());
    const std::string candidate = path->second.substr(begin, end - begin) + "/" + program;
    if (candidate.size() > program.size() + 1 && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    begin = end + 1;
  }
  return {};
}

// First line that the program prints. The path is quoted for the shell.
std::string first_line_of(const std::string& program, const std::string& argument) {
  std::string quoted = "'";
  for (const char c : program) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  const std::string command = quoted + "' " + argument + " 2>/dev/null </dev/null";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return {};
  }
  std::array<char, 256> buffer{};
  const bool any = std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr;
  std::string line = any ? std::string(buffer.data()) : std::string();
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr) {
  }
  ::pclose(pipe);
  line.erase(std::min(line.find('\n'), line.size()));
  return line;
}

Finding examine_mpi(const Environment& environment) {
  const std::string mpirun = find_in_path(environment, "mpirun");
  if (mpirun.empty()) {
    return {"mpi", false, "no mpirun in PATH; hearsay sim needs none", {{"mpirun", nullptr}}};
  }
  const std::string version = first_line_of(mpirun, "--version");
  std::string text = mpirun + ", " + (version.empty() ? "version unknown" : version);
  const bool needs_flag = needs_run_as_root(environment, version, ::geteuid() == 0);
  if (needs_flag) text += "; root needs mpirun --allow-run-as-root";
  return {"mpi",
          true,
          text,
          {{"mpirun", mpirun}, {"version", version}, {"needs_allow_run_as_root", needs_flag}}};
}

Finding examine_memory() {
  const MemoryFacts memory = memory_facts();
  std::string text =
      gigabytes(memory.available_bytes) + " available of " + gigabytes(memory.total_bytes);
  if (memory.limit_bytes != 0) {
    text += ", limited to " + gigabytes(memory.limit_bytes);
  }
  return {"memory",
          true,
          text,
          {{"total_bytes", memory.total_bytes},
           {"available_bytes", memory.available_bytes},
           {"limit_bytes", memory.limit_bytes}}};
}

Finding examine_open_files() {
  const LimitFacts limits = limit_facts();
  const std::uint64_t peers = peers_for_open_files(limits.open_files);
  std::string text = std::to_string(limits.open_files) + ", for pools of up to " +
                     std::to_string(peers) + " peers";
  if (peers < kManyPeers) {
    text += limits.open_files_hard > limits.open_files
                ? "; raise it with ulimit -n " + std::to_string(limits.open_files_hard)
                : "; only root can raise it";
  }
  return {"open files",
          peers >= kManyPeers,
          text,
          {{"soft", limits.open_files}, {"hard", limits.open_files_hard}, {"peers", peers}}};
}

Finding examine_processes() {
  const std::uint64_t most = limit_facts().processes;
  const std::uint64_t peers = most / kProcessesEachPeer;
  const bool enough = most == 0 || peers >= kManyPeers;
  return {"processes",
          enough,
          most == 0 ? "no limit"
                    : std::to_string(most) + " with their threads" +
                          (enough ? "" : ", for about " + std::to_string(peers) + " peers"),
          {{"limit", most}}};
}

Finding examine_disk() {
  std::error_code ignored;
  const std::string folder = std::filesystem::current_path(ignored).string();
  const std::uint64_t bytes = free_disk_bytes(".");
  const bool writable = ::access(".", W_OK) == 0;
  return {"disk",
          writable && bytes > 0,
          gigabytes(bytes) + " free in " + folder +
              (writable ? "" : ", which cannot be written: give --run DIR"),
          {{"folder", folder}, {"free_bytes", bytes}, {"writable", writable}}};
}

// Can a peer listen there? The kernel picks the port. Its number, or 0 and why not in errno.
unsigned bind_loopback(int family) {
  sockaddr_storage address{};
  socklen_t length = sizeof(sockaddr_in);
  address.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) {
    length = sizeof(sockaddr_in6);
    reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  const int listener = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return 0;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = ::bind(listener, generic, length) == 0 && ::listen(listener, 1) == 0 &&
                     ::getsockname(listener, generic, &length) == 0;
  const int error = errno;
  ::close(listener);
  errno = error;
  if (!bound) return 0;
  return ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                  : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

Finding examine_loopback(const char* subject, const char* name, int family, const char* without) {
  const unsigned port = bind_loopback(family);
  if (port == 0) {
    const std::string error = std::strerror(errno);
    return {subject,
            false,
            std::string("no port can be bound on ") + name + ": " + error + without,
            {{"error", error}}};
  }
  return {subject,
          true,
          std::string("ports can be bound on ") + name + " (tried " + std::to_string(port) + ")",
          {{"port", port}}};
}

Finding examine_data() {
  try {
    const Dataset dataset = load_dataset("fashion-mnist", 0);
    return {"data",
            true,
            "fashion-mnist: " + std::to_string(dataset.train.count()) + " + " +
                std::to_string(dataset.test.count()) + " images, " + dataset.origin,
            {{"name", "fashion-mnist"},
             {"origin", dataset.origin},
             {"train", dataset.train.count()},
             {"test", dataset.test.count()}}};
  } catch (const kernels::Fault& fault) {
    return {"data", false, fault.what(), {{"name", "fashion-mnist"}}};
  }
}

Finding examine_launcher(const Environment& environment) {
  const Launcher launcher = detect_launcher(environment);
  std::string text = launcher.name;
  if (launcher.name == "single") {
    text += ": no launcher's variables are set";
  } else {
    text += " (" + joined(launcher.used, ", ") + ")";
    const bool has_mpi = launcher.name == "openmpi" || launcher.name == "pmix";
    if (launcher.name != "hearsay")
      text += has_mpi ? ": each rank supervises its peer" : ": peers find each other by files";
    if (launcher.several_hosts) text += "; on several hosts, so peers listen beyond loopback";
  }
  if (!launcher.others.empty()) {
    text += "; traces of " + joined(launcher.others, ", ") +
            " come later in the order and are not used";
  }
  Json facts{{"name", launcher.name}, {"used", launcher.used}, {"others", launcher.others}};
  facts["rank"] = launcher.rank ? Json(*launcher.rank) : Json(nullptr);
  facts["job"] = launcher.job;
  facts["attempt"] = launcher.attempt;
  facts["several_hosts"] = launcher.several_hosts;
  facts["size"] = launcher.size ? Json(*launcher.size) : Json(nullptr);
  return {"launcher", true, text, facts};
}

}  // namespace

bool needs_run_as_root(const Environment& environment, const std::string& version, bool is_root) {
  const auto allows = [&](const char* name) {
    const auto found = environment.find(name);
    return found != environment.end() && found->second == "1";
  };
  return is_root && version.find("Open MPI") != std::string::npos &&
         !(allows("OMPI_ALLOW_RUN_AS_ROOT") && allows("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"));
}

std::vector<Finding> examine_machine(const Environment& environment) {
  std::vector<Finding> findings;
  findings.push_back(examine_build());
  findings.push_back(examine_cpu());
  findings.push_back(examine_blas());
  findings.push_back(examine_cuda_library());
  findings.push_back(examine_driver());
  findings.push_back(examine_mpi(environment));
  findings.push_back(examine_launcher(environment));
  findings.push_back(examine_memory());
  findings.push_back(examine_open_files());
  findings.push_back(examine_processes());
  findings.push_back(examine_disk());
  findings.push_back(examine_loopback("loopback", "127.0.0.1", AF_INET,
                                      "; peers as processes cannot talk, hearsay sim can run"));
  findings.push_back(
      examine_loopback("ipv6", "[::1]", AF_INET6, "; nothing needs it unless --listen names it"));
  findings.push_back(examine_data());
  return findings;
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    std::string line = finding.subject;
    line.resize(std::max<std::size_t>(line.size() + 1, 12), ' ');
    text += line + (finding.usable ? "ok   " : "no   ") + finding.text + "\n";
  }
  return text;
}

nlohmann::ordered_json findings_json(const std::vector<Finding>& findings) {
  Json json = Json::object();
  for (const Finding& finding : findings) {
    Json entry{{"usable", finding.usable}, {"text", finding.text}};
    entry.update(finding.facts);
    std::string key = finding.subject;
    std::replace(key.begin(), key.end(), ' ', '_');
    json[key] = std::move(entry);
  }
  return json;
}

}  // namespace hearsay::runtime

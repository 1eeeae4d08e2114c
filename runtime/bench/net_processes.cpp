// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/net_processes.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

using kernels::ExitCode;
using kernels::Fault;

// Between process 0 and one other: ports first, the report at the end.
void put(int fd, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw Fault(ExitCode::check_failed, "bench net: a process has ended too early");
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void get(int fd, void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::recv(fd, at, bytes, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw Fault(ExitCode::check_failed, "bench net: a process has ended too early");
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void put_report(int fd, const NetReport& report) {
  const std::uint64_t fixed[4] = {report.seconds.size(), report.wrong, report.digest.high,
                                  report.digest.low};
  put(fd, fixed, sizeof fixed);
  put(fd, report.seconds.data(), report.seconds.size() * sizeof(double));
}

NetReport get_report(int fd) {
  std::uint64_t fixed[4];
  get(fd, fixed, sizeof fixed);
  NetReport report;
  report.seconds.resize(fixed[0]);
  report.wrong = fixed[1];
  report.digest = {fixed[2], fixed[3]};
  get(fd, report.seconds.data(), report.seconds.size() * sizeof(double));
  return report;
}

void add(NetReport& total, const NetReport& report) {
  for (std::size_t i = 0; i < total.seconds.size() && i < report.seconds.size(); ++i)
    total.seconds[i] = std::max(total.seconds[i], report.seconds[i]);
  total.wrong += report.wrong + (report.digest == total.digest ? 0 : 1);
}

// What every process but the first does, from its birth to its end.
[[noreturn]] void live(int fd, pid_t parent, std::uint32_t self, std::uint32_t processes,
                       std::size_t values, const NetWork& work,
                       const std::shared_ptr<Security>& security) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  int code = 0;
  try {
    NetPeer peer(self, processes, values, security);
    const std::uint16_t own = peer.port();
    put(fd, &own, sizeof own);
    std::vector<std::uint16_t> ports(processes);
    get(fd, ports.data(), processes * sizeof own);
    peer.start(ports);
    const NetReport report = work(peer);
    put_report(fd, report);
    peer.finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hearsay: process %u: %s\n", self, error.what());
    code = 1;
  }
  ::_exit(code);  // what the caller has buffered is the caller's to write
}

// The other processes, as the first one sees them.
class Others {
 public:
  Others(std::uint32_t processes, std::size_t values, const NetWork& work,
         const std::shared_ptr<Security>& security) {
    const pid_t parent = ::getpid();
    for (std::uint32_t self = 1; self < processes; ++self) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
      const pid_t pid = ::fork();
      if (pid == 0) {
        for (const Other& other : others_) ::close(other.fd);
        ::close(ends[0]);
        live(ends[1], parent, self, processes, values, work, security);
      }
      ::close(ends[1]);
      others_.push_back({pid, ends[0]});
      if (pid < 0) fail("fork");
    }
  }
  ~Others() { end(true); }
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;

  std::vector<std::uint16_t> share_ports(std::uint16_t own) {
    std::vector<std::uint16_t> ports(1 + others_.size(), own);
    for (std::size_t i = 0; i < others_.size(); ++i) get(others_[i].fd, &ports[i + 1], sizeof own);
    for (const Other& other : others_) put(other.fd, ports.data(), ports.size() * sizeof own);
    return ports;
  }
  void check() {  // throws when one has ended
    char byte = 0;
    for (const Other& other : others_)
      if (::recv(other.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) get(other.fd, &byte, 1);
  }
  void add_reports(NetReport& total) {
    for (const Other& other : others_) add(total, get_report(other.fd));
  }
  void end(bool by_force) {
    for (const Other& other : others_) {
      ::close(other.fd);
      if (other.pid <= 0) continue;
      if (by_force) ::kill(other.pid, SIGKILL);
      while (::waitpid(other.pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    others_.clear();
  }

 private:
  struct Other {
    pid_t pid;
    int fd;
  };
  [[noreturn]] void fail(const char* what) {
    const std::string why = std::strerror(errno);
    end(true);
    throw Fault(ExitCode::usage, std::string("bench net: ") + what + ": " + why);
  }
  std::vector<Other> others_;
};

}  // namespace

NetReport run_processes(std::uint32_t processes, std::size_t values, const NetWork& work,
                        const std::shared_ptr<Security>& security) {
  Others others(processes, values, work, security);  // before the transport's thread starts
  NetPeer peer(0, processes, values, security);
  peer.look_with([&others] { others.check(); });
  peer.start(others.share_ports(peer.port()));
  NetReport total = work(peer);
  others.add_reports(total);
  peer.finish();
  others.end(false);
  return total;
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/local_peer.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include "kernels/core/errc.hpp"

extern char** environ;

namespace hearsay::runtime {
namespace {

// Process ids of those that run, for kill_local_peers(); 0 = free. Beyond that many, a peer gets
// SIGHUP by its parent's death only.
std::array<std::atomic<pid_t>, 1024> running_pids{};

void exchange_pid(pid_t before, pid_t after) {
  for (std::atomic<pid_t>& slot : running_pids) {
    pid_t expected = before;
    if (slot.compare_exchange_strong(expected, after)) return;
  }
}

constexpr int kControlFd = 3;                // in the child
constexpr std::streamoff kTailBytes = 4096;  // of its output, for the last line

[[noreturn]] void fail(const std::string& what, int error) {
  throw kernels::UsageError(what + ": " + std::strerror(error));
}

// The child's environment as text, made before fork(): afterwards only calls that are safe in a
// child of a process with threads are allowed.
std::vector<std::string> child_environment(const ChildCommand& command) {
  std::vector<std::string> entries;
  const auto is_set = [&](const std::string& name) {
    return std::any_of(command.environment.begin(), command.environment.end(),
                       [&](const auto& entry) { return entry.first == name; });
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool dropped =
        std::any_of(command.dropped_prefixes.begin(), command.dropped_prefixes.end(),
                    [&](const std::string& prefix) { return text.starts_with(prefix); });
    if (!dropped && !is_set(name)) entries.push_back(text);
  }
  for (const auto& [name, value] : command.environment) entries.push_back(name + "=" + value);
  entries.push_back("HEARSAY_CONTROL_FD=" + std::to_string(kControlFd));
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In the child: everything between fork() and exec. Reports a failure through `report` and ends.
[[noreturn]] void become(char* const* words, char* const* environment, int control, int output,
                         int report, pid_t parent) {
  setsid();
  // Not SIGTERM: the kernel sends it once for every thread of the parent that the child is handed
  // on to, and a second SIGTERM would mean "leave at once".
  prctl(PR_SET_PDEATHSIG, SIGHUP);
  if (getppid() != parent) _exit(143);  // the parent died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGPIPE})
    ::signal(number, SIG_DFL);
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  // Nothing else is inherited, whoever opened it; where the kernel cannot do that, most descriptors
  // close by their own flag.
  syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
  if (control == kControlFd) {
    fcntl(control, F_SETFD, 0);
  } else {
    dup2(control, kControlFd);
  }
  execvpe(words[0], words, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t told = write(report, &error, sizeof error);
  _exit(127);
}

}  // namespace

PeerExit exit_from_status(int status) {
  PeerExit exit;
  if (WIFSIGNALED(status)) {
    exit.signal = WTERMSIG(status);
    const char* const name = sigabbrev_np(exit.signal);
    exit.text = std::string("killed by ") +
                (name != nullptr ? "SIG" + std::string(name) : std::to_string(exit.signal));
  } else {
    exit.code = WEXITSTATUS(status);
    exit.text = "exit code " + std::to_string(exit.code);
  }
  return exit;
}

void kill_local_peers() noexcept {
  for (const std::atomic<pid_t>& slot : running_pids) {
    if (const pid_t pid = slot.load(); pid > 0) kill(pid, SIGKILL);
  }
}

LocalPeer::LocalPeer(std::string name, const ChildCommand& command)
    : name_(std::move(name)), output_path_(command.output_path) {
  std::array<int, 2> pair{}, report{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    fail("starting " + name_, errno);
  channel_ = std::make_unique<ControlChannel>(pair[0]);
  const int output = open(output_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  // Both ends above the descriptors that the child rearranges.
  const int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
  close(pair[1]);
  if (output < 0 || theirs < 0 || pipe2(report.data(), O_CLOEXEC) != 0)
    fail("starting " + name_ + ": " + output_path_, errno);
  std::vector<std::string> words = command.words, environment = child_environment(command);
  const std::vector<char*> word_pointers = pointers(words);
  const std::vector<char*> environment_pointers = pointers(environment);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0)
    become(word_pointers.data(), environment_pointers.data(), theirs, output, report[1], parent);
  const int fork_error = errno;
  close(theirs);
  close(output);
  close(report[1]);
  int error = 0;
  const bool failed = pid_ > 0 && read(report[0], &error, sizeof error) == sizeof error;
  close(report[0]);
  if (pid_ < 0) fail("starting " + name_, fork_error);
  if (failed) {
    waitpid(pid_, nullptr, 0);
    fail("starting " + words.front(), error);
  }
  exchange_pid(0, pid_);
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
}

LocalPeer::~LocalPeer() {
  if (!exit_) {
    kill(pid_, SIGKILL);
    exchange_pid(pid_, 0);
    waitpid(pid_, nullptr, 0);
  }
  if (pidfd_ >= 0) close(pidfd_);
}

std::string LocalPeer::host() const {
  std::array<char, 256> text{};
  return gethostname(text.data(), text.size() - 1) == 0 ? text.data() : "unknown";
}

std::vector<control::FromPeer> LocalPeer::receive() {
  // The end first: what it wrote before is then certainly there.
  if (!exit_) reap();
  std::vector<control::FromPeer> messages;
  for (const std::string& line : channel_->receive()) {
    if (auto message = control::decode_from_peer(line)) messages.push_back(std::move(*message));
  }
  return messages;
}

void LocalPeer::reap() {
  int status = 0;
  rusage usage{};
  if (wait4(pid_, &status, WNOHANG, &usage) != pid_) return;
  exchange_pid(pid_, 0);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  cpu_s_ = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  exit_ = exit_from_status(status);
  frozen_.reset();
}

std::string LocalPeer::last_stderr_line() const {
  std::ifstream file(output_path_, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTailBytes));
  std::string line, last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

void LocalPeer::send(const control::ToPeer& order) {
  if (!exit_) channel_->send(control::encode(order));
}

void LocalPeer::signal(int number) {
  if (exit_) return;
  if (number == SIGSTOP && !frozen_) frozen_.emplace(pidfd_);
  if (number == SIGCONT) frozen_.reset();
  kill(pid_, number);
}

double LocalPeer::cpu_s() const {
  if (exit_) return cpu_s_;
  // The fields after the name, which may hold anything but ends with the last parenthesis.
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(std::min(text.size(), text.find_last_of(')') + 1)));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0.0, system = 0.0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void LocalPeer::add_descriptors(std::vector<pollfd>& descriptors) const {
  if (exit_) return;
  if (!channel_->closed()) descriptors.push_back({channel_->fd(), POLLIN, 0});
  if (pidfd_ >= 0) descriptors.push_back({pidfd_, POLLIN, 0});
}

}  // namespace hearsay::runtime

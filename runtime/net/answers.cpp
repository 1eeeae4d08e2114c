// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/answers.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace hearsay::runtime {
namespace {

bool connects(const addrinfo& to, std::chrono::milliseconds at_most) {
  const int fd = ::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  int result = ::connect(fd, to.ai_addr, to.ai_addrlen) == 0 ? 0 : errno;
  if (result == EINPROGRESS) {
    pollfd ready{fd, POLLOUT, 0};
    socklen_t size = sizeof result;
    if (::poll(&ready, 1, static_cast<int>(at_most.count())) != 1 ||
        ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &result, &size) != 0)
      result = ETIMEDOUT;
  }
  ::close(fd);
  return result == 0;
}

}  // namespace

bool answers(const Endpoint& address, std::chrono::milliseconds at_most) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const std::string port = std::to_string(address.port);
  if (::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (connects(*each, at_most)) return true;
  }
  return false;
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// Stands between two peers of a test, passes everything on and keeps a copy: a recorded session.
// Two threads a connection, blocking sockets.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/net/test_socket.hpp"

namespace hearsay::runtime {

class Tap {
 public:
  explicit Tap(Endpoint to);
  ~Tap();  // closes everything
  Endpoint address() const { return address_; }

  struct Session {
    Bytes from_dialler, from_listener;
  };
  // Of every connection so far, in order; whole once both peers have closed it.
  std::vector<Session> sessions() const;

 private:
  struct Wire;
  void serve();
  void pass_on(TestSocket& from, TestSocket& to, Bytes& copy);

  Endpoint to_;
  TestSocket listener_ = TestSocket::listen();
  Endpoint address_ = listener_.address();
  mutable std::mutex mutex_;
  bool ended_ = false;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::thread thread_;
};

// The whole messages of one direction.
std::vector<Bytes> split_messages(const Bytes& stream);

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// A plain POSIX socket for the tests of this folder, as the side that misbehaves: it sends any
// bytes, stops anywhere, and reads or not. Blocking, with deadlines. Shares no code with Connection
// but the layout of a message.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/wire/header.hpp"
#include "runtime/net/endpoint.hpp"
#include "runtime/net/hello.hpp"

namespace hearsay::runtime {

using Bytes = std::vector<std::byte>;

// Header, prefix, payload and trailer of a message that is right.
Bytes message_of(const gossip::wire::Header& header, std::span<const std::byte> prefix = {},
                 std::span<const std::byte> payload = {});
Bytes message_of(const gossip::Frame& frame);
Bytes message_of(gossip::wire::Kind kind, std::string_view text);
Bytes hello_message(const Hello& hello);

class TestSocket {
 public:
  static TestSocket dial(const Endpoint& address);
  static TestSocket listen(int receive_buffer_bytes = 0);  // on loopback; accepts by itself
  TestSocket(TestSocket&& other) noexcept;
  TestSocket& operator=(TestSocket&& other) noexcept;
  ~TestSocket();

  TestSocket accept() const;
  Endpoint address() const;
  bool send(std::span<const std::byte> bytes);  // false: the other side is gone

  struct Message {
    gossip::wire::Kind kind{};
    std::string text;
  };
  // The next message when it is a whole one; nothing at the end, after noise, or at the deadline.
  std::optional<Message> receive();
  // Whatever comes, until it is that much or the end; less when the time is up.
  Bytes receive_some(std::size_t bytes,
                     std::chrono::milliseconds at_most = std::chrono::seconds(30));
  // What is there, once there is something; nothing at the end.
  Bytes receive_any();
  // Reads on until the other side has closed.
  bool ends(std::chrono::milliseconds at_most = std::chrono::seconds(30));
  void close();
  void finish_sending();  // the other side reads to the end of the file
  void shut_down();       // both ways; whoever waits in a call comes back
  void reset();           // closes with a reset instead of an end of file

 private:
  explicit TestSocket(int descriptor) : descriptor_(descriptor) {}
  bool read_all(std::span<std::byte> into);
  int descriptor_ = -1;
};

// Dials, says hello, and has been welcomed.
TestSocket dial_as(const Hello& hello, const Endpoint& address);

}  // namespace hearsay::runtime

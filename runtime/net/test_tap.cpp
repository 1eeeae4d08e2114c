// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/test_tap.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <variant>

namespace hearsay::runtime {

namespace wire = gossip::wire;
using namespace std::chrono_literals;

struct Tap::Wire {
  Wire(TestSocket one, TestSocket other) : dialler(std::move(one)), listener(std::move(other)) {}
  TestSocket dialler, listener;
  Session session;
  std::thread out, back;
};

Tap::Tap(Endpoint to) : to_(std::move(to)), thread_([this] { serve(); }) {}

Tap::~Tap() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  try {
    TestSocket::dial(address_);  // wakes whoever accepts
  } catch (const std::exception&) {
  }
  thread_.join();
  for (const auto& each : wires_) {
    each->dialler.shut_down();
    each->listener.shut_down();
    each->out.join();
    each->back.join();
  }
}

void Tap::serve() {
  for (;;) {
    TestSocket client = listener_.accept();
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    wires_.push_back(std::make_unique<Wire>(std::move(client), TestSocket::dial(to_)));
    Wire& made = *wires_.back();
    made.out =
        std::thread([&, this] { pass_on(made.dialler, made.listener, made.session.from_dialler); });
    made.back = std::thread(
        [&, this] { pass_on(made.listener, made.dialler, made.session.from_listener); });
  }
}

void Tap::pass_on(TestSocket& from, TestSocket& to, Bytes& copy) {
  for (;;) {
    const Bytes piece = from.receive_any();
    if (piece.empty()) break;
    {
      const std::lock_guard lock(mutex_);
      copy.insert(copy.end(), piece.begin(), piece.end());
    }
    if (!to.send(piece)) break;
  }
  to.finish_sending();
}

std::vector<Tap::Session> Tap::sessions() const {
  const std::lock_guard lock(mutex_);
  std::vector<Session> copies;
  for (const auto& each : wires_) copies.push_back(each->session);
  return copies;
}

std::vector<Bytes> split_messages(const Bytes& stream) {
  std::vector<Bytes> messages;
  std::span<const std::byte> rest(stream);
  while (rest.size() >= wire::kHeaderBytes) {
    const auto decoded = wire::decode_header(rest.first<wire::kHeaderBytes>());
    const auto* header = std::get_if<wire::Header>(&decoded);
    if (header == nullptr) break;
    const std::size_t size =
        wire::kHeaderBytes + header->prefix_bytes() + header->body_bytes() + wire::kTrailerBytes;
    if (rest.size() < size) break;
    messages.emplace_back(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
    rest = rest.subspan(size);
  }
  return messages;
}

}  // namespace hearsay::runtime

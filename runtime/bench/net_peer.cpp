// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/net_peer.hpp"

#include <utility>
#include <variant>

#include "gossip/event.hpp"
#include "gossip/limits.hpp"
#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

using gossip::FrameKind;
using kernels::ExitCode;
using kernels::Fault;
using kernels::PeerId;

constexpr std::chrono::seconds kPatience{60}, kLook{1};

TransportOptions options_for(SnapshotPool& pool, std::shared_ptr<Security> security) {
  TransportOptions options;
  options.security = std::move(security);
  options.blank = [&pool](std::size_t count) { return pool.blank(count); };
  return options;
}

}  // namespace

NetPeer::NetPeer(std::uint32_t self, std::uint32_t processes, std::size_t values,
                 std::shared_ptr<Security> security)
    : self_(self),
      processes_(processes),
      values_(values),
      transport_(options_for(snapshots_, std::move(security))) {}

void NetPeer::start(const std::vector<std::uint16_t>& ports) {
  Hello hello;
  hello.run = "bench-net";
  hello.peer = PeerId(self_);
  hello.peers = processes_;
  hello.incarnation = 1;
  hello.layout.add("values", {values_});
  for (std::uint32_t i = 0; i < ports.size(); ++i)
    hello.book.push_back({PeerId(i), 0, {"127.0.0.1", ports[i]}});
  transport_.start(std::move(hello), arrivals_);
}

void NetPeer::finish() { transport_.drain(gossip::limits::kDrainTimeout); }

void NetPeer::send(FrameKind kind, std::uint32_t to, std::uint64_t seq, merge::SnapshotRef values) {
  gossip::Frame frame;
  frame.kind = kind;
  frame.from = PeerId(self_);
  frame.to = PeerId(to);
  frame.seq = seq;
  frame.values = std::move(values);
  transport_.send(std::move(frame));
}

void NetPeer::take_arrivals() {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  auto items = arrivals_.take(kLook);
  while (items.empty() && std::chrono::steady_clock::now() < give_up) {
    look_();
    items = arrivals_.take(kLook);
  }
  if (items.empty()) throw Fault(ExitCode::check_failed, "bench net: nothing came for a minute");
  for (Arrivals::Item& item : items) {
    if (auto* frame = std::get_if<gossip::Frame>(&item)) {
      if (frame->kind == FrameKind::ping) {
        ++called_;
      } else if (frame->kind == FrameKind::pong) {
        ++let_go_;
      } else {
        frames_.push_back(std::move(*frame));
      }
    } else if (const auto* down = std::get_if<Arrivals::PeerDown>(&item)) {
      throw Fault(ExitCode::check_failed,
                  "bench net: " + gossip::peer_name(down->who) + ": " + down->why);
    } else if (const auto* fault = std::get_if<Arrivals::TransportFault>(&item)) {
      throw Fault(ExitCode::check_failed, "bench net: " + fault->kind + ": " + fault->detail);
    }
  }
}

gossip::Frame NetPeer::next() {
  while (frames_.empty()) take_arrivals();
  gossip::Frame frame = std::move(frames_.front());
  frames_.pop_front();
  return frame;
}

void NetPeer::meet() {
  if (self_ != 0) {
    send(FrameKind::ping, 0, 0);
    while (let_go_ == 0) take_arrivals();
    --let_go_;
    return;
  }
  while (called_ < processes_ - 1) take_arrivals();
  called_ -= processes_ - 1;
  for (std::uint32_t other = 1; other < processes_; ++other) send(FrameKind::pong, other, 0);
}

}  // namespace hearsay::runtime

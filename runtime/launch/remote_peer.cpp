// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/remote_peer.hpp"

#include <utility>

namespace hearsay::runtime {

void SupervisorMail::sort_arrivals() {
  for (const MpiLink::Message& message : link_.receive()) {
    if (auto decoded = relay::decode_from_supervisor(message.text))
      waiting_[message.from].push_back(std::move(*decoded));
  }
}

std::optional<relay::Hello> SupervisorMail::take_hello(int rank) {
  sort_arrivals();
  auto& waiting = waiting_[rank];
  if (waiting.empty() || !std::holds_alternative<relay::Hello>(waiting.front()))
    return std::nullopt;
  relay::Hello hello = std::get<relay::Hello>(waiting.front());
  waiting.erase(waiting.begin());
  return hello;
}

std::vector<relay::FromSupervisor> SupervisorMail::take(int rank) {
  sort_arrivals();
  return std::exchange(waiting_[rank], {});
}

void SupervisorMail::send(int rank, const relay::ToSupervisor& message) {
  link_.send(rank, relay::encode(message));
}

RemotePeer::RemotePeer(std::string name, int rank, relay::Hello hello, SupervisorMail& mail)
    : name_(std::move(name)), rank_(rank), hello_(std::move(hello)), mail_(mail) {}

std::vector<control::FromPeer> RemotePeer::receive() {
  std::vector<control::FromPeer> messages;
  for (relay::FromSupervisor& each : mail_.take(rank_)) {
    if (auto* message = std::get_if<control::FromPeer>(&each)) {
      messages.push_back(std::move(*message));
    } else if (const auto* cpu = std::get_if<relay::Cpu>(&each)) {
      cpu_s_ = cpu->cpu_s;
    } else if (auto* hello = std::get_if<relay::Hello>(&each)) {
      hello_ = std::move(*hello);  // of a process that was started again
    } else if (auto* ended = std::get_if<relay::Exit>(&each)) {
      exit_ = std::move(ended->exit);
      cpu_s_ = ended->cpu_s;
      stderr_line_ = std::move(ended->stderr_line);
    }
  }
  return messages;
}

void RemotePeer::send(const control::ToPeer& order) {
  if (!exit_) mail_.send(rank_, order);
}

void RemotePeer::start_again() {
  if (!exit_) return;
  exit_.reset();
  mail_.send(rank_, relay::StartAgain{});
}

void RemotePeer::signal(int number) {
  if (!exit_) mail_.send(rank_, relay::Signal{number});
}

}  // namespace hearsay::runtime

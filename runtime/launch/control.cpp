// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/control.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include <nlohmann/json.hpp>

#include "runtime/launch/json_fields.hpp"
#include "runtime/launch/status_json.hpp"
#include "runtime/log/json_nesting.hpp"

namespace hearsay::runtime {
namespace control {
namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const Json& j) {
  return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json parse_object(std::string_view line) {
  if (nests_too_deeply(line)) return Json();
  Json j = Json::parse(line, nullptr, false);
  return j.is_object() ? std::move(j) : Json();
}

std::string word(const Json& j, const char* key) {
  const auto found = j.is_object() ? j.find(key) : j.end();
  return found != j.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string encode(const FromPeer& message) {
  Json j;
  if (const auto* ready = std::get_if<Ready>(&message)) {
    j = {{"is", "ready"}, {"address", ready->address}};
  } else if (const auto* status = std::get_if<PeerStatus>(&message)) {
    j = {{"is", "status"}};
    j.update(status_json(*status));
  } else if (const auto* notice = std::get_if<Notice>(&message)) {
    j = {{"is", "notice"}, {"text", notice->text}};
  } else if (const auto* ended = std::get_if<Ended>(&message)) {
    j = {{"is", "ended"}, {"reason", ended->reason}, {"alive", ended->alive}};
  }
  return line_of(j);
}

std::string encode(const ToPeer& message) {
  Json j;
  if (const auto* start = std::get_if<Start>(&message)) {
    j = {{"do", "start"}, {"run", start->run}};
    j["peers"] = start->peers;
    j["incarnation"] = start->incarnation;
    j["late"] = start->late;
  } else if (const auto* stop = std::get_if<Stop>(&message)) {
    j = {{"do", "stop"}, {"reason", stop->reason}};
  } else if (const auto* evaluate = std::get_if<Evaluate>(&message)) {
    j = {{"do", "evaluate"}, {"round", evaluate->round}};
  } else if (const auto* slow = std::get_if<Slow>(&message)) {
    j = {{"do", "slow"}, {"factor", slow->factor}};
  } else if (const auto* network = std::get_if<Network>(&message)) {
    j = {{"do", "network"}, {"drop", network->drop}, {"corrupt", network->corrupt}};
    j["parted"] = Json::array();
    for (const kernels::PeerId peer : network->parted) j["parted"].push_back(peer.value);
  } else if (const auto* hostile = std::get_if<Hostile>(&message)) {
    j = {{"do", "hostile"}, {"what", hostile->what}};
    j["strength"] = hostile->strength;
    j["begins"] = hostile->begins;
  }
  return line_of(j);
}

std::optional<FromPeer> decode_from_peer(std::string_view line) {
  const Json j = parse_object(line);
  const std::string is = word(j, "is");
  if (is == "status") {
    if (auto status = read_status(j)) return std::move(*status);
    return std::nullopt;
  }
  JsonFields f(j);
  FromPeer message;
  if (is == "ready") {
    message = Ready{f.text("address")};
  } else if (is == "notice") {
    message = Notice{f.text("text")};
  } else if (is == "ended") {
    Ended ended{f.text("reason"), true};
    ended.alive = f.flag("alive");
    message = std::move(ended);
  } else {
    return std::nullopt;
  }
  if (!f.ok()) return std::nullopt;
  return message;
}

std::optional<ToPeer> decode_to_peer(std::string_view line) {
  const Json j = parse_object(line);
  const std::string what = word(j, "do");
  if (what.empty()) return std::nullopt;
  JsonFields f(j);
  ToPeer message;
  if (what == "start") {
    Start start;
    start.run = f.text("run");
    start.peers = f.texts("peers");
    start.incarnation = f.count("incarnation");
    start.late = f.flag("late");
    message = std::move(start);
  } else if (what == "stop") {
    message = Stop{f.text("reason")};
  } else if (what == "evaluate") {
    message = Evaluate{f.count("round")};
  } else if (what == "slow") {
    const double factor = f.number("factor");
    if (!(factor >= 1.0)) return std::nullopt;
    message = Slow{factor};
  } else if (what == "network") {
    Network network;
    network.drop = f.number("drop");
    network.corrupt = f.number("corrupt");
    const auto is_share = [](double share) { return share >= 0.0 && share <= 1.0; };
    for (const Json& peer : f.child("parted")) {
      constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
      if (!peer.is_number_unsigned() || peer.get<std::uint64_t>() > kMost) return std::nullopt;
      network.parted.emplace_back(peer.get<std::uint32_t>());
    }
    if (!is_share(network.drop) || !is_share(network.corrupt)) return std::nullopt;
    message = std::move(network);
  } else if (what == "hostile") {
    Hostile hostile;
    hostile.what = f.text("what");
    hostile.strength = f.number("strength");
    hostile.begins = f.flag("begins");
    if (!(hostile.strength > 0.0)) return std::nullopt;
    message = std::move(hostile);
  } else {
    return std::nullopt;
  }
  if (!f.ok()) return std::nullopt;
  return message;
}

}  // namespace control

ControlChannel::ControlChannel(int fd) : fd_(fd) {
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

ControlChannel::ControlChannel(ControlChannel&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      closed_(other.closed_),
      out_(std::move(other.out_)),
      in_(std::move(other.in_)) {}

ControlChannel::~ControlChannel() {
  if (fd_ >= 0) ::close(fd_);
}

void ControlChannel::send(const std::string& line, bool may_drop) {
  if (closed_ || (may_drop && out_.size() > kMostBuffered)) return;
  out_ += line;
  flush();
}

bool ControlChannel::flush() {
  while (!out_.empty() && !closed_) {
    const ssize_t sent = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      out_.erase(0, static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return false;
    } else if (errno != EINTR) {
      closed_ = true;
    }
  }
  return out_.empty();
}

std::vector<std::string> ControlChannel::receive() {
  std::vector<std::string> lines;
  std::array<char, 16 * 1024> buffer;
  while (!closed_) {
    const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      in_.append(buffer.data(), static_cast<std::size_t>(got));
      if (in_.size() > kMostLine && in_.find('\n') == std::string::npos) in_.clear();
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      closed_ = got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
      break;
    }
  }
  std::size_t begin = 0;
  for (std::size_t end; (end = in_.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(in_.substr(begin, end - begin));
  in_.erase(0, begin);
  return lines;
}

}  // namespace hearsay::runtime

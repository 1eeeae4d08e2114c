// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/control.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

namespace hearsay::runtime {
namespace control {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> kStates{"starting",  "training", "waiting",
                                                  "lingering", "ended",    "lost"};

std::string line_of(const Json& j) {
  return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Fields of an object; `ok` turns false at the first that is missing or of another kind.
class Fields {
 public:
  explicit Fields(const Json& j) : j_(j) {}
  bool ok() const { return ok_; }

  std::string text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_string()) return fail(std::string());
    return value->get<std::string>();
  }
  double number(const char* key) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_number()) return fail(0.0);
    const double number = value->get<double>();
    return std::isfinite(number) ? number : fail(0.0);
  }
  std::uint64_t count(const char* key) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_number_unsigned()) return fail(std::uint64_t{0});
    return value->get<std::uint64_t>();
  }
  bool flag(const char* key) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_boolean()) return fail(false);
    return value->get<bool>();
  }
  std::vector<std::string> texts(const char* key) {
    const Json* value = find(key);
    std::vector<std::string> texts;
    if (value == nullptr || !value->is_array()) return fail(texts);
    for (const Json& each : *value) {
      if (!each.is_string()) return fail(std::vector<std::string>());
      texts.push_back(each.get<std::string>());
    }
    return texts;
  }

 private:
  const Json* find(const char* key) const {
    const auto found = j_.find(key);
    return found == j_.end() ? nullptr : &*found;
  }
  template <typename T>
  T fail(T nothing) {
    ok_ = false;
    return nothing;
  }

  const Json& j_;
  bool ok_ = true;
};

Json status_json(const PeerStatus& s) {
  Json j;
  j["is"] = "status";
  j["state"] = kStates[static_cast<std::size_t>(s.state)];
  j["clock_s"] = s.clock_s;
  j["progress"] = s.progress;
  j["epochs"] = s.epochs;
  j["samples"] = s.samples;
  j["samples_per_s"] = s.samples_per_s;
  j["merges"] = s.merges;
  j["merges_applied"] = s.merges_applied;
  j["merges_refused"] = s.merges_refused;
  j["payload_bytes"] = s.payload_bytes;
  j["wire_bytes"] = s.wire_bytes;
  j["loss"] = std::isfinite(s.loss) ? s.loss : 1e30;  // JSON has no word for it
  j["accuracy"] = s.accuracy;
  j["evaluated_epochs"] = s.evaluated_epochs;
  j["evaluated_s"] = s.evaluated_s;
  j["evaluation_round"] = s.evaluation_round;
  j["partner"] = s.partner;
  j["alpha"] = s.alpha;
  return j;
}

std::optional<FromPeer> read_status(const Json& j) {
  Fields f(j);
  const std::string state = f.text("state");
  PeerStatus s;
  std::size_t index = 0;
  while (index < kStates.size() && kStates[index] != state) ++index;
  if (index == kStates.size()) return std::nullopt;
  s.state = static_cast<PeerStatus::State>(index);
  s.clock_s = f.number("clock_s");
  s.progress = f.number("progress");
  s.epochs = f.number("epochs");
  s.samples = f.count("samples");
  s.samples_per_s = f.number("samples_per_s");
  s.merges = f.count("merges");
  s.merges_applied = f.count("merges_applied");
  s.merges_refused = f.count("merges_refused");
  s.payload_bytes = f.count("payload_bytes");
  s.wire_bytes = f.count("wire_bytes");
  s.loss = f.number("loss");
  s.accuracy = f.number("accuracy");
  s.evaluated_epochs = f.number("evaluated_epochs");
  s.evaluated_s = f.number("evaluated_s");
  s.evaluation_round = f.count("evaluation_round");
  s.partner = f.text("partner");
  s.alpha = f.number("alpha");
  if (!f.ok()) return std::nullopt;
  return s;
}

Json parse_object(std::string_view line) {
  Json j = Json::parse(line, nullptr, false);
  return j.is_object() ? j : Json();
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
    j = status_json(*status);
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
  } else if (const auto* drop = std::get_if<Drop>(&message)) {
    j = {{"do", "drop"}, {"share", drop->share}};
  }
  return line_of(j);
}

std::optional<FromPeer> decode_from_peer(std::string_view line) {
  const Json j = parse_object(line);
  const std::string is = word(j, "is");
  if (is == "status") return read_status(j);
  Fields f(j);
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
  Fields f(j);
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
  } else if (what == "drop") {
    const double share = f.number("share");
    if (!(share >= 0.0 && share <= 1.0)) return std::nullopt;
    message = Drop{share};
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

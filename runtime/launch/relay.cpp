// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/relay.hpp"

#include <csignal>
#include <utility>

#include <nlohmann/json.hpp>

namespace hearsay::runtime::relay {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& j) {
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parse(std::string_view text) { return Json::parse(text, nullptr, false); }

std::string word(const Json& j, const char* key) {
  const auto found = j.is_object() ? j.find(key) : j.end();
  return found != j.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Empty when it is missing, no number, or outside the range.
std::optional<double> number(const Json& j, const char* key, double least, double most) {
  const auto found = j.find(key);
  if (found == j.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return value >= least && value <= most ? std::optional(value) : std::nullopt;
}

std::optional<int> integer(const Json& j, const char* key, int least, int most) {
  const auto value = number(j, key, least, most);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

constexpr int kMostPid = 1 << 30;
constexpr double kMostSeconds = 1e12;

}  // namespace

std::string encode(const FromSupervisor& message) {
  if (const auto* hello = std::get_if<Hello>(&message))
    return text_of({{"is", "hello"}, {"host", hello->host}, {"pid", hello->pid}});
  if (const auto* exit = std::get_if<Exit>(&message)) {
    return text_of({{"is", "exit"},
                    {"text", exit->exit.text},
                    {"code", exit->exit.code},
                    {"signal", exit->exit.signal},
                    {"cpu_s", exit->cpu_s},
                    {"stderr", exit->stderr_line}});
  }
  if (const auto* cpu = std::get_if<Cpu>(&message))
    return text_of({{"is", "cpu"}, {"cpu_s", cpu->cpu_s}});
  return control::encode(std::get<control::FromPeer>(message));
}

std::string encode(const ToSupervisor& message) {
  if (const auto* signal = std::get_if<Signal>(&message))
    return text_of({{"do", "signal"}, {"number", signal->number}});
  if (std::holds_alternative<StartAgain>(message)) return text_of({{"do", "start again"}});
  if (const auto* verdict = std::get_if<Verdict>(&message))
    return text_of({{"do", "verdict"}, {"code", verdict->code}});
  return control::encode(std::get<control::ToPeer>(message));
}

std::optional<FromSupervisor> decode_from_supervisor(std::string_view text) {
  const Json j = parse(text);
  const std::string is = word(j, "is");
  if (is == "hello") {
    const auto pid = integer(j, "pid", 1, kMostPid);
    if (!pid) return std::nullopt;
    return Hello{word(j, "host"), *pid};
  }
  if (is == "exit") {
    const auto code = integer(j, "code", 0, 255), signal = integer(j, "signal", 0, NSIG);
    const auto cpu_s = number(j, "cpu_s", 0.0, kMostSeconds);
    if (!code || !signal || !cpu_s) return std::nullopt;
    return Exit{{word(j, "text"), *code, *signal}, *cpu_s, word(j, "stderr")};
  }
  if (is == "cpu") {
    const auto cpu_s = number(j, "cpu_s", 0.0, kMostSeconds);
    if (!cpu_s) return std::nullopt;
    return Cpu{*cpu_s};
  }
  auto message = control::decode_from_peer(text);
  if (!message) return std::nullopt;
  return FromSupervisor(std::move(*message));
}

std::optional<ToSupervisor> decode_to_supervisor(std::string_view text) {
  const Json j = parse(text);
  const std::string what = word(j, "do");
  if (what == "signal") {
    const auto number = integer(j, "number", 1, NSIG);
    if (!number) return std::nullopt;
    return Signal{*number};
  }
  if (what == "start again") return StartAgain{};
  if (what == "verdict") {
    const auto code = integer(j, "code", 0, 255);
    if (!code) return std::nullopt;
    return Verdict{*code};
  }
  auto order = control::decode_to_peer(text);
  if (!order) return std::nullopt;
  return ToSupervisor(std::move(*order));
}

}  // namespace hearsay::runtime::relay

// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/join_text.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "kernels/core/errc.hpp"
#include "runtime/log/json_nesting.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;
using kernels::PeerId;

constexpr std::array<std::string_view, 3> kWhats{"place", "wait", "busy"};
constexpr std::uint64_t kMostId = ~std::uint32_t{0} - 1;

// Every reader below throws a json exception or a UsageError for what it cannot read.
std::uint64_t count_of(const Json& json) {
  if (!json.is_number_unsigned()) throw kernels::UsageError("no count");
  return json.get<std::uint64_t>();
}

PeerId id_of(const Json& json) {
  const std::uint64_t id = count_of(json);
  if (id > kMostId) throw kernels::UsageError("no id");
  return PeerId(static_cast<std::uint32_t>(id));
}

Endpoint address_of(const Json& json) {
  const Endpoint address = parse_endpoint("address", json.get<std::string>());
  if (address.port == 0) throw kernels::UsageError("port 0");
  return address;
}

std::vector<PeerId> ids_of(const Json& json) {
  std::vector<PeerId> ids;
  for (const Json& each : json) ids.push_back(id_of(each));
  return ids;
}

Json json_of(const std::vector<PeerId>& ids) {
  Json j = Json::array();
  for (const PeerId id : ids) j.push_back(id.value);
  return j;
}

template <typename Read>
auto read_object(std::string_view text, const Read& read) -> std::optional<decltype(read(Json()))> {
  if (nests_too_deeply(text)) return std::nullopt;
  const Json j = Json::parse(text, nullptr, false);
  try {
    if (j.is_object()) return read(j);
  } catch (const nlohmann::json::exception&) {
  } catch (const kernels::UsageError&) {
  }
  return std::nullopt;
}

std::string text_of(const Json& j) {
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string encode_join(const JoinRequest& request) {
  Json j;
  j["address"] = request.address.text();
  j["nonce"] = request.nonce;
  if (request.place) j["place"] = request.place->value;
  if (!request.not_free.empty()) j["not_free"] = json_of(request.not_free);
  return text_of(j);
}

std::optional<JoinRequest> decode_join(std::string_view text) {
  return read_object(text, [](const Json& j) {
    JoinRequest request;
    request.address = address_of(j.at("address"));
    request.nonce = count_of(j.at("nonce"));
    if (j.contains("place")) request.place = id_of(j.at("place"));
    if (j.contains("not_free")) request.not_free = ids_of(j.at("not_free"));
    return request;
  });
}

std::string encode_answer(const JoinAnswer& answer) {
  Json j;
  j["what"] = kWhats[static_cast<std::size_t>(answer.what)];
  if (!answer.text.empty()) j["text"] = answer.text;
  if (answer.what == JoinAnswer::What::place) {
    j["peer"] = answer.peer.value;
    j["incarnation"] = answer.incarnation;
    j["late"] = answer.late;
    j["run"] = answer.pool.run;
    j["config"] = Json::parse(answer.pool.config, nullptr, false);
    j["present"] = json_of(answer.present);
  }
  j["book"] = Json::array();
  for (const BookEntry& entry : answer.book)
    j["book"].push_back({entry.peer.value, entry.incarnation, entry.address.text()});
  return text_of(j);
}

std::optional<JoinAnswer> decode_answer(std::string_view text) {
  return read_object(text, [](const Json& j) {
    JoinAnswer answer;
    const auto what = j.at("what").get<std::string>();
    std::size_t index = 0;
    while (index < kWhats.size() && kWhats[index] != what) ++index;
    if (index == kWhats.size()) throw kernels::UsageError("no such answer");
    answer.what = static_cast<JoinAnswer::What>(index);
    answer.text = j.value("text", "");
    if (answer.what == JoinAnswer::What::place) {
      answer.peer = id_of(j.at("peer"));
      answer.incarnation = count_of(j.at("incarnation"));
      answer.late = j.at("late").get<bool>();
      answer.pool.run = j.at("run").get<std::string>();
      if (!j.at("config").is_object()) throw kernels::UsageError("no options");
      answer.pool.config = text_of(j.at("config"));
      answer.present = ids_of(j.at("present"));
    }
    for (const Json& line : j.at("book")) {
      if (answer.book.size() == kBookEntries) break;
      answer.book.push_back({id_of(line.at(0)), count_of(line.at(1)), address_of(line.at(2))});
    }
    return answer;
  });
}

}  // namespace hearsay::runtime

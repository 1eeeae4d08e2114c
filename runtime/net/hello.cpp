// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/hello.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "gossip/event.hpp"
#include "kernels/core/digest.hpp"
#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostTensors = 100'000;
constexpr std::size_t kMostDimensions = 8;
constexpr std::uint64_t kMostValues = std::uint64_t{1} << 40;

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string shape_text(const kernels::TensorSlot& slot) {
  std::string text = slot.name + " [";
  for (std::size_t i = 0; i < slot.shape.size(); ++i)
    text += (i > 0 ? "," : "") + std::to_string(slot.shape[i]);
  return text + "]";
}

// Sizes whose product cannot overflow, before Layout multiplies them.
std::optional<std::vector<std::size_t>> read_shape(const Json& json) {
  if (!json.is_array() || json.size() > kMostDimensions) return std::nullopt;
  std::vector<std::size_t> shape;
  std::uint64_t values = 1;
  for (const Json& side : json) {
    if (!side.is_number_unsigned()) return std::nullopt;
    const auto length = side.get<std::uint64_t>();
    if (length < 1 || length > kMostValues / values) return std::nullopt;
    values *= length;
    shape.push_back(length);
  }
  return shape;
}

std::optional<kernels::Layout> read_layout(const Json& json) {
  if (!json.is_array() || json.size() > kMostTensors) return std::nullopt;
  kernels::Layout layout;
  for (const Json& tensor : json) {
    const bool is_pair = tensor.is_array() && tensor.size() == 2 && tensor[0].is_string();
    const auto shape = is_pair ? read_shape(tensor[1]) : std::nullopt;
    if (!shape || layout.size() > kMostValues) return std::nullopt;
    layout.add(tensor[0].get<std::string>(), *shape);
  }
  return layout;
}

// An address that can be dialled.
std::optional<Endpoint> read_address(const Json& json) {
  if (!json.is_string()) return std::nullopt;
  try {
    Endpoint address = parse_endpoint("address", json.get<std::string>());
    if (address.port == 0 || json.get<std::string>().starts_with(':')) return std::nullopt;
    return address;
  } catch (const kernels::UsageError&) {
    return std::nullopt;
  }
}

// Lines that cannot be read are left out: they are news of others, not of the sender.
std::vector<BookEntry> read_book(const Json& json, std::uint64_t peers) {
  std::vector<BookEntry> book;
  if (!json.is_array()) return book;
  for (const Json& line : json) {
    if (book.size() == kBookEntries) break;
    const bool whole = line.is_array() && line.size() == 3 && line[0].is_number_unsigned() &&
                       line[1].is_number_unsigned();
    auto address = whole ? read_address(line[2]) : std::nullopt;
    if (!address || line[0].get<std::uint64_t>() >= peers) continue;
    book.push_back({kernels::PeerId(line[0].get<std::uint32_t>()), line[1].get<std::uint64_t>(),
                    std::move(*address)});
  }
  return book;
}

}  // namespace

std::uint64_t schema_hash(const kernels::Layout& layout) {
  std::string text;
  for (const kernels::TensorSlot& slot : layout.slots()) text += shape_text(slot) + "\n";
  return kernels::digest64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::string encode_hello(const Hello& hello) {
  Json j;
  j["run"] = hello.run;
  j["peer"] = hello.peer.value;
  j["peers"] = hello.peers;
  j["incarnation"] = hello.incarnation;
  if (hello.nonce != 0) j["nonce"] = hello.nonce;
  if (!hello.address.host.empty()) j["address"] = hello.address.text();
  for (const BookEntry& entry : hello.book)
    j["book"].push_back({entry.peer.value, entry.incarnation, entry.address.text()});
  j["codec"] = hello.codec;
  if (hello.sketch_values > 0) j["sketch_values"] = hello.sketch_values;
  if (hello.example_bytes > 0) j["example_bytes"] = hello.example_bytes;
  if (!hello.handover.empty()) j["handover"] = hello.handover;
  j["schema"] = hex(schema_hash(hello.layout));
  j["tensors"] = Json::array();
  for (const kernels::TensorSlot& slot : hello.layout.slots())
    j["tensors"].push_back({slot.name, slot.shape});
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Hello> decode_hello(std::string_view text) {
  const Json j = Json::parse(text, nullptr, false);
  if (!j.is_object()) return std::nullopt;
  const auto count = [&](const char* key) -> std::optional<std::uint64_t> {
    const auto found = j.find(key);
    if (found == j.end() || !found->is_number_unsigned()) return std::nullopt;
    return found->get<std::uint64_t>();
  };
  const auto run = j.find("run"), schema = j.find("schema"), tensors = j.find("tensors");
  const auto peer = count("peer"), peers = count("peers"), incarnation = count("incarnation");
  const bool whole = run != j.end() && run->is_string() && schema != j.end() &&
                     schema->is_string() && tensors != j.end() && peer && peers && incarnation;
  if (!whole || *peers > ~std::uint32_t{0} || *peer >= *peers) return std::nullopt;
  auto layout = read_layout(*tensors);
  if (!layout || schema->get<std::string>() != hex(schema_hash(*layout))) return std::nullopt;
  Hello hello;
  hello.run = run->get<std::string>();
  hello.peer = kernels::PeerId(static_cast<std::uint32_t>(*peer));
  hello.peers = static_cast<std::uint32_t>(*peers);
  hello.incarnation = *incarnation;
  hello.layout = std::move(*layout);
  hello.nonce = count("nonce").value_or(0);
  if (const auto codec = j.find("codec"); codec != j.end()) {
    if (!codec->is_string() || codec->get_ref<const std::string&>().size() > kCodecLetters)
      return std::nullopt;
    hello.codec = codec->get<std::string>();
  }
  const std::uint64_t sketch_values = count("sketch_values").value_or(0);
  if (sketch_values > ~std::uint32_t{0}) return std::nullopt;
  hello.sketch_values = static_cast<std::uint32_t>(sketch_values);
  const std::uint64_t example_bytes = count("example_bytes").value_or(0);
  if (example_bytes > ~std::uint32_t{0}) return std::nullopt;
  hello.example_bytes = static_cast<std::uint32_t>(example_bytes);
  if (const auto at = j.find("handover"); at != j.end() && at->is_string()) {
    if (at->get_ref<const std::string&>().size() <= kHandoverLetters)
      hello.handover = at->get<std::string>();
  }
  if (const auto at = j.find("address"); at != j.end()) {
    auto address = read_address(*at);
    if (!address) return std::nullopt;
    hello.address = std::move(*address);
  }
  if (const auto at = j.find("book"); at != j.end()) hello.book = read_book(*at, *peers);
  return hello;
}

std::string find_fault(const Hello& mine, const Hello& theirs) {
  if (theirs.run != mine.run) return "another run: " + theirs.run + ", this is " + mine.run;
  if (theirs.peers != mine.peers) {
    return "a pool of " + std::to_string(theirs.peers) + " peers, this one has " +
           std::to_string(mine.peers);
  }
  if (theirs.peer == mine.peer) return "the name " + gossip::peer_name(mine.peer) + " is taken";
  if (theirs.codec != mine.codec) {
    return "another codec: " + theirs.codec + " at " + gossip::peer_name(theirs.peer) + " and " +
           mine.codec + " at " + gossip::peer_name(mine.peer);
  }
  if (theirs.example_bytes != mine.example_bytes) {
    return "another --share: examples of " + std::to_string(theirs.example_bytes) + " bytes at " +
           gossip::peer_name(theirs.peer) + " and " + std::to_string(mine.example_bytes) + " at " +
           gossip::peer_name(mine.peer) + " (0: none)";
  }
  if (theirs.sketch_values != mine.sketch_values) {
    return "another --share: sketches of " + std::to_string(theirs.sketch_values) + " values at " +
           gossip::peer_name(theirs.peer) + " and " + std::to_string(mine.sketch_values) + " at " +
           gossip::peer_name(mine.peer);
  }
  const auto& ours = mine.layout.slots();
  const auto& others = theirs.layout.slots();
  for (std::size_t i = 0; i < std::max(ours.size(), others.size()); ++i) {
    const std::string a = i < ours.size() ? shape_text(ours[i]) : "no tensor";
    const std::string b = i < others.size() ? shape_text(others[i]) : "no tensor";
    if (a != b) {
      return "another model: tensor " + std::to_string(i) + " is " + b + " at " +
             gossip::peer_name(theirs.peer) + " and " + a + " at " + gossip::peer_name(mine.peer);
    }
  }
  return {};
}

}  // namespace hearsay::runtime

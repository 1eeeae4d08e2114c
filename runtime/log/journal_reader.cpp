// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/journal_reader.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>
#include <variant>

#include "gossip/wire/crc32c.hpp"
#include "gossip/wire/header.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/log/json_nesting.hpp"

namespace hearsay::runtime {
namespace {

namespace input = gossip::input;
namespace wire = gossip::wire;
using journal::Entry;
using journal::Kind;
using journal::Source;
using kernels::PeerId;

std::vector<std::byte> read_whole(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw kernels::UsageError("journal " + path + ": " + error_text(errno));
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))  // can be opened, and throws when read
    throw kernels::UsageError("journal " + path + ": " + error_text(EISDIR));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::optional<std::uint32_t> peer_number(Source& from) {
  const std::uint64_t number = from.number();
  if (number > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

// Every peer may be named: whether it exists is for whoever knows the pool.
constexpr std::uint32_t kAnyPeer = std::numeric_limits<std::uint32_t>::max();

std::optional<gossip::Input> frame_in(Source& from) {
  const auto bytes = from.bytes(wire::kHeaderBytes);
  if (!from.ok) return std::nullopt;
  const auto decoded = wire::decode_header(bytes.first<wire::kHeaderBytes>());
  const auto* header = std::get_if<wire::Header>(&decoded);
  if (header == nullptr || !header->is_frame() ||
      header->kind > static_cast<std::uint8_t>(gossip::FrameKind::offered))
    return std::nullopt;
  input::FrameIn in{wire::frame_of(*header)};
  const auto prefix = from.bytes(header->prefix_bytes());
  if (!from.ok || !wire::decode_prefix(*header, prefix, kAnyPeer, in.frame)) return std::nullopt;
  return in;
}

std::optional<gossip::Input> decode_input(Kind kind, Source& from) {
  switch (kind) {
    case Kind::start: return input::Start{};
    case Kind::step_done: return input::StepDone{};
    case Kind::frame:
    case Kind::frame_values: return frame_in(from);
    case Kind::timer: return input::Timer{from.number()};
    case Kind::peer_down: {
      const auto peer = peer_number(from);
      if (!peer) return std::nullopt;
      return input::PeerDown{PeerId(*peer)};
    }
    case Kind::stop: return input::Stop{from.text()};
    default: return std::nullopt;
  }
}

}  // namespace

JournalReader::JournalReader(const std::string& path) : JournalReader(path, read_whole(path)) {}

JournalReader::JournalReader(std::string path, std::vector<std::byte> bytes)
    : path_(std::move(path)), bytes_(std::move(bytes)) {
  const auto magic = std::as_bytes(std::span(journal::kMagic));
  if (bytes_.size() < magic.size() || !std::equal(magic.begin(), magic.end(), bytes_.begin()))
    throw kernels::DamagedFile(path_, 0, "is no journal of this version");
  rewind();
  if (damage_.empty() && head_.is_object()) return;
  throw kernels::DamagedFile(path_, magic.size(),
                             damage_.empty() ? "has no head" : "its head: " + damage_);
}

void JournalReader::rewind() {
  at_ = journal::kMagic.size();
  chunk_ = {};
  entries_ = 0;
  last_ = {};
  damage_.clear();
  if (!next_chunk()) return;
  if (static_cast<Kind>(chunk_.number()) != Kind::head) return fail("no head");
  const std::string text = chunk_.text();
  if (!chunk_.ok || nests_too_deeply(text)) return fail("a head that cannot be read");
  head_ = nlohmann::ordered_json::parse(text, nullptr, false);
}

bool JournalReader::next_chunk() {
  const auto rest = std::span<const std::byte>(bytes_).subspan(at_);
  if (rest.empty()) return false;
  std::uint32_t size = 0, sum = 0;
  if (rest.size() >= journal::kChunkHeadBytes) {
    std::memcpy(&size, rest.data(), sizeof size);
    std::memcpy(&sum, rest.data() + sizeof size, sizeof sum);
  }
  if (size == 0 || size > journal::kMostChunkBytes ||
      rest.size() - journal::kChunkHeadBytes < size) {
    fail("is torn here");
    return false;
  }
  const auto chunk = rest.subspan(journal::kChunkHeadBytes, size);
  if (wire::crc32c(chunk) != sum) {
    fail("the checksum of the chunk here is wrong");
    return false;
  }
  chunk_ = Source{chunk};
  at_ += journal::kChunkHeadBytes + size;
  return true;
}

void JournalReader::fail(const std::string& what) {
  damage_ = path_ + ": offset " + std::to_string(at_) + ": " + what;
  at_ = bytes_.size();
  chunk_ = {};
}

std::optional<Entry> JournalReader::next() {
  if (chunk_.rest.empty() && !next_chunk()) return std::nullopt;
  const auto broken = [&]() -> std::optional<Entry> {
    fail("an entry of this chunk cannot be read");
    return std::nullopt;
  };
  const auto kind = static_cast<Kind>(std::to_integer<std::uint8_t>(chunk_.bytes(1).front()));
  ++entries_;
  if (kind == Kind::trained) return journal::Trained{};
  if (kind == Kind::hostile) {
    journal::Hostile order;
    order.what = chunk_.text();
    order.strength = chunk_.real();
    order.begins = chunk_.number() != 0;
    if (!chunk_.ok || !std::isfinite(order.strength)) return broken();
    return order;
  }
  if (kind == Kind::digests) {
    journal::Digests digests;
    digests.mseq = chunk_.number();
    const std::uint64_t count = chunk_.number();
    if (count > chunk_.rest.size() / sizeof(std::uint64_t)) return broken();
    digests.tiles.resize(static_cast<std::size_t>(count));
    const auto bytes = chunk_.bytes(count * sizeof(std::uint64_t));
    if (!bytes.empty()) std::memcpy(digests.tiles.data(), bytes.data(), bytes.size());
    return digests;
  }
  journal::Turn turn;
  const std::uint64_t later = chunk_.number();
  if (later > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() - last_.count()))
    return broken();
  last_ += gossip::Time(static_cast<std::int64_t>(later));
  turn.now = last_;
  turn.has_values = kind == Kind::frame_values;
  auto in = decode_input(kind, chunk_);
  if (!in || !chunk_.ok) return broken();
  turn.input = std::move(*in);
  return turn;
}

}  // namespace hearsay::runtime

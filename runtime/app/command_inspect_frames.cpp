// SPDX-License-Identifier: Apache-2.0
// What `hearsay inspect` says of raw wire messages (gossip/wire/format.md), one after the other as
// a tap on a connection records them. Reads in pieces: a frame may be larger than memory should
// be. The first damage ends it, as a reader that has lost its place cannot find the next message.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <span>

#include "gossip/event.hpp"
#include "gossip/wire/crc32c.hpp"
#include "gossip/wire/header.hpp"
#include "runtime/app/command_inspect.hpp"

namespace hearsay::runtime {
namespace {

namespace wire = gossip::wire;
using Json = nlohmann::ordered_json;

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr std::uint64_t kMostFramesListed = 1'000'000;  // in JSON; all are counted
constexpr std::size_t kMostLines = 40;
constexpr std::size_t kMostTextShown = 200;

const char* kind_name(std::uint8_t kind) {
  constexpr const char* kFrames[] = {"push",  "ack",      "request", "reply",    "busy", "returned",
                                     "chunk", "ping",     "pong",    "finished", "left", "fetch",
                                     "model", "examples", "receipt", "offered"};
  constexpr const char* kOthers[] = {"hello", "welcome",  "refused", "bye",
                                     "join",  "can take", "taken"};
  if (kind < std::size(kFrames)) return kFrames[kind];
  const std::size_t other = kind - static_cast<std::size_t>(wire::Kind::hello);
  return kind >= 32 && other < std::size(kOthers) ? kOthers[other] : nullptr;
}

struct Payload {
  std::uint64_t values = 0, not_finite = 0;
  double squares = 0.0;
  std::string text;  // of a handshake, its beginning
};

class FrameFile {
 public:
  FrameFile(const std::string& path, Description& out)
      : path_(path), out_(out), in_(path, std::ios::binary), piece_(kPieceBytes) {}

  void read() {
    while (next()) {
    }
    out_.json["messages"] = messages_;
    out_.json["counts"] = counts_;
    out_.json["bytes"] = at_;
    std::string kinds;
    for (const auto& [name, count] : counts_)
      kinds += (kinds.empty() ? "" : ", ") + std::to_string(count) + " " + name;
    out_.lines.insert(out_.lines.begin(), {"messages", std::to_string(messages_) + " in " +
                                                           with_unit(static_cast<double>(at_)) +
                                                           (kinds.empty() ? "" : ": " + kinds)});
    if (messages_ > kMostLines)
      out_.line("", "and " + std::to_string(messages_ - kMostLines) + " more (--json)");
  }

 private:
  bool damaged(std::uint64_t offset, const std::string& what) {
    out_.damaged.push_back(path_ + ": offset " + std::to_string(offset) + ": " + what);
    return false;
  }
  std::size_t take(std::span<std::byte> to) {
    in_.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
    return static_cast<std::size_t>(in_.gcount());
  }

  bool next() {
    std::array<std::byte, wire::kHeaderBytes> bytes;
    const std::size_t got = take(bytes);
    if (got == 0) return false;
    if (got < bytes.size())
      return damaged(at_, "the header is cut off after " + std::to_string(got) + " bytes");
    const auto decoded = wire::decode_header(bytes);
    if (const auto* fault = std::get_if<wire::WireFault>(&decoded))
      return damaged(at_, fault->what);
    const auto& header = std::get<wire::Header>(decoded);
    if (kind_name(header.kind) == nullptr)
      return damaged(at_ + 3, "there is no kind " + std::to_string(header.kind));
    Payload payload;
    if (!body(header, payload)) return false;
    tell(header, payload);
    at_ += wire::kHeaderBytes + header.prefix_bytes() + header.body_bytes() + wire::kTrailerBytes;
    return true;
  }

  // Votes, pulses, sketches, payload and the checksum behind them.
  bool body(const wire::Header& header, Payload& payload) {
    wire::Crc32c sum;
    const std::uint64_t begin = at_ + wire::kHeaderBytes;
    const auto pass = [&](std::uint64_t count, bool is_payload) {
      std::uint64_t done = 0;
      while (done < count) {
        const auto want =
            static_cast<std::size_t>(std::min<std::uint64_t>(count - done, kPieceBytes));
        const auto piece = std::span(piece_).first(want);
        if (take(piece) < want) return false;
        sum.add(piece);
        if (is_payload) look_at(piece, header, payload);
        done += want;
      }
      return true;
    };
    if (!pass(header.prefix_bytes(), false) || !pass(header.body_bytes(), true))
      return damaged(begin, "the body is cut off");
    std::array<std::byte, wire::kTrailerBytes> trailer;
    if (take(trailer) < trailer.size())
      return damaged(begin, "the checksum of the body is cut off");
    std::uint32_t expected = 0;
    std::memcpy(&expected, trailer.data(), sizeof expected);
    if (expected != sum.value()) return damaged(begin, "the checksum of the body is wrong");
    return true;
  }

  static void look_at(std::span<const std::byte> piece, const wire::Header& header, Payload& out) {
    if (!header.is_frame()) {
      const std::size_t more =
          std::min(piece.size(), kMostTextShown - std::min(kMostTextShown, out.text.size()));
      out.text.append(reinterpret_cast<const char*>(piece.data()), more);
      return;
    }
    // Only the pool's codec can read the one, only the other process the other.
    if (header.packed || header.handed_over) return;
    for (std::size_t i = 0; i + sizeof(float) <= piece.size(); i += sizeof(float)) {
      float value = 0.0f;
      std::memcpy(&value, piece.data() + i, sizeof value);
      ++out.values;
      const double real = value;
      out.not_finite += std::isfinite(real) ? 0u : 1u;
      out.squares += std::isfinite(real) ? real * real : 0.0;
    }
  }

  void tell(const wire::Header& h, const Payload& payload) {
    const char* kind = kind_name(h.kind);
    ++messages_;
    ++counts_[kind];
    if (messages_ <= kMostFramesListed) {
      Json one = {{"offset", at_}, {"kind", kind}};
      if (h.is_frame()) {
        one["from"] = gossip::peer_name(h.from);
        one["to"] = gossip::peer_name(h.to);
        one["seq"] = h.seq;
        one["answers"] = h.answers;
        one["samples"] = h.samples;
        one["weight"] = std::isfinite(h.weight) ? Json(h.weight) : Json();
        one["wants_ack"] = h.wants_ack;
        one["converged"] = h.converged;
        one["end_game"] = h.end_game;
        one["votes"] = h.votes;
        one["pulses"] = h.pulses;
        one["sketches"] = h.sketches;
        one["packed"] = h.packed;
        one["values"] = payload.values;
        one["not_finite"] = payload.not_finite;
        one["norm"] = std::sqrt(payload.squares);
      } else {
        one["text"] = payload.text;
      }
      one["payload_bytes"] = h.payload_bytes;
      if (h.handed_over) one["handed_over"] = true;
      out_.json["frames"].push_back(std::move(one));
    }
    if (messages_ > kMostLines) return;
    std::string text = "at " + std::to_string(at_) + "  " + kind;
    if (h.is_frame()) {
      text += "  " + gossip::peer_name(h.from) + " to " + gossip::peer_name(h.to) + "  seq " +
              std::to_string(h.seq) + "  samples " + std::to_string(h.samples);
      if (payload.values > 0)
        text += "  " + std::to_string(payload.values) + " values" +
                (payload.not_finite > 0 ? ", " + std::to_string(payload.not_finite) + " not finite"
                                        : "");
      if (h.handed_over) text += "  handed over on the host";
      if (h.packed) text += "  " + std::to_string(h.payload_bytes) + " bytes in a codec";
    } else if (!payload.text.empty()) {
      text += "  " + payload.text.substr(0, 60);
    }
    out_.line("", text);
  }

  std::string path_;
  Description& out_;
  std::ifstream in_;
  std::vector<std::byte> piece_;
  std::uint64_t at_ = 0, messages_ = 0;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace

Description describe_frames(const std::string& path) {
  Description out;
  out.json["kind"] = "frames";
  FrameFile(path, out).read();
  return out;
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/input_journal.hpp"

#include <fcntl.h>

#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "gossip/wire/crc32c.hpp"
#include "gossip/wire/header.hpp"
#include "runtime/log/journal_bytes.hpp"

namespace hearsay::runtime {

namespace input = gossip::input;
namespace wire = gossip::wire;
using journal::Kind;

InputJournal::InputJournal(const std::string& path, const nlohmann::ordered_json& head)
    : file_(open_file(path, O_WRONLY | O_CREAT | O_TRUNC)), path_(path) {
  if (!file_.is_open()) failure_ = path + ": " + error_text(errno);
  const std::string_view magic = journal::kMagic;
  if (!failure_ && write_all(file_.get(), magic).error != 0)
    failure_ = path + ": " + error_text(errno);
  bytes_ = magic.size();
  chunk_.push_back(static_cast<std::byte>(Kind::head));
  journal::put_text(chunk_, head.dump());
  flush();
}

void InputJournal::begin(std::uint8_t kind) {
  ++entries_;
  if (chunk_.size() >= journal::kChunkBytes) flush();
  chunk_.push_back(static_cast<std::byte>(kind));
}

void InputJournal::turn(const gossip::Input& in, gossip::Time now) {
  if (failure_) return;
  const auto kind = [&]() -> Kind {
    if (std::holds_alternative<input::Start>(in)) return Kind::start;
    if (std::holds_alternative<input::StepDone>(in)) return Kind::step_done;
    if (const auto* frame = std::get_if<input::FrameIn>(&in))
      return frame->frame.carries_weights() ? Kind::frame_values : Kind::frame;
    if (std::holds_alternative<input::Timer>(in)) return Kind::timer;
    if (std::holds_alternative<input::PeerDown>(in)) return Kind::peer_down;
    return Kind::stop;
  }();
  begin(static_cast<std::uint8_t>(kind));
  // The clock of a host never goes back.
  journal::put(chunk_, static_cast<std::uint64_t>((now - last_).count()));
  last_ = now;
  if (const auto* frame = std::get_if<input::FrameIn>(&in)) {
    journal::put_bytes(chunk_, wire::encode_header(wire::header_of(frame->frame)));
    journal::put_bytes(chunk_, wire::encode_prefix(frame->frame));
  } else if (const auto* timer = std::get_if<input::Timer>(&in)) {
    journal::put(chunk_, timer->id);
  } else if (const auto* down = std::get_if<input::PeerDown>(&in)) {
    journal::put(chunk_, down->who.value);
  } else if (const auto* stop = std::get_if<input::Stop>(&in)) {
    journal::put_text(chunk_, stop->reason);
  }
}

void InputJournal::trained() {
  if (!failure_) begin(static_cast<std::uint8_t>(Kind::trained));
}

void InputJournal::hostile(const journal::Hostile& order) {
  if (failure_) return;
  begin(static_cast<std::uint8_t>(Kind::hostile));
  journal::put_text(chunk_, order.what);
  const auto bits = std::bit_cast<std::array<std::byte, sizeof(double)>>(order.strength);
  journal::put_bytes(chunk_, bits);
  journal::put(chunk_, order.begins ? 1 : 0);
}

void InputJournal::digests(std::uint64_t mseq, std::span<const std::uint64_t> tiles) {
  if (failure_) return;
  begin(static_cast<std::uint8_t>(Kind::digests));
  journal::put(chunk_, mseq);
  journal::put(chunk_, tiles.size());
  journal::put_bytes(chunk_, std::as_bytes(tiles));
}

void InputJournal::flush() {
  if (failure_ || chunk_.empty()) return;
  const std::array<std::uint32_t, 2> head{static_cast<std::uint32_t>(chunk_.size()),
                                          wire::crc32c(chunk_)};
  static_assert(sizeof head == journal::kChunkHeadBytes);
  std::vector<std::byte> whole;
  whole.reserve(sizeof head + chunk_.size());
  journal::put_bytes(whole, std::as_bytes(std::span(head)));
  journal::put_bytes(whole, chunk_);
  const WriteOutcome outcome =
      write_all(file_.get(), {reinterpret_cast<const char*>(whole.data()), whole.size()});
  if (outcome.error != 0) failure_ = path_ + ": " + error_text(outcome.error);
  bytes_ += whole.size();
  chunk_.clear();
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// Journals read back as they were written; whatever is cut off or changed ends them there.
#include "runtime/log/input_journal.hpp"

#include "gossip/frame.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/log/journal_reader.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using namespace std::chrono_literals;
namespace gossip = hearsay::gossip;
namespace input = hearsay::gossip::input;
using hearsay::kernels::PeerId;

namespace {

gossip::Frame some_frame(bool has_values) {
  gossip::Frame frame;
  frame.kind = has_values ? gossip::FrameKind::reply : gossip::FrameKind::ping;
  frame.from = PeerId(3);
  frame.to = PeerId(1);
  frame.seq = (std::uint64_t{2} << 32) + 7;
  frame.alpha = has_values ? 0.25 : 0.0;
  frame.votes = {{PeerId(2), 5}};
  frame.pulses = {{PeerId(3), 2, 99}};
  if (has_values) {
    auto values = std::make_shared<hearsay::merge::Snapshot>();
    values->values = hearsay::kernels::Buffer<float>(3);
    frame.values = values;
    auto sketch = std::make_shared<hearsay::merge::Packed>();
    sketch->bytes.assign(2048, 0x3c);
    frame.sketches = {{PeerId(2), 77, sketch}};
  }
  return frame;
}

constexpr std::size_t kEntries = 11;

// One of each; chunk by chunk where `flushes`.
void write_all_kinds(const std::string& path, bool flushes) {
  InputJournal journal(path, {{"peer", "p01"}});
  const auto next = [&] {
    if (flushes) journal.flush();
  };
  journal.turn(input::Start{}, 5ns);
  next();
  journal.trained();
  journal.turn(input::StepDone{}, 5ns);
  next();
  journal.turn(input::FrameIn{some_frame(false)}, 200'000ns);
  journal.turn(input::FrameIn{some_frame(true)}, 300'000ns);
  next();
  journal.turn(input::Timer{~std::uint64_t{0} - 1}, 1s);
  journal.turn(input::PeerDown{PeerId(3)}, 2s);
  next();
  journal.turn(input::Stop{"target reached"}, 3s);
  journal.hostile({"noise", 0.5, true});
  const std::vector<std::uint64_t> tiles{1, 0xffffffffffffffff};
  journal.digests(12, tiles);
  journal.digests(13, {});
  CHECK(journal.entries() == kEntries);
  CHECK_FALSE(journal.failure());
}

std::size_t count(JournalReader& reader) {
  std::size_t entries = 0;
  while (reader.next()) ++entries;
  return entries;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("a journal reads back as it was written") {
  const TempDir folder;
  const bool flushes = GENERATE(false, true);
  write_all_kinds(folder.file("inputs.0.bin"), flushes);
  JournalReader reader(folder.file("inputs.0.bin"));
  CHECK(reader.head()["peer"] == "p01");
  const auto turn = [&] { return std::get<journal::Turn>(*reader.next()); };
  CHECK(std::holds_alternative<input::Start>(turn().input));
  CHECK(std::holds_alternative<journal::Trained>(*reader.next()));
  const journal::Turn step = turn();
  CHECK((std::holds_alternative<input::StepDone>(step.input) && step.now == 5ns));
  const journal::Turn ping = turn(), reply = turn();
  CHECK_FALSE(ping.has_values);
  CHECK(reply.has_values);
  CHECK(reply.now == 300'000ns);
  const gossip::Frame& frame = std::get<input::FrameIn>(reply.input).frame;
  CHECK((frame.from.value == 3 && frame.seq == (std::uint64_t{2} << 32) + 7));
  CHECK(frame.alpha == 0.25);
  CHECK((frame.votes.size() == 1 && frame.votes[0].age == 5));
  CHECK((frame.pulses.size() == 1 && frame.pulses[0].beat == 99));
  REQUIRE((frame.sketches.size() == 1 && frame.sketches[0].version == 77));
  CHECK(frame.sketches[0].values->bytes == std::vector<std::uint8_t>(2048, 0x3c));
  CHECK(std::get<input::Timer>(turn().input).id == ~std::uint64_t{0} - 1);
  CHECK(std::get<input::PeerDown>(turn().input).who.value == 3);
  const journal::Turn stop = turn();
  CHECK(std::get<input::Stop>(stop.input).reason == "target reached");
  CHECK(stop.now == 3s);
  const auto order = std::get<journal::Hostile>(*reader.next());
  CHECK((order.what == "noise" && order.strength == 0.5 && order.begins));
  const auto digests = std::get<journal::Digests>(*reader.next());
  CHECK(digests.mseq == 12);
  CHECK(digests.tiles == std::vector<std::uint64_t>{1, 0xffffffffffffffff});
  CHECK(std::get<journal::Digests>(*reader.next()).tiles.empty());
  CHECK_FALSE(reader.next());
  CHECK(reader.damage().empty());
  CHECK(reader.entries() == kEntries);
  reader.rewind();
  CHECK(count(reader) == kEntries);
}

TEST_CASE("frames of every kind read back") {
  const TempDir folder;
  const auto last = static_cast<int>(gossip::FrameKind::offered);
  {
    InputJournal journal(folder.file("inputs.0.bin"), {{"peer", "p01"}});
    for (int kind = 0; kind <= last; ++kind) {
      gossip::Frame frame;
      frame.kind = static_cast<gossip::FrameKind>(kind);
      frame.to = PeerId(1);
      if (frame.kind == gossip::FrameKind::examples)
        frame.packed = std::make_shared<const hearsay::merge::Packed>();
      journal.turn(input::FrameIn{frame}, std::chrono::nanoseconds(kind));
    }
  }
  JournalReader reader(folder.file("inputs.0.bin"));
  for (int kind = 0; kind <= last; ++kind) {
    CAPTURE(kind);
    const auto entry = reader.next();
    REQUIRE(entry);
    const auto& turn = std::get<journal::Turn>(*entry);
    CHECK(static_cast<int>(std::get<input::FrameIn>(turn.input).frame.kind) == kind);
    CHECK(turn.has_values == (kind == static_cast<int>(gossip::FrameKind::examples)));
  }
}

TEST_CASE("a journal that is cut anywhere keeps its whole chunks and says where it ends") {
  const TempDir folder;
  write_all_kinds(folder.file("inputs.0.bin"), true);
  const std::string whole = read_text(folder.file("inputs.0.bin"));
  std::size_t most = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    try {
      JournalReader reader("j", bytes_of(whole.substr(0, length)));
      const std::size_t entries = count(reader);
      CHECK(entries >= most);
      most = std::max(most, entries);
      CHECK(most < kEntries);
    } catch (const hearsay::kernels::DamagedFile&) {
      CHECK(most == 0);  // no head yet
    }
  }
  CHECK(most > 5);
}

TEST_CASE("a journal with a wrong byte anywhere ends before it, with a reason") {
  const TempDir folder;
  write_all_kinds(folder.file("inputs.0.bin"), true);
  const std::string whole = read_text(folder.file("inputs.0.bin"));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    CAPTURE(at);
    std::string wrong = whole;
    wrong[at] = static_cast<char>(wrong[at] ^ (1 << at % 8));
    try {
      JournalReader reader("j", bytes_of(wrong));
      CHECK(count(reader) < kEntries);
      CHECK(reader.damage().starts_with("j: offset "));
    } catch (const hearsay::kernels::DamagedFile&) {
      CHECK(at < 60);  // in the head
    }
  }
}

TEST_CASE("a folder in a journal's place is named") {
  const TempDir dir;
  try {
    JournalReader reader(dir.path());
    FAIL("a folder was read");
  } catch (const hearsay::kernels::UsageError& error) {
    CHECK(std::string(error.what()).find(dir.path()) != std::string::npos);
  }
}

TEST_CASE("a journal that cannot be written says so and takes no more") {
  InputJournal nowhere("/no/such/folder/inputs.0.bin", {});
  CHECK(nowhere.failure());
  nowhere.turn(input::Start{}, 1ns);
  nowhere.flush();
  CHECK(nowhere.failure()->find("/no/such/folder") != std::string::npos);
}

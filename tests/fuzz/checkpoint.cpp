// SPDX-License-Identifier: Apache-2.0
// A checkpoint's small state. The first byte chooses: the bytes as a sealed file, the text sealed
// (so that damage passes the digest), the state of a peer, or changes to one that a peer has kept.
// A state must be refused or leave a peer that goes on.
#include <nlohmann/json.hpp>

#include "gossip/archive.hpp"
#include "kernels/core/digest.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/checkpoint/state_file.hpp"
#include "runtime/log/json_nesting.hpp"
#include "tests/fuzz/seat.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using fuzz::require;
using gossip::Archive;
using Json = nlohmann::ordered_json;

namespace {

// As sealed_text() does it, around any text.
std::string sealed(std::string_view text) {
  std::string file(text);
  if (!file.empty() && file.back() == '}') file.pop_back();
  char digest[17];
  std::snprintf(digest, sizeof digest, "%016llx",
                static_cast<unsigned long long>(kernels::digest64(
                    {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()})));
  return file + ",\"digest\":\"" + digest + "\"}\n";
}

void check_file(const std::string& bytes) {
  static fuzz::MemoryFile file;
  fuzz::decodes<kernels::DamagedFile, kernels::UsageError>([&] {
    const Json first = runtime::read_sealed(file.holding(bytes));
    require(runtime::read_sealed(file.holding(runtime::sealed_text(first))) == first,
            "what was read can be sealed and read again");
    if (!first.is_object() || !first.contains("files")) return;
    const auto files = runtime::files_from_json("input", first["files"]);
    const auto again = runtime::files_from_json("input", runtime::to_json(files));
    require(again.size() == files.size(), "the list of files survives");
  });
}

Archive::Arrays some_arrays(gossip::LocalModel& model) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  return {model.copy(std::vector<float>{1, 2, 3, 4, 5, 6}),
          model.copy(std::vector<float>{0, 0, 0, kNaN, 0, 0}),
          model.copy(std::vector<float>{-1, 0.5f, 3e38f, 0, 0, 0}),
          model.copy(std::vector<float>{1})};
}

gossip::Frame weights(gossip::LocalModel& model, gossip::FrameKind kind, std::uint64_t seq) {
  gossip::Frame frame;
  frame.kind = kind;
  frame.from = kernels::PeerId(1);
  frame.seq = seq;
  frame.mass = 0.5;
  frame.values = model.copy(std::vector<float>{1, 1, 1, 1, 1, 1});
  return frame;
}

// A peer in the middle of its work: it has met others, and frames wait for it.
Json state_of(fuzz::SeatKind kind, std::uint8_t turns) {
  fuzz::Seat seat(kind);
  seat.on(gossip::input::Start{});
  const bool chunks = kind == fuzz::SeatKind::ddp;
  for (std::uint64_t i = 0; i < turns; ++i) {
    seat.finish_step();
    const auto weights_kind = i % 2 == 0 ? gossip::FrameKind::push : gossip::FrameKind::request;
    if (!chunks) seat.on(gossip::input::FrameIn{weights(seat.model(), weights_kind, i)});
  }
  Archive archive;
  archive("protocol", seat.protocol());
  return archive.json();
}

void collect(Json& json, std::vector<Json*>& nodes) {
  nodes.push_back(&json);
  if (!json.is_structured()) return;
  for (Json& each : json) collect(each, nodes);
}

// What a value may be replaced by: edges of numbers, other kinds, and values from elsewhere.
Json odd_value(std::uint8_t choice, const std::vector<Json*>& nodes) {
  static const std::vector<Json> kOdd{nullptr,
                                      true,
                                      false,
                                      0,
                                      1,
                                      2,
                                      3,
                                      4,
                                      5,
                                      7,
                                      255,
                                      65'536,
                                      -1,
                                      -2,
                                      0.5,
                                      -0.5,
                                      1e300,
                                      -1e300,
                                      1e-300,
                                      "nan",
                                      "inf",
                                      "-inf",
                                      "finished",
                                      "",
                                      Json::array(),
                                      Json::object(),
                                      4294967295u,
                                      4294967296,
                                      INT64_MAX,
                                      INT64_MIN,
                                      UINT64_MAX,
                                      std::int64_t{1} << 55,
                                      -(std::int64_t{1} << 55),
                                      1'000'000'000};
  return choice < kOdd.size() ? kOdd[choice] : *nodes[choice % nodes.size()];
}

// Three bytes a change: which value, and what it becomes.
Json changed(Json json, fuzz::Bytes& bytes) {
  for (int changes = 0; changes < 8 && !bytes.empty(); ++changes) {
    std::vector<Json*> nodes;
    collect(json, nodes);
    std::size_t where = bytes.byte() * std::size_t{256};
    where += bytes.byte();
    const Json value = odd_value(bytes.byte(), nodes);
    *nodes[where % nodes.size()] = value;
  }
  return json;
}

void check_peer(fuzz::SeatKind kind, Json json) {
  fuzz::Seat seat(kind);
  Archive archive(std::move(json), some_arrays(seat.model()));
  archive.of_model(fuzz::kValues);
  const bool loaded =
      fuzz::decodes<gossip::ArchiveFault>([&] { archive("protocol", seat.protocol()); });
  if (!loaded) return;
  Archive kept;
  kept("protocol", seat.protocol());
  fuzz::Seat twin(kind);
  Archive again(kept.json(), kept.arrays());
  again("protocol", twin.protocol());
  Archive kept_again;
  kept_again("protocol", twin.protocol());
  require(kept_again.json() == kept.json(), "what was taken up is kept the same");
  seat.on(gossip::input::Start{});
  const bool chunks = kind == fuzz::SeatKind::ddp;
  for (std::uint64_t i = 0; i < 4; ++i) {
    seat.finish_step();
    if (!chunks) seat.on(gossip::input::FrameIn{weights(seat.model(), gossip::FrameKind::push, i)});
    if (!chunks)
      seat.on(gossip::input::FrameIn{weights(seat.model(), gossip::FrameKind::request, i + 8)});
    seat.fire_timer(i);
  }
  seat.on(gossip::input::PeerDown{kernels::PeerId(2)});
  seat.on(gossip::input::Stop{"target reached"});
  seat.finish_step();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  const std::uint8_t choice = bytes.byte();
  if (choice == 0) {
    check_file(std::string(bytes.text()));
  } else if (choice == 1) {
    check_file(sealed(bytes.text()));
  } else if (choice < 128) {
    Json json = Json::parse(bytes.text(), nullptr, false);
    if (!json.is_discarded() && !runtime::nests_too_deeply(bytes.text()))
      check_peer(static_cast<fuzz::SeatKind>(choice % fuzz::kSeatKinds), std::move(json));
  } else {
    const auto kind = static_cast<fuzz::SeatKind>(choice % fuzz::kSeatKinds);
    const Json state = state_of(kind, bytes.byte() % 12);
    check_peer(kind, changed(state, bytes));
  }
  return 0;
}

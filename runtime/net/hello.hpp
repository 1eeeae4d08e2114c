// SPDX-License-Identifier: Apache-2.0
// What two peers tell each other before the first frame: who they are, which run they are in, and
// the names and shapes of the tensors they train, so that models that do not fit are found before a
// value is sent; and where peers listen, so that whoever comes late or comes back is found by all
// after it has spoken to each. Text is JSON; decoding takes any bytes. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/layout.hpp"
#include "kernels/core/strong_id.hpp"
#include "runtime/net/endpoint.hpp"

namespace hearsay::runtime {

// Where a peer listens, as far as its teller has heard.
struct BookEntry {
  kernels::PeerId peer;
  std::uint64_t incarnation = 0;
  Endpoint address;
};
// How a refusal begins that means the peer's place in the pool: whoever hears it has lost it.
inline constexpr std::string_view kEarlierStart = "an earlier start";
inline constexpr std::string_view kPlaceTaken = "the place is taken";

inline constexpr std::size_t kCodecLetters = 200;     // of a codec's name; longer ones are not read
inline constexpr std::size_t kHandoverLetters = 400;  // of an offer; longer ones are not read
inline constexpr std::size_t kBookEntries = 4096;     // of one hello; what comes on top is not read

struct Hello {
  std::string run;  // name of the run directory: peers of another run are strangers
  kernels::PeerId peer;
  std::uint32_t peers = 0;
  std::uint64_t incarnation = 0;  // rises with every start of the same peer
  kernels::Layout layout;
  std::string codec = "raw";        // in which it says its weights (gossip::CodecPlan::text())
  std::uint32_t sketch_values = 0;  // of the sketches that it shares; 0: none
  std::uint32_t example_bytes = 0;  // of an example that it passes on; 0: none is
  std::string handover;             // how to take weights from it on its host; empty: not at all
  Endpoint address;                 // where others reach it; without a host, nowhere
  std::uint64_t nonce = 0;  // of the process, so that two with one name are told apart; 0 = unsaid
  std::vector<BookEntry> book;  // of others, no order
};

std::uint64_t schema_hash(const kernels::Layout& layout);  // XXH3-64 over names and shapes

std::string encode_hello(const Hello& hello);
// Empty when the text is no hello, or its tensors do not give the hash that it names.
std::optional<Hello> decode_hello(std::string_view text);

// Empty when `theirs` may open a connection to `mine`; else the reason, for both logs: another run,
// an impossible peer, another codec or size of sketches, or the first tensor that differs, with
// both shapes.
std::string find_fault(const Hello& mine, const Hello& theirs);

}  // namespace hearsay::runtime

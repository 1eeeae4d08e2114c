// SPDX-License-Identifier: Apache-2.0
// What two peers tell each other before the first frame: who they are, which run they are in, and
// the names and shapes of the tensors they train, so that models that do not fit are found before a
// value is sent. Text is JSON; decoding takes any bytes. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/core/layout.hpp"
#include "kernels/core/strong_id.hpp"

namespace hearsay::runtime {

struct Hello {
  std::string run;  // name of the run directory: peers of another run are strangers
  kernels::PeerId peer;
  std::uint32_t peers = 0;
  std::uint64_t incarnation = 0;  // rises with every start of the same peer
  kernels::Layout layout;
};

std::uint64_t schema_hash(const kernels::Layout& layout);  // XXH3-64 over names and shapes

std::string encode_hello(const Hello& hello);
// Empty when the text is no hello, or its tensors do not give the hash that it names.
std::optional<Hello> decode_hello(std::string_view text);

// Empty when `theirs` may open a connection to `mine`; else the reason, for both logs: another run,
// an impossible peer, or the first tensor that differs, with both shapes.
std::string find_fault(const Hello& mine, const Hello& theirs);

}  // namespace hearsay::runtime

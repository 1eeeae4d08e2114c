// SPDX-License-Identifier: Apache-2.0
// What whoever joins by hand and whoever lets it in say to each other, as the text of join and
// welcome messages. JSON; decoding takes any bytes. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/net/hello.hpp"

namespace hearsay::runtime {

struct JoinRequest {
  Endpoint address;                       // where the peer will listen
  std::uint64_t nonce = 0;                // of the process: asking again keeps a place
  std::optional<kernels::PeerId> place;   // the only one that it wants (--name)
  std::vector<kernels::PeerId> not_free;  // places that it was given and found taken
};

// What a member tells whoever it lets in.
struct Admission {
  std::string config;  // the pool's options as JSON; empty: nobody is let in by hand
  std::string run;     // path of the run directory
};

struct JoinAnswer {
  enum class What : std::uint8_t {
    place,  // come in
    wait,   // for others, `text` says for whom; another answer follows
    busy    // nothing now, `text` says why: ask again, here or at one of the book
  };
  What what = What::place;
  std::string text;
  kernels::PeerId peer;
  std::uint64_t incarnation = 0;
  bool late = false;  // the others train already
  Admission pool;
  std::vector<kernels::PeerId> present;  // who is there; empty = all
  std::vector<BookEntry> book;           // where they listen
};

std::string encode_join(const JoinRequest& request);
std::optional<JoinRequest> decode_join(std::string_view text);
std::string encode_answer(const JoinAnswer& answer);
std::optional<JoinAnswer> decode_answer(std::string_view text);

}  // namespace hearsay::runtime

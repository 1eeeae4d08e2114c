// SPDX-License-Identifier: Apache-2.0
// What the names in answers stand for: a peer's last messages, and the one that it has answered
// itself, each up to its values (format.md, form 4). A name has 32 bits, and two messages may share
// it: of those that a name can be looked up among no two ever do, as a message takes the place of
// an older one of its name (whose answer, if it still comes, is late and not read), and one that
// has the name of an own message is not answered by name. Compute lane of one peer. Cost: a digest
// a message, the bytes of five.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "gossip/archive.hpp"
#include "gossip/codec/message.hpp"

namespace hearsay::gossip {

class MirrorBook {
 public:
  static constexpr std::size_t kRemembered = 4;

  static std::uint32_t name_of(PackedView where);

  void sent(PackedView where);
  // False: answered by name it could be taken for an own message.
  bool answers(PackedView where);
  // Takes a name out of a message. Empty: `where` is what it stands for, until the book changes.
  std::string look_up(PackedReader& reader, PackedView& where) const;
  void forget();

  const std::deque<merge::PackedRef>& remembered() const { return remembered_; }
  void state(Archive& archive);          // "remembered", as messages
  void state_as_text(Archive& archive);  // the same in hexadecimal digits

 private:
  std::deque<merge::PackedRef> remembered_;  // newest last
  PackedBytes answered_;                     // for whoever made an answer and reads it back
};

}  // namespace hearsay::gossip

// SPDX-License-Identifier: Apache-2.0
// How weights become bytes for a partner, and back. A message says absolute values of some or all
// weights, so that any peer may receive any message, once, twice or never; the difference between
// the weights and what was last published of them stays at home and is the memory of what has not
// been said. Compute lane of one peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "gossip/archive.hpp"
#include "kernels/core/strong_id.hpp"
#include "merge/packed.hpp"

namespace hearsay::gossip {

// What a decoded message has said.
struct Unpacked {
  std::string fault;       // why it is refused; empty: it is good
  std::size_t values = 0;  // weights that it said something of
  bool is_lost = false;    // refused for what did not come before it: its sender is not to blame
};

struct CodecChange {
  std::string from, to;  // texts of codecs
};

struct LossNews {
  std::optional<CodecChange> change;
  bool has_diverged = false;  // the weights of the last merge without this are better
};

class Codec {
 public:
  virtual ~Codec() = default;

  // The next message of this peer about its weights; what has been published is brought up to
  // date. `like`: a decoded message of a partner; the answer speaks of the same weights where the
  // codec can do so without saying which. Weights that are not finite are left out, or sent as
  // what they were at the start where the codec must say something. Null: the weights are to travel
  // as they are, which only a codec of a plan with also_raw() says, and never to a `like`.
  virtual merge::PackedRef encode(std::span<const float> weights, const merge::Packed* like) = 0;

  // Fills `in` with what the message says and with `base` where it says nothing (all three of the
  // model's size). Nothing about the bytes is trusted; `in` is unspecified after a fault.
  virtual Unpacked decode(const merge::Packed& message, std::span<const float> base,
                          std::span<float> in) const = 0;

  // Codecs whose messages count on what one partner holds are told who it is, and bring what they
  // know of it up to date; the others say the same to everybody.
  virtual merge::PackedRef encode_for(kernels::PeerId /*to*/, std::span<const float> weights,
                                      const merge::Packed* like) {
    return encode(weights, like);
  }
  virtual Unpacked decode_from(kernels::PeerId /*from*/, const merge::Packed& message,
                               std::span<const float> base, std::span<float> in) {
    return decode(message, base, in);
  }
  // The newest message to `who` may never have been taken.
  virtual void missed(kernels::PeerId /*who*/) {}

  // What the newest message is in, where that changes; null: what the plan says.
  virtual const std::string* spoken() const { return nullptr; }
  // An exchange took this share of the time between merges; what is spoken from now on, if that
  // has made a difference.
  virtual std::optional<CodecChange> adapt(double /*busy*/) { return std::nullopt; }
  // A message may have this many bytes from now on (--bandwidth), if there are such.
  virtual std::optional<CodecChange> afford(double /*bytes*/) { return std::nullopt; }

  // Does an answer to a message (`like`) speak of exactly the weights that the message spoke of?
  virtual bool mirrors() const { return false; }

  // Whether the codec wants to be told of these: how far its newest message is from the weights it
  // spoke of, and how far a partner's is from the own ones, as mean squares over what was said.
  virtual bool looks() const { return false; }
  virtual void said(double /*mean_square_error*/) {}
  virtual std::optional<CodecChange> heard(double /*mean_square_distance*/) { return std::nullopt; }

  // Whether the codec goes by the loss on the probe set after each merge; what it makes of one.
  virtual bool minds_loss() const { return false; }
  virtual LossNews learned(double /*loss*/) { return {}; }

  // The weights have been replaced (late joiner, restored): nothing is published yet.
  virtual void forget() = 0;

  virtual void state(Archive& archive) = 0;
};

// What the peers of a pool share of their codec.
class CodecPlan {
 public:
  virtual ~CodecPlan() = default;
  virtual std::unique_ptr<Codec> make(kernels::PeerId self) const = 0;
  virtual const std::string& text() const = 0;     // the spec, canonical: for hello, logs, events
  virtual std::size_t most_bytes() const = 0;      // no message is longer
  virtual bool also_raw() const { return false; }  // peers may send weights as they are as well
};

}  // namespace hearsay::gossip

// SPDX-License-Identifier: Apache-2.0
// What the outside world decided for one start of a live peer, in the order in which its host
// handed it to the protocol: frames (without their weights, which their senders' journals give
// again), timers, lost connections, orders, and the clock at each. With the data set that is all
// that a replay needs. A file of chunks, each with its length and CRC-32C, so that a torn or
// damaged end costs what stands behind it and no more. Lane: compute. Cost: 3 to 5 bytes a
// mini-batch, about 100 a frame, one write to the system per frame with weights that is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "gossip/protocol.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {

namespace journal {

// One entry. A turn is an input and the time at which the protocol got it; its frame has no
// weights, but says whether there were some.
struct Turn {
  gossip::Time now{0};
  gossip::Input input;
  bool has_values = false;
};
struct Trained {};  // the mini-batch or gradient that the protocol had asked for
struct Hostile {    // an order that changes weights, labels or what is sent
  std::string what;
  double strength = 1.0;
  bool begins = true;
};
struct Digests {  // of the weights after a merge, tile by tile
  std::uint64_t mseq = 0;
  std::vector<std::uint64_t> tiles;
};
using Entry = std::variant<Turn, Trained, Hostile, Digests>;

}  // namespace journal

class InputJournal {
 public:
  // Makes the file; `head` says whose it is and with what configuration it began. A journal that
  // cannot be written says so in failure(), and costs the replay, not the run.
  InputJournal(const std::string& path, const nlohmann::ordered_json& head);
  ~InputJournal() { flush(); }
  InputJournal(InputJournal&&) = delete;

  void turn(const gossip::Input& input, gossip::Time now);
  void trained();
  void hostile(const journal::Hostile& order);
  void digests(std::uint64_t mseq, std::span<const std::uint64_t> tiles);
  // To the system, where a killed process no longer matters. Before weights are sent.
  void flush();

  std::uint64_t entries() const noexcept { return entries_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  const std::optional<std::string>& failure() const noexcept { return failure_; }

 private:
  void begin(std::uint8_t kind);

  FileHandle file_;
  std::string path_;
  std::vector<std::byte> chunk_;
  std::uint64_t entries_ = 0, bytes_ = 0;
  gossip::Time last_{0};
  std::optional<std::string> failure_;
};

}  // namespace hearsay::runtime

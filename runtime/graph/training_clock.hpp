// SPDX-License-Identifier: Apache-2.0
// How many samples a peer had trained at any moment of its log. Logs say so at the end of every
// block; in between training goes on evenly, which is off by less than one mini-batch where
// nothing held it up. Invariant: never decreases. Lane: any. Cost: 24 B a block, a binary search
// a question.
#pragma once

#include <cstdint>
#include <vector>

namespace hearsay::runtime {

class TrainingClock {
 public:
  // The peer's counter stands at `samples` and it does not train yet.
  void begin(std::int64_t t_ns, std::uint64_t samples);
  // A block began: it trains, also when no end of it follows.
  void block_begins(std::int64_t t_ns);
  // A block ended with the counter at `samples`, after training for `spent_ns`.
  void block_ends(std::int64_t t_ns, std::uint64_t samples, std::int64_t spent_ns);
  // The counter jumps: others have trained these.
  void jump(std::int64_t t_ns, std::uint64_t samples);

  std::uint64_t trained_at(std::int64_t t_ns) const;
  std::uint64_t samples_at(std::int64_t t_ns) const;

 private:
  struct Knot {
    std::int64_t t_ns;
    std::uint64_t trained, samples;
  };
  void add(std::int64_t t_ns, std::uint64_t trained, std::uint64_t samples);
  Knot at(std::int64_t t_ns) const;

  std::vector<Knot> knots_;           // t_ns, trained never decrease
  double samples_per_ns_ = 0.0;       // of the last block
  std::int64_t trains_since_ns_ = 0;  // after the last knot
  bool trains_ = false;
};

}  // namespace hearsay::runtime

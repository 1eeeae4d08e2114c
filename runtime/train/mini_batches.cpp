// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/mini_batches.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/core/check.hpp"
#include "runtime/examples/columns.hpp"

namespace hearsay::runtime {

MiniBatches::MiniBatches(std::uint64_t seed, std::uint32_t peer, std::uint32_t batch,
                         std::size_t examples, double probe_share)
    : order_(examples), shuffle_(kernels::Rng::stream(seed, "order", peer)) {
  HS_CHECK(examples >= 1 && batch >= 1);
  std::iota(order_.begin(), order_.end(), 0u);
  const auto held_out = static_cast<std::size_t>(probe_share * static_cast<double>(examples));
  if (held_out > 0) {
    kernels::Rng rng = kernels::Rng::stream(seed, "probe", peer);
    rng.shuffle(order_);
    probe_.assign(order_.end() - static_cast<std::ptrdiff_t>(held_out), order_.end());
    order_.resize(order_.size() - held_out);
    std::sort(order_.begin(), order_.end());
  }
  cursor_ = order_.size();
  examples_ = order_.size();
  steps_ = (examples_ + batch - 1) / batch;
}

void MiniBatches::expect_passes(std::size_t rows) { rows_ = rows; }

void MiniBatches::begin_pass(std::vector<std::uint32_t> rows) {
  HS_CHECK(rows_ > 0 && pass_is_over() && !rows.empty());
  order_ = std::move(rows);
  ++passes_;
  cursor_ = 0;
}

std::span<const std::uint32_t> MiniBatches::next() {
  if (cursor_ == order_.size()) {
    HS_CHECK(rows_ == 0);
    shuffle_.shuffle(order_);
    ++passes_;
    cursor_ = 0;
  }
  const std::size_t n = order_.size(), pass = steps_, begin = cursor_;
  const std::size_t index = begin * pass / n;  // the batch that begins here
  cursor_ = (n * (index + 1) + pass - 1) / pass;
  return std::span<const std::uint32_t>(order_).subspan(begin, cursor_ - begin);
}

void MiniBatches::state(gossip::Archive& archive, std::uint64_t& steps) {
  if (rows_ > 0) return state_of_given(archive, steps);
  std::uint64_t passes = passes_, examples = order_.size();
  archive("passes", passes)("cursor", cursor_)("examples", examples)("steps", steps);
  if (!archive.loading()) return;
  if (examples != order_.size()) archive.fail("examples", "another number than in this shard");
  if (cursor_ > order_.size() || passes > steps + 1) archive.fail("cursor", "is out of range");
  std::sort(order_.begin(), order_.end());
  shuffle_.seek(0);
  for (passes_ = 0; passes_ < passes; ++passes_) shuffle_.shuffle(order_);
}

void MiniBatches::state_of_given(gossip::Archive& archive, std::uint64_t& steps) {
  std::size_t rows = order_.size();
  archive("rows", rows)("passes", passes_)("cursor", cursor_)("steps", steps);
  if (archive.loading() && (rows == 0 || rows > rows_)) archive.fail("rows", "is out of range");
  keep_column(archive, "order", order_, rows);
  if (!archive.loading()) return;
  for (const std::uint32_t row : order_) {
    if (row >= rows_) archive.fail("order", "names an example that is not there");
  }
  if (cursor_ > rows || passes_ > steps + 1) archive.fail("cursor", "is out of range");
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// A shard whose examples come and go: rows are filled, emptied, grown; and kept in checkpoints.
#include <algorithm>
#include <set>
#include <string>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/examples/columns.hpp"
#include "runtime/train/shard_store.hpp"
#include "runtime/train/shard_trainer.hpp"

namespace hearsay::runtime {

gossip::ExampleStore* ShardTrainer::example_store(std::size_t worker) {
  if (store_) store_->use(worker);
  return store_.get();
}

void ShardTrainer::put(std::uint32_t row, std::uint32_t id, std::uint8_t label,
                       std::span<const std::uint8_t> image) {
  HS_CHECK(row <= shard_.count() && image.size() == shard_.image_bytes());
  if (row == shard_.count()) {
    shard_.ids.push_back(kNoExample);
    shard_.labels.push_back(0);
    shard_.pixels.resize(shard_.pixels.size() + shard_.image_bytes());
    batches_.expect_passes(shard_.count());
  }
  shard_.ids[row] = id;
  shard_.labels[row] = label;
  std::copy(image.begin(), image.end(),
            shard_.pixels.begin() + static_cast<std::ptrdiff_t>(row * shard_.image_bytes()));
}

void ShardTrainer::recollect(const gossip::Holdings& held, const ImageSet& train) {
  if (!store_) return;
  std::set<std::uint32_t> here;
  for (std::uint32_t row = 0; row < shard_.count(); ++row) {
    if (!has_example(row) || keeper_->is_guest(row)) continue;
    keeper_->set_aside(row, false);
    if (held.labels().contains(shard_.ids[row]))
      here.insert(shard_.ids[row]);
    else
      drop(row);
  }
  for (const auto& [id, label] : held.labels()) {
    if (id >= train.count() || label >= train.classes) {
      throw kernels::UsageError("examples.log: example " + std::to_string(id) + " of class " +
                                std::to_string(label) + " is not in these data of " +
                                std::to_string(train.count()) +
                                " examples; start with the --data of before");
    }
    if (here.contains(id)) continue;
    gossip::Example example;
    example.id = id;
    example.label = label;
    put(static_cast<std::uint32_t>(keeper_->settle(example, false)), id, label, train.image(id));
  }
  for (const auto& [taker, offer] : held.open()) {
    for (std::uint32_t row = 0; row < shard_.count(); ++row) {
      if (std::find(offer.ids.begin(), offer.ids.end(), shard_.ids[row]) != offer.ids.end())
        keeper_->set_aside(row, true);
    }
  }
}

void ShardTrainer::drop(std::uint32_t row) {
  keeper_->empty(row);
  shard_.ids[row] = kNoExample;
}

void ShardTrainer::look_at_arrivals(std::span<const std::uint32_t> rows, std::size_t worker) {
  const std::vector<Look> looks = looks_at(rows, read_weights(), keeper_->temperature(), worker);
  for (std::size_t i = 0; i < rows.size(); ++i) keeper_->arrived(rows[i], looks[i]);
}

void ShardTrainer::tell_of_arrivals(std::size_t worker) {
  const std::vector<std::uint32_t> rows = keeper_->to_tell_of();
  if (rows.empty()) return;
  std::vector<std::uint32_t> ids;
  for (const std::uint32_t row : rows) ids.push_back(shard_.ids[row]);
  keeper_->learned(batches_.passes(), rows, ids,
                   looks_at(rows, read_weights(), keeper_->temperature(), worker));
}

// A batch all of whose examples have left takes the next one that is there.
std::span<const std::uint32_t> ShardTrainer::next_batch() {
  const std::span<const std::uint32_t> planned = batches_.next();
  if (!store_) return planned;
  batch_.clear();
  for (const std::uint32_t row : planned) {
    if (keeper_->is_trainable(row)) batch_.push_back(row);
  }
  for (std::uint32_t i = 1; batch_.empty(); ++i) {
    const auto row = static_cast<std::uint32_t>((planned.front() + i) % shard_.count());
    HS_CHECK(i <= shard_.count());
    if (keeper_->is_trainable(row)) batch_.push_back(row);
  }
  return batch_;
}

// Images that were here from the start are not kept: whoever goes on has made the shard again.
void ShardTrainer::state_of_passed(gossip::Archive& archive) {
  const std::size_t rows = keeper_->ledger().rows(), bytes = shard_.image_bytes();
  if (archive.loading()) {
    if (rows < shard_.count()) archive.fail("examples", "are fewer than in this shard");
    shard_.pixels.resize(rows * bytes);
  }
  keep_column(archive, "ids", shard_.ids, rows);
  keep_column(archive, "labels", shard_.labels, rows);
  std::vector<std::uint8_t> came;
  std::size_t count = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    if (keeper_->passed(row).hops == 0) continue;
    ++count;
    if (!archive.loading()) {
      const auto image = shard_.image(row);
      came.insert(came.end(), image.begin(), image.end());
    }
  }
  keep_column(archive, "images", came, count * bytes);
  if (!archive.loading()) return;
  auto next = came.begin();
  for (std::size_t row = 0; row < rows; ++row) {
    if (keeper_->passed(row).hops == 0) continue;
    std::copy_n(next, bytes, shard_.pixels.begin() + static_cast<std::ptrdiff_t>(row * bytes));
    next += static_cast<std::ptrdiff_t>(bytes);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const bool has_one = keeper_->present()[row] != 0;
    if (has_one &&
        (shard_.ids[row] >= options_.all_examples || shard_.labels[row] >= shard_.classes))
      archive.fail("ids", "one is of no example");
  }
  batches_.expect_passes(rows);
}

}  // namespace hearsay::runtime

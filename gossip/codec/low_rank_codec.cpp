// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/low_rank_codec.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::gossip {
namespace {

void put_values(PackedBytes& bytes, std::span<const float> values) {
  const std::size_t at = bytes.size();
  bytes.resize(at + values.size_bytes());
  if (!values.empty()) std::memcpy(bytes.data() + at, values.data(), values.size_bytes());
}

bool get_values(PackedReader& reader, std::size_t n, std::vector<float>& values) {
  values.resize(n);
  const PackedView rest = reader.rest();
  if (!reader.skip(n * sizeof(float))) return false;
  if (n > 0) std::memcpy(values.data(), rest.data(), n * sizeof(float));
  return true;
}

// Calls each(matrix, directions of it, coefficients of it).
template <typename Each>
void for_matrices(const LowRankSlots& slots, std::size_t& p, std::size_t& c, const Each& each) {
  for (const MatrixSlot& m : slots.matrices) {
    each(m, p, c);
    p += m.rows * m.rank;
    c += m.rank * m.cols;
  }
}

}  // namespace

LowRankSlots::LowRankSlots(const kernels::Layout& layout, std::size_t rank) {
  for (const kernels::TensorSlot& slot : layout.slots()) {
    const std::size_t rows = slot.shape.size() < 2 ? 0 : slot.shape.front();
    const std::size_t cols = rows == 0 ? 0 : slot.count / rows;
    if (slot.count >= kSmallTensor && rank * (rows + cols) < slot.count && rows > 0) {
      matrices.push_back({slot.offset, rows, cols, rank});
      direction_values += rows * rank;
      coefficient_values += rank * cols;
      continue;
    }
    for (std::size_t i = 0; i < slot.count; ++i)
      dense.push_back(static_cast<std::uint32_t>(slot.offset + i));
  }
}

LowRankCodec::LowRankCodec(CodecGroundRef ground, std::shared_ptr<const LowRankSlots> slots)
    : ground_(std::move(ground)),
      slots_(std::move(slots)),
      published_(ground_->start.size()),
      warm_(slots_->coefficient_values) {
  forget();
}

std::size_t LowRankCodec::most_bytes(const LowRankSlots& slots) {
  const std::size_t where = std::max(slots.direction_values * sizeof(float), sizeof(std::uint32_t));
  return kPackedHead + where + (slots.dense.size() + slots.coefficient_values) * sizeof(float);
}

void LowRankCodec::forget() {
  std::copy(ground_->start.begin(), ground_->start.end(), published_.data());
  seed_start();
  book_.forget();
}

void LowRankCodec::seed_start() {
  kernels::Rng rng = kernels::Rng::stream(ground_->seed, "codec-low-rank");
  for (float& each : warm_.span()) each = static_cast<float>(rng.normal());
}

merge::PackedRef LowRankCodec::encode(std::span<const float> weights, const merge::Packed* like) {
  HS_CHECK(weights.size() == published_.size());
  auto message = std::make_shared<merge::Packed>();
  PackedBytes& bytes = message->bytes;
  bytes.reserve(most_bytes(*slots_));
  Values finite(weights.begin(), weights.end()), directions;
  for (std::size_t i = 0; i < finite.size(); ++i)
    if (!std::isfinite(finite[i])) finite[i] = ground_->start[i];
  if (like == nullptr || !mirror(*like, bytes, directions)) {
    directions = choose(finite);
    put_head(bytes, PackedForm::directions, ground_->tag);
    put_values(bytes, directions);
    book_.sent(bytes);
  }
  Values values;
  values.reserve(slots_->dense.size() + slots_->coefficient_values);
  for (const std::uint32_t i : slots_->dense) values.push_back(finite[i]);
  const std::size_t coefficients_at = values.size();
  values.resize(coefficients_at + slots_->coefficient_values);
  for (std::size_t i = 0; i < finite.size(); ++i) finite[i] -= ground_->start[i];
  const std::span<float> coefficients = std::span(values).subspan(coefficients_at);
  std::size_t p = 0, c = 0;
  for_matrices(*slots_, p, c, [&](const MatrixSlot& m, std::size_t from, std::size_t to) {
    along(m, std::span(directions).subspan(from, m.rows * m.rank),
          std::span<const float>(finite).subspan(m.offset, m.count()),
          coefficients.subspan(to, m.rank * m.cols));
  });
  publish(directions, coefficients);
  put_values(bytes, values);
  return message;
}

// An answer names the message; its directions are read from that.
bool LowRankCodec::mirror(const merge::Packed& like, PackedBytes& bytes, Values& directions) {
  std::string fault;
  PackedReader reader(like.bytes);
  if (read_head(reader, ground_->tag, fault) != PackedForm::directions ||
      !read_directions(reader, directions).empty() || !book_.answers(reader.taken())) {
    return false;
  }
  put_head(bytes, PackedForm::same, ground_->tag);
  put_number(bytes, MirrorBook::name_of(reader.taken()));
  return true;
}

LowRankCodec::Values LowRankCodec::choose(std::span<const float> finite) {
  Values directions(slots_->direction_values), rest;
  std::vector<double> products;
  bool is_still = false;
  std::size_t p = 0, c = 0;
  for_matrices(*slots_, p, c, [&](const MatrixSlot& m, std::size_t to, std::size_t from) {
    rest.assign(m.count(), 0.0f);
    for (std::size_t i = 0; i < m.count(); ++i)
      rest[i] = finite[m.offset + i] - published_.data()[m.offset + i];
    const std::span<float> q = warm_.span().subspan(from, m.cols * m.rank);
    const std::span<float> found = std::span(directions).subspan(to, m.rows * m.rank);
    products.resize(m.rows * m.rank);
    times_right(m, rest, q, products);
    orthonormalise(m, products, found);
    Values next(m.rank * m.cols);
    along(m, found, rest, next);
    for (std::size_t k = 0; k < m.rank; ++k) {
      float most = 0.0f;
      for (std::size_t j = 0; j < m.cols; ++j) {
        q[j * m.rank + k] = next[k * m.cols + j];
        most = std::max(most, std::abs(next[k * m.cols + j]));
      }
      is_still = is_still || most == 0.0f;
    }
  });
  // Nothing to say along a direction: from 0 the next step would find nothing either.
  if (is_still) seed_start();
  return directions;
}

void LowRankCodec::publish(std::span<const float> directions, std::span<const float> coefficients) {
  Values held, difference;
  std::size_t p = 0, c = 0;
  for_matrices(*slots_, p, c, [&](const MatrixSlot& m, std::size_t at, std::size_t from) {
    const auto along_p = directions.subspan(at, m.rows * m.rank);
    const std::span<float> to = published_.span().subspan(m.offset, m.count());
    difference.resize(m.count());
    for (std::size_t i = 0; i < m.count(); ++i)
      difference[i] = to[i] - ground_->start[m.offset + i];
    held.resize(m.rank * m.cols);
    along(m, along_p, difference, held);
    for (std::size_t i = 0; i < held.size(); ++i) held[i] = coefficients[from + i] - held[i];
    add_product(m, along_p, held, to);
  });
}

std::string LowRankCodec::read_directions(PackedReader& reader, Values& directions) const {
  if (!get_values(reader, slots_->direction_values, directions))
    return "message is cut off in its directions";
  std::size_t p = 0, c = 0;
  bool are_good = true;
  for_matrices(*slots_, p, c, [&](const MatrixSlot& m, std::size_t at, std::size_t) {
    are_good = are_good && is_orthonormal(m, std::span(directions).subspan(at, m.rows * m.rank));
  });
  return are_good ? "" : "message has directions that are not orthonormal";
}

Unpacked LowRankCodec::decode(const merge::Packed& message, std::span<const float> base,
                              std::span<float> in) const {
  HS_CHECK(base.size() == published_.size() && in.size() == published_.size());
  Unpacked result;
  PackedReader reader(message.bytes);
  Values directions, values;
  const auto form = read_head(reader, ground_->tag, result.fault);
  if (!form) return result;
  if (*form == PackedForm::same) {
    PackedView named;
    result.fault = book_.look_up(reader, named);
    PackedReader where(named);
    if (result.fault.empty() && read_head(where, ground_->tag, result.fault))
      result.fault = read_directions(where, directions);
  } else if (*form == PackedForm::directions) {
    result.fault = read_directions(reader, directions);
  } else {
    result.fault = "message names its weights in another way than this codec";
  }
  if (!result.fault.empty()) return result;
  const std::size_t n = slots_->dense.size() + slots_->coefficient_values;
  if (reader.rest().size() != n * sizeof(float) || !get_values(reader, n, values)) {
    result.fault = "message has " + std::to_string(reader.rest().size()) +
                   " bytes of values, expected " + std::to_string(n * sizeof(float));
    return result;
  }
  std::copy(base.begin(), base.end(), in.begin());
  for (std::size_t i = 0; i < slots_->dense.size(); ++i) in[slots_->dense[i]] = values[i];
  const std::span<const float> said = std::span(values).subspan(slots_->dense.size());
  Values held, moved;
  std::size_t p = 0, c = 0;
  for_matrices(*slots_, p, c, [&](const MatrixSlot& m, std::size_t at, std::size_t from) {
    const auto along_p = std::span(directions).subspan(at, m.rows * m.rank);
    moved.resize(m.count());
    for (std::size_t i = 0; i < m.count(); ++i)
      moved[i] = base[m.offset + i] - ground_->start[m.offset + i];
    held.resize(m.rank * m.cols);
    along(m, along_p, moved, held);
    for (std::size_t i = 0; i < held.size(); ++i) held[i] = said[from + i] - held[i];
    add_product(m, along_p, held, in.subspan(m.offset, m.count()));
  });
  result.values = n;  // numbers: each says something of many weights
  return result;
}

void LowRankCodec::state(Archive& archive) {
  archive.array("published", published_);
  if (published_.size() != ground_->start.size()) archive.fail("published", "is of another model");
  // As a message's bytes: an array here is a whole model.
  auto warm = std::make_shared<merge::Packed>();
  put_values(warm->bytes, warm_.span());
  merge::PackedRef kept = warm;
  archive("warm", kept);
  book_.state(archive);
  if (!archive.loading()) return;
  if (!kept || kept->bytes.size() != warm_.size() * sizeof(float))
    archive.fail("warm", "is of another model");
  if (warm_.size() > 0) std::memcpy(warm_.data(), kept->bytes.data(), kept->bytes.size());
}

}  // namespace hearsay::gossip

// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/sparse_codec.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gossip/codec/entry_records.hpp"
#include "kernels/core/check.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::gossip {
namespace {

// Where the values of the large tensors begin in the count of random numbers.
std::uint64_t behind(std::size_t small) {
  return (small + kValueChunk - 1) / kValueChunk * kValueChunk;
}

std::size_t values_bytes(const CodecGround& ground, std::size_t entries) {
  return value_bytes(ground.code, ground.places.small().size()) + value_bytes(ground.code, entries);
}

// On one side of zero.
double levels_of(const ValueCode& code) { return code.kind == ValueKind::int8 ? 127.0 : 7.0; }

}  // namespace

SparseCodec::SparseCodec(CodecGroundRef ground, std::unique_ptr<Support> support,
                         const SmoothingRule& smoothing, bool is_mirrored, kernels::PeerId self)
    : ground_(std::move(ground)),
      support_(std::move(support)),
      is_mirrored_(is_mirrored),
      key_(kernels::Rng::stream(ground_->seed, "codec-values", self.value).next_u64()),
      published_(ground_->start.size()) {
  if (smoothing.mode != SmoothingRule::Mode::none) smoothing_.emplace(smoothing, published_.size());
  SparseCodec::forget();
}

std::size_t SparseCodec::most_bytes(const CodecGround& ground, const Support& support) {
  // An answer's four bytes in place of a `where` are never more than that.
  return kPackedHead + support.most_where_bytes() + values_bytes(ground, support.most_entries());
}

merge::PackedRef SparseCodec::encode(std::span<const float> weights, const merge::Packed* like) {
  HS_CHECK(weights.size() == published_.size());
  auto message = std::make_shared<merge::Packed>();
  PackedBytes& bytes = message->bytes;
  Numbers at;
  const bool answers = like != nullptr && mirror(*like, bytes, at);
  if (!answers) choose(weights, bytes, at);
  bytes.reserve(bytes.size() + values_bytes(*ground_, at.size()));
  ground_->places.to_offsets(at);
  const auto& small = ground_->places.small();
  if (smoothing_ && smoothing_->counts_entered()) {
    enter(weights, small);
    if (answers || !smoothing_->has_tails()) enter(weights, at);  // else only what was chosen has
  }
  say(weights, small, 0, bytes);
  say(weights, at, behind(small.size()), bytes);
  ++said_;
  return message;
}

// A message that a codec of positions is to answer is named; one with a seed is repeated.
bool SparseCodec::mirror(const merge::Packed& like, PackedBytes& bytes, Numbers& at) {
  std::string fault;
  PackedReader reader(like.bytes);
  if (!is_mirrored_ || read_head(reader, ground_->tag, fault) != support_->form() ||
      !support_->read(reader, at).empty()) {
    return false;
  }
  if (support_->form() == PackedForm::entries) {
    if (!book_.answers(reader.taken())) return false;
    put_head(bytes, PackedForm::same, ground_->tag);
    put_number(bytes, MirrorBook::name_of(reader.taken()));
  } else {
    bytes.assign(reader.taken().begin(), reader.taken().end());
  }
  return true;
}

void SparseCodec::choose(std::span<const float> weights, PackedBytes& bytes, Numbers& at) {
  // Said in any case, so that they are no candidates.
  enter(weights, ground_->places.small());
  put_head(bytes, support_->form(), ground_->tag);
  support_->choose(weights, published_.span(), bytes, at);
  if (smoothing_ && smoothing_->has_tails()) add_tails(weights, bytes, at);
  if (is_mirrored_ && support_->form() == PackedForm::entries) book_.sent(bytes);
}

// Names what is on its way as well. What is chosen enters first; of the rest, only what has.
void SparseCodec::add_tails(std::span<const float> weights, PackedBytes& bytes, Numbers& at) {
  HS_CHECK(support_->form() == PackedForm::entries);
  const Places& places = ground_->places;
  places.to_offsets(at);
  enter(weights, at);
  smoothing_->add_tails(published_.span(), places.small(), levels_of(ground_->code), at);
  places.to_numbers(at);
  bytes.resize(kPackedHead);
  put_entries(bytes, at, places.large_count());
}

void SparseCodec::enter(std::span<const float> weights, std::span<const std::uint32_t> offsets) {
  for (const std::uint32_t i : offsets)
    if (std::isfinite(weights[i])) published_[i] = weights[i];
}

// Appends the values of the weights at these offsets, and publishes what a partner will decode.
void SparseCodec::say(std::span<const float> weights, std::span<const std::uint32_t> offsets,
                      std::uint64_t first, PackedBytes& bytes) {
  const std::vector<float>& start = ground_->start;
  const std::size_t begin = bytes.size(), n = offsets.size();
  const bool counts_entered = smoothing_ && smoothing_->counts_entered();
  const std::span<const float> to = counts_entered ? published_.span() : weights;
  ValueWriter writer(ground_->code, {key_, said_}, first, n, bytes);
  float chunk[kValueChunk], from[kValueChunk];
  for (std::size_t done = 0; done < n; done += kValueChunk) {
    const auto here = offsets.subspan(done, std::min(kValueChunk, n - done));
    const std::span<float> x(chunk, here.size()), base(from, here.size());
    for (std::size_t j = 0; j < here.size(); ++j) {
      x[j] = smoothing_ ? smoothing_->next(here[j], to[here[j]]) : to[here[j]];
      base[j] = start[here[j]];
    }
    take_start(ground_->code, x, base, x);
    writer.put(x);
  }
  if (counts_entered) return;
  hear(offsets, PackedView(bytes).subspan(begin), published_.span());
  // A sum that overflows would never be said again: such a weight counts as said.
  for (const std::uint32_t i : offsets)
    if (!std::isfinite(published_[i])) published_[i] = weights[i];
  if (!smoothing_) return;
  for (const std::uint32_t i : offsets)
    if (std::isfinite(published_[i])) smoothing_->reset(i, published_[i]);
}

// Writes what a section of values says of the weights at these offsets.
void SparseCodec::hear(std::span<const std::uint32_t> offsets, PackedView section,
                       std::span<float> in) const {
  const std::size_t n = offsets.size();
  ValueReader reader(ground_->code, n, section);
  const bool is_relative = ground_->code.is_relative();
  float chunk[kValueChunk];
  for (std::size_t done = 0; done < n; done += kValueChunk) {
    const auto here = offsets.subspan(done, std::min(kValueChunk, n - done));
    reader.get({chunk, here.size()});
    for (std::size_t j = 0; j < here.size(); ++j)
      in[here[j]] = is_relative ? ground_->start[here[j]] + chunk[j] : chunk[j];
  }
}

std::string SparseCodec::read_where(PackedReader& reader, Numbers& at) const {
  std::string fault;
  const auto form = read_head(reader, ground_->tag, fault);
  if (!form) return fault;
  if (*form == PackedForm::same) {
    PackedView named;
    if (fault = book_.look_up(reader, named); !fault.empty()) return fault;
    PackedReader where(named);
    return read_head(where, ground_->tag, fault) ? support_->read(where, at) : fault;
  }
  if (*form != support_->form()) return "message names its weights in another way than this codec";
  return support_->read(reader, at);
}

Unpacked SparseCodec::decode(const merge::Packed& message, std::span<const float> base,
                             std::span<float> in) const {
  HS_CHECK(base.size() == published_.size() && in.size() == published_.size());
  Unpacked result;
  PackedReader reader(message.bytes);
  Numbers at;
  result.fault = read_where(reader, at);
  if (!result.fault.empty()) return result;
  const std::size_t expected = values_bytes(*ground_, at.size());
  if (reader.rest().size() != expected) {
    result.fault = "message has " + std::to_string(reader.rest().size()) +
                   " bytes of values, expected " + std::to_string(expected);
    return result;
  }
  const auto& small = ground_->places.small();
  const std::size_t small_bytes = value_bytes(ground_->code, small.size());
  std::copy(base.begin(), base.end(), in.begin());
  ground_->places.to_offsets(at);
  hear(small, reader.rest().first(small_bytes), in);
  hear(at, reader.rest().subspan(small_bytes), in);
  result.values = small.size() + at.size();
  return result;
}

void SparseCodec::forget() {
  std::copy(ground_->start.begin(), ground_->start.end(), published_.data());
  book_.forget();
  support_->forget();
  if (smoothing_) smoothing_->forget(ground_->start);
}

void SparseCodec::state(Archive& archive) {
  archive("said", said_);
  archive.array("published", published_);
  if (published_.size() != ground_->start.size()) archive.fail("published", "is of another model");
  archive("support", *support_);
  if (smoothing_) archive("smoothing", *smoothing_);
  if (is_mirrored_) book_.state_as_text(archive);
}

}  // namespace hearsay::gossip

// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/mirror_book.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/core/digest.hpp"

namespace hearsay::gossip {
namespace {

std::string hex_of(PackedView bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t each : bytes) {
    text += kDigits[each >> 4];
    text += kDigits[each & 15u];
  }
  return text;
}

bool read_hex(const std::string& text, PackedBytes& bytes) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (text.size() % 2 != 0 || !std::all_of(text.begin(), text.end(), is_digit)) return false;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
  return true;
}

}  // namespace

std::uint32_t MirrorBook::name_of(PackedView where) {
  return static_cast<std::uint32_t>(kernels::digest64(where));
}

void MirrorBook::sent(PackedView where) {
  const std::uint32_t name = name_of(where);
  std::erase_if(remembered_,
                [&](const merge::PackedRef& each) { return name_of(each->bytes) == name; });
  if (!answered_.empty() && name_of(answered_) == name) answered_.clear();
  remembered_.push_back(
      std::make_shared<const merge::Packed>(merge::Packed{{where.begin(), where.end()}}));
  if (remembered_.size() > kRemembered) remembered_.pop_front();
}

bool MirrorBook::answers(PackedView where) {
  const std::uint32_t name = name_of(where);
  for (const merge::PackedRef& each : remembered_) {
    if (name_of(each->bytes) == name && !std::ranges::equal(each->bytes, where)) return false;
  }
  answered_.assign(where.begin(), where.end());
  return true;
}

std::string MirrorBook::look_up(PackedReader& reader, PackedView& where) const {
  const auto name = reader.get<std::uint32_t>();
  if (!name) return "message is cut off before the message that it answers";
  for (const merge::PackedRef& each : remembered_) {
    where = each->bytes;
    if (name_of(where) == *name) return {};
  }
  where = answered_;
  if (!where.empty() && name_of(where) == *name) return {};
  return "message answers none of the last " + std::to_string(kRemembered) + " that this peer sent";
}

void MirrorBook::forget() {
  remembered_.clear();
  answered_.clear();
}

void MirrorBook::state(Archive& archive) {
  archive("remembered", remembered_);
  if (!archive.loading()) return;
  if (remembered_.size() > kRemembered) archive.fail("remembered", "holds too many messages");
  for (const merge::PackedRef& each : remembered_) {
    if (!each) archive.fail("remembered", "is no message");
  }
}

void MirrorBook::state_as_text(Archive& archive) {
  std::vector<std::string> texts;
  for (const merge::PackedRef& each : remembered_) texts.push_back(hex_of(each->bytes));
  archive("remembered", texts);
  if (!archive.loading()) return;
  remembered_.clear();
  if (texts.size() > kRemembered) archive.fail("remembered", "holds too many messages");
  for (const std::string& text : texts) {
    PackedBytes bytes;
    if (!read_hex(text, bytes)) archive.fail("remembered", "is no message");
    remembered_.push_back(std::make_shared<const merge::Packed>(merge::Packed{std::move(bytes)}));
  }
}

}  // namespace hearsay::gossip

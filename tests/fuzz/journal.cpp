// SPDX-License-Identifier: Apache-2.0
// Input journals: files as they come, and, past the checksums, any entries in chunks that are
// right.
#include <cmath>
#include <cstring>
#include <vector>

#include "gossip/wire/crc32c.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/log/journal_reader.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using namespace hearsay::runtime;
using fuzz::require;

namespace {

using FileBytes = std::vector<std::byte>;

void append_chunk(FileBytes& file, std::span<const std::byte> chunk) {
  const std::uint32_t head[2] = {static_cast<std::uint32_t>(chunk.size()),
                                 gossip::wire::crc32c(chunk)};
  journal::put_bytes(file, std::as_bytes(std::span(head)));
  journal::put_bytes(file, chunk);
}

void check_journal(FileBytes file) {
  const std::size_t size = file.size();
  fuzz::decodes<kernels::DamagedFile>([&] {
    JournalReader reader("input", std::move(file));
    gossip::Time last{0};
    std::uint64_t entries = 0;
    while (const auto entry = reader.next()) {
      require(++entries == reader.entries(), "entries are counted");
      if (const auto* turn = std::get_if<journal::Turn>(&*entry)) {
        require(turn->now >= last, "time does not go back");
        last = turn->now;
        if (const auto* in = std::get_if<gossip::input::FrameIn>(&turn->input))
          require(in->frame.values == nullptr, "a journal holds no weights");
      } else if (const auto* digests = std::get_if<journal::Digests>(&*entry)) {
        require(digests->tiles.size() <= size, "no more digests than bytes");
      } else if (const auto* order = std::get_if<journal::Hostile>(&*entry)) {
        require(std::isfinite(order->strength), "a strength is a number");
      }
    }
    require(entries <= size, "an entry is a byte at least");
    reader.rewind();
    std::uint64_t again = 0;
    while (reader.next()) ++again;
    require(again == entries, "a second reading finds the same");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check_journal({bytes.begin(), bytes.end()});
  FileBytes file;
  journal::put_bytes(file, std::as_bytes(std::span(journal::kMagic)));
  FileBytes head{static_cast<std::byte>(journal::Kind::head)};
  journal::put_text(head, "{}");
  append_chunk(file, head);
  const std::size_t half = size / 2;
  if (half > 0) append_chunk(file, bytes.first(half));
  if (size > half) append_chunk(file, bytes.subspan(half));
  check_journal(std::move(file));
  return 0;
}

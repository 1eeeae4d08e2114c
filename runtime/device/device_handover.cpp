// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_handover.hpp"

#include <algorithm>
#include <bit>
#include <fstream>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/device/cuda_library.hpp"

namespace hearsay::runtime {
namespace {

static_assert(sizeof(HsCudaTicket) == sizeof(HandoverTicket));
constexpr std::string_view kWord = "cuda ";
constexpr char kDigits[] = "0123456789abcdef";

struct Calls {  // of the library
  decltype(&hs_cuda_train_error) error;
  decltype(&hs_cuda_source_create) create;
  decltype(&hs_cuda_source_destroy) destroy;
  decltype(&hs_cuda_source_take) take;
};

Calls find_calls() {
  std::string why;
  const CudaLibrary* const library = CudaLibrary::open(kCudaLibrary, why);
  if (library == nullptr) throw kernels::UsageError("--device: " + why);
  return {library->function<decltype(&hs_cuda_train_error)>("hs_cuda_train_error"),
          library->function<decltype(&hs_cuda_source_create)>("hs_cuda_source_create"),
          library->function<decltype(&hs_cuda_source_destroy)>("hs_cuda_source_destroy"),
          library->function<decltype(&hs_cuda_source_take)>("hs_cuda_source_take")};
}

const Calls& calls() {
  static const Calls found = find_calls();
  return found;
}

class DeviceSource final : public HandoverSource {
 public:
  DeviceSource(const DeviceSnapshots& snapshots, HsCudaSource* source)
      : snapshots_(snapshots), source_(source, calls().destroy) {}

  merge::SnapshotRef take(const HandoverTicket& ticket, std::string& why) override {
    const auto of_library = std::bit_cast<HsCudaTicket>(ticket);
    HsCudaSnapshot* taken = nullptr;
    if (calls().take(source_.get(), &of_library, &taken) == 0) return snapshots_.adopt(taken);
    why = calls().error();
    return nullptr;
  }

 private:
  const DeviceSnapshots& snapshots_;
  std::unique_ptr<HsCudaSource, void (*)(HsCudaSource*)> source_;
};

int value_of(char digit) {
  const std::string_view digits(kDigits, 16);
  const auto found = digits.find(digit);
  return found == std::string_view::npos ? -1 : static_cast<int>(found);
}

}  // namespace

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

std::string text_of(const HandoverOffer& offer) {
  std::string text = std::string(kWord) + offer.boot_id + " ";
  for (const std::byte byte : offer.first) {
    const auto value = std::to_integer<unsigned>(byte);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

std::optional<HandoverOffer> read_offer(const std::string& text) {
  const std::size_t digits = 2 * sizeof(HandoverTicket);
  if (!text.starts_with(kWord) || text.size() < kWord.size() + 1 + digits) return std::nullopt;
  const std::size_t begin = text.size() - digits;
  if (text[begin - 1] != ' ') return std::nullopt;
  HandoverOffer offer;
  offer.boot_id = text.substr(kWord.size(), begin - 1 - kWord.size());
  for (std::size_t i = 0; i < offer.first.size(); ++i) {
    const int high = value_of(text[begin + 2 * i]), low = value_of(text[begin + 2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    offer.first[i] = static_cast<std::byte>(16 * high + low);
  }
  return offer;
}

bool LentMemory::admits(const HandoverTicket& ticket) {
  const auto of_library = std::bit_cast<HsCudaTicket>(ticket);
  Handle handle;
  std::copy(std::begin(of_library.memory), std::end(of_library.memory), handle.begin());
  if (given_.contains(handle)) return true;
  return given_.size() < kMost && given_.insert(handle).second;
}

std::unique_ptr<DeviceHandover> DeviceHandover::make(const DeviceSnapshots& snapshots) {
  std::unique_ptr<DeviceHandover> made(new DeviceHandover(snapshots));
  HandoverOffer offer;
  offer.boot_id = boot_id();
  if (offer.boot_id.empty()) return nullptr;
  try {
    snapshots.begin_handover();
    made->first_ = snapshots.take(0, false);
    const auto ticket = made->ticket(*made->first_);
    if (!ticket) return nullptr;
    offer.first = *ticket;
  } catch (const kernels::Fault&) {
    return nullptr;  // where GPUs share nothing, bytes do
  }
  made->offer_ = text_of(offer);
  return made;
}

std::unique_ptr<HandoverSource> DeviceHandover::open(const std::string& text) {
  const auto offer = read_offer(text);
  if (!offer || offer->boot_id != boot_id()) return nullptr;
  HsCudaSource* source = nullptr;
  if (calls().create(snapshots_.trainer(), &source) != 0) return nullptr;
  auto made = std::make_unique<DeviceSource>(snapshots_, source);
  std::string why;
  if (!made->take(offer->first, why)) return nullptr;
  return made;
}

std::optional<HandoverTicket> DeviceHandover::ticket(const merge::Snapshot& weights) {
  const auto ticket = snapshots_.ticket(weights);
  if (!ticket) return std::nullopt;
  const auto given = std::bit_cast<HandoverTicket>(*ticket);
  if (!lent_.admits(given)) return std::nullopt;
  return given;
}

}  // namespace hearsay::runtime

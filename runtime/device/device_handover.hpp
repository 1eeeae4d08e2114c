// SPDX-License-Identifier: Apache-2.0
// Weights that go from GPU to GPU, or within one, between processes of one host: tickets are places
// in a process's GPU memory (kernels/cuda/handover_api.h), and whoever reads one copies from there
// into a snapshot of its own. Hosts are told apart by the kernel's boot id; whether the way is open
// (containers may close it, GPUs may not reach each other) is found out by taking a first snapshot.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <string>

#include "kernels/cuda/handover_api.h"
#include "merge/snapshot.hpp"
#include "runtime/device/device_snapshots.hpp"
#include "runtime/net/handover.hpp"

namespace hearsay::runtime {

// Of which pieces of this process's memory tickets were given. A reader opens each once and keeps
// it open, up to a bound: tickets for more would end its connections.
class LentMemory {
 public:
  static constexpr std::size_t kMost = HS_CUDA_MOST_OPENED;

  // False: the ticket is for one piece too many; its weights go as bytes.
  bool admits(const HandoverTicket& ticket);

 private:
  using Handle = std::array<unsigned char, sizeof(HsCudaTicket::memory)>;
  std::set<Handle> given_;
};

class DeviceHandover final : public Handover {
 public:
  // Null where the system shares no GPU memory between processes. `snapshots` must outlive it and
  // all its sources.
  static std::unique_ptr<DeviceHandover> make(const DeviceSnapshots& snapshots);

  const std::string& offer() const override { return offer_; }
  std::unique_ptr<HandoverSource> open(const std::string& offer) override;
  std::optional<HandoverTicket> ticket(const merge::Snapshot& weights) override;

 private:
  explicit DeviceHandover(const DeviceSnapshots& snapshots) : snapshots_(snapshots) {}

  const DeviceSnapshots& snapshots_;
  merge::SnapshotRef first_;  // what others try the way with
  std::string offer_;
  LentMemory lent_;
};

// What an offer says, by its parts; none when it is no offer.
struct HandoverOffer {
  std::string boot_id;
  HandoverTicket first{};
};
std::string text_of(const HandoverOffer& offer);
std::optional<HandoverOffer> read_offer(const std::string& text);

// Of this start of this machine's kernel; empty where it is not told.
std::string boot_id();

}  // namespace hearsay::runtime

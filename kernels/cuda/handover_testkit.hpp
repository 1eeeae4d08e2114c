// SPDX-License-Identifier: Apache-2.0
// What handover_test.cpp and its partner process have in common: tickets as text, and taking.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "kernels/core/digest.hpp"
#include "kernels/cuda/handover_api.h"
#include "kernels/cuda/snapshot_testkit.hpp"

namespace hearsay::kernels {

struct FreeSource {
  void operator()(HsCudaSource* source) const { hs_cuda_source_destroy(source); }
};
using SourcePtr = std::unique_ptr<HsCudaSource, FreeSource>;

inline SourcePtr make_source(const TrainerPtr& trainer) {
  HsCudaSource* made = nullptr;
  done(hs_cuda_source_create(trainer.get(), &made));
  return SourcePtr(made);
}

inline HsCudaTicket ticket_of(const SnapshotPtr& snapshot) {
  HsCudaTicket ticket{};
  done(hs_cuda_snapshot_ticket(snapshot.get(), &ticket));
  return ticket;
}

inline std::string text_of(const HsCudaTicket& ticket) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&ticket);
  for (std::size_t i = 0; i < sizeof ticket; ++i) {
    text += kDigits[bytes[i] / 16];
    text += kDigits[bytes[i] % 16];
  }
  return text;
}

inline HsCudaTicket ticket_in(const std::string& text) {
  HsCudaTicket ticket{};
  auto* bytes = reinterpret_cast<unsigned char*>(&ticket);
  for (std::size_t i = 0; i < sizeof ticket; ++i)
    bytes[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return ticket;
}

inline std::string digest_text(const Values& values) { return digest(std::span(values)).hex(); }

// The digest of what was taken, or why nothing was.
inline std::string take_over(const SourcePtr& source, const HsCudaTicket& ticket) {
  HsCudaSnapshot* taken = nullptr;
  if (hs_cuda_source_take(source.get(), &ticket, &taken) != 0) return hs_cuda_train_error();
  return digest_text(host_of(SnapshotPtr(taken)));
}

}  // namespace hearsay::kernels

// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/checkpoint.hpp"

#include <algorithm>
#include <string_view>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

void append(const kernels::Layout& layout, const std::string& prefix, std::span<const float> values,
            TensorPart& part) {
  for (const kernels::TensorSlot& slot : layout.slots())
    part.layout.add(prefix + slot.name, slot.shape);
  part.pieces.push_back(values);
}

// The next tensors of the file are those of the layout; their values go to `out`.
void take(const kernels::Layout& layout, const std::string& prefix, const std::string& path,
          const TensorFile& file, std::size_t& taken, std::span<float> out) {
  const auto& slots = file.layout.slots();
  auto next = std::find_if(slots.begin(), slots.end(), [&](const kernels::TensorSlot& slot) {
    return slot.offset == taken && slot.count > 0;
  });
  for (const kernels::TensorSlot& slot : layout.slots()) {
    if (slot.count == 0) continue;
    if (next == slots.end() || next->name != prefix + slot.name || next->shape != slot.shape) {
      throw kernels::DamagedFile(
          path, 0, "tensor '" + prefix + slot.name + "' is not there as this model has it");
    }
    do ++next;
    while (next != slots.end() && next->count == 0);
  }
  std::copy_n(file.values.data() + taken, layout.size(), out.data());
  taken += layout.size();
}

std::string moment_prefix(const std::string& prefix, std::string_view moment) {
  return prefix + std::string(moment) + ".";
}

}  // namespace

TensorFile& LoadedCheckpoint::tensor_file(const std::string& name) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw kernels::DamagedFile(file(name), 0, "the file is missing");
  return found->second;
}

void append_trainer(Trainer& trainer, const kernels::Layout& layout, const std::string& prefix,
                    TensorPart& model, TensorPart& optimizer) {
  append(layout, prefix, trainer.weights(), model);
  for (const auto& [name, values] : trainer.moments())
    append(layout, moment_prefix(prefix, name), values, optimizer);
}

void take_trainer(Trainer& trainer, const kernels::Layout& layout, const std::string& prefix,
                  LoadedCheckpoint& from, TensorsTaken& taken) {
  take(layout, prefix, from.file(kModelFile), from.tensor_file(kModelFile), taken.model,
       trainer.weights());
  for (const auto& [name, values] : trainer.moments()) {
    take(layout, moment_prefix(prefix, name), from.file(kOptimizerFile),
         from.tensor_file(kOptimizerFile), taken.optimizer, values);
  }
}

TensorPart arrays_part(const gossip::Archive::Arrays& arrays) {
  TensorPart part;
  part.file = kArraysFile;
  for (const merge::SnapshotRef& array : arrays) {
    part.layout.add(std::to_string(part.pieces.size()), {array->size()});
    part.pieces.push_back(array->span());
  }
  return part;
}

gossip::Archive::Arrays take_arrays(LoadedCheckpoint& from) {
  const TensorFile& file = from.tensor_file(kArraysFile);
  gossip::Archive::Arrays arrays;
  for (const kernels::TensorSlot& slot : file.layout.slots()) {
    if (slot.name != std::to_string(arrays.size()))
      throw kernels::DamagedFile(from.file(kArraysFile), 0,
                                 "array '" + slot.name + "' is out of turn");
    auto array = std::make_shared<merge::Snapshot>();
    array->values = kernels::Buffer<float>(slot.count);
    std::copy_n(file.values.data() + slot.offset, slot.count, array->values.data());
    arrays.push_back(std::move(array));
  }
  return arrays;
}

void keep_log_position(Checkpoint& checkpoint, const LogPosition& position) {
  auto& log = checkpoint.about["log"];
  log["bytes"] = position.bytes;
  log["next_n"] = position.next_n;
}

LogPosition log_position(const LoadedCheckpoint& from) {
  LogPosition position;
  try {
    const auto& log = from.about.at("log");
    const auto count = [&](const gossip::Archive::Json& json) {
      if (!json.is_number_unsigned()) throw kernels::UsageError("no count");
      return json.get<std::uint64_t>();
    };
    position.bytes = count(log.at("bytes"));
    for (const auto& [peer, n] : log.at("next_n").items()) position.next_n[peer] = count(n);
    return position;
  } catch (const nlohmann::json::exception&) {
  } catch (const kernels::UsageError&) {
  }
  throw kernels::DamagedFile(from.file("state.json"), 0, "does not say where the event log stood");
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// What `hearsay inspect` says of checkpoints, model files and journals.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <variant>

#include "gossip/event.hpp"
#include "gossip/frame.hpp"
#include "kernels/core/digest.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/app/command_inspect.hpp"
#include "runtime/checkpoint/state_file.hpp"
#include "runtime/log/journal_bytes.hpp"
#include "runtime/log/journal_reader.hpp"
#include "runtime/log/safetensors.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostTensorLines = 24;

std::string shape_text(const std::vector<std::size_t>& shape) {
  std::string text = "[";
  for (const std::size_t side : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(side);
  return text + "]";
}

std::size_t not_finite(const float* values, std::size_t count) {
  std::size_t bad = 0;
  for (std::size_t i = 0; i < count; ++i) bad += std::isfinite(values[i]) ? 0u : 1u;
  return bad;
}

// One file of a checkpoint against its digests.
void check_part(const std::string& folder, const FileDigests& digests, Description& out) {
  Json part = {{"file", digests.name}, {"bytes", digests.bytes()}};
  std::string verdict = "digests fit";
  try {
    if (digests.name.find('/') != std::string::npos)
      throw kernels::DamagedFile(folder + "/state.json", 0, "names a file outside its folder");
    check_file(folder + "/" + digests.name, digests);
    part["ok"] = true;
  } catch (const kernels::Fault& fault) {
    part["ok"] = false;
    verdict = "DAMAGED";
    out.damaged.emplace_back(fault.what());
  }
  out.json["parts"].push_back(std::move(part));
  out.line("",
           digests.name + "  " + with_unit(static_cast<double>(digests.bytes())) + "  " + verdict);
}

const char* name_of(const gossip::Input& input) {
  struct Name {
    const char* operator()(const gossip::input::Start&) const { return "start"; }
    const char* operator()(const gossip::input::StepDone&) const { return "step_done"; }
    const char* operator()(const gossip::input::FrameIn&) const { return "frame"; }
    const char* operator()(const gossip::input::Timer&) const { return "timer"; }
    const char* operator()(const gossip::input::PeerDown&) const { return "peer_down"; }
    const char* operator()(const gossip::input::Stop&) const { return "stop"; }
  };
  return std::visit(Name{}, input);
}

const char* name_of(const journal::Entry& entry) {
  if (const auto* turn = std::get_if<journal::Turn>(&entry)) {
    return turn->has_values ? "frame_with_values" : name_of(turn->input);
  }
  if (std::holds_alternative<journal::Trained>(entry)) return "trained";
  return std::holds_alternative<journal::Hostile>(entry) ? "hostile" : "digests";
}

}  // namespace

std::string with_unit(double bytes) {
  const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 1000.0 && unit < 4; ++unit) bytes /= 1000.0;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

FileKind kind_of(const std::string& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) {
    if (fs::exists(path + "/state.json", none)) return FileKind::checkpoint;
    return FileKind::run;
  }
  std::ifstream in(path, std::ios::binary);
  std::string head(64, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  if (head.starts_with("hearsay inputs ")) return FileKind::journal;
  if (head.starts_with("{")) return FileKind::event_log;
  if (head.starts_with("hs")) return FileKind::frames;
  if (head.size() > 8 && head[8] == '{') return FileKind::safetensors;
  // Its beginning is damaged: what it was is in its name.
  if (path.ends_with(".jsonl")) return FileKind::event_log;
  if (path.ends_with(".safetensors")) return FileKind::safetensors;
  if (path.ends_with(".bin")) return FileKind::journal;
  return FileKind::unknown;
}

Description describe_checkpoint(const std::string& folder) {
  Description out;
  out.json["kind"] = "checkpoint";
  Json state;
  const std::string path = folder + "/state.json";
  try {
    state = read_sealed(path);
    for (const char* key :
         {"kind", "run", "peer", "samples", "steps", "mseq", "version", "schema"}) {
      const auto found = state.find(key);
      if (found == state.end() || found->is_structured()) continue;
      out.json[key == std::string_view("kind") ? "of" : key] = *found;
      out.line(key, found->is_string() ? found->get<std::string>() : found->dump());
    }
    const std::vector<FileDigests> files =
        files_from_json(path, state.contains("files") ? state["files"] : Json());
    out.line("parts", std::to_string(files.size()) + " files beside state.json, whose digest fits");
    for (const FileDigests& file : files) check_part(folder, file, out);
  } catch (const kernels::Fault& fault) {
    out.damaged.emplace_back(fault.what());
  }
  return out;
}

Description describe_safetensors(const std::string& path) {
  Description out;
  out.json["kind"] = "safetensors";
  TensorFile file;
  try {
    file = read_safetensors(path);
  } catch (const kernels::DamagedFile& fault) {
    out.damaged.emplace_back(fault.what());
    return out;
  }
  const auto& slots = file.layout.slots();
  const std::string digest = kernels::digest({file.values.data(), file.layout.size()}).hex();
  const std::size_t bad = not_finite(file.values.data(), file.layout.size());
  out.json["dtype"] = "F32";
  out.json["parameters"] = file.layout.size();
  out.json["digest"] = digest;
  out.json["not_finite"] = bad;
  out.json["metadata"] = Json::object();
  out.line("model", std::to_string(slots.size()) + " tensors, " +
                        std::to_string(file.layout.size()) + " parameters, F32, " +
                        with_unit(4.0 * static_cast<double>(file.layout.size())));
  out.line("digest", digest);
  out.line("finite", bad == 0 ? "all values" : std::to_string(bad) + " values are NaN or infinite");
  for (const auto& [key, value] : file.metadata) {
    out.json["metadata"][key] = value;
    out.line("metadata", key + " = " + (value.size() > 60 ? value.substr(0, 60) + "..." : value));
  }
  for (const kernels::TensorSlot& slot : slots) {
    const std::size_t bad_here = not_finite(file.values.data() + slot.offset, slot.count);
    out.json["tensors"].push_back(
        {{"name", slot.name}, {"shape", slot.shape}, {"not_finite", bad_here}});
    const std::size_t shown = out.json["tensors"].size();
    if (shown > kMostTensorLines) continue;
    out.line("", slot.name + "  " + shape_text(slot.shape) +
                     (bad_here > 0 ? "  " + std::to_string(bad_here) + " not finite" : ""));
  }
  if (slots.size() > kMostTensorLines)
    out.line("", "and " + std::to_string(slots.size() - kMostTensorLines) + " more (--json)");
  return out;
}

Description describe_journal(const std::string& path) {
  Description out;
  out.json["kind"] = "journal";
  std::map<std::string, std::uint64_t> counts;
  std::error_code none;
  const auto bytes = static_cast<double>(fs::file_size(path, none));
  try {
    JournalReader reader(path);
    for (const char* key : {"run", "peer", "incarnation", "git", "blas"}) {
      const auto found = reader.head().find(key);
      if (found == reader.head().end() || found->is_structured()) continue;
      out.json[key] = *found;
      out.line(key, found->is_string() ? found->get<std::string>() : found->dump());
    }
    std::uint64_t marks = 0, last_mark = 0;
    std::int64_t last_ns = 0;
    while (const auto entry = reader.next()) {
      ++counts[name_of(*entry)];
      if (const auto* turn = std::get_if<journal::Turn>(&*entry)) last_ns = turn->now.count();
      if (const auto* digests = std::get_if<journal::Digests>(&*entry)) {
        ++marks;
        last_mark = digests->mseq;
      }
    }
    const std::uint64_t models = counts["frame_with_values"];
    out.json["entries"] = reader.entries();
    out.json["counts"] = counts;
    out.json["bytes"] = bytes;
    out.json["bytes_per_model"] = models > 0 ? Json(bytes / static_cast<double>(models)) : Json();
    out.json["marks"] = marks;
    out.json["last_mark_mseq"] = last_mark;
    out.json["last_t_ns"] = last_ns;
    out.json["whole"] = reader.damage().empty();
    out.line("entries", std::to_string(reader.entries()) + " in " + with_unit(bytes) +
                            (models > 0 ? ", " + with_unit(bytes / static_cast<double>(models)) +
                                              " a model that came"
                                        : ""));
    for (const auto& [name, count] : counts) {
      if (count > 0) out.line("", name + "  " + std::to_string(count));
    }
    out.line("marks", std::to_string(marks) + " digests of weights" +
                          (marks > 0 ? ", the last after merge " + std::to_string(last_mark) : ""));
    if (reader.damage().empty()) {
      out.line("end", "whole");
    } else {
      out.damaged.push_back(reader.damage());
    }
  } catch (const kernels::Fault& fault) {
    out.damaged.emplace_back(fault.what());
  }
  return out;
}

}  // namespace hearsay::runtime

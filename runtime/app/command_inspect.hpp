// SPDX-License-Identifier: Apache-2.0
// What `hearsay inspect` says of one thing: a JSON object for programs and lines for people, made
// together so that they agree. Parts are made by functions that only read, one file a kind of
// thing. Invariant: damage is in `damaged`, with file and offset, never an exception once the kind
// is known. Lane: any.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

struct Description {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  std::vector<std::pair<std::string, std::string>> lines;  // label, text; no label: goes on
  std::vector<std::string> damaged;

  void line(std::string label, std::string text) {
    lines.emplace_back(std::move(label), std::move(text));
  }
};

// The merge graph of a run: statistics, spread, mixing, ancestry (command_inspect_graph.cpp).
Description describe_graph(const RunDir& run);

enum class FileKind { event_log, journal, frames, safetensors, checkpoint, run, unknown };
// By what stands in it; by its name only where its beginning is damaged. `path` exists.
FileKind kind_of(const std::string& path);

Description describe_checkpoint(const std::string& folder);  // command_inspect_files.cpp
Description describe_safetensors(const std::string& path);
Description describe_journal(const std::string& path);
Description describe_frames(const std::string& path);  // command_inspect_frames.cpp

std::string with_unit(double bytes);  // "1.2 MB"

}  // namespace hearsay::runtime

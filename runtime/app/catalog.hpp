// SPDX-License-Identifier: Apache-2.0
// Every named part that the program can be asked for, listed by hand: form, one line, and what it
// costs. `hearsay config list` prints it; check_names() refuses names that are not in it before
// anything is loaded. There is no registry: a part is added here and where it is built. N is the
// number of parameters, n that of peers; sizes are payload, without the 64-byte header of a
// message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/config/run_config.hpp"

namespace hearsay::runtime {

struct CatalogEntry {
  std::string_view name;  // "ema"
  std::string_view form;  // "ema:A | ema:a=A..B,shape=linear|cosine"
  std::string_view summary;
  std::string_view cost;
};

struct CatalogSection {
  std::string_view option;  // "merge": what --merge may name
  std::string_view kind;    // "merge rule", for messages
  std::vector<CatalogEntry> entries;
  std::vector<CatalogEntry> modifiers;  // what may follow a '+'
};

const std::vector<CatalogSection>& catalog();
const CatalogSection& catalog_section(std::string_view option);  // must exist
std::vector<std::string> catalog_names(std::string_view option);

// Throws UsageError with the nearest name for every named part of `config` that does not exist.
// Arguments of a part are read where it is built.
void check_names(const RunConfig& config);

std::string catalog_text();
nlohmann::ordered_json catalog_json();

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/catalog.hpp"

#include <set>
#include <sstream>

#include "kernels/core/errc.hpp"
#include "runtime/config/config.hpp"
#include "runtime/config/presets.hpp"
#include "tests/catch.hpp"

using hearsay::kernels::UsageError;
using namespace hearsay::runtime;

namespace {

RunConfig config_of(const std::vector<std::string>& args) {
  return typed_config(merge_settings(parse_arguments(sim_syntax(), args), {}));
}

std::string complaint_of(const std::vector<std::string>& args) {
  try {
    check_names(config_of(args));
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every section belongs to an option and names each part once, with its cost", "[app]") {
  for (const CatalogSection& section : catalog()) {
    CAPTURE(std::string(section.option));
    CHECK(find_option(section.option) != nullptr);
    std::set<std::string> names;
    for (const CatalogEntry& entry : section.entries) {
      CHECK(names.insert(std::string(entry.name)).second);
      CHECK(entry.form.starts_with(entry.name));
      CHECK_FALSE(entry.summary.empty());
      CHECK_FALSE(entry.cost.empty());
    }
    for (const CatalogEntry& entry : section.modifiers) {
      CHECK(entry.form.starts_with("+" + std::string(entry.name)));
    }
  }
}

TEST_CASE("the defaults and every preset name existing parts", "[app]") {
  CHECK(complaint_of({}).empty());
  for (const Preset& preset : presets()) {
    CHECK(complaint_of({"--preset", std::string(preset.name)}).empty());
  }
}

TEST_CASE("the forms that the catalog prints are accepted", "[app]") {
  for (const CatalogSection& section : catalog()) {
    for (const CatalogEntry& entry : section.entries) {
      std::istringstream forms{std::string(entry.form)};
      std::string form;
      while (forms >> form) {
        if (form == "|" || contains(form, "|")) {
          continue;  // a choice inside a form is no text to type
        }
        CAPTURE(std::string(section.option), form);
        CHECK(complaint_of({"--" + std::string(section.option), form}).empty());
        for (const CatalogEntry& modifier : section.modifiers) {
          CHECK(
              complaint_of({"--" + std::string(section.option), form + std::string(modifier.form)})
                  .empty());
        }
      }
    }
  }
}

TEST_CASE("an unknown name is refused with the nearest one", "[app]") {
  CHECK(contains(complaint_of({"--protocol", "pairwize"}),
                 "unknown protocol 'pairwize' (did you mean 'pairwise'?"));
  CHECK(contains(complaint_of({"--merge", "emma:0.5"}), "did you mean 'ema'?"));
  CHECK(contains(complaint_of({"--merge", "ema:0.5+stale"}), "did you mean 'staleness'?"));
  CHECK(contains(complaint_of({"--topology", "ring+x"}), "no '+' modifiers"));
  CHECK(contains(complaint_of({"--data", "fashion:/x"}), "did you mean 'fashion-mnist'?"));
  CHECK(contains(complaint_of({"--split", "label:2"}), "did you mean 'labels'?"));
  CHECK(contains(complaint_of({"--chaos", "kil=1@30%"}), "did you mean 'kill'?"));
  for (const char* const option : {"--model", "--optimizer", "--schedule", "--net", "--compute"}) {
    CHECK(contains(complaint_of({option, "zzzz"}), "known: "));
  }
}

TEST_CASE("the printed catalog holds every name and its JSON twin the same", "[app]") {
  const std::string text = catalog_text();
  const auto json = catalog_json();
  for (const CatalogSection& section : catalog()) {
    const auto& entries = json[std::string(section.option)]["entries"];
    REQUIRE(entries.size() == section.entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      CHECK(entries[i]["name"] == section.entries[i].name);
      CHECK(contains(text, std::string(section.entries[i].form)));
    }
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
  }
}

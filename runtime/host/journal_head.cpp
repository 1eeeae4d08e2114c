// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/journal_head.hpp"

#include <functional>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {
namespace {

using Texts = std::map<std::string, std::string>;

constexpr const char* kDevice = "device";
constexpr const char* kOuter = "outer";
constexpr const char* kTune = "tune";
constexpr const char* kLogExamples = "log-examples";
constexpr const char* kBandwidth = "bandwidth";

// One entry an option: how its text is told and read.
struct Computed {
  const char* name;
  std::function<std::string(const RunConfig&)> tell;
  std::function<void(RunConfig&, const std::string&)> read;
};

Computed of_spec(const char* name, Spec RunConfig::*field) {
  return {name, [field](const RunConfig& c) { return (c.*field).text; },
          [name, field](RunConfig& c, const std::string& text) {
            c.*field = parse_spec("--" + std::string(name), text);
          }};
}

Computed of_text(const char* name, std::string RunConfig::*field) {
  return {name, [field](const RunConfig& c) { return c.*field; },
          [field](RunConfig& c, const std::string& text) { c.*field = text; }};
}

template <typename Number>
Computed of_count(const char* name, Number RunConfig::*field) {
  return {name, [field](const RunConfig& c) { return std::to_string(c.*field); },
          [name, field](RunConfig& c, const std::string& text) {
            c.*field = static_cast<Number>(parse_count("--" + std::string(name), text));
          }};
}

Computed of_flag(const char* name, bool RunConfig::*field) {
  return {name, [field](const RunConfig& c) { return std::string(c.*field ? "true" : "false"); },
          [field](RunConfig& c, const std::string& text) { c.*field = text == "true"; }};
}

const std::vector<Computed>& table() {
  static const std::vector<Computed> computed{
      of_count("peers", &RunConfig::peers),
      of_text("data", &RunConfig::data),
      of_text("split", &RunConfig::split),
      of_spec("model", &RunConfig::model),
      of_count("epochs", &RunConfig::epochs),
      of_flag("until-converged", &RunConfig::until_converged),
      of_spec("optimizer", &RunConfig::optimizer),
      of_spec("schedule", &RunConfig::schedule),
      of_count("batch", &RunConfig::batch),
      of_spec("merge-every", &RunConfig::merge_every),
      of_spec("protocol", &RunConfig::protocol),
      of_spec("topology", &RunConfig::topology),
      of_spec("merge", &RunConfig::merge),
      of_spec("codec", &RunConfig::codec),
      of_spec(kOuter, &RunConfig::outer),
      of_spec("share", &RunConfig::share),
      of_spec("cluster", &RunConfig::cluster),
      of_spec("trade", &RunConfig::trade),
      of_spec(kTune, &RunConfig::tune),
      of_spec("sampling", &RunConfig::sampling),
      of_spec("retire", &RunConfig::retire),
      of_spec("quarantine", &RunConfig::quarantine),
      of_flag(kLogExamples, &RunConfig::log_examples),
      of_text(kBandwidth, &RunConfig::bandwidth),
      of_flag("wait", &RunConfig::wait),
      of_spec("end-game", &RunConfig::end_game),
      of_count("seed", &RunConfig::seed),
      of_text(kDevice, &RunConfig::device)};
  return computed;
}

struct HeadState {
  JournalHead& head;
  void state(gossip::Archive& a) {
    std::vector<std::uint8_t> present(head.at_start.begin(), head.at_start.end());
    a("run", head.run)("peer", head.peer)("git", head.git)("blas", head.blas);
    if (!a.loading() || a.has(kDevice)) a(kDevice, head.device);
    a("incarnation", head.incarnation)("late", head.late)("at_start", present);
    head.at_start.assign(present.begin(), present.end());
    a("resumes", head.resumes)("config", head.config);
    if (head.written > 0 || a.has("written")) a("written", head.written);
  }
};

}  // namespace

Texts computed_config(const RunConfig& config) {
  Texts texts;
  for (const Computed& each : table()) texts[each.name] = each.tell(config);
  return texts;
}

void apply_computed_config(const Texts& texts, RunConfig& config) {
  for (const Computed& each : table()) {
    const auto found = texts.find(each.name);
    if (found == texts.end() && each.name == std::string_view(kDevice)) {
      config.device = "cpu";  // of journals from before there was a choice
      continue;
    }
    if (found == texts.end() && each.name == std::string_view(kBandwidth)) continue;  // likewise
    if (found == texts.end() && each.name == std::string_view(kOuter)) {
      config.outer = RunConfig().outer;  // likewise
      continue;
    }
    if (found == texts.end() &&
        (each.name == std::string_view(kTune) || each.name == std::string_view(kLogExamples))) {
      each.read(config, each.tell(RunConfig()));  // likewise
      continue;
    }
    if (found == texts.end())
      throw kernels::UsageError("the journal does not say --" + std::string(each.name));
    each.read(config, found->second);
  }
}

nlohmann::ordered_json JournalHead::json() const {
  JournalHead copy = *this;
  gossip::Archive archive;
  HeadState state{copy};
  archive("head", state);
  return archive.json().at("head");
}

JournalHead JournalHead::from_json(const std::string& path, const nlohmann::ordered_json& json) {
  JournalHead head;
  try {
    gossip::Archive archive(nlohmann::ordered_json{{"head", json}}, {});
    HeadState state{head};
    archive("head", state);
  } catch (const gossip::ArchiveFault& fault) {
    throw kernels::UsageError("journal " + path + ": " + fault.what());
  }
  return head;
}

PeerPlace JournalHead::place() const {
  PeerPlace place;
  place.incarnation = incarnation;
  place.late = late;
  place.at_start = at_start;
  return place;
}

std::string journal_path(const RunDir& run, std::string_view peer, std::uint64_t incarnation) {
  return run.peer_dir(peer) + "/inputs." + std::to_string(incarnation) + ".bin";
}

}  // namespace hearsay::runtime

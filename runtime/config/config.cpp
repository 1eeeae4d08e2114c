// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/config.hpp"

#include <algorithm>
#include <limits>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/config/bandwidth.hpp"

namespace hearsay::runtime {

using kernels::UsageError;

namespace {

constexpr std::string_view kOff = "off";

// Reads options out of Settings; every complaint says where the text came from.
class Reader {
 public:
  explicit Reader(const Settings& settings) : settings_(settings) {}

  template <typename Read>
  auto read(std::string_view name, Read&& read_text) const {
    const Setting& setting = settings_.at(name);
    try {
      return read_text("--" + std::string(name), setting.text());
    } catch (const UsageError& error) {
      complain(name, error.what());
    }
  }

  std::uint32_t count(std::string_view name, std::uint64_t least) const {
    return read(name, [least](const std::string& flag, const std::string& text) {
      const std::uint64_t value = parse_count(flag, text);
      if (value < least || value > std::numeric_limits<std::uint32_t>::max()) {
        throw UsageError(flag + " " + text + ": must be at least " + std::to_string(least) +
                         " and below 2^32");
      }
      return static_cast<std::uint32_t>(value);
    });
  }

  Spec spec(std::string_view name) const {
    return read(name, [](const std::string& flag, const std::string& text) {
      return parse_spec(flag, text);
    });
  }

  bool boolean(std::string_view name) const {
    return read(name, [](const std::string& flag, const std::string& text) {
      return parse_boolean(flag, text);
    });
  }

  [[noreturn]] void complain(std::string_view name, const std::string& line) const {
    const std::string& origin = settings_.origin(name);
    throw UsageError(origin == "flag" ? line : line + " (from " + origin + ")");
  }

 private:
  const Settings& settings_;
};

Spec read_merge_every(const std::string& flag, const std::string& text) {
  static const std::vector<std::string> modes{"literal", "truncated", "shifted", "steps"};
  Spec spec = parse_spec(flag, text);
  reject_unknown(flag, spec, {"mode"}, 0);
  if (!spec.modifiers.empty()) {
    throw UsageError(flag + " '" + text + "': no '+' modifiers here");
  }
  const double epochs = parse_number(flag, spec.name);
  if (!(epochs > 0.0)) {
    throw UsageError(flag + " '" + text + "': must be above 0 (--protocol local never merges)");
  }
  if (const auto mode = spec.arg("mode")) {
    if (std::find(modes.begin(), modes.end(), *mode) == modes.end()) {
      throw_unknown(flag + " mode", *mode, modes);
    }
    if (epochs < 1.0 && (*mode == "literal" || *mode == "shifted")) {
      throw UsageError(flag + " '" + text + "': mode " + *mode +
                       " needs 1 epoch or more; below 1 use mode=steps");
    }
  }
  return spec;
}

Spec read_eval_every(const std::string& flag, const std::string& text) {
  Spec spec = parse_spec(flag, text);
  reject_unknown(flag, spec, {"n"}, 0);
  if (!spec.modifiers.empty()) {
    throw UsageError(flag + " '" + text + "': no '+' modifiers here");
  }
  const double epochs = parse_number(flag, spec.name);
  if (epochs < 0.0 || (epochs > 0.0 && epochs < 1e-4) || epochs > 1e9) {
    throw UsageError(flag + " '" + text +
                     "': 0 (evaluates only at the end) or 0.0001 epochs and more");
  }
  const auto examples = spec.arg("n");
  if (examples && parse_count(flag, *examples) == 0) {
    throw UsageError(flag + " '" + text + "': n must be at least 1");
  }
  return spec;
}

std::string read_digests(const std::string& flag, const std::string& text) {
  if (text != "auto" && text != "on" && text != kOff)
    throw_unknown(flag, text, {"auto", "on", std::string(kOff)});
  return text;
}

Spec read_end_game(const std::string& flag, const std::string& text) {
  Spec spec = parse_spec(flag, text);
  if (spec.name != kOff && spec.name != "rounds") {
    throw_unknown(flag, spec.name, {"off", "rounds"});
  }
  const bool rounds = spec.name == "rounds";
  reject_unknown(flag, spec, {}, rounds ? 1 : 0);
  if (!spec.modifiers.empty() || (rounds && spec.values.empty())) {
    throw UsageError(flag + " '" + text + "': write off or rounds=R");
  }
  if (rounds && parse_count(flag, spec.values.front()) == 0) {
    throw UsageError(flag + " '" + text + "': at least 1 round, or off");
  }
  return spec;
}

std::optional<Target> read_target(const std::string& flag, const std::string& text) {
  static const std::vector<std::string> metrics{"test_acc"};
  if (text == kOff) {
    return std::nullopt;
  }
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw UsageError(flag + " '" + text + "': write metric=value, such as test_acc=0.86, or off");
  }
  const std::string metric = text.substr(0, equals);
  if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end()) {
    throw_unknown("target metric", metric, metrics);
  }
  return Target{metric, parse_share(flag, text.substr(equals + 1))};
}

std::optional<double> read_time(const std::string& flag, const std::string& text) {
  if (text == kOff) {
    return std::nullopt;
  }
  const double seconds = parse_seconds(flag, text);
  if (!(seconds > 0.0)) {
    throw UsageError(flag + " " + text + ": must be above 0, or off");
  }
  return seconds;
}

// Every fault comes out as kind=value, however it was written.
std::vector<std::string> read_chaos(const Reader& reader, const std::vector<std::string>& texts) {
  if (texts.size() == 1 && texts.front() == kOff) {
    return {};
  }
  std::vector<std::string> faults;
  for (const std::string& text : texts) {
    faults.push_back(reader.read("chaos", [&text](const std::string& flag, const std::string&) {
      const Spec spec = parse_spec(flag, text);
      reject_unknown(flag, spec, {}, 1);
      if (spec.values.empty() || !spec.modifiers.empty()) {
        throw UsageError(flag + " '" + text + "': write one fault, such as kill=p03@30%");
      }
      return spec.name + "=" + spec.values.front();
    }));
  }
  return faults;
}

}  // namespace

std::string Setting::text() const {
  std::string joined;
  for (std::size_t i = 0; i < values.size(); ++i) {
    joined += (i == 0 ? "" : "; ") + values[i];
  }
  return joined;
}

const Setting& Settings::at(std::string_view name) const {
  const auto found = settings_.find(name);
  HS_CHECK(found != settings_.end());
  return found->second;
}

void Settings::set(std::string_view name, std::vector<std::string> values, std::string origin) {
  HS_CHECK(find_option(name) != nullptr && !values.empty());
  settings_.insert_or_assign(std::string(name), Setting{std::move(values), std::move(origin)});
}

namespace {
constexpr std::uint32_t kMostThreads = 1024;

// The text of an option's own variable would be taken for that option.
void refuse_own_variable(const Reader& reader, const std::string& secret) {
  for (const Option& option : option_table()) {
    const std::string name = environment_name(option);
    if (secret == "env:" + name)
      reader.complain("secret", "--secret: " + name + " is the variable of --" +
                                    std::string(option.name) +
                                    "; keep the secret in one of another name");
  }
}

void read_security(const Reader& reader, const Settings& settings, RunConfig& config) {
  const auto text_of = [&](std::string_view name) {
    const std::string text = settings.text(name);
    const std::string flag = "--" + std::string(name);
    if (text.empty()) reader.complain(name, flag + " is empty; off means none");
    return text == kOff ? std::nullopt : std::optional(text);
  };
  config.secret = text_of("secret");
  config.tls = text_of("tls");
  config.revoked = text_of("revoked");
  if (config.secret && config.tls)
    reader.complain("tls", "--tls: there is a --secret as well; take one of them");
  if (config.revoked && config.secret)
    reader.complain("revoked",
                    "--revoked: with a --secret no peer can be told from another, so none can be "
                    "shut out; give all others a new secret, or use --tls");
  if (config.revoked && !config.tls)
    reader.complain("revoked", "--revoked: there are no certificates without --tls CA,CERT,KEY");
  if (config.secret) refuse_own_variable(reader, *config.secret);
}

}  // namespace

RunConfig typed_config(const Settings& settings) {
  const Reader reader(settings);
  RunConfig config;
  config.run_dir = settings.text("run");
  if (config.run_dir.empty() && settings.origin("run") != "default") {
    reader.complain(
        "run", "--run is empty: give a folder, or leave it out for runs/<preset>-s<seed>-<date>");
  }
  config.preset = settings.text("preset");
  config.peers = reader.count("peers", 1);
  config.min_peers = reader.count("min-peers", 1);
  if (config.min_peers > config.peers) {
    reader.complain("min-peers", "--min-peers " + settings.text("min-peers") +
                                     ": the pool has only --peers " + settings.text("peers"));
  }
  // What follows the ':' of a data set may be any path, so only runtime/data takes it apart.
  config.data = reader.read("data", [](const std::string& flag, const std::string& text) {
    return text.empty() ? throw UsageError(flag + " is empty") : text;
  });
  config.split = reader.spec("split").text;
  config.model = reader.spec("model");
  config.epochs = reader.count("epochs", 1);
  config.time_s = reader.read("time", read_time);
  config.target = reader.read("target", read_target);
  config.until_converged = reader.boolean("until-converged");
  config.optimizer = reader.spec("optimizer");
  config.schedule = reader.spec("schedule");
  config.batch = reader.count("batch", 1);
  config.merge_every = reader.read("merge-every", read_merge_every);
  config.protocol = reader.spec("protocol");
  config.topology = reader.spec("topology");
  config.merge = reader.spec("merge");
  config.codec = reader.spec("codec");
  config.outer = reader.spec("outer");
  config.share = reader.spec("share");
  config.cluster = reader.spec("cluster");
  config.trade = reader.spec("trade");
  config.tune = reader.spec("tune");
  config.sampling = reader.spec("sampling");
  config.retire = reader.spec("retire");
  config.quarantine = reader.spec("quarantine");
  config.bandwidth = reader.read("bandwidth", [](const std::string& flag, const std::string& text) {
    parse_bandwidth(flag, text);
    return text;
  });
  config.wait = reader.boolean("wait");
  config.end_game = reader.read("end-game", read_end_game);
  config.eval_every = reader.read("eval-every", read_eval_every);
  config.net = reader.spec("net");
  config.compute = reader.spec("compute");
  config.chaos = read_chaos(reader, settings.at("chaos").values);
  config.seed = reader.read("seed", [](const std::string& flag, const std::string& text) {
    return parse_count(flag, text);
  });
  config.device = reader.spec("device").text;
  config.threads = reader.count("threads", 0);
  if (config.threads > kMostThreads) {
    reader.complain("threads", "--threads " + settings.text("threads") + ": at most " +
                                   std::to_string(kMostThreads));
  }
  config.listen = settings.text("listen");
  if (settings.text("join") != kOff) config.join = settings.text("join");
  config.insecure = reader.boolean("insecure");
  read_security(reader, settings, config);
  config.announce = settings.text("announce");
  config.name = settings.text("name");
  config.start_with = reader.count("start-with", 0);
  if (config.start_with > config.peers) {
    reader.complain("start-with", "--start-with " + settings.text("start-with") +
                                      ": the pool has only --peers " + settings.text("peers"));
  }
  config.restarts = reader.count("restarts", 0);
  config.resume = reader.boolean("resume");
  if (config.resume && config.run_dir.empty())
    reader.complain("resume", "--resume: say which run with --run DIR");
  config.checkpoint_every_s = reader.read("checkpoint-every", read_time);
  config.log_digests = reader.read("log-digests", read_digests);
  config.log_examples = reader.boolean("log-examples");
  if (settings.text("metrics") != kOff) config.metrics = settings.text("metrics");
  config.check = reader.boolean("check");
  config.json = reader.boolean("json");
  config.quiet = reader.boolean("quiet");
  config.dry_run = reader.boolean("dry-run");
  return config;
}

void with_origins(const Settings& settings, const std::function<void()>& build) {
  try {
    build();
  } catch (const UsageError& error) {
    const std::string line = error.what();
    for (const Option& option : option_table()) {
      const std::string flag = "--" + std::string(option.name);
      const std::size_t at = line.find(flag);
      if (at == std::string::npos || at > std::string_view("unknown ").size() ||
          std::string_view(": '").find(line[at + flag.size()]) == std::string_view::npos) {
        continue;
      }
      const std::string& origin = settings.origin(option.name);
      if (origin != "flag" && origin != "default") {
        throw UsageError(line + " (from " + origin + ")");
      }
    }
    throw;
  }
}

nlohmann::ordered_json config_json(const Settings& settings) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Option& option : option_table()) {
    if (!option.recorded) {
      continue;
    }
    const Setting& setting = settings.at(option.name);
    nlohmann::ordered_json value;
    if (option.repeatable && !(setting.values.size() == 1 && setting.values.front() == kOff)) {
      value = setting.values;
    } else {
      value = setting.text();
    }
    json[std::string(option.name)] = {{"value", std::move(value)}, {"origin", setting.origin}};
  }
  return json;
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/peer_files.hpp"

#include <fcntl.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <limits>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "kernels/core/digest.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/checkpoint/checkpoint_store.hpp"
#include "runtime/log/atomic_file.hpp"
#include "runtime/log/posix_file.hpp"
#include "runtime/log/safetensors.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using kernels::DamagedFile;

constexpr std::size_t kMaxTextBytes = 1 << 20;  // such a file is below 2 kB
constexpr const char* kBeforeEndGameFile = "before_end_game.safetensors";

// The one list of what a peer's result.json holds: written and read alike.
template <typename Result, typename Visit>
void for_each_field(Result& r, Visit&& visit) {
  visit("peer", r.name);
  visit("alive", r.alive);
  visit("reason", r.reason);
  visit("shard", r.shard);
  visit("samples", r.counters.samples);
  visit("steps", r.counters.steps);
  visit("merges", r.counters.merges_started);
  visit("merges_applied", r.counters.merges_applied);
  visit("merges_refused", r.counters.merges_refused);
  visit("merges_skipped", r.counters.merges_skipped);
  visit("samples_at_last_merge", r.counters.samples_at_last_merge);
  visit("longest_gap_samples", r.counters.longest_gap_samples);
  visit("age_samples_sum", r.counters.age_samples_sum);
  visit("mass", r.counters.mass);
  visit("votes_heard", r.counters.votes_heard);
  visit("inherited_samples", r.counters.inherited_samples);
  visit("payload_bytes", r.payload_bytes);
  visit("wire_bytes", r.wire_bytes);
  visit("communities", r.communities);
  visit("example_bytes", r.example_bytes);
  visit("examples_reserve", r.examples.reserve);
  visit("examples_retired", r.examples.retired);
  visit("retired_acc", r.examples.retired_acc);
  visit("examples_quarantined", r.examples.quarantined);
  visit("wrong_labels", r.examples.wrong);
  visit("wrong_quarantined", r.examples.wrong_quarantined);
  visit("test_loss", r.test.loss);
  visit("test_acc", r.test.accuracy);
  visit("test_examples", r.test.examples);
  visit("test_final", r.test_final);
  visit("wall_s", r.wall_s);
  visit("train_s", r.train_s);
  visit("cpu_s", r.cpu_s);
  visit("io_cpu_s", r.io_cpu_s);
  visit("peak_rss_bytes", r.peak_rss_bytes);
  visit("frames_handed_over", r.frames_handed_over);
}

Json json_of(const Evaluation& e) {
  return {{"loss", e.loss}, {"acc", e.accuracy}, {"examples", e.examples}};
}
template <typename T>
Json json_of(const T& value) {
  return value;
}

// Takes a result.json apart; every complaint names the file and the key.
class ResultReader {
 public:
  ResultReader(const std::string& path, const Json& object) : path_(path), object_(object) {}

  template <typename T>
  void operator()(const char* key, std::optional<T>& out) const {
    if (!object_.contains(key)) return;
    T value{};
    (*this)(key, value);
    out = value;
  }

  void operator()(const char* key, Evaluation& out) const {
    const ResultReader parts(path_, at(key, object_.contains(key) && object_.at(key).is_object()));
    parts("loss", out.loss);
    parts("acc", out.accuracy);
    parts("examples", out.examples);
  }

  template <typename T>
  void operator()(const char* key, T& out) const {
    const auto found = object_.find(key);
    const bool there = found != object_.end();
    if constexpr (std::is_same_v<T, bool>) {
      out = at(key, there && found->is_boolean()).template get<T>();
    } else if constexpr (std::is_unsigned_v<T>) {
      const auto value =
          at(key, there && found->is_number_unsigned()).template get<std::uint64_t>();
      out = at(key, value <= std::numeric_limits<T>::max()).template get<T>();
    } else if constexpr (std::is_floating_point_v<T>) {  // null: JSON has no word for "no number"
      const Json& value = at(key, there && (found->is_number() || found->is_null()));
      out = value.is_null() ? std::numeric_limits<T>::quiet_NaN() : value.template get<T>();
    } else {
      out = at(key, there && found->is_string()).template get<T>();
    }
  }

 private:
  const Json& at(const char* key, bool fits) const {
    if (!fits)
      throw DamagedFile(path_, 0, std::string("'") + key + "' is missing or no such value");
    return object_.at(key);
  }

  const std::string& path_;
  const Json& object_;
};

std::optional<std::string> read_small_file(const std::string& path) {
  const FileHandle file = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!file.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw kernels::UsageError(path + ": " + error_text(errno));
  }
  std::string text(kMaxTextBytes + 1, '\0');
  const std::ptrdiff_t length = read_at(file.get(), text, 0);
  if (length < 0) throw kernels::UsageError(path + ": " + error_text(errno));
  if (static_cast<std::size_t>(length) > kMaxTextBytes)
    throw DamagedFile(path, kMaxTextBytes, "longer than any file of its kind");
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::uint64_t parse_number(const std::string& text, std::size_t& stop) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  stop = error == std::errc() ? static_cast<std::size_t>(end - text.data()) : 0;
  return number;
}

std::string parse_latest(const std::string& path, const std::string& text) {
  std::size_t stop = 0;
  const std::string name = CheckpointStore::name_of(parse_number(text, stop));
  if (text != name + "\n") throw DamagedFile(path, stop, "does not name a checkpoint");
  return name;
}

TensorFile read_values(const std::string& path, std::string_view peer) {
  TensorFile file = read_safetensors(path);
  if (file.metadata["hearsay.peer"] != peer)
    throw DamagedFile(path, 0, "is not the model of " + std::string(peer));
  if (file.metadata["hearsay.digest"] != kernels::digest(file.values.span()).hex())
    throw DamagedFile(path, 0, "the values do not have the digest that the header gives");
  return file;
}

}  // namespace

std::vector<TensorPart> peer_model_parts(const RunDir& run, const PeerResult& result,
                                         const std::string& version, const kernels::Layout& layout,
                                         const PeerWeights& weights) {
  const auto part = [&](const char* file, std::span<const float> values) {
    return TensorPart{
        file,
        layout,
        {values},
        {{"format", "pt"},
         {"hearsay.run", run.name()},
         {"hearsay.peer", result.name},
         {"hearsay.version", version},
         {"hearsay.samples", std::to_string(result.counters.samples)},
         {"hearsay.steps", std::to_string(result.counters.steps)},
         {"hearsay.parents", result.name + ":" + std::to_string(result.counters.merges_applied)},
         {"hearsay.digest", kernels::digest(values).hex()}}};
  };
  std::vector<TensorPart> parts{part(kModelFile, weights.final_weights)};
  if (!weights.before_end_game.empty())
    parts.push_back(part(kBeforeEndGameFile, weights.before_end_game));
  return parts;
}

void write_peer_result(const RunDir& run, const PeerResult& result) {
  run.prepare_peer_dir(result.name);
  Json j;
  for_each_field(result, [&](const char* key, const auto& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value) j[key] = json_of(*value);
    } else {
      j[key] = json_of(value);
    }
  });
  write_file_atomically(run.peer_result(result.name), j.dump(2) + "\n");
}

std::optional<PeerResult> read_peer_result(const RunDir& run, std::string_view peer) {
  const std::string path = run.peer_result(peer);
  const std::optional<std::string> text = read_small_file(path);
  if (!text) return std::nullopt;
  Json object;
  try {
    object = Json::parse(*text);
  } catch (const Json::parse_error& error) {
    throw DamagedFile(path, error.byte > 0 ? error.byte - 1 : 0, "is not JSON");
  } catch (const Json::exception&) {
    throw DamagedFile(path, 0, "holds a number that is out of range");
  }
  if (!object.is_object()) throw DamagedFile(path, 0, "is no JSON object");
  PeerResult result;
  for_each_field(result, ResultReader(path, object));
  if (result.name != peer) throw DamagedFile(path, 0, "is about '" + result.name + "'");
  return result;
}

std::optional<PeerModel> read_peer_model(const RunDir& run, std::string_view peer) {
  const std::string latest = run.peer_checkpoints(peer) + "/latest";
  const std::optional<std::string> text = read_small_file(latest);
  if (!text) return std::nullopt;
  const std::string folder = run.peer_checkpoints(peer) + "/" + parse_latest(latest, *text) + "/";
  const std::string path = folder + kModelFile, path_before = folder + kBeforeEndGameFile;
  if (!fs::exists(path))
    throw DamagedFile(latest, 0, "names a checkpoint without a model: " + folder);
  PeerModel model;
  TensorFile file = read_values(path, peer);
  const std::string steps = file.metadata["hearsay.steps"];
  std::size_t digits = 0;
  model.steps = parse_number(steps, digits);
  if (digits == 0 || digits != steps.size())
    throw DamagedFile(path, 0, "does not say how many mini-batches are behind it");
  model.layout = std::move(file.layout);
  model.final_weights = std::move(file.values);
  if (!fs::exists(path_before)) return model;
  TensorFile before = read_values(path_before, peer);
  if (const std::string name = model.layout.first_difference(before.layout); !name.empty())
    throw DamagedFile(path_before, 0, "tensor '" + name + "' is not as in the model");
  model.before_end_game = std::move(before.values);
  return model;
}

}  // namespace hearsay::runtime

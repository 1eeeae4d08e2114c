// SPDX-License-Identifier: Apache-2.0
// A TensorBoard run a peer: `tensorboard --logdir OUT`. The step of a scalar is its peer's sample
// counter, so that peers of different speed line up; between two blocks it is interpolated, which
// takes a pass over the blocks first. Wall time is that of the log's header plus its run clock.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/export/event_stream.hpp"
#include "runtime/export/formats.hpp"
#include "runtime/export/tf_events.hpp"
#include "runtime/graph/training_clock.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
constexpr std::int64_t kMostTime = std::int64_t{1} << 54;  // as the merge graph has it

using ClockKey = std::pair<std::size_t, std::string>;  // log, peer
using Clocks = std::map<ClockKey, TrainingClock>;

std::int64_t time_of(const LoggedEvent& event) {
  return std::clamp(event.t_ns, -kMostTime, kMostTime);
}

// "2026-01-02T10:15:00Z" in seconds since 1970; 0 when it is none.
double start_s(const nlohmann::ordered_json& header) {
  const auto found = header.find("time");
  std::tm utc{};
  if (found == header.end() || !found->is_string()) return 0.0;
  const auto text = found->get<std::string>();
  if (strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc) == nullptr) return 0.0;
  return static_cast<double>(timegm(&utc));
}

void note_progress(const LoggedEvent& event, TrainingClock& clock) {
  const std::int64_t t_ns = time_of(event);
  const std::uint64_t samples = count_of(event, "samples");
  if (event.ev == "block.finished") {
    const double spent_ns = static_cast<double>(count_of(event, "steps")) *
                            static_cast<double>(count_of(event, "step_ns"));
    clock.block_ends(t_ns, samples, static_cast<std::int64_t>(std::min(spent_ns, 0x1p61)));
  } else if (event.ev == "state.adopted") {
    clock.jump(t_ns, samples);
  } else if (event.ev == "run.resumed") {
    clock.begin(t_ns, samples);
  } else if (event.ev == "peer.joined" && !event.fields.contains("who")) {
    if (text_of(event, "reason") != "resumed") clock.begin(t_ns, 0);
    clock.block_begins(t_ns);
  } else if (event.ev == "epochs.drawn") {
    clock.block_begins(t_ns);
  }
}

// One file of a run, appended to in large pieces, so that no number of peers needs so many open
// files.
class PeerFile {
 public:
  PeerFile(std::string folder, double wall_s) : folder_(std::move(folder)) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) throw kernels::UsageError(folder_ + ": cannot be made: " + error.message());
    std::ofstream(tmp(), std::ios::trunc | std::ios::binary);
    text_ = tf_version_record(wall_s);
  }
  void add(double wall_s, std::uint64_t step, std::string_view tag, double value) {
    text_ +=
        tf_scalar_record(wall_s, static_cast<std::int64_t>(step), tag, static_cast<float>(value));
    if (text_.size() >= kFlushBytes) flush();
  }
  void commit() {
    flush();
    std::error_code error;
    fs::rename(tmp(), folder_ + "/events.out.tfevents.0.hearsay", error);
    if (error) fail(error.message());
  }
  std::uint64_t bytes_sent = 0;

 private:
  std::string tmp() const { return folder_ + "/events.tmp"; }
  void flush() {
    errno = 0;
    std::ofstream out(tmp(), std::ios::app | std::ios::binary);
    out.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    out.close();
    if (!out) fail(errno == 0 ? "disk full?" : error_text(errno));
    text_.clear();
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw kernels::Fault(kernels::ExitCode::check_failed,
                         folder_ + ": writing it failed (" + why + ")");
  }

  std::string folder_, text_;
};

bool can_be_a_folder(const std::string& peer) {
  return !peer.empty() && peer.size() <= 64 && std::all_of(peer.begin(), peer.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

void write_scalars(const LoggedEvent& event, double wall_s, std::uint64_t step, PeerFile& file) {
  const auto put = [&](const char* tag, double value) { file.add(wall_s, step, tag, value); };
  if (event.ev == "block.finished") {
    put("train/loss", number_of(event, "loss"));
    put("train/acc", number_of(event, "acc"));
    put("train/step_seconds", static_cast<double>(count_of(event, "step_ns")) * 1e-9);
    put("train/samples", static_cast<double>(count_of(event, "samples")));
  } else if (event.ev == "eval.finished") {
    const std::string split = text_of(event, "split").substr(0, 32);
    if (event.fields.contains("loss")) put((split + "/loss").c_str(), number_of(event, "loss"));
    put((split + "/acc").c_str(), number_of(event, "acc"));
  } else if (event.ev == "delta.sent") {
    file.bytes_sent += count_of(event, "bytes");
    put("gossip/bytes_sent", static_cast<double>(file.bytes_sent));
  } else if (event.ev == "merge.decided" && text_of(event, "verdict") != "refuse") {
    put("gossip/merge_age", number_of(event, "age_samples"));
    put("gossip/alpha", number_of(event, "alpha"));
    if (event.fields.contains("cos")) put("gossip/cos", number_of(event, "cos"));
  } else if (event.ev == "merge.applied") {
    put("gossip/merges", static_cast<double>(count_of(event, "mseq")));
  }
}

}  // namespace

Damage export_tensorboard(const RunDir& run, const std::string& folder) {
  Clocks clocks;
  for_each_event(run, [&](const LogOfRun& log, LoggedEvent&& event) {
    note_progress(event, clocks[{log.index, event.peer}]);
  });
  std::map<std::string, PeerFile> files;
  std::set<std::string> unusable;
  Damage damage = for_each_event(run, [&](const LogOfRun& log, LoggedEvent&& event) {
    if (!can_be_a_folder(event.peer)) {
      unusable.insert(event.peer);
      return;
    }
    const auto clock = clocks.find({log.index, event.peer});
    if (clock == clocks.end()) return;  // a log that grows meanwhile
    const double wall_s = start_s(log.header) + static_cast<double>(time_of(event)) * 1e-9;
    auto file = files.find(event.peer);
    if (file == files.end())
      file = files.try_emplace(event.peer, folder + "/" + event.peer, wall_s).first;
    write_scalars(event, wall_s, clock->second.samples_at(time_of(event)), file->second);
  });
  for (auto& [peer, file] : files) file.commit();
  if (!unusable.empty())
    damage.push_back(std::to_string(unusable.size()) + " names of peers that are no folder names");
  return damage;
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// One peer of a run, made again from its journals: the same protocol, trainer and shard are handed
// the same inputs at the same times, and what comes out is held against what was logged. A thread
// of its own; whatever it needs of others goes through the FrameStore. Cost: the peer's training.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint_store.hpp"
#include "runtime/host/journal_head.hpp"
#include "runtime/host/peer_work.hpp"
#include "runtime/log/journal_reader.hpp"
#include "runtime/replay/event_check.hpp"
#include "runtime/replay/frame_store.hpp"
#include "runtime/sim/tamper.hpp"

namespace hearsay::runtime {

// What the replay as a whole was asked for.
struct ReplayPlan {
  bool checks = true;         // events and digests against the run's
  std::optional<Spec> merge;  // --swap merge=SPEC
  std::optional<Spec> codec;  // --swap codec=SPEC
  std::optional<std::uint64_t> data_seed;
  std::optional<std::string> device;     // else the recorded one
  std::optional<std::uint32_t> dropped;  // a peer whose weights reach nobody
  struct Until {
    std::uint32_t peer = 0;
    std::uint64_t mseq = 0;
  };
  std::optional<Until> until;
};

// One start of a peer, as recorded.
struct RecordedSession {
  JournalHead head;
  std::string path;
};

struct PeerReplayResult {
  std::string peer;
  std::uint64_t merges = 0, digests = 0, events = 0, steps = 0, frames_missing = 0;
  std::vector<std::string> differences;  // the first one ends the comparison
  std::vector<std::string> damage;       // what could not be read, or made again
  bool complete = false;                 // all journals to their ends
  std::vector<float> weights;            // at the end
  std::optional<double> test_acc, test_loss;
};

class PeerReplay {
 public:
  PeerReplay(const RunConfig& config, kernels::PeerId self, std::vector<RecordedSession> sessions,
             std::vector<std::string> logs, const ReplayPlan& plan, FrameStore& store);
  ~PeerReplay();
  PeerReplayResult run(const std::atomic<bool>& stopped);

 private:
  bool begin(const RecordedSession& session);
  bool recollect(const JournalHead& head);
  bool play(JournalReader& reader, const JournalHead& head, const std::atomic<bool>& stopped);
  bool take(const journal::Entry& entry);
  bool hand_over(const journal::Turn& turn);
  void carry_out(gossip::Action& action);
  void record(const gossip::Event& event);
  void compare(const journal::Digests& logged);
  void obey(const journal::Hostile& order);
  void keep_mark(const JournalMark& mark);
  void differ(const std::string& what);

  RunConfig config_, as_begun_;  // of the run; of the start that is being made again
  kernels::PeerId self_;
  std::string name_;
  std::vector<RecordedSession> sessions_;
  const ReplayPlan& plan_;
  FrameStore& store_;
  std::string damage_;
  EventCheck events_;
  std::set<JournalMark> wanted_marks_;
  std::map<JournalMark, LoadedCheckpoint> marks_;

  std::vector<std::string> written_;  // about its examples, in all starts
  std::unique_ptr<PeerWork> work_;
  std::unique_ptr<Tamper> tamper_;
  enum class Step { none, train, gradient } asked_ = Step::none;
  gossip::StepReport report_;
  gossip::Time now_{0};
  std::map<std::uint64_t, std::vector<std::uint64_t>> tiles_;  // [mseq] made, not yet compared
  bool done_ = false, reached_ = false;
  PeerReplayResult result_;
};

}  // namespace hearsay::runtime

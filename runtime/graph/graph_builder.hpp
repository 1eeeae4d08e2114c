// SPDX-License-Identifier: Apache-2.0
// Turns event lines into a merge graph. Lines of one peer come in its order; logs may come in any,
// as models are joined to their sends at the end. Needs from a line no more than its keys, takes
// damaged ones for what they are worth and counts what is missing.
// Lane: any. Cost: O(log peers) a line; 88 B a send on top of the graph until assemble().
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/merge_graph.hpp"
#include "runtime/graph/training_clock.hpp"
#include "runtime/log/event_reader.hpp"

namespace hearsay::runtime {

class GraphBuilder {
 public:
  // The lines that follow are of another log, so of other processes.
  void begin_log(const nlohmann::ordered_json& header);
  void add(const LoggedEvent& event);
  // Something that a reader of logs found: "p03/events.jsonl: offset 812: ...".
  void note(const std::string& what, const std::string& where = "");
  MergeGraph assemble() &&;

 private:
  using Index = MergeGraph::Index;
  static constexpr Index kNone = MergeGraph::kNone;

  struct Key {  // one model on its way
    Index from = kNone, to = kNone;
    std::uint64_t seq = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // A peer's model at some moment.
  struct Moment {
    Index node = kNone;
    std::int64_t t_ns = 0;
  };
  struct Send {
    Key key;
    Moment now;
    // Set when it follows the merge of a model from the same peer: if that was asked for an
    // answer, this is the answer, and was taken before the merge.
    std::optional<Key> perhaps_answers;
    Moment before;
    Index earlier = kNone;  // the send before it to the same peer
    Index codec = kNone;
    std::uint64_t bytes = 0;
  };
  struct Arrival {  // the rest of an edge, until its send is known
    Key key;
    Index last_sent = kNone;  // own send to that peer before
  };
  struct Judged {
    Key key;
    double alpha = 0.0, age_samples = 0.0;
    bool held = false;
  };
  struct Served {
    Key key;
    Moment before;
  };
  struct Line {  // a peer, as far as its log has been read
    std::uint64_t log = 0;
    std::int64_t incarnation = 0;
    Index session = kNone, node = kNone;
    std::uint64_t mseq = 0;
    std::vector<std::pair<std::uint64_t, Index>> path;  // what its model has grown from
    std::vector<Judged> held;
    std::optional<Judged> judged;
    std::optional<Served> served;
    Index chosen = kNone;  // partner of the line before
    std::map<Index, Index> last_sent;
  };

  Index peer_index(const std::string& name);
  void begin_session(Index peer, std::int64_t t_ns, MergeGraph::NodeKind kind, std::uint64_t mseq,
                     std::uint64_t samples, Index previous);
  Index add_node(Index peer, MergeGraph::NodeKind kind, std::int64_t t_ns, std::uint64_t mseq);
  void add_edge(Index peer, Index node, const Judged& from);
  void unusable(const LoggedEvent& event);

  void on_progress(const LoggedEvent& event, Index peer, std::int64_t t_ns);
  void on_joined(const LoggedEvent& event, Index peer, std::int64_t t_ns);
  void on_resumed(const LoggedEvent& event, Index peer, std::int64_t t_ns);
  void on_adopted(const LoggedEvent& event, Index peer, std::int64_t t_ns);
  void on_sent(const LoggedEvent& event, Index peer, std::int64_t t_ns);
  void on_decided(const LoggedEvent& event, Index peer, std::int64_t t_ns);
  void on_applied(const LoggedEvent& event, Index peer, std::int64_t t_ns);

  // assemble(), in its order (graph_assembly.cpp)
  void count_training();
  std::vector<Index> sorted_sends();
  Index find_send(const std::vector<Index>& sorted, const Key& key) const;
  std::vector<bool> find_answers(const std::vector<Index>& sorted) const;
  void join_edges();
  void end_peers();
  void order_peers();
  void order_nodes();
  std::uint64_t trained_since(const Moment& moment) const;

  MergeGraph graph_;
  std::map<std::string, Index, std::less<>> peer_ids_, codec_ids_;
  std::map<std::string, Index> gap_ids_;
  std::deque<Line> lines_;                      // [peer]
  std::vector<TrainingClock> clocks_;           // [session]
  std::vector<std::uint64_t> resumed_samples_;  // [session]
  std::vector<std::int64_t> session_ends_;      // [session]
  std::vector<Send> sends_;
  std::vector<Arrival> arrivals_;  // [edge]
  std::uint64_t log_ = 0;
  bool all_virtual_ = true;
};

}  // namespace hearsay::runtime

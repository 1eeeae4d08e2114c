// SPDX-License-Identifier: Apache-2.0
// What must hold for every event log, one function an invariant, each written from the log's
// description alone so that it can catch a host or a writer that is wrong. A result is one line per
// breach; at most kMaxBreaches and a count. Lane: any (pure). Cost: O(events log events) time, one
// map entry per exchange.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/log/event_reader.hpp"

namespace hearsay::runtime {

inline constexpr std::size_t kMaxBreaches = 20;  // lines per invariant

enum class ClockKind { virtual_time, monotonic };  // only virtual time compares across peers

using Breaches = std::vector<std::string>;

// Events of the merge graph carry the keys that the other checks join by.
Breaches missing_merge_keys(const std::vector<LoggedEvent>& events);
// `n` of a peer is 0, 1, 2, ...
Breaches broken_line_numbers(const std::vector<LoggedEvent>& events);
// `t_ns` never decreases within a peer.
Breaches decreasing_clocks(const std::vector<LoggedEvent>& events);
// `mseq` of a peer's merge.applied is 1, 2, 3, ...; after run.resumed it goes on from that one's.
Breaches broken_merge_counters(const std::vector<LoggedEvent>& events);
// A merge.applied has exactly one merge.decided (accept or scale) and one delta.received for its
// (peer, from, seq).
Breaches unexplained_merges(const std::vector<LoggedEvent>& events);
// A delta.received has a delta.sent of (from, seq) to that receiver, also in a log of an earlier
// start, or its sender is lost, or was resumed.
Breaches unsent_deltas(const std::vector<LoggedEvent>& events,
                       const std::vector<LoggedEvent>& earlier = {});
// Nothing is received before it was sent. Meaningful on a virtual clock only.
Breaches early_arrivals(const std::vector<LoggedEvent>& events);
// Nodes (peer, mseq), edges of local training and of merges: no cycle.
Breaches merge_cycles(const std::vector<LoggedEvent>& events);

// All of the above, in that order.
Breaches broken_invariants(const std::vector<LoggedEvent>& events,
                           ClockKind clock = ClockKind::virtual_time,
                           const std::vector<LoggedEvent>& earlier = {});
// Those that one log can break by itself.
Breaches broken_by_itself(const std::vector<LoggedEvent>& events);

}  // namespace hearsay::runtime

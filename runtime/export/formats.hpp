// SPDX-License-Identifier: Apache-2.0
// What a run can be exported to, all from its event logs. Each writes at `out` and returns what was
// damaged in the logs, a line each; outputs are whole or absent. Throws Faults when `out` cannot be
// written. Lane: any. Cost: one or two passes over the logs; memory for the merge graph where that
// is needed, else for what stands between two blocks.
#pragma once

#include <string>
#include <vector>

#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

using Damage = std::vector<std::string>;

// The merge graph: nodes (peer, mseq), local and merge edges. A model whose state is in no log
// comes from a node of kind "unknown", one a peer.
Damage export_graphml(const RunDir& run, const std::string& out);
// The same as columns in one JSON object: graph.json.
Damage export_graph_json(const RunDir& run, const std::string& out);
// A folder with a table an event name; columns peer, n, t_ns, log, then keys as they first occur.
Damage export_csv(const RunDir& run, const std::string& out);
// A folder with a TensorBoard run a peer; steps are samples.
Damage export_tensorboard(const RunDir& run, const std::string& out);
// One SQLite 3 database: peers, events, merges, blocks, evals. Throws UsageError in a build without
// the library.
Damage export_sqlite(const RunDir& run, const std::string& out);

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// A pool as Prometheus text (exposition format 0.0.4). Names and labels are the ones that
// dashboards rely on: a new metric is free, a changed one is not. Labels are run and peer, never a
// partner, as that would make n squared series. Invariant: every family once, with HELP and TYPE,
// and only when some peer knows a value: what nobody has measured is absent, not 0.
// Pure; any lane; cost: about 4 KB a peer.
#pragma once

#include <string>
#include <string_view>

#include "runtime/metrics/pool_snapshot.hpp"

namespace hearsay::runtime {

std::string prometheus_text(const PoolSnapshot& pool);

// As a label value stands between its quotes.
std::string escaped_label(std::string_view text);

}  // namespace hearsay::runtime

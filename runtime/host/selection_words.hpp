// SPDX-License-Identifier: Apache-2.0
// The words of --codec about which weights a message says, and how much of their way: the heads of
// sparse codecs, '+qm' and '+density'. All functions throw UsageError on what they do not know.
#pragma once

#include "gossip/codec/settings.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

// Arguments of topk, ma, score and blocks that say more than a share; `settings` has the kind.
void read_selection(const Spec& head, gossip::CodecSettings& settings);

gossip::SmoothingRule smoothing_rule(const Spec& modifier);  // qm:literal,b=0.7
gossip::DensityRule density_rule(const Spec& modifier);      // density:slow=0.1%,fast=1%

// Whether all that was said goes together.
void check_selection(const Spec& whole, const gossip::CodecSettings& settings);

}  // namespace hearsay::runtime

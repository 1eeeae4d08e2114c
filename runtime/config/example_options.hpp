// SPDX-License-Identifier: Apache-2.0
// Options about what peers know of data, the own and that of others: what goes beside weights, who
// is alike, which examples are trained on, and how often. Part of the option table.
#pragma once

#include <array>

#include "runtime/config/option_table.hpp"

namespace hearsay::runtime {

inline constexpr std::array kExampleOptions{
    Option{
        .name = "share",
        .default_text = "off",
        .kind = ValueKind::spec,
        .placeholder = "SPEC",
        .help = "sketch:1024, hard:64: what goes beside weights",
        .detail =
            "Joined by '+'. sketch: in which direction a peer trains, for --cluster agglo: so many "
            "values of 2 bytes, 15 sketches a message; memory=0.97. hard:64,by=sender,mode=swap: "
            "after a merge RAW EXAMPLES change owners, which gives up their privacy; by=sender, "
            "receiver (least sure), random, classes, novel, rho, signed; mode=copy.",
        .group = "gossip",
        .in_short_help = false},
    Option{.name = "cluster",
           .default_text = "off",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "agglo: find who is alike, merge with those",
           .detail =
               "agglo:average,every=2,e=0.05,schedule=never,cut=gap: communities from "
               "sketches, every 2 merges; a share e of merges goes outside, all the time or "
               "early (then evenly), or warm-up (evenly first). cut=silhouette (default), gap, "
               "count=N, height=H. soft=0.2: partners by exp(-distance/0.2) instead. "
               "given:groups=2: the groups of +rotate, told.",
           .group = "gossip"},
    Option{.name = "trade",
           .default_text = "off",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "models:10%: trade models now and then, not merge",
           .detail =
               "Of pairwise, with symmetric rules. models:10%,horizon=N: chance at a merge, less "
               "if that model was here less than about N merges ago (the number of peers, unless "
               "said) or is surer of the own examples than the own model. Optimiser state stays.",
           .group = "gossip",
           .in_short_help = false},
    Option{.name = "tune",
           .default_text = "off",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "population:lr,alpha: learn settings as a pool",
           .detail = "Of pairwise. population:lr,alpha,step=1.2,eager=200: each peer goes by factors "
                     "of its own; asked for a merge it compares both models on a tenth of its "
                     "examples, kept for that, and takes the sender's factors, times or by step, "
                     "with probability eager times the relative gain.",
           .group = "gossip",
           .in_short_help = false},
    Option{.name = "sampling",
           .default_text = "uniform",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "examples of an epoch: uniform, hard, rho",
           .detail =
               "hard:g=1,floor=0.1,age=0.25,zeta=0..1,clip=10: drawn with chances of floor + (1 - "
               "confidence)^g, more after a long time; losses weighted against the bias, "
               "by zeta over the run. rho: by the loss that another peer's model has not. "
               "every=5: epochs between looks at all examples. On the CPU.",
           .group = "training",
           .in_short_help = false},
    Option{.name = "retire",
           .default_text = "off",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "agreed: train less on what models know",
           .detail = "agreed:reserve=3,retire=50%,most=70%,every=5 (and confident=0.95, "
                     "forgotten=0.7, alike=0.9): known to 3 unlike models (a quarter of the pool, "
                     "if that is less), a fifth as often; to "
                     "half the pool, a hundredth; back at once when forgotten. most: of a class.",
           .group = "training",
           .in_short_help = false},
    Option{.name = "quarantine",
           .default_text = "off",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "hard: leave out what looks wrongly labelled",
           .detail = "hard:confidence=0.1,spread=0.1,models=3: what so many models find wrong, and "
                     "alike. every=5.",
           .group = "training",
           .in_short_help = false},
    Option{.name = "log-examples",
           .default_text = "false",
           .kind = ValueKind::boolean,
           .placeholder = "",
           .help = "log which examples change hands",
           .detail = "With --share hard: their ids, and how sure the receiver's model was of each "
                     "before it was trained on it and an epoch later. Ids tell which data a peer "
                     "had; images are not logged.",
           .group = "run",
           .in_short_help = false},
};

}  // namespace hearsay::runtime

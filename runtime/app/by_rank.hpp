// SPDX-License-Identifier: Apache-2.0
// One peer of a job whose launcher says rank and size and no more: srun, torchrun, or whatever sets
// the same variables. Peers find each other by files in the run directory (launch/rendezvous.hpp).
#pragma once

#include <optional>

#include "runtime/app/launcher.hpp"
#include "runtime/app/resume_pool.hpp"

namespace hearsay::runtime {

// `resumed`: with --resume.
int train_by_rank(const Settings& settings, const Launcher& launcher,
                  std::optional<ResumedPool> resumed);

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// A judgement about one incoming model: a value, never an error.
#pragma once

#include <string_view>

namespace hearsay::merge {

// scale: a modifier changed the rule's own alpha. hold: kept until a crowd rule has enough models.
enum class Verdict { accept, scale, hold, refuse };

struct Decision {
  Verdict verdict = Verdict::refuse;
  double alpha = 0.0;       // share of the incoming model, 0 .. 1
  std::string_view reason;  // a literal; empty for accept
};

inline std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::accept: return "accept";
    case Verdict::scale: return "scale";
    case Verdict::hold: return "hold";
    case Verdict::refuse: break;
  }
  return "refuse";
}

}  // namespace hearsay::merge

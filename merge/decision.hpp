// SPDX-License-Identifier: Apache-2.0
// A judgement about one incoming model: a value, never an error.
#pragma once

#include <string_view>

namespace hearsay::merge {

enum class Verdict { accept, scale, refuse };  // scale: a modifier changed the rule's own alpha

struct Decision {
  Verdict verdict = Verdict::refuse;
  double alpha = 0.0;       // share of the incoming model, 0 .. 1
  std::string_view reason;  // a literal; empty for accept
};

inline std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::accept: return "accept";
    case Verdict::scale: return "scale";
    case Verdict::refuse: break;
  }
  return "refuse";
}

}  // namespace hearsay::merge

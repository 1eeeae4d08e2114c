// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/selection_words.hpp"

#include <string>
#include <vector>

#include "kernels/core/errc.hpp"
#include "runtime/host/build_codec.hpp"

namespace hearsay::runtime {
namespace {

using gossip::AverageRule;
using gossip::CodecSettings;
using gossip::SmoothingRule;
using kernels::UsageError;
using Kind = CodecSettings::Kind;
using Mode = SmoothingRule::Mode;

const std::string kOption = "--codec";

[[noreturn]] void refuse(const Spec& spec, const std::string& why) {
  throw UsageError(kOption + " " + spec.text + ": " + why);
}

AverageRule average_rule(const Spec& head) {
  AverageRule rule;
  if (head.name == "score") rule.kind = AverageRule::Kind::score;
  const std::string name = head.arg("rule").value_or("corrected");
  if (name == "literal") {
    rule.kind = AverageRule::Kind::literal;
  } else if (name != "corrected") {
    throw_unknown("rule of ma", name, {"corrected", "literal"});
  }
  rule.beta = AverageRule::usual_beta(rule.kind);
  if (const auto text = head.arg("beta")) rule.beta = parse_number(kOption, *text);
  if (!(rule.beta >= 0.0 && static_cast<float>(rule.beta) < 1.0f))
    refuse(head, "beta, the average's memory, lies from 0 to below 1");
  return rule;
}

Mode mode_of(const std::string& name) {
  if (name == "ef") return Mode::ef;
  if (name == "on_support") return Mode::on_support;
  if (name == "literal") return Mode::literal;
  throw_unknown("mode of '+qm'", name, {"ef", "on_support", "literal"});
}

}  // namespace

void read_selection(const Spec& head, CodecSettings& settings) {
  std::vector<std::string> known;
  if (settings.kind == Kind::blocks) known = {"size"};
  if (settings.kind == Kind::topk) known = {"per"};
  if (settings.kind == Kind::average) known = {"per", "beta"};
  if (head.name == "ma") known.push_back("rule");
  reject_unknown(kOption, head, known, 1);
  if (settings.kind == Kind::average) settings.average = average_rule(head);
  const std::string per = head.arg("per").value_or("global");
  if (per != "global" && per != "tensor") throw_unknown("budget 'per'", per, {"global", "tensor"});
  settings.is_per_tensor = per == "tensor";
  if (settings.is_per_tensor && settings.average.kind == AverageRule::Kind::literal)
    refuse(head, "the literal rule has one threshold; drop 'per=tensor' or 'rule=literal'");
}

SmoothingRule smoothing_rule(const Spec& modifier) {
  reject_unknown(kOption, modifier, {"b"}, 1);
  SmoothingRule rule;
  rule.mode = mode_of(modifier.values.empty() ? "ef" : modifier.values.front());
  if (const auto text = modifier.arg("b")) rule.gain = parse_number(kOption, *text);
  const auto gain = static_cast<float>(rule.gain);
  if (gain > 0.0f && gain < 1.0f) return rule;
  throw UsageError(kOption +
                   " +qm: b, how far each message goes, lies between 0 and 1; all the way "
                   "is the codec without '+qm'");
}

gossip::DensityRule density_rule(const Spec& modifier) {
  reject_unknown(kOption, modifier, {"slow", "fast"}, 0);
  gossip::DensityRule rule;
  if (const auto text = modifier.arg("slow")) rule.slow = parse_share(kOption, *text);
  if (const auto text = modifier.arg("fast")) rule.fast = parse_share(kOption, *text);
  if (rule.slow < rule.fast) return rule;
  throw UsageError(kOption +
                   " +density: the loss falls slowly below 'slow' a merge and fast above 'fast'; "
                   "slow=0.1%,fast=1% are usual");
}

void check_selection(const Spec& whole, const CodecSettings& settings) {
  const bool names_positions = settings.names_positions();
  if (settings.smoothing.mode != Mode::none) {
    const gossip::ValueKind values = settings.values.kind;
    if (values != gossip::ValueKind::int8 && values != gossip::ValueKind::int4)
      refuse(whole, "'+qm' is momentum of quantised values; add '+int8' or '+int4'");
    if (settings.kind == Kind::dense)
      refuse(whole, "'+qm' goes with topk, threshold, ma, score, randk and blocks");
    if (settings.smoothing.mode == Mode::literal && !names_positions) {
      refuse(whole, "'+qm:literal' says more weights than were chosen, which '" + whole.name +
                        "' cannot name; take '+qm:on_support', or topk");
    }
  }
  if (!settings.density) return;
  if (!names_positions) {
    refuse(whole,
           "'+density' goes with topk, threshold, ma and score, whose messages say how "
           "many weights they name");
  }
  if (settings.fits_bits)
    refuse(whole, "'+density' and '+auto' exclude each other; give one, and '+int4'");
  constexpr double kLeast = gossip::Density::kLeast, kMost = gossip::Density::kMost;
  if (settings.share < kLeast || settings.share > kMost)
    refuse(whole, "'+density' moves the share between 0.1% and 30%; begin there");
}

}  // namespace hearsay::runtime

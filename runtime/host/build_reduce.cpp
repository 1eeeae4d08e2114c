// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/build_reduce.hpp"

#include <string>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/config/protocol_kinds.hpp"
#include "runtime/host/build_codec.hpp"

namespace hearsay::runtime {
namespace {

using gossip::CodecSettings;
using gossip::FeedbackSettings;
using kernels::UsageError;
using Kind = FeedbackSettings::Kind;

Kind feedback_kind(const RunConfig& config) {
  const auto given = config.protocol.arg("feedback");
  if (!given || *given == "ef") return Kind::ef;
  if (*given == "ef21") return Kind::ef21;
  if (*given == "none") return Kind::none;
  if (*given == "dgc") return Kind::dgc;
  throw_unknown("feedback", *given, {"ef", "ef21", "dgc", "none"});
}

bool is_dgc(const RunConfig& config) {
  return is_synchronous(config.protocol.name) && feedback_kind(config) == Kind::dgc;
}

void refuse_codec(const RunConfig& config, const CodecSettings& codec) {
  const std::string given = "--codec " + config.codec.text + ": ";
  const std::string name = "--protocol " + config.protocol.name;
  const std::string instead = "; take topk:1%+int8 or int8";
  if (codec.is_mirrored)
    throw UsageError(given + "nobody answers in " + name + "; leave '+mirror' out");
  switch (codec.kind) {
    case CodecSettings::Kind::low_rank:
      throw UsageError(given + "its directions follow what a peer has said before, and " + name +
                       " says each sum for itself" + instead);
    case CodecSettings::Kind::lossless:
      throw UsageError(given + "counts on what one partner holds, and " + name +
                       " says the same to all" + instead);
    case CodecSettings::Kind::ladder:
      throw UsageError(given + "chooses by how long answers take, and nobody answers in " + name +
                       instead);
    default: break;
  }
  if (codec.kind == CodecSettings::Kind::average || codec.density ||
      codec.smoothing.mode != gossip::SmoothingRule::Mode::none) {
    throw UsageError(given + "averages, '+qm' and '+density' go from message to message, and " +
                     name + " says each sum for itself" + instead);
  }
  if (codec.keeps_error) {
    throw UsageError(given + "what a message of " + name +
                     " leaves out is kept by its feedback; leave '+ef' out");
  }
}

}  // namespace

gossip::ReduceSettings reduce_settings(const RunConfig& config,
                                       std::shared_ptr<const gossip::CodecPlan> codec) {
  gossip::ReduceSettings settings{std::move(codec), {}};
  settings.feedback.kind = feedback_kind(config);
  if (settings.feedback.kind == Kind::dgc) {
    const OptimizerOptions optimizer = parse_optimizer(config.optimizer);
    settings.feedback.momentum = optimizer.momentum;
    settings.feedback.clip = optimizer.clip;
  }
  return settings;
}

void refuse_reduction_where_it_does_not_fit(const RunConfig& config) {
  const auto codec = codec_settings(config.codec);
  const std::string given = "--protocol " + config.protocol.text + ": ";
  if (!codec && config.protocol.arg("feedback")) {
    throw UsageError(given +
                     "feedback is about what a codec leaves out, and --codec raw leaves out "
                     "nothing; add --codec topk:1%+int8");
  }
  if (codec) refuse_codec(config, *codec);
  if (feedback_kind(config) != Kind::dgc) return;
  if (config.protocol.name == "diloco")
    throw UsageError(given + "feedback=dgc is about momentum of every mini-batch; take ef or ef21");
  if (codec && codec->kind == CodecSettings::Kind::dense) {
    throw UsageError(given + "feedback=dgc begins the momentum of what is said anew, and --codec " +
                     config.codec.text + " says every weight; take topk:1%+int8, or feedback=ef");
  }
  if (parse_optimizer(config.optimizer).kind != OptimizerOptions::Kind::sgd) {
    throw UsageError(given + "feedback=dgc takes the momentum of sgd, and --optimizer " +
                     config.optimizer.text + " is another; take --optimizer sgd, or feedback=ef");
  }
}

OptimizerOptions optimizer_after_sums(const RunConfig& config) {
  OptimizerOptions optimizer = parse_optimizer(config.optimizer);
  if (is_dgc(config)) optimizer.momentum = optimizer.clip = 0.0;
  return optimizer;
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/launcher.hpp"

#include <array>
#include <charconv>
#include <string_view>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {

namespace {

struct Source {
  std::string_view launcher;
  std::string_view rank;
  std::string_view size;
  bool size_required;  // without a size above 1 the variables mean nothing (a Slurm shell sets them
                       // too)
};

constexpr std::array<Source, 6> kSources{
    {{"hearsay", "HEARSAY_PEER", "HEARSAY_PEERS", false},
     {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false},
     {"pmix", "PMIX_RANK", "PMIX_SIZE", false},
     {"pmix", "PMI_RANK", "PMI_SIZE", false},
     {"slurm", "SLURM_PROCID", "SLURM_NTASKS", true},
     {"torchrun", "RANK", "WORLD_SIZE", false}}};

std::optional<std::string> variable(const Environment& environment, std::string_view name) {
  const auto found = environment.find(std::string(name));
  return found == environment.end() || found->second.empty() ? std::nullopt
                                                             : std::optional(found->second);
}

std::optional<std::uint64_t> as_count(const std::optional<std::string>& text) {
  std::uint64_t value = 0;
  if (!text) {
    return std::nullopt;
  }
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, value);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

// What else the chosen launcher says about the job.
void describe_job(const Environment& environment, Launcher& launcher) {
  const auto text = [&](std::string_view name) { return variable(environment, name).value_or(""); };
  const auto count = [&](std::string_view name) { return as_count(variable(environment, name)); };
  std::optional<std::uint64_t> here;  // processes of the job on this host
  if (launcher.name == "openmpi") {
    launcher.job = text("PMIX_NAMESPACE");
    here = count("OMPI_COMM_WORLD_LOCAL_SIZE");
  } else if (launcher.name == "slurm") {
    launcher.job = text("SLURM_JOB_ID");
    if (const std::string step = text("SLURM_STEP_ID"); !step.empty()) launcher.job += "." + step;
    launcher.attempt = count("SLURM_RESTART_COUNT").value_or(0);
    const auto step_nodes = count("SLURM_STEP_NUM_NODES");
    launcher.several_hosts = (step_nodes ? step_nodes : count("SLURM_NNODES")).value_or(1) > 1;
  } else if (launcher.name == "torchrun") {
    launcher.job = text("TORCHELASTIC_RUN_ID");
    // Its word for "nobody has named it".
    if (launcher.job.empty() || launcher.job == "none") launcher.job = text("MASTER_PORT");
    launcher.attempt = count("TORCHELASTIC_RESTART_COUNT").value_or(0);
    here = count("LOCAL_WORLD_SIZE");
  }
  if (here && launcher.size) launcher.several_hosts = *here < *launcher.size;
}

}  // namespace

Launcher detect_launcher(const Environment& environment) {
  Launcher launcher;
  for (const Source& source : kSources) {
    const auto rank = variable(environment, source.rank);
    const auto size = variable(environment, source.size);
    // A lone RANK is too common a word to be torchrun's.
    const bool complete = source.launcher != "torchrun" || size.has_value();
    if (!rank || !complete || (source.size_required && as_count(size).value_or(0) <= 1)) {
      continue;
    }
    if (launcher.name != "single") {
      if (launcher.name != source.launcher &&
          (launcher.others.empty() || launcher.others.back() != source.launcher)) {
        launcher.others.emplace_back(source.launcher);
      }
      continue;
    }
    launcher.name = source.launcher;
    launcher.rank = as_count(rank);
    launcher.size = as_count(size);
    launcher.used.push_back(std::string(source.rank) + "=" + *rank);
    if (size) {
      launcher.used.push_back(std::string(source.size) + "=" + *size);
    }
  }
  describe_job(environment, launcher);
  return launcher;
}

Settings with_job_size(const Settings& settings, const Launcher& launcher) {
  const std::string size = std::to_string(*launcher.size), &origin = settings.origin("peers");
  const bool is_asked_for =  // a run that is resumed may have had another size
      origin != "default" && origin != "run.json" && !origin.starts_with("preset");
  if (is_asked_for && settings.text("peers") != size)
    throw kernels::UsageError("--peers " + settings.text("peers") + ": " + launcher.name +
                              " started " + size + " processes; leave --peers out, or start " +
                              settings.text("peers"));
  Settings effective = settings;
  effective.set("peers", {size}, launcher.name);
  return effective;
}

std::string listen_of_job(const Settings& settings, const Launcher& launcher) {
  if (!launcher.several_hosts || settings.origin("listen") != "default")
    return settings.text("listen");
  const bool is_protected = settings.text("secret") != "off" || settings.text("tls") != "off";
  if (settings.text("insecure") != "true" && !is_protected) {
    throw kernels::UsageError(
        "--listen: this job has processes on several hosts, so peers have to listen beyond "
        "loopback, and frames travel unprotected; protect them with --secret FILE or --tls "
        "CA,CERT,KEY, or add --insecure on a network where everybody is trusted");
  }
  return "0.0.0.0:0";
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/launcher.hpp"

#include <array>
#include <charconv>
#include <string_view>

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
  return launcher;
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/dataset.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "kernels/core/errc.hpp"
#include "runtime/config/spec.hpp"
#include "runtime/data/idx_folder.hpp"
#include "runtime/data/synthetic.hpp"

namespace hearsay::runtime {
namespace {

// Where Debian's package dataset-fashion-mnist installs.
constexpr const char* kDebianFashionFolder = "/usr/share/datasets/fashion-mnist";
constexpr std::uint32_t kMnistClasses = 10;

using std::filesystem::path;

std::optional<path> data_root() {
  const char* root = std::getenv("HEARSAY_DATA");
  if (root == nullptr || *root == '\0') return std::nullopt;
  return path(root);
}

// The folders to look in, best first.
std::vector<path> candidates(const std::string& name, const std::optional<std::string>& folder) {
  if (folder) return {path(*folder)};
  std::vector<path> found;
  if (const auto root = data_root()) found = {*root / name, *root};
  if (name == "fashion-mnist") found.emplace_back(kDebianFashionFolder);
  return found;
}

[[noreturn]] void throw_missing(const std::string& name, const std::vector<path>& tried) {
  std::string line = "--data " + name + ": no IDX files";
  for (std::size_t i = 0; i < tried.size(); ++i) {
    line += (i == 0 ? " in " : ", ") + tried[i].string();
  }
  line += name == "fashion-mnist"
              ? "; either apt-get install dataset-fashion-mnist, or say where they are: --data "
                "fashion-mnist:DIR"
              : "; say where they are: --data " + name + ":DIR, or set HEARSAY_DATA";
  throw kernels::UsageError(line);
}

Dataset load_from_folder(const std::string& name, const std::optional<std::string>& folder) {
  const auto tried = candidates(name, folder);
  for (const auto& candidate : tried) {
    if (!has_idx_files(candidate)) continue;
    Dataset dataset = load_idx_folder(
        candidate, name == "idx" ? std::nullopt : std::optional<std::uint32_t>(kMnistClasses));
    dataset.name = name;
    return dataset;
  }
  throw_missing(name, tried);
}

}  // namespace

// The text behind the first ':' is taken as it stands: a folder may contain ',', '=' and '+'.
Dataset load_dataset(const std::string& spec, std::uint64_t seed) {
  const auto colon = spec.find(':');
  const std::string name = spec.substr(0, colon);
  std::optional<std::string> rest;
  if (colon != std::string::npos) rest = spec.substr(colon + 1);
  if (rest && rest->empty()) {
    throw kernels::UsageError("--data " + spec + ": nothing behind the ':'; try " + spec + "DIR");
  }
  if (name == "synthetic") {
    if (!rest) throw kernels::UsageError("--data synthetic: which one? try synthetic:digits");
    if (*rest != "digits") throw_unknown("synthetic data set", *rest, {"digits"});
    return synthetic_digits(seed);
  }
  if (name == "fashion-mnist" || name == "mnist" || name == "idx") {
    return load_from_folder(name, rest);
  }
  throw_unknown("data set", name, {"fashion-mnist", "mnist", "idx", "synthetic"});
}

}  // namespace hearsay::runtime

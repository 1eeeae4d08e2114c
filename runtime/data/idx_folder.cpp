// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/idx_folder.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/data/idx_file.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::array<const char*, 4> kNames{"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                            "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
constexpr std::size_t kImageDims = 3, kLabelDims = 1;
constexpr std::size_t kMaxImages = 0xffff'ffff;  // a partition counts examples in 32 bits

struct LabelledFiles {
  IdxFile images, labels;
};

std::optional<std::filesystem::path> find(const std::filesystem::path& folder,
                                          const std::string& name) {
  std::error_code ignored;
  for (const auto& candidate : {folder / name, folder / (name + ".gz")}) {
    if (std::filesystem::is_regular_file(candidate, ignored)) return candidate;
  }
  return std::nullopt;
}

IdxFile read_named(const std::filesystem::path& folder, const std::string& name,
                   std::size_t dimensions) {
  const auto path = find(folder, name);
  if (!path) {
    throw kernels::UsageError(
        (folder / name).string() + ": no such file, nor with .gz; the folder needs " +
        "train-images-idx3-ubyte, train-labels-idx1-ubyte and the same with t10k");
  }
  return read_idx(*path, dimensions);
}

LabelledFiles read_pair(const std::filesystem::path& folder, const std::string& part) {
  LabelledFiles files{read_named(folder, part + "-images-idx3-ubyte", kImageDims),
                      read_named(folder, part + "-labels-idx1-ubyte", kLabelDims)};
  const std::size_t images = files.images.dims[0], labels = files.labels.dims[0];
  if (images != labels) {
    files.labels.damaged(4, std::to_string(labels) + " labels, but " + std::to_string(images) +
                                " images in " + files.images.path);
  }
  if (images > kMaxImages) files.images.damaged(4, "too many images: " + std::to_string(images));
  return files;
}

ImageSet image_set(LabelledFiles files, std::uint32_t classes) {
  const auto& labels = files.labels.values;
  const auto wrong =
      std::ranges::find_if(labels, [&](std::uint8_t label) { return label >= classes; });
  if (wrong != labels.end()) {
    const auto index = static_cast<std::size_t>(wrong - labels.begin());
    files.labels.damaged(files.labels.header_bytes() + index,
                         "label " + std::to_string(*wrong) + ", but there are " +
                             std::to_string(classes) + " classes");
  }
  return ImageSet{files.images.dims[1], files.images.dims[2], classes,
                  std::move(files.images.values), std::move(files.labels.values)};
}

}  // namespace

bool has_idx_files(const std::filesystem::path& folder) {
  return std::ranges::any_of(kNames,
                             [&](const char* name) { return find(folder, name).has_value(); });
}

Dataset load_idx_folder(const std::filesystem::path& folder, std::optional<std::uint32_t> classes) {
  LabelledFiles train = read_pair(folder, "train"), test = read_pair(folder, "t10k");
  const auto& train_dims = train.images.dims;
  const auto& test_dims = test.images.dims;
  if (train_dims[1] != test_dims[1] || train_dims[2] != test_dims[2]) {
    const auto size = [](const std::vector<std::size_t>& dims) {
      return std::to_string(dims[1]) + " x " + std::to_string(dims[2]);
    };
    test.images.damaged(
        8, "images of " + size(test_dims) + ", but the training set has " + size(train_dims));
  }
  const std::uint32_t seen = *std::ranges::max_element(train.labels.values) + 1u;
  const std::uint32_t count = classes.value_or(std::max(seen, 2u));
  Dataset dataset;
  dataset.origin = folder.string();
  dataset.train = image_set(std::move(train), count);
  dataset.test = image_set(std::move(test), count);
  return dataset;
}

}  // namespace hearsay::runtime

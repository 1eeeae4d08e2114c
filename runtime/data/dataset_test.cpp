// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/dataset.hpp"

#include <cstdlib>
#include <optional>

#include "kernels/core/errc.hpp"
#include "runtime/data/idx_testkit.hpp"
#include "runtime/data/label_histogram.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using namespace hearsay::runtime::testkit;
using hearsay::kernels::DamagedFile;
using hearsay::kernels::UsageError;

namespace {

// Sets HEARSAY_DATA for a test and puts the old value back.
class DataRoot {
 public:
  explicit DataRoot(const std::string& value) {
    if (const char* old = std::getenv("HEARSAY_DATA")) old_ = old;
    setenv("HEARSAY_DATA", value.c_str(), 1);
  }
  ~DataRoot() {
    if (old_) {
      setenv("HEARSAY_DATA", old_->c_str(), 1);
    } else {
      unsetenv("HEARSAY_DATA");
    }
  }
  DataRoot(const DataRoot&) = delete;
  DataRoot& operator=(const DataRoot&) = delete;

 private:
  std::optional<std::string> old_;
};

Bytes images(std::uint32_t count, std::uint32_t rows, std::uint32_t cols) {
  return idx_bytes({count, rows, cols}, Bytes(count * rows * cols, 9));
}

Bytes labels(const Bytes& values) {
  return idx_bytes({static_cast<std::uint32_t>(values.size())}, values);
}

// Four training and two test images of 2 x 3 in three classes; files under `prefix`.
void write_set(const TempFolder& folder, const std::string& prefix = "") {
  folder.write(prefix + "train-images-idx3-ubyte", images(4, 2, 3));
  folder.write(prefix + "train-labels-idx1-ubyte.gz", gzip_bytes(labels({0, 2, 1, 2})));
  folder.write(prefix + "t10k-images-idx3-ubyte.gz", gzip_bytes(images(2, 2, 3)));
  folder.write(prefix + "t10k-labels-idx1-ubyte", labels({2, 0}));
}

std::string damage(const TempFolder& folder, const std::string& name = "idx") {
  return thrown_line<DamagedFile>([&] { load_dataset(name + ":" + folder.path().string(), 0); });
}

std::string usage(const std::string& spec) {
  return thrown_line<UsageError>([&] { load_dataset(spec, 0); });
}

}  // namespace

TEST_CASE("a folder of IDX files is a data set whose classes are counted from its labels") {
  const TempFolder folder;
  write_set(folder);
  const Dataset dataset = load_dataset("idx:" + folder.path().string(), 0);
  CHECK(dataset.name == "idx");
  CHECK(dataset.origin == folder.path().string());
  CHECK(dataset.train.count() == 4);
  CHECK(dataset.test.count() == 2);
  CHECK(dataset.train.rows == 2);
  CHECK(dataset.train.cols == 3);
  CHECK(dataset.train.classes == 3);
  CHECK(dataset.test.classes == 3);
  CHECK(dataset.train.labels == Bytes{0, 2, 1, 2});
  CHECK(dataset.train.image(3).size() == 6);
  CHECK(load_dataset("mnist:" + folder.path().string(), 0).train.classes == 10);
}

TEST_CASE("one class in the training labels still makes two, and a plain file wins over .gz") {
  const TempFolder folder;
  write_set(folder);
  folder.write("train-labels-idx1-ubyte", labels({0, 0, 0, 0}));
  folder.write("t10k-labels-idx1-ubyte", labels({1, 0}));
  CHECK(load_dataset("idx:" + folder.path().string(), 0).train.classes == 2);
}

TEST_CASE("a folder's name may hold the signs of the spec grammar") {
  const TempFolder folder;
  write_set(folder, "a,b=c+d:e/");
  CHECK(load_dataset("idx:" + folder.path().string() + "/a,b=c+d:e", 0).train.count() == 4);
}

TEST_CASE("files that do not fit together are damage, named with file and offset") {
  const TempFolder folder;
  write_set(folder);
  const std::string root = folder.path().string();
  REQUIRE(damage(folder).empty());
  SECTION("more images than labels") {
    folder.write("train-images-idx3-ubyte", images(5, 2, 3));
    CHECK(holds(damage(folder), "/train-labels-idx1-ubyte.gz: offset 4: 4 labels, but 5 images"));
  }
  SECTION("another image size in the test set") {
    folder.write("t10k-images-idx3-ubyte.gz", gzip_bytes(images(2, 3, 2)));
    CHECK(holds(damage(folder), "t10k-images-idx3-ubyte.gz: offset 8: images of 3 x 2"));
    folder.write("t10k-images-idx3-ubyte.gz", gzip_bytes(images(2, 3, 3)));
    CHECK(holds(damage(folder), "images of 3 x 3, but the training set has 2 x 3"));
    folder.write("t10k-images-idx3-ubyte.gz", gzip_bytes(images(2, 2, 4)));
    CHECK(holds(damage(folder), "images of 2 x 4, but the training set has 2 x 3"));
  }
  SECTION("a test label that no training example has") {
    folder.write("t10k-labels-idx1-ubyte", labels({2, 3}));
    CHECK(holds(damage(folder), root + "/t10k-labels-idx1-ubyte: offset 9: label 3"));
  }
  SECTION("an eleventh class in a set that has ten") {
    folder.write("train-labels-idx1-ubyte", labels({0, 2, 10, 2}));
    CHECK(holds(damage(folder, "mnist"), "train-labels-idx1-ubyte: offset 10: label 10"));
  }
  SECTION("a damaged file among the four") {
    folder.write("t10k-labels-idx1-ubyte", {0, 0, 8});
    CHECK(holds(damage(folder), "t10k-labels-idx1-ubyte: offset 3: truncated"));
  }
}

TEST_CASE("without a folder HEARSAY_DATA is searched, first in a folder of the set's name") {
  const TempFolder folder;
  const DataRoot root(folder.path().string());
  write_set(folder);
  CHECK(load_dataset("mnist", 0).origin == folder.path().string());
  write_set(folder, "mnist/");
  CHECK(load_dataset("mnist", 0).origin == (folder.path() / "mnist").string());
  write_set(folder, "fashion-mnist/");
  CHECK(load_dataset("fashion-mnist", 0).origin == (folder.path() / "fashion-mnist").string());
}

TEST_CASE("a set that is not there is a usage error that says how to get it") {
  const TempFolder folder;
  const DataRoot root("");
  const std::string line = usage("fashion-mnist:" + folder.path().string());
  CHECK(holds(line, folder.path().string()));
  CHECK(holds(line, "apt-get install dataset-fashion-mnist"));
  CHECK(holds(line, "--data fashion-mnist:DIR"));
  CHECK(holds(usage("mnist"), "--data mnist:DIR"));
  CHECK(holds(usage("idx"), "HEARSAY_DATA"));
  CHECK(holds(usage("idx:"), "idx:DIR"));

  folder.write("train-images-idx3-ubyte", images(4, 2, 3));
  CHECK(holds(usage("idx:" + folder.path().string()), "train-labels-idx1-ubyte: no such file"));
}

TEST_CASE("an unknown data set is refused with the nearest name") {
  CHECK(holds(usage("fashion-mnst"), "fashion-mnist"));
  CHECK(holds(usage("synthetic:digit"), "digits"));
  CHECK(holds(usage("synthetic"), "synthetic:digits"));
  CHECK(holds(usage("synthetic:digits+noise"), "digits"));
  CHECK_FALSE(usage("").empty());
}

TEST_CASE("Fashion-MNIST loads from Debian's package: 60,000 and 10,000 images of ten classes") {
  const DataRoot root("");
  Dataset dataset;
  try {
    dataset = load_dataset("fashion-mnist", 0);
  } catch (const UsageError& error) {
    WARN("skipped, package dataset-fashion-mnist is not installed: " << error.what());
    return;
  }
  CHECK(dataset.name == "fashion-mnist");
  CHECK(dataset.train.count() == 60'000);
  CHECK(dataset.test.count() == 10'000);
  CHECK(dataset.train.image_bytes() == 784);
  const std::vector<std::size_t> even(10, 6000);
  CHECK(label_histogram(dataset.train.labels, 10) == even);
}

// SPDX-License-Identifier: Apache-2.0
// Checkpoints are complete or absent, whatever happens while they are written; damage anywhere is
// found and named.
#include "runtime/checkpoint/checkpoint_store.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "kernels/core/errc.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/checkpoint/state_file.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
namespace fs = std::filesystem;
namespace kernels = hearsay::kernels;
using kernels::Fault;

namespace {

const char* const kFiles[] = {"model.safetensors", "optimizer.safetensors", "state.json"};

// Everything in it is made from one number, so that a mixture of two is seen.
struct Example {
  explicit Example(std::uint64_t n, std::size_t size = 40) : weights(size), moment(size) {
    for (std::size_t i = 0; i < size; ++i) {
      weights[i] = static_cast<float>(n) + static_cast<float>(i) / 64;
      moment[i] = -weights[i];
    }
    kernels::Layout layout;
    layout.add("0.weight", {size});
    checkpoint.about["kind"] = "test";
    checkpoint.state = {{"n", n}, {"text", "a \"quoted\" word"}};
    checkpoint.tensors = {{"model.safetensors", layout, {weights}, {{"format", "pt"}}},
                          {"optimizer.safetensors", layout, {moment}, {}}};
  }
  std::vector<float> weights, moment;
  Checkpoint checkpoint;
};

// The number that all of a loaded example says, or -1.
std::int64_t number_in(LoadedCheckpoint&& loaded) {
  const auto n = loaded.state.at("n").get<std::uint64_t>();
  const auto& model = loaded.tensor_file("model.safetensors").values;
  const Example expected(n, model.size());
  const auto equal = [](const auto& values, const std::vector<float>& wanted) {
    return values.size() == wanted.size() &&
           std::equal(wanted.begin(), wanted.end(), values.data());
  };
  return equal(model, expected.weights) &&
                 equal(loaded.tensor_file("optimizer.safetensors").values, expected.moment)
             ? static_cast<std::int64_t>(n)
             : -1;
}

std::vector<std::string> names(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder))
    found.push_back(entry.path().filename().string());
  std::sort(found.begin(), found.end());
  return found;
}

std::string refusal(const CheckpointStore& store, std::uint64_t number) {
  try {
    store.load(number);
  } catch (const kernels::DamagedFile& fault) {
    return fault.what();
  }
  return {};
}

std::optional<LoadedCheckpoint> newest(const CheckpointStore& store) {
  return store.load_newest([](const std::string& line) { FAIL(line); });
}

void set_hour(const std::string& path, int hour) {
  const timespec times[2] = {{hour * 3600, 0}, {hour * 3600, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("a checkpoint reads back as it was written") {
  const TempDir dir;
  const CheckpointStore store(dir.file("ckpt"));
  CHECK(store.numbers().empty());
  CHECK_FALSE(newest(store));
  const WrittenCheckpoint written = store.write(120, Example(7).checkpoint);
  CHECK(written.name == "000120");
  std::uintmax_t bytes = 0;
  for (const char* file : kFiles) bytes += fs::file_size(dir.file("ckpt/000120/") + file);
  CHECK(written.bytes == bytes);
  CHECK(read_text(dir.file("ckpt/latest")) == "000120\n");
  auto loaded = newest(store);
  REQUIRE(loaded);
  CHECK(loaded->number == 120);
  CHECK(loaded->about == hearsay::gossip::Archive::Json{{"kind", "test"}});
  CHECK(loaded->state.at("text") == "a \"quoted\" word");
  CHECK(number_in(std::move(*loaded)) == 7);
}

TEST_CASE("a checkpoint never takes the place of another") {
  const TempDir dir;
  const CheckpointStore store(dir.path());
  CHECK(store.write(5, Example(1).checkpoint).number == 5);
  CHECK(store.write(5, Example(2).checkpoint).number == 6);
  CHECK(store.write(3, Example(3).checkpoint).number == 7);
  CHECK(store.write(1'000'000, Example(4).checkpoint).name == "1000000");
  CHECK(number_in(newest(store).value()) == 4);
}

TEST_CASE("the newest two are kept, and the first of every hour") {
  const TempDir dir;
  const CheckpointStore store(dir.path());
  for (std::uint64_t n = 1; n <= 6; ++n) {
    store.write(n, Example(n).checkpoint);
    set_hour(dir.file(CheckpointStore::name_of(n)), n <= 3 ? 10 : 11);
  }
  write_text(dir.file("somebody.tmp"), "not ours");
  store.write(7, Example(7).checkpoint);
  CHECK(store.numbers() == std::vector<std::uint64_t>{1, 4, 6, 7});
  CHECK(names(dir.path()) ==
        std::vector<std::string>{"000001", "000004", "000006", "000007", "latest", "somebody.tmp"});
}

TEST_CASE(
    "a checkpoint cut short or with one bit changed, anywhere, is refused by file and offset") {
  const TempDir dir;
  const CheckpointStore store(dir.path());
  store.write(1, Example(3, 8).checkpoint);
  for (const char* file : kFiles) {
    const std::string path = dir.file("000001/") + file, whole = read_text(path);
    const auto refused = [&](const std::string& bytes) {
      write_text(path, bytes);
      return refusal(store, 1).find(path + ": offset ") == 0;
    };
    for (std::size_t at = 0; at < whole.size(); ++at) {
      CAPTURE(file, at);
      REQUIRE(refused(whole.substr(0, at)));
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      REQUIRE(refused(changed));
    }
    REQUIRE(refused(whole + "x"));
    fs::remove(path);
    CHECK(refusal(store, 1).find("missing") != std::string::npos);
    write_text(path, whole);
    CHECK(number_in(store.load(1)) == 3);
  }
}

TEST_CASE("damage far inside a file is named by where it is") {
  const TempDir dir;
  const CheckpointStore store(dir.path());
  store.write(1, Example(1, 1'000'000).checkpoint);
  const std::string path = dir.file("000001/model.safetensors");
  std::string bytes = read_text(path);
  bytes[3'000'000] ^= 1;
  write_text(path, bytes);
  const std::string line = refusal(store, 1);
  const std::size_t head = bytes.size() - 4'000'000;
  CHECK(line.find(": offset " + std::to_string(head + 2 * kDigestPieceBytes) + ":") !=
        std::string::npos);
}

TEST_CASE("the one before is taken when the newest is damaged; when all are, nothing is") {
  const TempDir dir;
  const CheckpointStore store(dir.path());
  for (std::uint64_t n = 1; n <= 2; ++n) store.write(n, Example(n).checkpoint);
  write_text(dir.file("000002/state.json"), "{}");
  std::vector<std::string> damaged;
  const auto hear = [&](const std::string& line) { damaged.push_back(line); };
  CHECK(number_in(store.load_newest(hear).value()) == 1);
  REQUIRE(damaged.size() == 1);
  CHECK(damaged[0].find(dir.file("000002/state.json") + ": offset 2: ") == 0);
  const auto refuse = [&](const LoadedCheckpoint& from) {
    throw kernels::DamagedFile(from.path, 0, "refused");
  };
  CHECK_THROWS_AS(store.load_newest(hear, refuse), kernels::Fault);
  write_text(dir.file("000001/optimizer.safetensors"), "");
  try {
    store.load_newest(hear);
    FAIL("took a damaged checkpoint");
  } catch (const Fault& fault) {
    CHECK(fault.code() == kernels::ExitCode::damaged);
    CHECK(std::string(fault.what()).find("000002") != std::string::npos);
  }
  CHECK(store.write(1, Example(3).checkpoint).number == 3);
}

TEST_CASE("a checkpoint of the future is named, not guessed at") {
  const TempDir dir;
  const CheckpointStore store(dir.path());
  store.write(1, Example(1).checkpoint);
  auto object = read_sealed(dir.file("000001/state.json"));
  object.erase("digest");
  object["schema"] = kCheckpointSchema + 1;
  write_text(dir.file("000001/state.json"), sealed_text(object));
  CHECK_THROWS_AS(store.load(1), kernels::UsageError);
}

TEST_CASE("a state whose list of files leads elsewhere is refused") {
  const TempDir dir;
  const CheckpointStore store(dir.path());
  store.write(1, Example(1).checkpoint);
  const auto object = read_sealed(dir.file("000001/state.json"));
  using Json = hearsay::gossip::Archive::Json;
  for (const Json& name : {Json("../x"), Json(""), Json(".hidden"), Json(1), Json(nullptr)}) {
    auto changed = object;
    changed["files"][0]["name"] = name;
    write_text(dir.file("000001/state.json"), sealed_text(changed));
    CHECK(refusal(store, 1).find("'files'") != std::string::npos);
  }
  for (const Json& piece : {Json::array({0, "0000000000000000"}), Json::array({9, "x"}),
                            Json::array({std::uint64_t{1} << 40, "0000000000000000"})}) {
    auto changed = object;
    changed["files"][0]["xxh3"][0] = piece;
    write_text(dir.file("000001/state.json"), sealed_text(changed));
    CHECK(refusal(store, 1).find("'files'") != std::string::npos);
  }
}

TEST_CASE("a writer killed at any instant leaves a good checkpoint and nothing that stays") {
  const TempDir dir;
  const CheckpointStore store(dir.path());
  store.write(1, Example(1, 20'000).checkpoint);
  // As long as three checkpoints take here, at most: some are whole by then and some are not.
  const auto most_us = std::chrono::duration_cast<std::chrono::microseconds>(
      3 * store.write(1, Example(2, 20'000).checkpoint).took);
  kernels::Rng rng = kernels::Rng::stream(17, "kill");  // seed 17
  std::uint64_t last = 2;
  int strays = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const pid_t child = ::fork();
    if (child == 0) {
      for (std::uint64_t n = last + 1;; ++n) store.write(n, Example(n, 20'000).checkpoint);
    }
    REQUIRE(child > 0);
    std::this_thread::sleep_for(
        std::chrono::microseconds(rng.below(static_cast<std::uint32_t>(most_us.count() + 1))));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    for (const std::string& name : names(dir.path()))
      strays += name.find(".tmp") != std::string::npos ? 1 : 0;
    auto loaded = newest(store);
    REQUIRE(loaded);
    const std::uint64_t number = loaded->number;
    REQUIRE(number >= last);
    REQUIRE(number_in(std::move(*loaded)) == static_cast<std::int64_t>(number));
    for (const std::uint64_t each : store.numbers())  // complete, every one of them
      REQUIRE(number_in(store.load(each)) == static_cast<std::int64_t>(each));
    last = number;
  }
  CHECK(last > 20);    // some were written,
  CHECK(strays > 20);  // and some were not
  store.write(last + 1, Example(last + 1).checkpoint);
  for (const std::string& name : names(dir.path())) CHECK(name.find(".tmp") == std::string::npos);
}

TEST_CASE("a disk that is full at any byte leaves the old checkpoint and nothing else") {
  const TempDir dir;
  const CheckpointStore store(dir.path());
  store.write(1, Example(1).checkpoint);
  const std::size_t most = fs::file_size(dir.file("000001/state.json"));
  for (std::size_t limit = 0; limit < most; limit += 3) {
    CAPTURE(limit);
    const int code = run_with_file_limit(limit, [&] {
      try {
        store.write(2, Example(2).checkpoint);
      } catch (const Fault& fault) {
        const std::string line = fault.what();
        return line.find(dir.path()) == 0 && line.find("File too large") != std::string::npos ? 1
                                                                                              : 2;
      }
      return 0;
    });
    REQUIRE(code == 1);
    REQUIRE(names(dir.path()) == std::vector<std::string>{"000001", "latest"});
    REQUIRE(number_in(newest(store).value()) == 1);
  }
  CHECK(run_with_file_limit(1 << 20, [&] {
          store.write(2, Example(2).checkpoint);
          return 0;
        }) == 0);
  CHECK(number_in(newest(store).value()) == 2);
}

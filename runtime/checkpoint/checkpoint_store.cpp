// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/checkpoint_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/checkpoint/state_file.hpp"
#include "runtime/log/atomic_file.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kStateFile = "state.json";
constexpr const char* kTemporary = ".tmp";
constexpr std::size_t kKeptNewest = 2;
constexpr std::int64_t kHour_s = 3600;

[[noreturn]] void fail(const std::string& path, const std::string& step, int error) {
  throw kernels::Fault(kernels::ExitCode::check_failed,
                       path + ": " + step + ": " + error_text(error) +
                           "; the checkpoints before it are untouched; free space on that disk");
}

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// A file that nobody sees before its folder is renamed.
FileDigests write_new_file(const std::string& folder, const std::string& name,
                           const std::vector<std::string_view>& pieces) {
  const std::string path = folder + "/" + name;
  FileDigests digests{name, {}};
  FileHandle file = open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (!file.is_open()) fail(path, "open", errno);
  for (const std::string_view piece : pieces) {
    digests.add(piece);
    const WriteOutcome outcome = write_all(file.get(), piece);
    if (outcome.error != 0) fail(path, "write", outcome.error);
  }
  if (const int error = sync_file(file.get()); error != 0) fail(path, "sync", error);
  if (const int error = file.close(); error != 0) fail(path, "close", error);
  return digests;
}

void sync_folder(const std::string& path) {
  const FileHandle folder = open_file(path, O_RDONLY | O_DIRECTORY);
  const int error = folder.is_open() ? sync_file(folder.get()) : errno;
  if (error != 0) fail(path, "sync of the folder", error);
}

std::uint64_t write_files(const std::string& folder, const Checkpoint& checkpoint) {
  std::vector<FileDigests> files;
  std::uint64_t bytes = 0;
  for (const TensorPart& part : checkpoint.tensors) {
    const std::string head = safetensors_head(folder + "/" + part.file, part.layout, part.metadata);
    std::vector<std::string_view> pieces{head};
    std::size_t values = 0;
    for (const std::span<const float> piece : part.pieces) {
      pieces.push_back(bytes_of(piece));
      values += piece.size();
    }
    HS_CHECK(values == part.layout.size());
    files.push_back(write_new_file(folder, part.file, pieces));
    bytes += files.back().bytes();
  }
  Json object;
  object["schema"] = kCheckpointSchema;
  for (const auto& [key, value] : checkpoint.about.items()) object[key] = value;
  object["files"] = to_json(files);
  object["state"] = checkpoint.state;
  const std::string text = sealed_text(object);
  write_new_file(folder, kStateFile, {text});
  return bytes + text.size();
}

bool parse_name(const std::string& name, std::uint64_t& number) {
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, number);
  return error == std::errc() && stop == end && CheckpointStore::name_of(number) == name;
}

}  // namespace

std::string CheckpointStore::name_of(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%06llu", static_cast<unsigned long long>(number));
  return text;
}

std::vector<std::uint64_t> CheckpointStore::numbers() const {
  std::vector<std::uint64_t> found;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::uint64_t number = 0;
    std::error_code ignored;
    if (parse_name(it->path().filename().string(), number) && it->is_directory(ignored))
      found.push_back(number);
  }
  if (error && error.value() != ENOENT)
    throw kernels::UsageError(folder_ + ": " + error_text(error.value()));
  std::sort(found.begin(), found.end());
  return found;
}

WrittenCheckpoint CheckpointStore::write(std::uint64_t least, const Checkpoint& checkpoint) const {
  const auto begin = std::chrono::steady_clock::now();
  ignore_file_size_signal();
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail(folder_, "make", error.value());
  const std::vector<std::uint64_t> before = numbers();
  WrittenCheckpoint written;
  written.number = before.empty() ? least : std::max(least, before.back() + 1);
  written.name = name_of(written.number);
  const std::string folder = path_of(written.number), temporary = folder + kTemporary;
  fs::remove_all(temporary, error);  // what a killed writer left
  fs::create_directory(temporary, error);
  if (error) fail(temporary, "make", error.value());
  try {
    written.bytes = write_files(temporary, checkpoint);
    sync_folder(temporary);
    if (std::rename(temporary.c_str(), folder.c_str()) != 0) fail(folder, "rename", errno);
  } catch (...) {
    fs::remove_all(temporary, error);
    throw;
  }
  sync_folder(folder_);
  write_file_atomically(folder_ + "/latest", written.name + "\n");
  prune();
  written.took = std::chrono::steady_clock::now() - begin;
  return written;
}

// Renamed before it is taken apart: a folder under its number is complete at every instant. What
// cannot be removed (somebody else's file in it) stays, and is tried again next time.
void CheckpointStore::prune() const {
  const std::vector<std::uint64_t> all = numbers();
  std::set<std::int64_t> hours;
  for (std::size_t i = 0; i + kKeptNewest < all.size(); ++i) {
    const std::string path = path_of(all[i]);
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) continue;
    if (hours.insert(status.st_mtime / kHour_s).second) continue;
    const std::string doomed = path + kTemporary;
    std::error_code ignored;
    fs::remove_all(doomed, ignored);
    if (std::rename(path.c_str(), doomed.c_str()) != 0) continue;
  }
  std::error_code error;
  std::vector<fs::path> strays;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::uint64_t number = 0;
    const fs::path& path = it->path();
    if (path.extension() == kTemporary && parse_name(path.stem().string(), number))
      strays.push_back(path);
  }
  for (const fs::path& stray : strays) fs::remove_all(stray, error);
}

LoadedCheckpoint CheckpointStore::load(std::uint64_t number) const {
  LoadedCheckpoint loaded;
  loaded.number = number;
  loaded.path = path_of(number);
  const std::string path = loaded.file(kStateFile);
  Json object = read_sealed(path);
  const auto integer = [&](const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer())
      throw kernels::DamagedFile(path, 0, std::string("'") + key + "' is missing or no number");
    return found->get<std::int64_t>();
  };
  if (integer("schema") != kCheckpointSchema) {
    throw kernels::UsageError(path + ": schema " + std::to_string(integer("schema")) +
                              " is not the one that this program reads (" +
                              std::to_string(kCheckpointSchema) +
                              "); use the hearsay that wrote it");
  }
  for (const FileDigests& file : files_from_json(path, object["files"])) {
    check_file(loaded.file(file.name), file);
    loaded.tensors.emplace(file.name, read_safetensors(loaded.file(file.name)));
  }
  loaded.state = std::move(object["state"]);
  for (const char* key : {"schema", "files", "state"}) object.erase(key);
  loaded.about = std::move(object);
  return loaded;
}

std::optional<LoadedCheckpoint> CheckpointStore::load_newest(
    const std::function<void(const std::string&)>& damaged,
    const std::function<void(const LoadedCheckpoint&)>& accept) const {
  std::vector<std::uint64_t> all = numbers();
  std::optional<kernels::Fault> first;
  for (; !all.empty(); all.pop_back()) {
    try {
      LoadedCheckpoint loaded = load(all.back());
      if (accept) accept(loaded);
      return loaded;
    } catch (const kernels::Fault& fault) {
      if (fault.code() != kernels::ExitCode::damaged) throw;
      if (damaged) damaged(fault.what());
      if (!first) first = fault;
    }
  }
  if (first) throw *first;
  return std::nullopt;
}

}  // namespace hearsay::runtime

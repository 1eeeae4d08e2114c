// SPDX-License-Identifier: Apache-2.0
// main() of a fuzz target where there is no libFuzzer: runs every file of the folders (or files)
// given, then mutations of them. Whatever ends the process leaves the input in a file and says how
// to run it again.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/mutate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using hearsay::fuzz::Input;

constexpr unsigned kSlow_s = 20;  // an input that takes longer is a finding too

const Input* running = nullptr;
const char* program = "fuzz";
std::uint64_t seed = 1, mutation = 0;

// No memory is taken here: the heap may be what is broken.
void keep_input() {
  const Input* const input = running;
  if (input == nullptr) return;
  running = nullptr;
  char name[64], line[256];
  std::snprintf(name, sizeof name, "crash-%d", static_cast<int>(::getpid()));
  const int file = ::open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool kept =
      ::write(file, input->data(), input->size()) == static_cast<ssize_t>(input->size());
  const int length = std::snprintf(
      line, sizeof line, "\n%s: input %s in %s (--seed %llu, mutation %llu); again: %s %s\n",
      program, kept ? "kept" : "could not be kept", name, static_cast<unsigned long long>(seed),
      static_cast<unsigned long long>(mutation), program, name);
  if (::write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0) return;
}

extern "C" void on_signal(int number) {
  keep_input();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void run(const Input& input) {
  running = &input;
  ::alarm(kSlow_s);
  const Input exact = input;  // of exactly its size on the heap, so that a byte too far is seen
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  running = nullptr;
}

void add_files(const std::filesystem::path& path, std::vector<std::filesystem::path>& files) {
  if (!std::filesystem::is_directory(path)) return files.push_back(path);
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
}

Input read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "%s: %s cannot be read\n", program, path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int count, char** words) {
  using hearsay::fuzz::nest;
  program = words[0];
  std::uint64_t mutations = 0;
  double most_s = 1e9;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool has_value = i + 1 < count;
    if (word == "--mutations" && has_value) {
      mutations = std::strtoull(words[++i], nullptr, 10);
    } else if (word == "--seed" && has_value) {
      seed = std::strtoull(words[++i], nullptr, 10);
    } else if (word == "--seconds" && has_value) {
      most_s = std::strtod(words[++i], nullptr);
    } else if (word.starts_with("--")) {
      std::fprintf(stderr, "usage: %s [--mutations N] [--seed S] [--seconds S] FOLDER|FILE ...\n",
                   program);
      return 2;
    } else if (std::filesystem::exists(word)) {
      add_files(word, files);
    }
  }
  for (const int number : {SIGABRT, SIGALRM, SIGTERM}) std::signal(number, on_signal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(keep_input);
  } else {
    for (const int number : {SIGSEGV, SIGFPE, SIGBUS, SIGILL}) std::signal(number, on_signal);
  }
  std::sort(files.begin(), files.end());  // folders list in any order
  std::vector<Input> corpus;
  for (const auto& file : files) corpus.push_back(read(file));
  const std::size_t from_files = corpus.size();
  for (const Input& input : corpus) run(input);
  for (const Input& input : {Input{}, Input{0}, nest(100'000, "[", "", "]"),
                             nest(100'000, "[", "", ""), nest(100'000, "{\"a\":", "1", "}")})
    run(input);

  hearsay::fuzz::Mutator mutator(seed);
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed_s = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (; mutation < mutations && elapsed_s() < most_s; ++mutation) {
    const Input input = mutator.next(corpus);
    run(input);
  }
  const double rate = static_cast<double>(mutation) / std::max(elapsed_s(), 1e-9);
  std::printf(
      "%zu files, 5 built-in inputs, %llu mutations (seed %llu, %.0f a second): no finding\n",
      from_files, static_cast<unsigned long long>(mutation), static_cast<unsigned long long>(seed),
      rate);
  return 0;
}

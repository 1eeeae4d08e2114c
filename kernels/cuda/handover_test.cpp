// SPDX-License-Identifier: Apache-2.0
// Snapshots that go from process to process. The other one is handover_partner, beside this
// program.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/cuda/device_api.h"
#include "kernels/cuda/handover_testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

class Partner {
 public:
  explicit Partner(int device = 0) {
    int in[2], out[2];
    if (::pipe(in) != 0 || ::pipe(out) != 0) throw std::runtime_error("pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    for (const int each : {in[0], in[1], out[0], out[1]})
      posix_spawn_file_actions_addclose(&actions, each);
    const std::string path =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "handover_partner";
    std::string number = std::to_string(device), name = path;
    char* arguments[]{name.data(), number.data(), nullptr};
    const int error = ::posix_spawn(&pid_, path.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
    if (error != 0) throw std::runtime_error(path + " does not start");
  }
  ~Partner() {
    ::close(to_);
    kill();
    ::close(from_);
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  std::string ask(std::string line) {
    line += "\n";
    if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return "";
    std::string answer;
    for (char c = 0; ::read(from_, &c, 1) == 1 && c != '\n';) answer += c;
    return answer;
  }
  HsCudaTicket lend(int seed) { return ticket_in(ask("lend " + std::to_string(seed))); }

 private:
  pid_t pid_ = 0;
  int to_ = -1, from_ = -1;
};

// A process that lends, and what this one takes from it.
struct Reader {
  Partner partner;
  TrainerPtr trainer = make_trainer(0, 1);
  SourcePtr source = make_source(trainer);
};

// Of every device, when there are several.
std::vector<int> devices() {
  int error = 0;
  const int count = hs_cuda_device_count(&error);
  return count > 1 ? std::vector<int>{0, 1} : std::vector<int>{0};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("another process takes the bits that were there, and gives its own") {
  for (const int device : devices()) {
    CAPTURE(device);
    Partner partner(device);
    const TrainerPtr trainer = make_trainer(0, 2);
    done(hs_cuda_handover_begin(trainer.get()));
    const SourcePtr source = make_source(trainer);
    std::vector<SnapshotPtr> kept;
    for (int round = 0; round < 8; ++round) {  // more than one slab
      kept.push_back(take(trainer, static_cast<std::size_t>(round % 2)));
      CHECK(partner.ask("take " + text_of(ticket_of(kept.back()))) ==
            digest_text(random_values(static_cast<std::uint64_t>(round % 2))));
      CHECK(take_over(source, partner.lend(50 + round)) ==
            digest_text(random_values(50 + static_cast<std::uint64_t>(round))));
    }
    // What was taken can be merged as one's own.
    HsCudaSnapshot* taken = nullptr;
    const HsCudaTicket ticket = partner.lend(9);
    done(hs_cuda_source_take(source.get(), &ticket, &taken));
    const SnapshotPtr in(taken);
    done(hs_cuda_slot_blend(trainer.get(), 0, 1.0f, in.get(), nullptr, 0));
    CHECK(digest_text(host_of(in)) == digest_text(random_values(9)));
  }
}

TEST_CASE("weights that were written over are not taken for those of the ticket") {
  Reader reader;
  auto& [partner, trainer, source] = reader;
  const HsCudaTicket ticket = partner.lend(3);
  CHECK(take_over(source, ticket) == digest_text(random_values(3)));
  CHECK(partner.ask("drop") == "done");
  CHECK(contains(take_over(source, ticket), "not there any more"));
  CHECK(take_over(source, partner.lend(4)) == digest_text(random_values(4)));
}

TEST_CASE(
    "the memory of a process that was killed is read whole or not at all, and nothing hangs") {
  const TrainerPtr trainer = make_trainer(0, 1);
  {
    const SourcePtr source = make_source(trainer);
    Partner partner;
    const HsCudaTicket ticket = partner.lend(5);
    REQUIRE(take_over(source, ticket) == digest_text(random_values(5)));
    partner.kill();
    const std::string after = take_over(source, ticket);
    CHECK((after == digest_text(random_values(5)) || !contains(after, "/")));
    WARN("after the death of the lender: " << after);
  }
  // Never opened before: no memory, one line.
  Partner other;
  const HsCudaTicket late = other.lend(6);
  other.kill();
  const SourcePtr source = make_source(trainer);
  CHECK(contains(take_over(source, late), "opening another process's memory"));
  CHECK(same(weights_of(trainer, 0), random_values(0)));  // this process goes on
}

TEST_CASE("tickets that mean nothing are refused") {
  Reader reader;
  auto& [partner, trainer, source] = reader;
  const HsCudaTicket good = partner.lend(1);
  REQUIRE(take_over(source, good) == digest_text(random_values(1)));
  HsCudaTicket bad = good;
  bad.values_at = ~std::uint64_t{0} - 3;
  CHECK(contains(take_over(source, bad), "not there"));
  bad = good;
  bad.values_at += 1;
  CHECK(contains(take_over(source, bad), "not there"));
  bad = good;
  bad.word_at = std::uint64_t{1} << 40;
  CHECK(contains(take_over(source, bad), "not there"));
  bad = good;
  bad.values = 7;
  CHECK(contains(take_over(source, bad), "another model"));
  bad = good;
  bad.serial += 1;
  CHECK(contains(take_over(source, bad), "not there any more"));
  bad = good;
  for (unsigned char& byte : bad.memory) byte = 0x5a;
  CHECK(contains(take_over(source, bad), "opening another process's memory"));
  CHECK(take_over(source, good) == digest_text(random_values(1)));
  // Before the beginning there are no tickets.
  const SnapshotPtr own = take(trainer, 0);
  HsCudaTicket none{};
  CHECK(hs_cuda_snapshot_ticket(own.get(), &none) != 0);
}

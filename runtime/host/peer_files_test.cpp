// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/peer_files.hpp"

#include <cmath>
#include <limits>

#include "kernels/core/digest.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/checkpoint/checkpoint_store.hpp"
#include "runtime/log/safetensors.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay;
using namespace hearsay::runtime;
namespace fs = std::filesystem;

namespace {

kernels::Layout small_layout() {
  kernels::Layout layout;
  layout.add("0.weight", {2, 3});
  layout.add("0.bias", {2});
  return layout;
}

const std::vector<float> kFinal{1, -2, 3.5f, 0, 5, 6, 7, 8}, kBefore{0, 1, 2, 3, 4, 5, 6, 7};

PeerResult example() {
  PeerResult r;
  r.name = "p03";
  r.alive = true;
  r.reason = "finished \"early\"\n\xc3\xa9";
  r.shard = 750;
  r.test = {0.1 + 0.2, 1.0 / 3.0, 1000};
  r.counters = {11, 12, 13, 14, 15'000'000'000, 120, 17, 18, 19.25, 0.125, 7, 22};
  r.payload_bytes = 1ull << 63;
  r.wire_bytes = 21;
  return r;
}

bool same(const Evaluation& a, const Evaluation& b) {
  return a.loss == b.loss && a.accuracy == b.accuracy && a.examples == b.examples;
}

RunDir fresh(const TempDir& dir) { return RunDir::create(dir.file("run")); }

void write_model(const RunDir& run, const PeerResult& result, const PeerWeights& weights) {
  Checkpoint made;
  made.tensors = peer_model_parts(run, result, "1.2.3", small_layout(), weights);
  CheckpointStore(run.peer_checkpoints(result.name)).write(result.counters.steps, made);
}

void write_example(const RunDir& run, bool end_game) {
  write_model(run, example(),
              {kFinal, end_game ? std::span<const float>(kBefore) : std::span<const float>()});
  write_peer_result(run, example());
}

std::vector<float> values(std::span<const float> span) { return {span.begin(), span.end()}; }

}  // namespace

TEST_CASE("a peer's result comes back as it was written", "[host]") {
  TempDir dir;
  const RunDir run = fresh(dir);
  const PeerResult in = example();
  write_peer_result(run, in);
  const auto out = read_peer_result(run, "p03");
  REQUIRE(out);
  CHECK(out->name == in.name);
  CHECK(out->alive);
  CHECK(out->reason == in.reason);
  CHECK(out->shard == in.shard);
  CHECK(same(out->test, in.test));
  CHECK_FALSE(out->test_final);
  const gossip::Counters &a = in.counters, &b = out->counters;
  CHECK(a.merges_started == b.merges_started);
  CHECK(a.merges_applied == b.merges_applied);
  CHECK(a.merges_refused == b.merges_refused);
  CHECK(a.merges_skipped == b.merges_skipped);
  CHECK(a.samples == b.samples);
  CHECK(a.steps == b.steps);
  CHECK(a.samples_at_last_merge == b.samples_at_last_merge);
  CHECK(a.longest_gap_samples == b.longest_gap_samples);
  CHECK(a.age_samples_sum == b.age_samples_sum);
  CHECK(a.mass == b.mass);
  CHECK(a.votes_heard == b.votes_heard);
  CHECK(out->payload_bytes == in.payload_bytes);
  CHECK(out->wire_bytes == in.wire_bytes);
  CHECK_FALSE((out->wall_s || out->train_s || out->cpu_s || out->io_cpu_s || out->peak_rss_bytes));
}

TEST_CASE("what was measured, and a loss that is no number, come back too", "[host]") {
  TempDir dir;
  const RunDir run = fresh(dir);
  PeerResult in = example();
  in.test.loss = std::numeric_limits<double>::quiet_NaN();
  in.test_final = Evaluation{0.5, 0.75, 1000};
  in.wall_s = 1.5;
  in.train_s = 1.25;
  in.cpu_s = 1.0;
  in.io_cpu_s = 0.0;
  in.frames_handed_over = 12;
  in.peak_rss_bytes = 40'000'000;
  write_peer_result(run, in);
  const auto out = read_peer_result(run, "p03");
  REQUIRE(out);
  CHECK(std::isnan(out->test.loss));
  REQUIRE(out->test_final);
  CHECK(same(*out->test_final, *in.test_final));
  CHECK(out->wall_s == in.wall_s);
  CHECK(out->train_s == in.train_s);
  CHECK(out->cpu_s == in.cpu_s);
  CHECK(out->io_cpu_s == in.io_cpu_s);
  CHECK(out->frames_handed_over == 12u);
  CHECK(out->peak_rss_bytes == in.peak_rss_bytes);
}

TEST_CASE("a peer's model comes back bit for bit, with the one from before the end game",
          "[host]") {
  TempDir dir;
  const RunDir run = fresh(dir);
  for (const bool end_game : {true, false}) {
    write_example(run, end_game);  // each is the newest
    const auto model = read_peer_model(run, "p03");
    REQUIRE(model);
    CHECK(model->steps == 120);
    CHECK(model->layout.first_difference(small_layout()).empty());
    CHECK(values(model->final_weights.span()) == kFinal);
    CHECK(values(model->counted()) == (end_game ? kBefore : kFinal));
    const std::string name = end_game ? "000120" : "000121";
    CHECK(read_text(run.peer_checkpoints("p03") + "/latest") == name + "\n");
    CHECK(fs::exists(run.peer_checkpoints("p03") + "/" + name + "/before_end_game.safetensors") ==
          end_game);
  }
  CHECK(entries(run.peer_checkpoints("p03")) == 3);  // both, latest: no .tmp left
}

TEST_CASE("a model file tells its ancestry", "[host]") {
  TempDir dir;
  const RunDir run = fresh(dir);
  write_example(run, false);
  const auto file = read_safetensors(run.peer_checkpoints("p03") + "/000120/model.safetensors");
  CHECK(file.metadata == TensorMetadata{{"format", "pt"},
                                        {"hearsay.run", "run"},
                                        {"hearsay.peer", "p03"},
                                        {"hearsay.version", "1.2.3"},
                                        {"hearsay.samples", "15000000000"},
                                        {"hearsay.steps", "120"},
                                        {"hearsay.parents", "p03:12"},
                                        {"hearsay.digest", kernels::digest(kFinal).hex()}});
}

TEST_CASE("the newest checkpoint counts, and what a killed writer left does not", "[host]") {
  TempDir dir;
  const RunDir run = fresh(dir);
  write_example(run, false);
  fs::create_directories(run.peer_checkpoints("p03") + "/000240.tmp");
  write_text(run.peer_checkpoints("p03") + "/000240.tmp/model.safetensors", "half");
  CHECK(read_peer_model(run, "p03")->steps == 120);
  PeerResult later = example();
  later.counters.steps = 240;
  write_model(run, later, {kBefore, {}});
  CHECK(read_peer_model(run, "p03")->steps == 240);
  CHECK(values(read_peer_model(run, "p03")->final_weights.span()) == kBefore);
}

TEST_CASE("files that are not there are no error", "[host]") {
  TempDir dir;
  const RunDir run = fresh(dir);
  CHECK_FALSE(read_peer_result(run, "p03"));
  CHECK_FALSE(read_peer_model(run, "p03"));
  run.prepare_peer_dir("p03");
  fs::create_directories(run.peer_checkpoints("p03") + "/000120.tmp");  // killed before the rename
  CHECK_FALSE(read_peer_result(run, "p03"));
  CHECK_FALSE(read_peer_model(run, "p03"));
}

TEST_CASE("a torn or altered result is damaged, and the complaint names it", "[host]") {
  TempDir dir;
  const RunDir run = fresh(dir);
  write_peer_result(run, example());
  const std::string path = run.peer_result("p03"), good = read_text(path);
  for (std::size_t length = 0; length + 2 < good.size(); ++length) {  // all but the newline, '}'
    CAPTURE(length);
    write_text(path, good.substr(0, length));
    CHECK_THROWS_AS(read_peer_result(run, "p03"), kernels::DamagedFile);
  }
  const auto altered = [&](const std::string& from, const std::string& to) -> std::string {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    write_text(path, text.replace(at, from.size(), to));
    try {
      read_peer_result(run, "p03");
    } catch (const kernels::DamagedFile& fault) {
      return fault.what();
    }
    return "accepted";
  };
  CHECK(altered("\"p03\"", "\"p04\"") == path + ": offset 0: is about 'p04'");
  CHECK(altered("\"shard\"", "\"chard\"") ==
        path + ": offset 0: 'shard' is missing or no such value");
  CHECK(altered("\"steps\": 120", "\"steps\": -120").find("'steps'") != std::string::npos);
  CHECK(altered("\"steps\": 120", "\"steps\": \"x\"").find("'steps'") != std::string::npos);
  CHECK(altered("\"votes_heard\": 7", "\"votes_heard\": 4294967296").find("'votes_heard'") !=
        std::string::npos);
  CHECK(altered("\"alive\": true", "\"alive\": 1").find("'alive'") != std::string::npos);
  CHECK(altered("\"peer\"", "\x01peer\"") == path + ": offset 4: is not JSON");
  CHECK(altered(good, "[]").find("is no JSON object") != std::string::npos);
  CHECK(altered(good, std::string((1 << 20) + 1, ' ')).find("longer") != std::string::npos);
  CHECK(altered("\"peer\"", "\"new\": [1], \"peer\"") == "accepted");  // a later version's key
}

TEST_CASE("a model cut short anywhere, or with any value changed, is damaged", "[host]") {
  TempDir dir;
  const RunDir run = fresh(dir);
  const auto* name = GENERATE("model.safetensors", "before_end_game.safetensors");
  write_example(run, true);
  const std::string path = run.peer_checkpoints("p03") + "/000120/" + name;
  const std::string good = read_text(path);
  for (std::size_t length = 0; length < good.size(); ++length) {
    CAPTURE(name, length);
    write_text(path, good.substr(0, length));
    CHECK_THROWS_AS(read_peer_model(run, "p03"), kernels::DamagedFile);
  }
  for (std::size_t back = 1; back <= kFinal.size() * sizeof(float); ++back) {
    CAPTURE(name, back);
    std::string bad = good;
    bad[bad.size() - back] ^= 1;
    write_text(path, bad);
    CHECK_THROWS_AS(read_peer_model(run, "p03"), kernels::DamagedFile);
  }
  write_text(path, good);
  CHECK(read_peer_model(run, "p03"));
}

TEST_CASE("a pointer to no checkpoint is damaged, wherever it points", "[host]") {
  TempDir dir;
  const RunDir run = fresh(dir);
  write_example(run, false);
  const std::string latest = run.peer_checkpoints("p03") + "/latest";
  for (const char* text :
       {"", "\n", "120\n", "000120", "000120\n\n", "000121\n", "0000120\n", "000120.tmp\n",
        "../../p04/ckpt/000120\n", "-00120\n", "99999999999999999999999\n"}) {
    CAPTURE(text);
    write_text(latest, text);
    CHECK_THROWS_AS(read_peer_model(run, "p03"), kernels::DamagedFile);
  }
}

TEST_CASE("another peer's model under this name is refused", "[host]") {
  TempDir dir;
  const RunDir run = fresh(dir);
  write_example(run, false);
  fs::copy(run.peer_dir("p03"), run.peer_dir("p04"), fs::copy_options::recursive);
  CHECK_THROWS_AS(read_peer_model(run, "p04"), kernels::DamagedFile);
  CHECK_THROWS_AS(read_peer_result(run, "p04"), kernels::DamagedFile);
}

TEST_CASE("a peer that cannot write says where and why", "[host]") {
  TempDir dir;
  const RunDir run = fresh(dir);
  run.prepare_peer_dir("p03");
  write_text(run.peer_checkpoints("p03"), "a file where the folder should be");
  try {
    write_example(run, false);
    FAIL("written");
  } catch (const kernels::Fault& fault) {
    CHECK(fault.code() == kernels::ExitCode::check_failed);
    CHECK(std::string(fault.what()).find(run.peer_checkpoints("p03")) == 0);
  }
  CHECK_FALSE(read_peer_result(run, "p03"));  // the result comes after the model
}

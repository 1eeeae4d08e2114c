// SPDX-License-Identifier: Apache-2.0
// Writes first inputs for a corpus, a folder a target, by the project's own encoders:
// fuzz_seeds FOLDER. What fuzzing made of them stands in corpus/.
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "gossip/wire/crc32c.hpp"
#include "gossip/wire/header.hpp"
#include "kernels/ops/index_code.hpp"
#include "runtime/checkpoint/state_file.hpp"
#include "runtime/config/config.hpp"
#include "runtime/launch/control.hpp"
#include "runtime/launch/relay.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/log/safetensors.hpp"
#include "runtime/metrics/peers_json.hpp"
#include "runtime/net/join_text.hpp"
#include "tests/fuzz/codec_plans.hpp"
#include "tests/fuzz/seat.hpp"

using namespace hearsay;
using namespace hearsay::runtime;
using gossip::FrameKind;
using kernels::PeerId;

namespace {

std::filesystem::path root;

void put(const std::string& target, const std::string& name, const std::string& bytes) {
  std::filesystem::create_directories(root / target);
  std::ofstream(root / target / name, std::ios::binary) << bytes;
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <typename T>
std::string bytes_of(const T& range) {
  return {reinterpret_cast<const char*>(std::data(range)),
          std::size(range) * sizeof(*std::data(range))};
}

gossip::Sketch sketch_of(std::uint32_t peer, std::uint64_t version) {
  auto packed = std::make_shared<merge::Packed>();
  packed->bytes.assign(2 * fuzz::kSketchValues, 0x3c);
  return {PeerId(peer), version, packed};
}

gossip::Frame frame_of(FrameKind kind, std::uint32_t from, std::uint64_t seq) {
  gossip::Frame frame;
  frame.kind = kind;
  frame.from = PeerId(from);
  frame.to = PeerId(0);
  frame.seq = seq;
  frame.samples = 3;
  frame.alpha = kind == FrameKind::reply ? 0.5 : 0.0;
  frame.mass = kind == FrameKind::reply ? 0.0 : 0.5;
  frame.votes = {{PeerId(1), 0}, {PeerId(3), 2}};
  frame.pulses = {{PeerId(from), 0, 7}};
  const bool weights = kind == FrameKind::push || kind == FrameKind::request ||
                       kind == FrameKind::reply || kind == FrameKind::returned ||
                       kind == FrameKind::model;
  if (kind == FrameKind::examples) {
    frame.wants_ack = true;
    std::vector<gossip::Example> list;
    for (const std::uint32_t id : {20u, 21u})
      list.push_back(gossip::testkit::TinyStore::example_of(id, fuzz::kExamples));
    frame.packed = gossip::encode(list, fuzz::kExamples);
  }
  const std::size_t values = weights ? fuzz::kValues : kind == FrameKind::chunk ? 1 : 0;
  if (values == 0) return frame;
  auto snapshot = std::make_shared<merge::Snapshot>();
  snapshot->values = kernels::Buffer<float>(values);
  for (std::size_t i = 0; i < values; ++i) snapshot->values[i] = 1.0f + static_cast<float>(i);
  frame.values = snapshot;
  if (weights) frame.sketches = {sketch_of(from, seq + 1)};
  return frame;
}

void make_frames() {
  for (std::uint8_t kind = 0; kind < fuzz::kSeatKinds; ++kind) {
    for (std::uint8_t mend = 0; mend < 3; ++mend) {
      std::string stream(1, static_cast<char>(kind * 3 + mend));
      for (std::uint8_t each = 0; each <= static_cast<std::uint8_t>(FrameKind::offered); ++each) {
        const gossip::Frame frame = frame_of(static_cast<FrameKind>(each), 1 + each % 3, each);
        stream += static_cast<char>(4 + each % 3);
        const auto prefix = gossip::wire::encode_prefix(frame);
        const auto values = frame.values ? frame.values->span() : std::span<const float>{};
        stream += bytes_of(gossip::wire::encode_header(gossip::wire::header_of(frame)));
        const std::string packed = frame.packed ? bytes_of(frame.packed->bytes) : std::string();
        const std::string body = bytes_of(prefix) + bytes_of(values) + packed;
        stream += body;
        const std::uint32_t sum = gossip::wire::crc32c(std::as_bytes(std::span(body)));
        if (mend == 0) stream += bytes_of(std::span(&sum, 1));
      }
      put("frames", "stream-" + std::to_string(kind) + "-" + std::to_string(mend), stream);
    }
  }
}

void make_handshake() {
  Hello hello;
  hello.run = "live";
  hello.peer = PeerId(1);
  hello.peers = 4;
  hello.incarnation = 2;
  hello.layout.add("0.weight", {3, 2});
  hello.layout.add("0.bias", {3});
  hello.address = {"10.0.0.2", 40123};
  hello.nonce = 77;
  hello.book = {{PeerId(2), 0, {"::1", 40124}}};
  put("handshake", "hello", encode_hello(hello));
  put("handshake", "join", encode_join({{"127.0.0.1", 4000}, 5, PeerId(2), {PeerId(0)}}));
  JoinAnswer answer;
  answer.peer = PeerId(3);
  answer.pool = {R"({"peers":{"value":"4","origin":"flag"}})", "runs/live"};
  answer.present = {PeerId(0), PeerId(1)};
  answer.book = hello.book;
  put("handshake", "place", encode_answer(answer));
  answer.what = JoinAnswer::What::busy;
  answer.text = "p01 asks";
  put("handshake", "busy", encode_answer(answer));
}

std::string gzip(const std::string& content) {
  std::string out(content.size() + 128, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

void make_files(const std::string& folder) {
  const std::string labels("\0\0\x08\1\0\0\0\5abcde", 13);
  const std::string images("\0\0\x08\3\0\0\0\2\0\0\0\2\0\0\0\3abcdefghijkl", 28);
  put("idx", "labels", labels);
  put("idx", "images", images);
  put("idx", "labels.gz", gzip(labels));
  put("idx", "images.gz", gzip(images) + gzip(std::string()));
  kernels::Layout layout;
  layout.add("0.weight", {2, 2});
  layout.add("0.bias", {2});
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const std::string path = folder + "/model.safetensors";
  write_safetensors(path, layout, values, {{"run", "live"}});
  put("safetensors", "plain", std::string(1, '\0') + read(path));
  put("safetensors", "mended", std::string(1, '\1') + read(path));
}

void make_config() {
  const Settings settings = merge_settings({}, {});
  nlohmann::ordered_json run;
  run["command"] = "sim";
  run["config"] = config_json(settings);
  put("config", "run", run.dump());
  put("config", "typed",
      R"({"peers": 4, "merge": {"name": "ema", "a": 0.5, "staleness": {"half-life": 20}},
  // a comment
  "chaos": ["kill=p03@30%", "slow=p01*4"], "end-game": {"rounds": 3}, "until-converged": true,
  "target": "test_acc=0.86", "merge-every": "1,mode=steps", "checkpoint-every": "30s", "seed": 7.0})");
}

void make_events(const std::string& folder) {
  using gossip::Event;
  EventWriter writer(folder);
  Event header("run.started");
  header.add("run", std::string("live")).add("time", std::string("2026-01-02T10:15:00Z"));
  header.add("clock", std::string("virtual"))
      .add("peers", std::int64_t{2})
      .add("self", std::string("p00"));
  writer.write_header(header.add("host", std::string("n1")).add("pid", std::int64_t{4711}));
  using std::chrono::seconds;
  const auto write = [&](int t, const char* peer, Event event) {
    writer.write(seconds(t), peer, event);
  };
  write(0, "p00", gossip::joined_event(0, "start", 0, 40));
  write(0, "p01", gossip::joined_event(0, "start", 0, 40));
  write(1, "p01", Event("partner.chosen").add("to", std::string("p00")).add("p", 1.0));
  write(1, "p01",
        Event("delta.sent")
            .add("to", std::string("p00"))
            .add("seq", std::int64_t{0})
            .add("bytes", std::int64_t{24}));
  write(2, "p00",
        Event("delta.received")
            .add("from", std::string("p01"))
            .add("seq", std::int64_t{0})
            .add("bytes", std::int64_t{24}));
  write(2, "p00",
        Event("merge.decided")
            .add("from", std::string("p01"))
            .add("seq", std::int64_t{0})
            .add("verdict", std::string("accept"))
            .add("alpha", 0.5)
            .add("age_samples", 3.0)
            .add("rel_norm", 0.1));
  write(2, "p00",
        Event("merge.applied")
            .add("from", std::string("p01"))
            .add("seq", std::int64_t{0})
            .add("mseq", std::int64_t{1}));
  write(3, "p00",
        Event("block.finished")
            .add("samples", std::int64_t{64})
            .add("steps", std::int64_t{2})
            .add("loss", 0.5)
            .add("step_ns", std::int64_t{1000}));
  write(3, "p00", Event("eval.finished").add("acc", 0.5).add("loss", 1.0));
  write(4, "p00",
        Event("peer.lost")
            .add("who", std::string("p01"))
            .add("reason", std::string("connection lost")));
  write(4, "p00", Event("run.resumed").add("mseq", std::int64_t{1}));
  write(5, "p00",
        Event("fault.seen").add("kind", std::string("bad weights")).add("who", std::string("p01")));
  write(6, "p00", Event("peer.left").add("reason", std::string("finished")));
  writer.close();
  const std::string log = read(writer.path());
  put("events", "whole", log);
  put("events", "torn", log.substr(0, log.size() - 9));
}

void make_checkpoint() {
  for (std::uint8_t kind = 0; kind < fuzz::kSeatKinds; ++kind) {
    fuzz::Seat seat(static_cast<fuzz::SeatKind>(kind));
    seat.on(gossip::input::Start{});
    for (std::uint64_t i = 0; i < 3; ++i) {
      seat.finish_step();
      if (kind != static_cast<std::uint8_t>(fuzz::SeatKind::ddp))
        seat.on(gossip::input::FrameIn{frame_of(FrameKind::push, 1, i)});
    }
    gossip::Archive archive;
    archive("protocol", seat.protocol());
    put("checkpoint", "peer-" + std::to_string(kind),
        static_cast<char>(kind + fuzz::kSeatKinds) + archive.json().dump());
  }
  for (std::uint8_t kind = 0; kind < fuzz::kSeatKinds; ++kind) {
    const char choice = static_cast<char>(133 + kind);
    put("checkpoint", "changed-" + std::to_string(kind), choice + std::string("\x04\0\x20\x0c", 4));
  }
  FileDigests digests{"model.safetensors", {}};
  digests.add("content");
  nlohmann::ordered_json state{
      {"schema", 1}, {"kind", "peer"}, {"files", to_json({digests})}, {"state", {{"steps", 3}}}};
  put("checkpoint", "sealed", std::string(1, '\0') + sealed_text(state));
  put("checkpoint", "to-seal", std::string(1, '\1') + state.dump());
}

void make_control() {
  int number = 0;
  const auto line = [&](const std::string& text) {
    put("control", "line-" + std::to_string(number++), text);
  };
  PeerStatus status;
  status.newest_merges = {{"p01", 0.5, 1.0}};
  for (const control::FromPeer& m : std::initializer_list<control::FromPeer>{
           control::Ready{"127.0.0.1:1"}, status, control::Notice{"p01 lost"},
           control::Ended{"finished", true}})
    line(control::encode(m));
  for (const control::ToPeer& m : std::initializer_list<control::ToPeer>{
           control::Start{"runs/x", {"127.0.0.1:1"}, 1, true}, control::Stop{"target"},
           control::Evaluate{3}, control::Slow{4}, control::Network{},
           control::Hostile{"nan", 2, true}})
    line(control::encode(m));
  for (const relay::FromSupervisor& m : std::initializer_list<relay::FromSupervisor>{
           relay::Hello{"n1", 4711}, relay::Exit{{"exit code 3", 3, 0}, 1.5, "line"},
           relay::Cpu{1.5}})
    line(relay::encode(m));
  for (const relay::ToSupervisor& m : std::initializer_list<relay::ToSupervisor>{
           relay::Signal{9}, relay::StartAgain{}, relay::Verdict{0}})
    line(relay::encode(m));
  PoolSnapshot pool;
  pool.run = "live";
  PeerView view;
  view.name = "p00";
  view.pid = 4711;
  pool.peers.push_back(view);
  line(text_of(peers_json(pool)));
  line(R"({"address":"127.0.0.1:40123","pid":4711,"host":"n1","incarnation":1,"session":"s"})");
  line(
      R"({"session":"s","peers":[{"peer":"p00","id":0,"incarnation":1,"address":"127.0.0.1:40123"}]})");
}

void make_text() {
  const char* const texts[][2] = {{"0", "127.0.0.1:4000"},
                                  {"0", "[fe80::1%eth0]:1"},
                                  {"0", ":0"},
                                  {"1", "1e-3"},
                                  {"1", "50%"},
                                  {"1", "200ms"},
                                  {"1", "true"},
                                  {"2", "ema:a=0.1..0.5,shape=linear+staleness:half-life=20"},
                                  {"2", "1e+3,mode=steps"},
                                  {"3", "# gone\nserial=0A1B\n00:11:22\n"},
                                  {"4", "0123456789abcdef0123\n"}};
  int number = 0;
  for (const auto& [which, text] : texts)
    put("text", "text-" + std::to_string(number++),
        std::string(1, static_cast<char>(which[0] - '0')) + text);
}

// Behind two bytes that say how many positions the tile has, less one.
void make_index_code() {
  int number = 0;
  const auto record = [&](std::uint32_t positions, std::uint32_t most_gap) {
    std::vector<std::uint16_t> indices;
    std::uint32_t state = most_gap;
    for (std::uint32_t i = most_gap / 2; i < positions; i += 1 + (state >> 8) % most_gap) {
      indices.push_back(static_cast<std::uint16_t>(i));
      state = state * 1664525u + 1013904223u;
    }
    std::string bytes(2 + kernels::index_bytes(static_cast<std::uint32_t>(indices.size())), '\0');
    bytes[0] = static_cast<char>((positions - 1) & 255);
    bytes[1] = static_cast<char>((positions - 1) >> 8);
    const auto size = kernels::encode_indices(
        indices, {reinterpret_cast<std::uint8_t*>(bytes.data()) + 2, bytes.size() - 2});
    put("index_code_fuzz", "record-" + std::to_string(number++), bytes.substr(0, 2 + size));
  };
  for (const std::uint32_t gap : {200'000u, 30'000u, 4000u, 1000u, 300u, 60u}) record(65536, gap);
  for (const std::uint32_t positions : {1u, 100u, 500u, 3000u}) record(positions, 1);
}

// Behind two bytes: which codec, and that its tag is put right. A message and an answer to it.
void make_codecs() {
  const auto tests = fuzz::codecs_under_test();
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const auto me = tests[i].plan->make(PeerId(0)), you = tests[i].plan->make(PeerId(1));
    const auto question = me->encode(tests[i].weights, nullptr);
    const auto answer = you->encode(tests[i].weights, question.get());
    const std::string head{static_cast<char>(i), '\1'};
    put("codecs", "question-" + std::to_string(i), head + bytes_of(question->bytes));
    put("codecs", "answer-" + std::to_string(i), head + bytes_of(answer->bytes));
  }
}

// A codec, then turns: what happens, a length in eights, bytes. See choco.cpp.
void make_choco() {
  const std::string eight = "\1\2\3\4\5\6\7\x80";
  for (const char codec : {'\0', '\1', '\3'}) {
    std::string turns(1, codec);
    turns += std::string("\2\0", 2);
    for (const char what : {'\x44', '\x54', '\x45', '\x66', '\x76', '\x43', '\1', '\0'})
      turns += std::string{what, '\1'} + eight;
    put("choco", "turns-" + std::to_string(codec), turns);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  root = words[1];
  const std::string scratch = (root / "scratch").string();
  std::filesystem::create_directories(scratch);
  make_frames();
  make_choco();
  make_handshake();
  make_files(scratch);
  make_config();
  make_events(scratch);
  make_checkpoint();
  make_control();
  make_text();
  make_index_code();
  make_codecs();
  std::filesystem::remove_all(scratch);
  return 0;
}

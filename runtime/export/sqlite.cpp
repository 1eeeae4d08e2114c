// SPDX-License-Identifier: Apache-2.0
// One database file for whoever asks questions in SQL. Events keep all their keys as JSON (SQLite
// reads it: fields ->> 'loss'); what is asked most has columns. One transaction, made as
// `<out>.tmp`, so the file is whole or absent.
#include <sqlite3.h>

#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>

#include "kernels/core/errc.hpp"
#include "runtime/export/event_stream.hpp"
#include "runtime/export/formats.hpp"
#include "runtime/graph/merge_graph.hpp"

namespace hearsay::runtime {
namespace {

using Index = MergeGraph::Index;

constexpr const char* kSchema = R"sql(
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -65536;
BEGIN;
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE peers (peer TEXT PRIMARY KEY, has_log INTEGER, samples INTEGER, trained INTEGER,
  left_reason TEXT, models_sent INTEGER, models_received INTEGER, models_refused INTEGER);
CREATE TABLE events (id INTEGER PRIMARY KEY, ev TEXT, t_ns INTEGER, peer TEXT, n INTEGER, log TEXT,
  fields TEXT);
CREATE TABLE merges (peer TEXT, start INTEGER, mseq INTEGER, t_ns INTEGER, kind TEXT,
  samples INTEGER, from_peer TEXT, from_mseq INTEGER, seq INTEGER, alpha REAL, age_samples REAL,
  bytes INTEGER, codec TEXT, sent_ns INTEGER);
CREATE TABLE blocks (peer TEXT, t_ns INTEGER, samples INTEGER, steps INTEGER, loss REAL, acc REAL,
  step_ns INTEGER, unorm REAL);
CREATE TABLE evals (peer TEXT, t_ns INTEGER, split TEXT, loss REAL, acc REAL, count INTEGER);
)sql";

constexpr const char* kIndices = R"sql(
CREATE INDEX events_by_name ON events (ev);
CREATE INDEX events_by_peer ON events (peer, t_ns);
CREATE INDEX merges_by_peer ON merges (peer, mseq);
CREATE INDEX merges_by_sender ON merges (from_peer, seq);
CREATE INDEX blocks_by_peer ON blocks (peer, t_ns);
CREATE INDEX evals_by_peer ON evals (peer, t_ns);
COMMIT;
)sql";

class Database {
 public:
  explicit Database(std::string path) : path_(std::move(path)), tmp_(path_ + ".tmp") {
    std::remove(tmp_.c_str());
    sqlite3* raw = nullptr;
    const int code =
        sqlite3_open_v2(tmp_.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    db_.reset(raw);
    if (code != SQLITE_OK)
      throw kernels::UsageError(path_ + ": cannot be written: " +
                                (raw != nullptr ? sqlite3_errmsg(raw) : "out of memory"));
  }
  ~Database() {
    if (is_done_) return;
    db_.reset();
    std::remove(tmp_.c_str());
  }
  Database(Database&&) = delete;

  void execute(const char* sql) { check(sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr)); }
  void check(int code) const {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    throw kernels::Fault(kernels::ExitCode::check_failed,
                         path_ + ": writing it failed: " + sqlite3_errmsg(db_.get()));
  }
  void commit() {
    db_.reset();
    std::error_code error;
    std::filesystem::rename(tmp_, path_, error);
    if (error)
      throw kernels::Fault(kernels::ExitCode::check_failed,
                           path_ + ": writing it failed: " + error.message());
    is_done_ = true;
  }
  sqlite3* get() const { return db_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const noexcept { sqlite3_close(db); }
  };
  std::string path_, tmp_;
  std::unique_ptr<sqlite3, Close> db_;
  bool is_done_ = false;
};

// INSERT INTO `table` VALUES (?, ?, ...), bound from left to right.
class Insert {
 public:
  Insert(Database& db, const std::string& table, int columns) : db_(db) {
    std::string sql = "INSERT OR IGNORE INTO " + table + " VALUES (?";
    for (int i = 1; i < columns; ++i) sql += ",?";
    sqlite3_stmt* raw = nullptr;
    db_.check(sqlite3_prepare_v2(db_.get(), (sql + ")").c_str(), -1, &raw, nullptr));
    statement_.reset(raw);
  }
  Insert& text(const std::string& value) {
    db_.check(sqlite3_bind_text(statement_.get(), ++at_, value.data(),
                                static_cast<int>(std::min<std::size_t>(value.size(), kMostText)),
                                SQLITE_TRANSIENT));
    return *this;
  }
  Insert& integer(std::uint64_t value) { return integer(static_cast<std::int64_t>(value)); }
  Insert& integer(std::int64_t value) {
    db_.check(sqlite3_bind_int64(statement_.get(), ++at_, value));
    return *this;
  }
  Insert& real(double value) {  // NaN becomes NULL
    db_.check(sqlite3_bind_double(statement_.get(), ++at_, value));
    return *this;
  }
  Insert& null() {
    db_.check(sqlite3_bind_null(statement_.get(), ++at_));
    return *this;
  }
  void row() {
    db_.check(sqlite3_step(statement_.get()));
    db_.check(sqlite3_reset(statement_.get()));
    at_ = 0;
  }

 private:
  static constexpr std::size_t kMostText = 500'000'000;  // SQLite takes 10^9
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  Database& db_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int at_ = 0;
};

void write_peers(const MergeGraph& graph, Database& db) {
  Insert peers(db, "peers", 8);
  for (const MergeGraph::Peer& p : graph.peers) {
    peers.text(p.name).integer(std::int64_t{p.has_log}).integer(p.samples).integer(p.trained);
    peers.text(p.left).integer(p.sent).integer(p.received).integer(p.refused).row();
  }
}

// A row a model that was taken in; merges of several held models have several.
void write_merges(const MergeGraph& graph, Database& db) {
  Insert merges(db, "merges", 14);
  for (const MergeGraph::Node& node : graph.nodes) {
    for (const MergeGraph::Edge& edge : graph.edges_of(node)) {
      const bool is_known = edge.from_node != MergeGraph::kNone;
      merges.text(graph.peers[node.peer].name).integer(graph.sessions[node.session].number);
      merges.integer(node.mseq).integer(node.t_ns);
      merges.text(node.kind == MergeGraph::NodeKind::merge ? "merge" : "adoption");
      merges.integer(node.samples).text(graph.peers[edge.from].name);
      is_known ? merges.integer(graph.nodes[edge.from_node].mseq) : merges.null();
      merges.integer(edge.seq).real(edge.alpha).real(edge.age_samples).integer(edge.bytes);
      edge.codec != MergeGraph::kNone ? merges.text(graph.codecs[edge.codec]) : merges.null();
      is_known ? merges.integer(edge.sent_ns) : merges.null();
      merges.row();
    }
  }
}

Damage write_events(const RunDir& run, Database& db) {
  Insert events(db, "events", 7), blocks(db, "blocks", 8), evals(db, "evals", 6),
      about(db, "run", 2);
  return for_each_event(run, [&](const LogOfRun& log, LoggedEvent&& event) {
    if (log.index == 0 && event.n == 0) {
      for (const auto& [key, value] : log.header.items())
        about.text(key).text(value.is_string() ? value.get<std::string>() : dump_text(value)).row();
    }
    events.null().text(event.ev).integer(event.t_ns).text(event.peer).integer(event.n);
    events.text(log.name).text(dump_text(event.fields)).row();
    if (event.ev == "block.finished") {
      blocks.text(event.peer).integer(event.t_ns).integer(count_of(event, "samples"));
      blocks.integer(count_of(event, "steps")).real(number_of(event, "loss"));
      blocks.real(number_of(event, "acc")).integer(count_of(event, "step_ns"));
      blocks.real(number_of(event, "unorm")).row();
    } else if (event.ev == "eval.finished") {
      evals.text(event.peer).integer(event.t_ns).text(text_of(event, "split"));
      evals.real(number_of(event, "loss")).real(number_of(event, "acc"));
      evals.integer(count_of(event, "count")).row();
    }
  });
}

}  // namespace

Damage export_sqlite(const RunDir& run, const std::string& path) {
  Database db(path);
  db.execute(kSchema);
  Damage damage = write_events(run, db);
  {
    const MergeGraph graph = read_merge_graph(run);
    write_peers(graph, db);
    write_merges(graph, db);
  }
  db.execute(kIndices);
  db.commit();
  return damage;
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// Tables as RFC 4180 says: a header line, fields quoted where they need it. The first pass finds
// the columns of each table, the second writes them.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "kernels/core/errc.hpp"
#include "runtime/export/event_stream.hpp"
#include "runtime/export/formats.hpp"
#include "runtime/export/output_file.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::size_t kMostTables = 128;  // open files; more event names than that are damage
constexpr const char* kOther = "other";

struct Table {
  std::vector<std::string> columns;  // beside the fixed ones
  std::map<std::string, std::size_t> places;
  std::unique_ptr<OutputFile> out;
};
using Tables = std::map<std::string, Table>;

// An event name becomes a file name.
bool is_plain(const std::string& name) {
  return !name.empty() && name.size() <= 64 && name.front() != '.' && name != kOther &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
         });
}

Table& table_of(const std::string& ev, Tables& tables) {
  const auto found = tables.find(ev);
  if (found != tables.end() && ev != kOther) return found->second;
  return tables[is_plain(ev) && tables.size() < kMostTables ? ev : kOther];
}

std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string field(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  return csv_quoted(value.is_string() ? value.get<std::string>() : dump_text(value));
}

}  // namespace

Damage export_csv(const RunDir& run, const std::string& folder) {
  Tables tables;
  for_each_event(run, [&](const LogOfRun&, LoggedEvent&& event) {
    Table& table = table_of(event.ev, tables);
    for (const auto& [key, value] : event.fields.items()) {
      if (table.places.emplace(key, table.columns.size()).second) table.columns.push_back(key);
    }
  });
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw kernels::UsageError(folder + ": cannot be made: " + error.message());
  for (auto& [name, table] : tables) {
    table.out = std::make_unique<OutputFile>(folder + "/" + name + ".csv");
    *table.out << (name == kOther ? "ev,peer,n,t_ns,log" : "peer,n,t_ns,log");
    for (const std::string& column : table.columns) *table.out << "," << csv_quoted(column);
    *table.out << "\n";
  }
  std::vector<std::string> cells;
  const Damage damage = for_each_event(run, [&](const LogOfRun& log, LoggedEvent&& event) {
    Table& table = table_of(event.ev, tables);
    if (table.out == nullptr) return;  // a log that grows meanwhile has a new kind of event
    cells.assign(table.columns.size(), "");
    for (const auto& [key, value] : event.fields.items()) {
      const auto place = table.places.find(key);
      if (place != table.places.end()) cells[place->second] = field(value);
    }
    if (&table == &tables[kOther]) *table.out << csv_quoted(event.ev) << ",";
    *table.out << csv_quoted(event.peer) << "," << std::to_string(event.n) << ","
               << std::to_string(event.t_ns) << "," << csv_quoted(log.name);
    for (const std::string& cell : cells) *table.out << "," << cell;
    *table.out << "\n";
  });
  for (auto& [name, table] : tables) {
    if (table.out != nullptr) table.out->commit();
  }
  return damage;
}

}  // namespace hearsay::runtime

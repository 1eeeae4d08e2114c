// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/rendezvous.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/launch/json_fields.hpp"
#include "runtime/log/atomic_file.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;
using kernels::PeerId;

constexpr std::chrono::milliseconds kLook{100}, kPatience{2000};

std::string session_of(const RendezvousPlan& plan, std::uint64_t attempt) {
  return plan.session + "#" + std::to_string(attempt);
}

struct Found {
  EndpointFile file;
  std::uint64_t attempt = 0;  // the beginning that it belongs to
};

class Meeting {
 public:
  Meeting(const RunDir& run, const RendezvousPlan& plan, const Endpoint& address)
      : run_(run), plan_(plan), address_(address), name_(gossip::peer_name(plan.self)) {}

  std::optional<PeerPlace> meet();

 private:
  std::vector<std::optional<Found>> look() const;
  std::optional<std::uint64_t> newest_of_others(const std::vector<std::optional<Found>>& found,
                                                std::optional<std::uint64_t> newest) const;
  std::string missing(const std::vector<std::optional<Found>>& found) const;
  bool anybody_there(const std::vector<BookEntry>& book) const;
  std::optional<PeerPlace> place_if_started(const std::vector<std::optional<Found>>& found) const;
  void announce() const;

  const RunDir& run_;
  const RendezvousPlan& plan_;
  const Endpoint address_;
  const std::string name_;
  std::uint64_t attempt_ = 0, incarnation_ = 0;
};

// Endpoints of this job, whatever their attempt.
std::vector<std::optional<Found>> Meeting::look() const {
  std::vector<std::optional<Found>> found(plan_.peers);
  const std::string prefix = plan_.session + "#";
  for (std::uint32_t i = 0; i < plan_.peers; ++i) {
    auto file = read_endpoint(run_, gossip::peer_name(PeerId(i)));
    if (!file || !file->session.starts_with(prefix)) continue;
    const std::string number = file->session.substr(prefix.size());
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) continue;
    found[i] = Found{std::move(*file), std::strtoull(number.c_str(), nullptr, 10)};
  }
  return found;
}

// The newest attempt (after `newest`) of which another peer is there; else `newest`.
std::optional<std::uint64_t> Meeting::newest_of_others(
    const std::vector<std::optional<Found>>& found, std::optional<std::uint64_t> newest) const {
  for (std::uint32_t i = 0; i < plan_.peers; ++i) {
    if (PeerId(i) == plan_.self || !found[i] || (newest && found[i]->attempt <= *newest)) continue;
    if (plan_.is_there(found[i]->file.address)) newest = found[i]->attempt;
  }
  return newest;
}

void Meeting::announce() const {
  run_.prepare_peer_dir(name_);
  write_endpoint(run_, name_, endpoint_here(address_, incarnation_, session_of(plan_, attempt_)));
}

std::string Meeting::missing(const std::vector<std::optional<Found>>& found) const {
  std::string names;
  std::uint32_t here = 0;
  for (std::uint32_t i = 0; i < plan_.peers; ++i) {
    if (found[i] && found[i]->attempt == attempt_) {
      ++here;
    } else {
      names += (names.empty() ? "" : ", ") + gossip::peer_name(PeerId(i));
    }
  }
  constexpr std::size_t kMostNames = 60;
  if (names.size() > kMostNames) names = names.substr(0, names.rfind(',', kMostNames)) + ", ...";
  return "waiting for " + names + ": " + std::to_string(here) + " of the " +
         std::to_string(plan_.start_with) +
         " peers to begin with are here (--start-with begins with fewer, Ctrl-C gives up)";
}

// Whoever has only just begun has its address, but does not listen yet: asked again for a while.
bool Meeting::anybody_there(const std::vector<BookEntry>& book) const {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!book.empty()) {
    for (const BookEntry& entry : book) {
      if (plan_.is_there(entry.address)) return true;
    }
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kLook);
  }
  return false;
}

// This peer's place, once somebody has written down who begins.
std::optional<PeerPlace> Meeting::place_if_started(
    const std::vector<std::optional<Found>>& found) const {
  PeerPlace place;
  place.incarnation = incarnation_;
  place.session = session_of(plan_, attempt_);
  const auto started = read_started(started_json(run_, place.session), place.session);
  if (!started) return std::nullopt;
  std::vector<BookEntry> book(plan_.peers);  // by id
  std::vector<bool> at_start(plan_.peers, false);
  for (const BookEntry& entry : *started) {
    if (entry.peer.value >= plan_.peers) continue;
    at_start[entry.peer.value] = true;
    book[entry.peer.value] = entry;
  }
  for (std::uint32_t i = 0; i < plan_.peers; ++i) {
    if (!found[i] || found[i]->attempt != attempt_) continue;
    if (book[i].address.host.empty() || found[i]->file.incarnation >= book[i].incarnation)
      book[i] = {PeerId(i), found[i]->file.incarnation, found[i]->file.address};
  }
  const bool begins = std::any_of(started->begin(), started->end(), [&](const BookEntry& entry) {
    return entry.peer == plan_.self && entry.incarnation == incarnation_;
  });
  for (std::uint32_t i = 0; i < plan_.peers; ++i) {
    if (PeerId(i) != plan_.self && !book[i].address.host.empty()) place.book.push_back(book[i]);
  }
  const bool somebody_there = !begins && anybody_there(place.book);
  // Without anybody whose weights it could take, it begins with its own.
  place.late = !begins && somebody_there;
  if (!begins) {
    for (std::uint32_t i = 0; i < plan_.peers; ++i)
      at_start[i] = somebody_there && !book[i].address.host.empty();
  }
  at_start[plan_.self.value] = true;
  const bool all = std::find(at_start.begin(), at_start.end(), false) == at_start.end();
  if (!all) place.at_start = std::move(at_start);
  return place;
}

std::optional<PeerPlace> Meeting::meet() {
  auto found = look();
  attempt_ = plan_.attempt;
  incarnation_ = std::max(plan_.attempt, plan_.least_incarnation);
  if (const auto& own = found[plan_.self.value])
    incarnation_ = std::max(incarnation_, own->file.incarnation + 1);
  const std::string session = session_of(plan_, attempt_);
  if (!read_started(started_json(run_, session), session))
    attempt_ = newest_of_others(found, std::nullopt).value_or(attempt_);
  announce();
  for (;;) {
    found = look();
    if (auto place = place_if_started(found)) return place;
    // Two that were started again a different number of times meet at the higher one.
    if (const std::uint64_t newest = *newest_of_others(found, attempt_); newest > attempt_) {
      attempt_ = newest;
      announce();
      continue;
    }
    std::vector<BookEntry> here;
    for (std::uint32_t i = 0; i < plan_.peers; ++i) {
      if (found[i] && found[i]->attempt == attempt_)
        here.push_back({PeerId(i), found[i]->file.incarnation, found[i]->file.address});
    }
    if (here.size() >= plan_.start_with) {
      const std::string now = session_of(plan_, attempt_);
      write_started(started_json(run_, now), now, here);
      continue;  // whoever was first has decided
    }
    if (!plan_.tick(missing(found))) return std::nullopt;
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace

std::optional<PeerPlace> meet_by_files(const RunDir& run, const RendezvousPlan& plan,
                                       const Endpoint& address) {
  return Meeting(run, plan, address).meet();
}

std::string started_json(const RunDir& run, const std::string& session) {
  const std::string usual = run.path() + "/started.json";
  if (::access(usual.c_str(), F_OK) != 0 || read_started(usual, session)) return usual;
  std::string word = session;
  for (char& c : word) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.') c = '-';
  }
  return run.path() + "/started." + word + ".json";
}

bool write_started(const std::string& path, const std::string& session,
                   const std::vector<BookEntry>& peers) {
  Json j;
  j["session"] = session;
  j["peers"] = Json::array();
  for (const BookEntry& entry : peers) {
    j["peers"].push_back({{"peer", gossip::peer_name(entry.peer)},
                          {"id", entry.peer.value},
                          {"incarnation", entry.incarnation},
                          {"address", entry.address.text()}});
  }
  // A whole file under a name of its own, then the name that only one can have.
  const std::string own =
      path + "." + host_name() + "." + std::to_string(::getpid()) + ".candidate";
  write_file_atomically(own, j.dump(2) + "\n");
  const bool first = ::link(own.c_str(), path.c_str()) == 0;
  const int error = errno;
  ::unlink(own.c_str());
  if (!first && error != EEXIST) {
    throw kernels::UsageError(path + ": " + error_text(error) +
                              "; choose a --run on a file system that all peers share");
  }
  return first;
}

std::optional<std::vector<BookEntry>> read_started(const std::string& path,
                                                   const std::string& session) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  const Json j = Json::parse(file, nullptr, false);
  try {
    if (j.at("session").get<std::string>() != session) return std::nullopt;
    std::vector<BookEntry> peers;
    for (const Json& each : j.at("peers")) {
      JsonFields f(each);
      const std::uint64_t id = f.count("id"), incarnation = f.count("incarnation");
      const std::string address = f.text("address");
      if (!f.ok() || id >= ~std::uint32_t{0}) throw kernels::UsageError("no peer");
      peers.push_back({PeerId(static_cast<std::uint32_t>(id)), incarnation,
                       parse_endpoint("address", address)});
    }
    return peers;
  } catch (const nlohmann::json::exception&) {
  } catch (const kernels::UsageError&) {
  }
  throw kernels::DamagedFile(path, 0, "not a list of who began; remove it");
}

}  // namespace hearsay::runtime

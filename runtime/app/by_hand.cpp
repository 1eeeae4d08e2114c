// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/by_hand.hpp"

#include <filesystem>
#include <iostream>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/app/join_pool.hpp"
#include "runtime/app/pool_end.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/unwatched.hpp"
#include "runtime/metrics/served_display.hpp"

namespace hearsay::runtime {
namespace {

using kernels::PeerId;
using kernels::UsageError;

// Who gets which place, in the order of coming: the one that it asks for, else the first free one.
std::vector<PeerId> places_of(PeerId first, const Gathering::Requests& here, std::uint32_t peers) {
  std::vector<bool> is_taken(peers, false);
  is_taken[first.value] = true;
  for (const JoinRequest& request : here) {
    if (request.place) is_taken[request.place->value] = true;
  }
  std::vector<PeerId> places;
  std::uint32_t next = 0;
  for (const JoinRequest& request : here) {
    while (!request.place && is_taken[next]) ++next;
    places.push_back(request.place ? *request.place : PeerId(next));
    is_taken[places.back().value] = true;
  }
  return places;
}

std::string judge(PeerId first, std::uint32_t peers, const JoinRequest& request,
                  const Gathering::Requests& here) {
  if (!request.place) return {};
  const std::string name = gossip::peer_name(*request.place);
  if (request.place->value >= peers)
    return "there is no " + name + " in a pool of " + std::to_string(peers) + " peers";
  bool is_taken = *request.place == first;
  for (const JoinRequest& other : here) is_taken |= other.place == request.place;
  return is_taken ? name + " is taken, and its peer is there" : "";
}

// The first peer: everything that it knows before others come.
class FirstPeer {
 public:
  FirstPeer(const RunConfig& config, const Settings& settings)
      : config_(config),
        settings_(settings),
        self_(config.name.empty() ? PeerId(0) : place_of_name(config.name, config.peers)),
        wanted_((config.start_with != 0 ? config.start_with : config.peers) - 1),
        patience_(config) {}
  int run();

 private:
  bool gather(LivePeer& peer, PeerPlace& place);
  std::string waiting(std::size_t here) const;

  const RunConfig& config_;
  const Settings& settings_;
  PeerId self_;
  std::size_t wanted_;
  WaitingWords patience_;
};

std::string FirstPeer::waiting(std::size_t here) const {
  return "waiting for " + std::to_string(wanted_ - here) + " of " + std::to_string(wanted_ + 1) +
         " peers (--peers sets the number, --start-with begins with fewer, Ctrl-C gives up)";
}

// Fills in who begins. False when a signal ended the waiting.
bool FirstPeer::gather(LivePeer& peer, PeerPlace& place) {
  const auto all_of = [&](const Gathering::Requests& here) {
    std::vector<BookEntry> book{{self_, 0, peer.announced()}};
    const std::vector<PeerId> places = places_of(self_, here, config_.peers);
    for (std::size_t i = 0; i < here.size(); ++i) book.push_back({places[i], 0, here[i].address});
    return book;
  };
  Gathering plan;
  plan.wanted = wanted_;
  plan.judge = [&](const JoinRequest& request, const Gathering::Requests& here) {
    return judge(self_, config_.peers, request, here);
  };
  plan.answers = [&](const Gathering::Requests& here) {
    place.book = all_of(here);
    std::vector<JoinAnswer> answers(here.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      answers[i].peer = place.book[i + 1].peer;
      answers[i].pool = place.admission;
      answers[i].book = place.book;
      for (const BookEntry& entry : place.book) answers[i].present.push_back(entry.peer);
    }
    return answers;
  };
  plan.waiting = [&](std::size_t here) { return waiting(here); };
  plan.tick = [&](std::size_t here) { return patience_.tick(waiting(here)); };
  plan.refused = [&](const std::string& who) { say(config_, "refused " + who); };
  if (!peer.transport().gather(plan)) return false;
  if (place.book.empty()) place.book = all_of({});
  if (place.book.size() < config_.peers) {
    place.at_start.assign(config_.peers, false);
    for (const BookEntry& entry : place.book) place.at_start[entry.peer.value] = true;
  }
  return true;
}

int FirstPeer::run() {
  ServedPeer metrics(config_);
  LivePeer peer(config_, self_, PeerSocket(config_));
  RunFacts facts = by_hand_facts();
  facts.data_digest = peer.work().data_digest();
  facts.parameters = peer.work().layout().size();
  const RunDir run = begin_run(settings_, config_, facts);
  const std::string address = peer.announced().text();
  say(config_, gossip::peer_name(self_) + " of " + std::to_string(config_.peers) + "  " + address +
                   "  ->  " + run.path());
  if (config_.peers > 1)
    say(config_, "join with  hearsay train --join " + address + join_words(config_));
  PeerPlace place;
  place.admission.config = config_json(settings_).dump();
  place.admission.run = std::filesystem::absolute(run.path()).string();
  if (!gather(peer, place)) {
    discard_run(run);
    return 128 + stop_signal();
  }
  return train_unwatched(peer, run, self_, place, facts, metrics);
}

int print_plan(const RunConfig& config) {
  std::cout << "peers     this process, the first of " << config.peers << "\ntraining  "
            << config.data << ", " << config.split << ", " << config.epochs << " epochs, "
            << config.protocol.text << "\ndry run: nothing was started or written\n";
  return 0;
}

int first_peer(RunConfig config, Settings settings) {
  refuse_watched_options(config,
                         "nobody watches a pool that is started by hand; use hearsay launch -n N");
  // A preset's pool is one to simulate or launch; by hand every peer takes a person.
  const std::string origin = settings.origin("peers");
  if (origin == "default" || origin.starts_with("preset ")) {
    config.peers = 1;
    settings.set("peers", {"1"}, origin);
  }
  if (config.min_peers > config.peers || config.start_with > config.peers) {
    const bool quorum = config.min_peers > config.peers;
    throw UsageError((quorum ? "--min-peers " : "--start-with ") +
                     std::to_string(quorum ? config.min_peers : config.start_with) +
                     ": the pool has only " + std::to_string(config.peers));
  }
  refuse_open_address(config, parse_endpoint("--listen", config.listen));
  if (config.dry_run) return print_plan(config);
  return FirstPeer(config, settings).run();
}

}  // namespace

int train_by_hand(RunConfig config, const Settings& settings) {
  catch_stop_signals();
  catch_checkpoint_signal();
  return config.join ? join_pool(config, settings) : first_peer(std::move(config), settings);
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/endpoint_poll.hpp"

#include <algorithm>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/app/pool_numbers.hpp"
#include "runtime/metrics/http.hpp"
#include "runtime/metrics/peers_json.hpp"

namespace hearsay::runtime {
namespace {

using State = PeerStatus::State;
using namespace std::chrono_literals;

constexpr auto kInterval = 500ms;
constexpr auto kAnswerTime = 1s;
constexpr auto kGivenUp = 10s;  // after the last answer of a server that is gone

}  // namespace

bool EndpointPoll::look() {
  const auto now = Clock::now();
  if (asked_at_ && now - *asked_at_ < kInterval) return false;
  asked_at_ = now;
  HttpAnswer answer = http_get(server_, "/peers.json", kAnswerTime);
  if (!answer.error.empty() && !answer.is_foreign) {
    const std::string why = server_.text() +
                            (answered_at_ ? " no longer answers (" : " does not answer (") +
                            answer.error + ")";
    pool_.trouble = why + (answered_at_ ? ": the run has ended, or its launcher" : "");
    pool_.is_waiting = true;
    if (answered_at_ && now - *answered_at_ > kGivenUp) pool_.verdict = "endpoint gone";
    return false;
  }
  auto fresh = answer.status == 200 ? read_peers_json(answer.body) : std::nullopt;
  if (!fresh) {
    const std::string what = !answer.error.empty() ? answer.error
                             : answer.status != 200
                                 ? "HTTP status " + std::to_string(answer.status)
                                 : "its /peers.json is none of ours, or of another version";
    throw kernels::UsageError(server_.text() + " is no metrics endpoint of hearsay (" + what +
                              "); name the address that --metrics printed");
  }
  answered_at_ = now;
  pool_.verdict.clear();
  take(std::move(*fresh));
  const bool is_early = pool_.snapshot.peers.empty();
  pool_.trouble = is_early ? "the peers of " + server_.text() + " have not begun yet" : "";
  return false;
}

void EndpointPoll::take(PoolSnapshot fresh) {
  if (fresh.peers.size() != pool_.snapshot.peers.size() || fresh.run != pool_.snapshot.run) {
    pool_.losses.assign(fresh.peers.size(), LossHistory());
    pool_.snapshot.peers.clear();
  }
  for (std::size_t i = 0; i < fresh.peers.size(); ++i) {
    const PeerStatus& status = fresh.peers[i].status;
    const bool is_known = i < pool_.snapshot.peers.size();
    const PeerStatus before = is_known ? pool_.snapshot.peers[i].status : PeerStatus();
    // A peer that has started again counts from the beginning.
    take_merges(fresh.peers[i],
                status.merges_applied >= before.merges_applied ? before.merges_applied : 0);
    if (has_trained(status) && status.samples != before.samples)
      pool_.losses[i].add(status.progress, status.loss);
  }
  tell_changes(fresh);
  pool_.snapshot = std::move(fresh);
}

void EndpointPoll::take_merges(const PeerView& view, std::uint64_t seen) {
  const auto& newest = view.status.newest_merges;
  const auto unseen = std::min<std::uint64_t>(view.status.merges_applied - seen, newest.size());
  for (auto merge = newest.end() - static_cast<std::ptrdiff_t>(unseen); merge != newest.end();
       ++merge)
    pool_.merges.add({view.name, merge->from, merge->alpha, merge->at_s});
}

void EndpointPoll::tell_changes(const PoolSnapshot& fresh) {
  for (std::size_t i = 0; i < pool_.snapshot.peers.size(); ++i) {
    const PeerView &before = pool_.snapshot.peers[i], &now = fresh.peers[i];
    const bool was_lost = before.status.state == State::lost;
    const bool is_lost = now.status.state == State::lost;
    if (was_lost == is_lost) continue;
    pool_.add_change(fresh.now.wall_s,
                     is_lost ? now.name + " lost: " + now.ended : now.name + " is back");
  }
}

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// One peer of a real pool from first load to last file: work, transport, lanes, log, result. Who
// starts it and who tells it the others' addresses (a launcher, mpirun, a person) is the caller's
// business. Lane: the caller's thread becomes the compute lane.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/host/live_host.hpp"
#include "runtime/host/peer_checkpoint.hpp"
#include "runtime/host/peer_place.hpp"
#include "runtime/host/peer_work.hpp"
#include "runtime/host/pool_result.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/log/line_file.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

// A listening transport, before it is known who this peer is: whoever joins by hand announces an
// address first.
struct PeerSocket {
  // --listen, --announce, --secret, --tls; throws UsageError.
  explicit PeerSocket(const RunConfig& config);
  // `listen` instead of --listen.
  PeerSocket(const RunConfig& config, const Endpoint& listen, std::shared_ptr<Security> security);
  SnapshotPool snapshots;  // arriving weights come from there
  std::unique_ptr<Transport> transport;
};

class LivePeer {
 public:
  // Loads the data. Throws UsageError or DamagedFile.
  LivePeer(const RunConfig& config, kernels::PeerId self, PeerSocket socket);

  const RunConfig& config() const noexcept { return config_; }
  const std::string& device() const { return work_.device(); }  // on which it trains
  Endpoint listening() const { return transport_->listening(); }
  Endpoint announced() const { return transport_->announced(); }
  PeerWork& work() noexcept { return work_; }
  Transport& transport() noexcept { return *transport_; }

  struct Outside {  // see LiveHooks
    std::function<void(LiveOrders&)> poll;
    std::function<void(const PeerStatus&)> status;
    std::function<void(const std::string&)> notice;
    std::function<bool()> checkpoint_asked;  // true once for every request
  };
  // Before run(): goes on from its newest good checkpoint there; without one it begins late, with
  // the weights of another (a peer that trains alone begins anew). `damaged` hears of those that
  // were passed over. Throws DamagedFile when all are damaged, UsageError when it cannot be done.
  void resume(const RunDir& run, const std::function<void(const std::string&)>& damaged);
  // The earlier start's incarnation + 1, when it left its address there; else 0.
  std::uint64_t next_incarnation(const RunDir& run) const;
  // Trains to the end in RUN/peers/<name>, and leaves events.jsonl, endpoint.json, ckpt/ and
  // result.json there. `header` is the first line of its log; a resumed peer goes on with the log
  // that is there, any other start leaves it beside its own. A log that cannot be kept ends the
  // peer: not alive, reason "log failed: ...".
  PeerResult run(const RunDir& run, const PeerPlace& place, const gossip::Event& header,
                 const std::string& version, const Outside& outside);
  // Set when another process has this peer's place. Then nothing but its log was written.
  std::optional<std::string> displaced() const { return transport_->displaced(); }

 private:
  std::unique_ptr<EventWriter> open_log(const RunDir& run, const PeerPlace& place,
                                        const gossip::Event& header);
  void recollect(const RunDir& run);
  PeerResult train(EventWriter& writer, const RunDir& run, const std::string& version,
                   const Outside& outside);
  JournalHead journal_head(const RunDir& run, const std::string& version) const;
  LiveOptions live_options() const;
  LiveHooks hooks_of(const Outside& outside);
  PeerResult result_of(const LiveOutcome& outcome) const;

  RunConfig config_;
  kernels::PeerId self_;
  Arrivals arrivals_;
  PeerWork work_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<LineFile> written_;  // about its examples; null where they stay where they are
  bool resumes_ = false;
  std::optional<LoadedCheckpoint> from_;  // until it is taken up
  PeerPlace place_;                       // as taken
  PeerSpent earlier_;                     // in the sessions before
  gossip::Time begin_at_{0};              // of the run clock
};

}  // namespace hearsay::runtime

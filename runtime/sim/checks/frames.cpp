// SPDX-License-Identifier: Apache-2.0
// Frames and bytes sent = delivered + lost + in flight, at every instant.
#include "runtime/sim/checks/check.hpp"

namespace hearsay::runtime {
namespace {

class Frames final : public SimCheck {
 public:
  void look(const SimHost& host, gossip::Time now) override {
    Traffic in_flight;
    host.for_each_frame_in_flight([&](const gossip::Frame& frame) { in_flight.add(frame); });
    const Traffic &sent = host.outcome().sent, &came = host.outcome().delivered,
                  &lost = host.outcome().lost;
    compare(now, "frames", sent.frames, came.frames, lost.frames, in_flight.frames);
    compare(now, "bytes", sent.bytes, came.bytes, lost.bytes, in_flight.bytes);
  }

 private:
  void compare(gossip::Time now, const char* what, std::uint64_t sent, std::uint64_t came,
               std::uint64_t lost, std::uint64_t in_flight) {
    if (sent == came + lost + in_flight) return;
    broken(now, std::string("frames: ") + std::to_string(sent) + " " + what + " were sent, " +
                    std::to_string(came) + " delivered, " + std::to_string(lost) + " lost, " +
                    std::to_string(in_flight) + " are in flight");
  }
};

}  // namespace

std::unique_ptr<SimCheck> check_frames() { return std::make_unique<Frames>(); }

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
// Weights handed over between processes of one host: who can take from whom, what is lent, and what
// has been taken. The way is tried once for each process; where it fails, weights come as bytes.
#include <utility>

#include "runtime/net/lane.hpp"

namespace hearsay::runtime {

namespace asio = boost::asio;

// Of a handshake that has succeeded. An offer that has been tried is not tried again, so that a way
// that broke stays closed until the peer starts anew.
void Transport::Lane::note_offer(Link& link, const Hello& hello) {
  if (!handover_ || hello.handover == link.offer) return;
  link.offer = hello.handover;
  link.source = link.offer.empty() ? nullptr : handover_->open(link.offer);
}

bool Transport::Lane::is_of_handover(const wire::Header& header) {
  return header.kind == static_cast<std::uint8_t>(wire::Kind::can_take) ||
         header.kind == static_cast<std::uint8_t>(wire::Kind::taken);
}

// Of a message without a body; why it should not have come, or empty.
std::string Transport::Lane::note_handover(Link& link, const ConnectionRef& connection,
                                           const wire::Header& header) {
  const bool is_empty = header.payload_bytes == 0 && header.prefix_bytes() == 0;
  const auto found = link.lending.find(connection);
  if (!is_empty || found == link.lending.end()) return "a message with a body where none belongs";
  Lending& lending = found->second;
  if (header.kind == static_cast<std::uint8_t>(wire::Kind::can_take)) {
    if (!handover_) return "weights asked for that were not offered";
    lending.other_can_take = true;
    return {};
  }
  if (lending.lent.empty()) return "weights taken that were not lent";
  lending.lent.pop_front();
  return {};
}

std::optional<HandoverTicket> Transport::Lane::lend(Link& link, const ConnectionRef& connection,
                                                    const gossip::Frame& frame) {
  const auto found = link.lending.find(connection);
  const bool may_go = frame.values && frame.kind != gossip::FrameKind::chunk && handover_;
  if (!may_go || found == link.lending.end()) return std::nullopt;
  Lending& lending = found->second;
  if (!lending.other_can_take || lending.lent.size() >= kLentFrames) return std::nullopt;
  auto ticket = handover_->ticket(*frame.values);
  if (ticket) lending.lent.push_back(frame.values);
  return ticket;
}

// The rest of a frame of which header and prefix have come.
asio::awaitable<Connection::Status> Transport::Lane::take_over(Link& link,
                                                               const ConnectionRef& connection,
                                                               const wire::Header& header,
                                                               wire::Crc32c& sum,
                                                               gossip::Frame& out) {
  HandoverTicket ticket;
  Connection::Status status = co_await connection->read_body(ticket, sum);
  if (status.ok()) status = co_await connection->read_trailer(sum);
  if (!status.ok()) co_return status;
  std::string why = "the way there is closed";
  if (link.source) out.values = link.source->take(ticket, why);
  if (out.values && out.values->size() * sizeof(float) != header.payload_bytes) {
    out.values = nullptr;
    why = "of another size than the frame says";
  }
  if (!out.values) {  // nor is anything else asked for on connections on which that was said
    link.source = nullptr;
    for (const ConnectionRef& other : std::vector(link.open)) {
      if (other != connection) other->close("the way for weights is closed");
    }
    co_return Connection::Status("weights that were handed over: " + why);
  }
  ++meter_.frames_taken;
  meter_.wire_bytes_received += header.payload_bytes - ticket.size();
  if (const auto found = link.lending.find(connection); found != link.lending.end())
    ++found->second.owes;
  connection->wake().cancel();
  co_return status;
}

}  // namespace hearsay::runtime

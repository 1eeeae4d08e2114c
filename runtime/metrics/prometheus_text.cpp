// SPDX-License-Identifier: Apache-2.0
#include "runtime/metrics/prometheus_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace hearsay::runtime {
namespace {

using State = PeerStatus::State;

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  // Losses beyond kNoLoss stand for infinity on their way here, as JSON has no word for it.
  if (value >= PeerStatus::kNoLoss) return "+Inf";
  if (value >= 0.0 && value < 1e15 && value == std::floor(value))
    return std::to_string(static_cast<std::uint64_t>(value));
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general).ptr;
  return std::string(text.data(), end);
}

bool runs(const PeerStatus& status) {
  return status.state != State::ended && status.state != State::lost;
}

// A peer that has not yet said a word has no numbers.
bool has_spoken(const PeerStatus& status) {
  return status.state != State::starting || status.clock_s > 0.0;
}

// A folder may have any name, but one wrong byte in a label costs a scraper the whole page.
std::string as_utf8(const std::string& text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

class Page {
 public:
  explicit Page(const PoolSnapshot& pool) : pool_(pool), run_(escaped_label(as_utf8(pool.run))) {}

  using Value = std::function<std::optional<double>(const PeerStatus&)>;

  // Opens a family; samples follow.
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    heading_ = "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ + " " +
               std::string(type) + "\n";
  }
  // One sample a peer that knows the value. `labels` begin with a comma or are empty.
  void each_peer(std::string_view labels, const Value& value) {
    for (const PeerView& peer : pool_.peers) {
      if (!has_spoken(peer.status)) continue;
      if (const auto known = value(peer.status)) sample("", peer, labels, number(*known));
    }
  }
  void sample(std::string_view suffix, const PeerView& peer, std::string_view labels,
              const std::string& value) {
    text_ += std::exchange(heading_, {});
    text_ += name_;
    text_ += suffix;
    text_ += "{run=\"" + run_ + "\",peer=\"" + escaped_label(peer.name) + "\"";
    text_ += labels;
    text_ += "} " + value + "\n";
  }
  template <typename Histogram>
  void histogram(const Histogram PeerStatus::*member) {
    for (const PeerView& peer : pool_.peers) {
      if (!has_spoken(peer.status)) continue;
      const Histogram& h = peer.status.*member;
      std::uint64_t below = 0;
      for (std::size_t i = 0; i < h.counts.size(); ++i) {
        below += h.counts[i];
        const bool is_last = i == h.bounds().size();
        const std::string bound = is_last ? "+Inf" : number(h.bounds()[i]);
        sample("_bucket", peer, ",le=\"" + bound + "\"", std::to_string(below));
      }
      sample("_sum", peer, "", number(h.sum));
      sample("_count", peer, "", std::to_string(below));
    }
  }
  const PoolSnapshot& pool() const { return pool_; }
  std::string text() && { return std::move(text_); }

 private:
  const PoolSnapshot& pool_;
  std::string run_, name_, heading_, text_;
};

Page::Value count_of(std::uint64_t PeerStatus::*member) {
  return [member](const PeerStatus& s) { return static_cast<double>(s.*member); };
}

// Something that only a running process has.
Page::Value while_running(double value_of(const PeerStatus&)) {
  return [value_of](const PeerStatus& s) {
    return runs(s) ? std::optional(value_of(s)) : std::nullopt;
  };
}

// A measurement that is negative until there is one; what a lost peer measured counts no more.
Page::Value measured(double PeerStatus::*member) {
  return [member](const PeerStatus& s) {
    return s.*member >= 0.0 && s.state != State::lost ? std::optional(s.*member) : std::nullopt;
  };
}

void add_training(Page& page) {
  page.family("hearsay_peer_up", "gauge", "1 while the peer's process runs, 0 once it has ended.");
  for (const PeerView& peer : page.pool().peers)
    page.sample("", peer, "", runs(peer.status) ? "1" : "0");
  page.family("hearsay_samples_total", "counter", "Training examples that the peer has seen.");
  page.each_peer("", count_of(&PeerStatus::samples));
  page.family(
      "hearsay_loss", "gauge",
      "Loss: train is that of mini-batches, smoothed over about 20; test that of the newest "
      "evaluation.");
  page.each_peer(",split=\"train\"", [](const PeerStatus& s) -> std::optional<double> {
    if (s.samples == 0 || s.state == State::lost) return std::nullopt;
    return s.loss;
  });
  page.each_peer(",split=\"test\"", measured(&PeerStatus::test_loss));
  page.family("hearsay_accuracy", "gauge", "Share of examples right, of the newest evaluation.");
  page.each_peer(",split=\"test\"", measured(&PeerStatus::accuracy));
  page.family("hearsay_step_seconds", "histogram",
              "Time of a mini-batch, with what --chaos slow adds.");
  page.histogram(&PeerStatus::step_seconds);
}

void add_gossip(Page& page) {
  page.family("hearsay_merges_total", "counter",
              "Models that came in and were accepted or refused, and merges not started (skip).");
  page.each_peer(",verdict=\"accept\"", count_of(&PeerStatus::merges_applied));
  page.each_peer(",verdict=\"refuse\"", count_of(&PeerStatus::merges_refused));
  page.each_peer(",verdict=\"skip\"", count_of(&PeerStatus::merges_skipped));
  page.family("hearsay_merge_age_samples", "histogram",
              "How many samples the receiver's training was ahead of a model that came in.");
  page.histogram(&PeerStatus::merge_age_samples);
  page.family(
      "hearsay_consensus_distance", "gauge",
      "Estimated distance of the peer's model from the pool's mean, as a share of its norm: "
      "root mean square of recent merges' relative displacement, over the root of 2.");
  page.each_peer("", measured(&PeerStatus::consensus_distance));
}

void add_network(Page& page) {
  page.family("hearsay_bytes_total", "counter",
              "Bytes of weights (payload), and with headers and handshakes (wire).");
  const std::string out = ",direction=\"sent\",kind=", in = ",direction=\"received\",kind=";
  page.each_peer(out + "\"payload\"", count_of(&PeerStatus::payload_bytes));
  page.each_peer(out + "\"wire\"", count_of(&PeerStatus::wire_bytes));
  page.each_peer(in + "\"payload\"", count_of(&PeerStatus::payload_bytes_received));
  page.each_peer(in + "\"wire\"", count_of(&PeerStatus::wire_bytes_received));
  page.family("hearsay_inbox_depth", "gauge",
              "Models that have arrived and wait for the next mini-batch boundary.");
  page.each_peer("", while_running([](const PeerStatus& s) { return double(s.inbox_depth); }));
  page.family("hearsay_partners_alive", "gauge",
              "Other peers that this one believes it can reach.");
  page.each_peer("", while_running([](const PeerStatus& s) { return double(s.partners_alive); }));
}

}  // namespace

std::string escaped_label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

std::string prometheus_text(const PoolSnapshot& pool) {
  Page page(pool);
  add_training(page);
  add_gossip(page);
  add_network(page);
  return std::move(page).text();
}

}  // namespace hearsay::runtime

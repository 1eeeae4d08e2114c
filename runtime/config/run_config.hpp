// SPDX-License-Identifier: Apache-2.0
// The effective configuration of a run, as typed values. Texts come from flag > environment > file
// > preset > default (config.hpp); specs keep their text beside the parsed form, because the text
// is what run.json repeats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

struct Target {
  std::string metric;  // "test_acc"
  double value = 0.0;
};

struct RunConfig {
  std::string run_dir;  // empty: runs/<preset>-s<seed>-<date>-<time>
  std::string preset;
  std::uint32_t peers = 8, min_peers = 1;
  std::string data, split;       // specs, read by runtime/data
  Spec model;                    // mlp:256,128
  std::uint32_t epochs = 20;     // local epochs of each peer
  std::optional<double> time_s;  // --time: virtual seconds in sim
  std::optional<Target> target;
  bool until_converged = false;
  Spec optimizer, schedule;
  std::uint32_t batch = 32;
  Spec merge_every;  // name holds the number: "1,mode=steps"
  Spec protocol, topology, merge;
  Spec codec{"raw", {}, {}, {}, "raw"};             // in which peers say their weights
  Spec outer{"none", {}, {}, {}, "none"};           // what a peer makes of its blocks' steps
  Spec share{"off", {}, {}, {}, "off"};             // what peers send beside weights
  Spec cluster{"off", {}, {}, {}, "off"};           // communities that steer who merges with whom
  Spec trade{"off", {}, {}, {}, "off"};             // peers that trade models
  Spec tune{"off", {}, {}, {}, "off"};              // settings that the pool learns
  Spec sampling{"uniform", {}, {}, {}, "uniform"};  // which examples an epoch trains on
  Spec retire{"off", {}, {}, {}, "off"};            // known examples are trained on less often
  Spec quarantine{"off", {}, {}, {}, "off"};        // suspicious ones are not
  std::string bandwidth = "off";                    // of each peer (bandwidth.hpp)
  bool wait = false;                                // --wait: rendezvous variant
  Spec end_game;                                    // off | rounds=R
  Spec eval_every;  // epochs between a peer's evaluations: "1,n=2000"; 0 = only at the end
  Spec net, compute;
  std::vector<std::string> chaos;  // one fault each
  std::uint64_t seed = 0;
  std::string device = "cpu";       // --device, as typed
  std::uint32_t threads = 0;        // worker threads of a simulation; 0 = all cores
  std::string listen;               // HOST:PORT
  std::optional<std::string> join;  // HOST:PORT of the first peer
  bool insecure = false;
  std::optional<std::string> secret;   // FILE or env:NAME; never the secret itself
  std::optional<std::string> tls;      // CA,CERT,KEY
  std::optional<std::string> revoked;  // FILE
  std::string announce;                // HOST:PORT; empty: the listening address
  std::string name;                    // "p03"; empty: any place in the pool
  std::uint32_t start_with = 0;        // peers to begin with; 0 = all
  std::uint32_t restarts = 0;          // of each peer
  bool resume = false;
  std::optional<double> checkpoint_every_s;  // wall-clock seconds; none: at the end only
  std::string log_digests = "auto";          // auto, on, off
  bool log_examples = false;                 // which examples change hands, and what is learned
  std::optional<std::string> metrics;        // HOST:PORT to serve them on
  bool check = false;                        // invariants of a simulation
  bool json = false, quiet = false, dry_run = false;
};

}  // namespace hearsay::runtime

// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/option_table.hpp"

#include <algorithm>
#include <array>

#include "kernels/core/check.hpp"

namespace hearsay::runtime {

namespace {

constexpr std::array kOptions{
    Option{.name = "run",
           .default_text = "",
           .kind = ValueKind::text,
           .placeholder = "DIR",
           .help = "run directory, made new (runs/<preset>-s<seed>-<time>)",
           .detail = "Created atomically; refused if it exists, unless --resume goes on with it.",
           .group = "run",
           .recorded = false},
    Option{.name = "preset",
           .default_text = "fashion",
           .kind = ValueKind::text,
           .placeholder = "NAME",
           .help = "small named scenario: fashion, digits",
           .detail = "Its values stand below those of --config.",
           .group = "run"},
    Option{.name = "config",
           .default_text = "",
           .kind = ValueKind::file,
           .placeholder = "FILE",
           .help = "JSON with these words as keys; a run.json repeats its run",
           .detail = "Comments (//) are accepted; a spec may be an object: {\"merge\": {\"name\": "
                     "\"ema\", \"a\": 0.5}}.",
           .group = "run",
           .recorded = false},
    Option{.name = "seed",
           .default_text = "0",
           .kind = ValueKind::count,
           .placeholder = "S",
           .help = "all randomness, in named streams per peer",
           .detail = "The same seed gives the same event log, whatever --threads says.",
           .group = "run"},
    Option{.name = "peers",
           .default_text = "8",
           .kind = ValueKind::count,
           .placeholder = "N",
           .help = "size of the pool at the start",
           .detail = "In `hearsay train`: the launcher's size, or 1 without a launcher.",
           .group = "pool"},
    Option{.name = "min-peers",
           .default_text = "1",
           .kind = ValueKind::count,
           .placeholder = "M",
           .help = "fewer alive at the end is a lost quorum, exit 3",
           .detail = "",
           .group = "pool"},
    Option{.name = "data",
           .default_text = "fashion-mnist",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "data set, or synthetic:digits",
           .detail = "fashion-mnist[:DIR], mnist:DIR, idx:DIR or synthetic:digits. HEARSAY_DATA "
                     "may also name the folder "
                     "that holds the files.",
           .group = "work"},
    Option{.name = "split",
           .default_text = "iid",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "iid, dirichlet:0.3, labels:2; +rotate, +noise:10%",
           .detail = "Modifiers: +rotate:groups=2,by=5 (labels of group g shifted by 5g) and "
                     "+noise:10% (wrong labels).",
           .group = "work"},
    Option{.name = "model",
           .default_text = "mlp:256,128",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "mlp:WIDTH,... or cnn:CHANNELS,...,dense=128",
           .detail =
               "cnn: 5x5 convolutions to so many channels, each with ReLU and 2x2 max pooling, "
               "then a hidden layer of dense=128 units (0: none).",
           .group = "work"},
    Option{.name = "epochs",
           .default_text = "20",
           .kind = ValueKind::count,
           .placeholder = "E",
           .help = "local epochs of each peer",
           .detail = "Also the horizon of --schedule when another end is reached first.",
           .group = "end"},
    Option{.name = "time",
           .default_text = "off",
           .kind = ValueKind::seconds,
           .placeholder = "T",
           .help = "end after this time (virtual in sim): 30s, 2min",
           .detail = "Units ns, us, ms, s, min, h; a bare number is seconds.",
           .group = "end"},
    Option{.name = "target",
           .default_text = "off",
           .kind = ValueKind::metric,
           .placeholder = "M=V",
           .help = "end when met: test_acc=0.86; missed is exit 1",
           .detail = "Looks at the mean over live peers every quarter epoch of mean progress.",
           .group = "end"},
    Option{.name = "until-converged",
           .default_text = "false",
           .kind = ValueKind::boolean,
           .placeholder = "",
           .help = "end when the pool no longer gets better",
           .detail = "",
           .group = "end"},
    Option{.name = "end-game",
           .default_text = "off",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "off or rounds=R: averaging rounds after training",
           .detail = "Its bytes count; its result has its own keys (test_acc_final_*).",
           .group = "end",
           .in_short_help = false},
    Option{.name = "eval-every",
           .default_text = "1,n=2000",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "epochs between evaluations, examples in each",
           .detail = "0 evaluates only at the end. n is the number of test examples of an "
                     "evaluation on the way.",
           .group = "end"},
    Option{.name = "optimizer",
           .default_text = "sgd:lr=0.05,momentum=0.9,clip=1",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "sgd or adamw:lr=1e-3",
           .detail = "",
           .group = "training"},
    Option{.name = "schedule",
           .default_text = "cosine",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "learning rate over the run: cosine, constant",
           .detail = "",
           .group = "training"},
    Option{.name = "batch",
           .default_text = "32",
           .kind = ValueKind::count,
           .placeholder = "B",
           .help = "examples of a mini-batch",
           .detail = "",
           .group = "training"},
    Option{.name = "merge-every",
           .default_text = "1",
           .kind = ValueKind::spec,
           .placeholder = "L",
           .help = "mean local epochs between merges a peer starts",
           .detail = "Poisson. L,mode=literal|truncated|shifted|steps; literal from 1 on, steps "
                     "below 1 unless said.",
           .group = "gossip"},
    Option{.name = "protocol",
           .default_text = "pairwise",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "pairwise, push, push-sum; local, ddp to compare",
           .detail = "",
           .group = "gossip"},
    Option{.name = "topology",
           .default_text = "uniform",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "uniform, ring, exp, regular:d=4, file:FILE",
           .detail = "",
           .group = "gossip"},
    Option{.name = "merge",
           .default_text = "ema:0.5",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "ema:A, median:b=5, krum; +norm-clip, +gate",
           .detail = "A is the share of the incoming model. ema:a=0.1..0.5,shape=linear|cosine "
                     "moves it over the run; sample-weighted. Against hostile peers: median:b=5, "
                     "trimmed-mean:b=5,f=1, krum:b=5,f=1 hold b models and merge their centre; "
                     "+norm-clip, +cosine-gate:0, +gate:kappa=1. Other modifiers: "
                     "+staleness:half-life=20, +confidence:g=2.",
           .group = "gossip"},
    Option{.name = "wait",
           .default_text = "false",
           .kind = ValueKind::boolean,
           .placeholder = "",
           .help = "rendezvous: train on only after the partner merged",
           .detail = "",
           .group = "gossip"},
    Option{
        .name = "net",
        .default_text = "lan",
        .kind = ValueKind::spec,
        .placeholder = "SPEC",
        .help = "lan (1 Gb/s, 0.2 ms), ideal, link:bandwidth=1Gb/s",
        .detail = "link:bandwidth=1Gb/s,latency=0.2ms,jitter=0; ideal has no latency and no limit.",
        .group = "simulation"},
    Option{.name = "compute",
           .default_text = "fixed",
           .kind = ValueKind::spec,
           .placeholder = "SPEC",
           .help = "fixed (1 ms a batch), fixed:5ms, jitter:cv=0.2",
           .detail = "jitter:cv=0.2,step=1ms; both take stragglers=10%*4 (a tenth of the peers is "
                     "4 times slower) and pause=1%*50ms (one mini-batch in a hundred waits 50 ms "
                     "longer, in the mean).",
           .group = "simulation"},
    Option{.name = "scenario",
           .default_text = "off",
           .kind = ValueKind::file,
           .placeholder = "FILE",
           .help = "net, compute and chaos from a JSON file; random: by --seed",
           .detail =
               "{\"net\": ..., \"compute\": ..., \"chaos\": [...]}, each as its option. What is "
               "given as a flag or variable goes first. run.json has what came of it.",
           .group = "simulation",
           .recorded = false},
    Option{.name = "check",
           .default_text = "false",
           .kind = ValueKind::boolean,
           .placeholder = "",
           .help = "look for broken invariants all the time; exit 1 if any",
           .detail = "Frames and bytes are conserved, counters never go back, push-sum's mass, "
                     "finite weights, everyone merges again after faults; and the event log's.",
           .group = "simulation",
           .in_short_help = false,
           .recorded = false},
    Option{.name = "chaos",
           .default_text = "off",
           .kind = ValueKind::fault,
           .placeholder = "FAULT",
           .help = "a fault, may be repeated: kill=p03@30%, drop=1%",
           .detail = "kill=1@30%, kill=p03@5s, kill=p03@30%..50% (simulated: it comes back), "
                     "slow=p03*4, stall=p02@10%..20%, drop=1%, "
                     "partition=p03@20%..60%, corrupt=1%; hostile peers: nan=2@0%, "
                     "scale=p03*1e6, sign-flip=p03, noise=p03*1, replay-stale=p03, drift=p03*0.05, "
                     "label-flip=p03, poison=p03@30%. A time is a "
                     "share of the epoch budget or seconds since the first step. In HEARSAY_CHAOS "
                     "faults are joined by ';'.",
           .group = "simulation",
           .repeatable = true},
    Option{
        .name = "device",
        .default_text = "auto",
        .kind = ValueKind::spec,
        .placeholder = "SPEC",
        .help = "where to train: auto, cpu, cuda, cuda:0,1",
        .detail = "Peers of one process share a GPU as one batch; several are dealt out in turn.",
        .group = "training"},
    Option{.name = "threads",
           .default_text = "0",
           .kind = ValueKind::count,
           .placeholder = "T",
           .help = "worker threads of the simulation; 0 = all cores",
           .detail = "",
           .group = "simulation"},
    Option{.name = "listen",
           .default_text = "127.0.0.1:0",
           .kind = ValueKind::text,
           .placeholder = "A:PORT",
           .help = "own address for peers; port 0: any free",
           .detail = "HOST:PORT or [IPv6]:PORT; beyond loopback with --secret, --tls or "
                     "--insecure. The first peer by hand prints the line with which others join.",
           .group = "network",
           .recorded = false},
    Option{.name = "join",
           .default_text = "off",
           .kind = ValueKind::text,
           .placeholder = "A:PORT",
           .help = "join the pool of the peer that listens there",
           .detail = "Any running peer will do. What the pool does comes from it; --listen, "
                     "--announce, --secret, --tls, --name and output options are the own ones.",
           .group = "network",
           .recorded = false},
    Option{.name = "insecure",
           .default_text = "false",
           .kind = ValueKind::boolean,
           .placeholder = "",
           .help = "listen beyond loopback without encryption",
           .detail = "For networks where everybody is trusted.",
           .group = "network",
           .recorded = false},
    Option{.name = "secret",
           .default_text = "off",
           .kind = ValueKind::text,
           .placeholder = "FILE",
           .help = "only peers with the same secret; encrypted",
           .detail = "FILE or env:NAME, 16 bytes or more (openssl rand -hex 32), the same for all "
                     "peers: TLS 1.3 by a key derived from it. This or --tls is needed beyond "
                     "loopback, unless --insecure.",
           .group = "network",
           .recorded = false},
    Option{.name = "tls",
           .default_text = "off",
           .kind = ValueKind::text,
           .placeholder = "FILES",
           .help = "only peers with certificates: CA,CERT,KEY",
           .detail = "PEM files: the pool's authority, this peer's certificate and its key. Mutual "
                     "TLS 1.3; names in certificates mean nothing.",
           .group = "network",
           .recorded = false},
    Option{.name = "revoked",
           .default_text = "off",
           .kind = ValueKind::text,
           .placeholder = "FILE",
           .help = "certificates that no longer count",
           .detail = "One a line: serial number in hex, or SHA-256 fingerprint. Read again when it "
                     "changes; then connections of whoever is in it are closed. Needs --tls.",
           .group = "network",
           .in_short_help = false,
           .recorded = false},
    Option{.name = "announce",
           .default_text = "",
           .kind = ValueKind::text,
           .placeholder = "A:PORT",
           .help = "address that others dial, if not the own one",
           .detail = "For relays and address translation. Without it: the listening address; of a "
                     "wildcard, the first address of this machine that is not loopback.",
           .group = "network",
           .in_short_help = false,
           .recorded = false},
    Option{
        .name = "name",
        .default_text = "",
        .kind = ValueKind::text,
        .placeholder = "pNN",
        .help = "place in the pool to take: p03",
        .detail =
            "By hand: a peer that comes back takes its old place; without it, the first free one.",
        .group = "network",
        .in_short_help = false,
        .recorded = false},
    Option{.name = "start-with",
           .default_text = "0",
           .kind = ValueKind::count,
           .placeholder = "M",
           .help = "begin when M peers are there; 0 = all",
           .detail = "The places that are left are taken by peers that join later, with the "
                     "weights of one that trains.",
           .group = "pool",
           .in_short_help = false},
    Option{.name = "restarts",
           .default_text = "0",
           .kind = ValueKind::count,
           .placeholder = "R",
           .help = "times a dead peer is started again",
           .detail = "For each peer of hearsay launch or mpirun; it comes back with the weights of "
                     "a neighbour.",
           .group = "pool",
           .in_short_help = false},
    Option{.name = "resume",
           .default_text = "false",
           .kind = ValueKind::boolean,
           .placeholder = "",
           .help = "go on where --run DIR was left",
           .detail = "Takes the configuration and the newest checkpoints of DIR.",
           .group = "run",
           .recorded = false},
    Option{.name = "checkpoint-every",
           .default_text = "1min",
           .kind = ValueKind::seconds,
           .placeholder = "T",
           .help = "time between checkpoints; off: at the end only",
           .detail = "The last two are kept, and one an hour. A stop by signal writes one as well.",
           .group = "run",
           .in_short_help = false},
    Option{.name = "log-digests",
           .default_text = "auto",
           .kind = ValueKind::text,
           .placeholder = "MODE",
           .help = "digests of the weights after merges: on, off",
           .detail =
               "With them hearsay replay names the merge and the tensors that differ. auto: in "
               "live pools, as long as they cost less than 1 % of the time; on: at every merge.",
           .group = "run",
           .in_short_help = false},
    Option{.name = "metrics",
           .default_text = "off",
           .kind = ValueKind::text,
           .placeholder = "A:PORT",
           .help = "serve /metrics, /healthz and /peers.json there",
           .detail = "Prometheus text of the whole pool, or of a peer started by hand. Port 0: any "
                     "free one, which is printed. Nothing secret and no model, but readable by "
                     "anybody who reaches the address.",
           .group = "output",
           .in_short_help = false,
           .recorded = false},
    Option{.name = "json",
           .default_text = "false",
           .kind = ValueKind::boolean,
           .placeholder = "",
           .help = "print one JSON object on stdout",
           .detail = "",
           .group = "output",
           .recorded = false},
    Option{.name = "quiet",
           .default_text = "false",
           .kind = ValueKind::boolean,
           .placeholder = "",
           .help = "no progress on stderr",
           .detail = "",
           .group = "output",
           .recorded = false},
    Option{.name = "dry-run",
           .default_text = "false",
           .kind = ValueKind::boolean,
           .placeholder = "",
           .help = "print sizes, bytes a merge and memory, then stop",
           .detail = "",
           .group = "output",
           .recorded = false},
};

}  // namespace

std::span<const Option> option_table() { return kOptions; }

const Option* find_option(std::string_view name) {
  const auto found = std::find_if(kOptions.begin(), kOptions.end(),
                                  [name](const Option& option) { return option.name == name; });
  return found == kOptions.end() ? nullptr : &*found;
}

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const Option& option : kOptions) {
    names.emplace_back(option.name);
  }
  return names;
}

std::string environment_name(const Option& option) {
  std::string name = "HEARSAY_";
  for (const char c : option.name) {
    name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return name;
}

std::vector<Option> accepted_options(const CommandSyntax& syntax) {
  std::vector<Option> accepted;
  for (const std::string& name : syntax.options) {
    const Option* const option = find_option(name);
    HS_CHECK(option != nullptr);  // a syntax names only what the table has
    accepted.push_back(*option);
  }
  accepted.insert(accepted.end(), syntax.own.begin(), syntax.own.end());
  return accepted;
}

}  // namespace hearsay::runtime

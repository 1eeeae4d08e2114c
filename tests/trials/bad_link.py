#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The link of one peer is bad: 1 Mb/s, 200 ms each way, 5 % of frames lost, reset every 3 s, or all of it.

Nobody else may train more than 5 % slower, and the run must come to its end. The fault goes on and
off in turns, so that both sides of the comparison see the same machine; samples/s count only time
in which a core was to be had (the rest is other programs' doing), and are printed both ways.
"""

import statistics
import time

import pool
import trial as trials

BAD = 2
CONDITIONS = {
    "1 Mb/s": [{"do": "rate", "bps": 1e6}],
    "200 ms": [{"do": "latency", "ms": 200, "jitter_ms": 20}],
    "5 % lost": [{"do": "loss", "share": 0.05}],
    "resets": [{"do": "reset", "every_s": 3}],
    "all": [{"do": "rate", "bps": 1e6}, {"do": "latency", "ms": 200, "jitter_ms": 20},
            {"do": "loss", "share": 0.05}, {"do": "reset", "every_s": 3}],
}
ALLOWED_SLOWDOWN = 0.05
SETTLE_S = 0.5


def measure(trial, name, rules, options):
    peers, turns = (4, 2) if options.quick else (6, 5)
    span_s = options.seconds
    length = 4 + turns * 2 * (span_s + SETTLE_S)
    pool_words = (*pool.ENDLESS, "--model", "mlp:128", "--merge-every", "20", "--time", f"{length:g}s",
                  "--seed", trial.seed)
    many = pool.Pool(trial, peers, *pool_words, name=f"run-{len(trial.pools)}", relay=True)
    many.start().wait_training()
    others = [rank for rank in range(peers) if rank != BAD]
    spans = {"good": [], "bad": []}
    for turn in range(2 * turns):
        is_bad = turn % 2 == 1
        if is_bad:
            for rule in rules:
                many.relay.tell(**rule, peer=BAD)
        time.sleep(SETTLE_S)
        span = pool.Span(many, others)
        time.sleep(span_s)
        spans["bad" if is_bad else "good"].append(span.end().total())
        if is_bad and turn < 2 * turns - 1:  # the last one stays: the end comes over a bad link too
            for rule in rules:
                many.relay.tell(do="end", name=rule["do"])
    codes = many.wait_end(length + 60)
    rate, net, idle = ([statistics.median(turn[i] for turn in spans[side]) for side in ("good", "bad")]
                       for i in range(3))
    change = net[1] / net[0] - 1
    trial.check(change > -ALLOWED_SLOWDOWN and set(codes.values()) == {0},
                f"{name:9s} others {change:+.1%} samples/s ({rate[1] / rate[0] - 1:+.1%} with the wait for "
                f"cores), idle {idle[0]:.2%} -> {idle[1]:.2%}, exit codes {sorted(set(codes.values()))}")
    result = many.result()
    bad = result["per_peer"][BAD]
    trial.say(f"         the peer behind it: {bad['merges_applied']} merges, {bad['samples']} samples, "
              f"{bad['reason']}; the others: {result['merges_applied'] - bad['merges_applied']} merges")
    trial.check(result["verdict"] == "ok" and result["peers_lost"] == 0,
                f"{name:9s} the run completes: verdict {result['verdict']}, {result['peers_lost']} lost")
    many.close()


def work(trial, options):
    if options.quick and options.is_default_seconds:
        options.seconds = 1.5
    for name, rules in CONDITIONS.items():
        if not options.quick or name == "all":
            measure(trial, name, rules, options)


if __name__ == "__main__":
    trials.run(__doc__, work, seconds=3)

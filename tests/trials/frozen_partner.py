#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A peer is stopped (SIGSTOP) in the middle of exchanges and goes on later, again and again.

The others must train on at once, give up what they had begun with it within 3 s, and merge with it
again once it goes on. Its link is kept slow enough that an exchange is nearly always under way.
"""

import signal
import statistics
import time

import pool
import trial as trials

FROZEN = 1
DROP_BUDGET_S = 3.0
BACK_BUDGET_S = 5.0
LINK_BPS = 8e6
GIVES_UP = ("merge.half", "peer.lost", "fault.seen")


def under_way(many):
    """Peers that have asked the frozen one, or were asked by it, and have no answer yet: {rank: t_ns}."""
    name = pool.peer_name(FROZEN)
    waiting = {}
    for rank in many.alive():
        if rank == FROZEN:
            continue
        for event in many.events(rank, "delta.sent", "merge.applied", "merge.half", "merge.decided"):
            if event["ev"] == "delta.sent":
                waiting[rank] = (event["to"], event["t_ns"])
            elif event.get("from", event.get("who")) == waiting.get(rank, ("",))[0]:
                waiting.pop(rank)
    return {rank: t_ns for rank, (to, t_ns) in waiting.items() if to == name}


def dropped_after(many, rank, clock_ns):
    """Seconds from the moment the peer could know (stop, or its own request) until it gave up."""
    name = pool.peer_name(FROZEN)
    asked = [e["t_ns"] for e in many.events(rank, "delta.sent") if e["to"] == name]
    gave_up = [e["t_ns"] for e in many.events(rank, *GIVES_UP, since_ns=clock_ns)
               if e.get("who") == name and e.get("kind", "silent") == "silent"]
    if not gave_up:
        return None
    since = max([clock_ns] + [t_ns for t_ns in asked if t_ns < gave_up[0]])
    return (gave_up[0] - since) * 1e-9


def freeze_once(trial, many, span_s, number):
    others = [rank for rank in many.alive() if rank != FROZEN]
    before = pool.Span(many, others)
    time.sleep(span_s)
    before.end()
    trial.wait_until(lambda: under_way(many), "an exchange with the one to be frozen", 10)
    many.signal(signal.SIGSTOP, FROZEN)
    clocks = many.clocks(others)
    waiting = under_way(many)
    after = pool.Span(many, others)
    time.sleep(max(span_s, DROP_BUDGET_S + 1))
    after.end()
    rate, net, idle = ([span.total()[i] for span in (before, after)] for i in range(3))
    times = {rank: dropped_after(many, rank, clocks[rank]) for rank in others}
    known = [seconds for seconds in times.values() if seconds is not None]
    # Its share of the cores goes to the others, which would hide who stands still; idle time does not.
    trial.check(idle[1] <= trial.options.idle,
                f"stop {number}: others {pool.change(*rate):+.1%} samples/s ({pool.change(*net):+.1%} "
                f"net of waiting for a core), idle {idle[0]:.2%} -> {idle[1]:.2%}")
    dropped = ", ".join("never asked" if t is None else f"{t:.2f} s" for t in times.values())
    trial.check(known and max(known) <= DROP_BUDGET_S and all(times[rank] is not None for rank in waiting),
                f"stop {number}: given up after {dropped} ({len(waiting)} exchanges were under way)")
    many.signal(signal.SIGCONT, FROZEN)
    clocks = many.clocks(others)
    begin = time.monotonic()

    def merged(rank):
        return any(event["from"] == pool.peer_name(FROZEN)
                   for event in many.events(rank, "merge.applied", since_ns=clocks[rank]))

    try:
        trial.wait_until(lambda: any(map(merged, others)), "a merge", BACK_BUDGET_S)
        first = time.monotonic() - begin
        trial.wait_until(lambda: all(map(merged, others)), "merges with all", 4 * BACK_BUDGET_S)
        trial.check(True, f"stop {number}: back after {first:.2f} s, merged with all others after "
                          f"{time.monotonic() - begin:.2f} s")
    except trials.Failure as failure:
        trial.check(False, f"stop {number}: {failure} after it went on")
    return pool.change(*rate)


def work(trial, options):
    rounds = 1 if options.quick else 5
    span_s = 1.5 if options.quick and options.is_default_seconds else options.seconds
    length = 10 + rounds * (2 * max(span_s, DROP_BUDGET_S + 1) + 5 * BACK_BUDGET_S)
    many = pool.Pool(trial, 4, *pool.ENDLESS, "--model", "mlp:128", "--merge-every", "20", "--time",
                     f"{length:g}s", "--seed", trial.seed, relay=True).start().wait_training()
    many.relay.tell(do="rate", peer=FROZEN, bps=LINK_BPS)
    changes = [freeze_once(trial, many, span_s, number) for number in range(1, rounds + 1)]
    # Speeds of a few seconds differ by some percent by themselves; their mean differs by less.
    trial.check(statistics.mean(changes) > -trial.options.slowdown,
                f"others {statistics.mean(changes):+.1%} samples/s in the mean of {rounds} stops")
    many.signal(signal.SIGTERM)
    many.wait_end(30)
    result = many.result()
    trial.check(result["peers_lost"] == 0, f"the run ends with {result['peers_lost']} lost")


if __name__ == "__main__":
    trials.run(__doc__, work, seconds=4)

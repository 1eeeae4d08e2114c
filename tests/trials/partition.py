#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All traffic between two halves of a pool is dropped for 30 s; then the network heals.

Both halves must train on, the models must come together again, and nobody may be declared lost and
back more often than the network changed: once each way for a pair of peers, and once more for luck.
"""

import itertools
import time

import models
import pool
import trial as trials

STATE_CHANGES = {"peer.lost", "peer.joined", "silent", "partner back"}  # events, kinds of faults
ALLOWED_CHANGES = 4  # of one pair, as one of them sees it: lost, back, and once more for luck
ALLOWED_SLOWDOWN = 0.05
HEAL_BUDGET_S = 20
DRIFT, FALL_BACK = 1.5, 1.25  # of the halves' means: at the end of the cut at least, afterwards at most


def spread(found, halves):
    """(distance of the halves' means, consensus distance), both in lengths of the mean of all."""
    one, other = (models.mean(found[rank] for rank in half) for half in halves)
    length = models.distance(models.mean((one, other)), [0.0] * len(one))
    return models.distance(one, other) / length, models.consensus(found)


def state_changes(many, rank, others, since_ns):
    """How often this peer changed its mind about each of the others."""
    counts = {pool.peer_name(other): 0 for other in others}
    for event in many.log(rank):
        if event.get("t_ns", 0) < since_ns or event.get("who") not in counts:
            continue
        if event["ev"] in STATE_CHANGES or event.get("kind") in STATE_CHANGES:
            counts[event["who"]] += 1
    return counts


def lines_about(many, rank, others, since_ns):
    names = {pool.peer_name(other) for other in others}
    return sum(event.get("who") in names and event["t_ns"] >= since_ns
               for event in many.events(rank, "fault.seen", "peer.lost", "peer.joined"))


def work(trial, options):
    size = 6 if options.quick else 10
    span_s = 4.0 if options.quick and options.is_default_seconds else options.seconds
    halves = list(range(size // 2)), list(range(size // 2, size))
    everybody = halves[0] + halves[1]
    length = 20 + 2 * span_s + 2 * HEAL_BUDGET_S
    words = (*pool.ENDLESS, "--model", "mlp:64", "--split", "dirichlet:0.3+noise:20%", "--merge-every",
             "20", "--time", f"{length:g}s", "--seed", trial.seed)
    many = pool.Pool(trial, size, *words, relay=True).start().wait_training()
    time.sleep(3)
    span = pool.Span(many, everybody)
    time.sleep(min(span_s, 6))
    good = span.end().rates()
    before = spread(models.ask(many, everybody), halves)

    clocks = many.clocks()
    dials_before = len(many.relay.log())
    many.relay.tell(do="cut", groups=halves, name="cut")
    span = pool.Span(many, everybody)
    time.sleep(span_s)
    bad = span.end().rates()
    apart = models.ask(many, everybody)
    many.relay.tell(do="end", name="cut")
    healed = time.monotonic()
    apart = spread(apart, halves)
    trial.say(f"seed {trial.seed}: {size} peers in halves, cut for {span_s:g} s")

    changes = {rank: bad[rank][1] / good[rank][1] - 1 for rank in everybody}
    merges = [sum(len([e for e in many.events(rank, "merge.applied", since_ns=clocks[rank])])
                  for rank in half) for half in halves]
    trial.check(min(changes.values()) > -2 * ALLOWED_SLOWDOWN
                and sum(changes.values()) / size > -ALLOWED_SLOWDOWN and min(merges) > 0,
                f"both halves train: samples/s {sum(changes.values()) / size:+.1%} (worst "
                f"{min(changes.values()):+.1%}), {merges[0]} and {merges[1]} merges inside the halves")
    across = [(event["t_ns"] - clocks[rank]) * 1e-9 for rank in everybody
              for event in many.events(rank, "merge.applied", since_ns=clocks[rank])
              if (int(event["from"][1:]) in halves[0]) != (rank in halves[0])
              and event["t_ns"] < clocks[rank] + (span_s - 1) * 1e9]
    late = [seconds for seconds in across if seconds > 1]
    trial.check(not late, f"nothing crosses the cut: {len(across)} merges across in its first second, "
                          f"{len(late)} later")

    curve = []
    while time.monotonic() - healed < HEAL_BUDGET_S:
        curve.append((time.monotonic() - healed, *spread(models.ask(many, everybody), halves)))
        if curve[-1][1] <= FALL_BACK * before[0]:
            break
        time.sleep(0.2)
    after_s, gap, consensus = curve[-1]
    trial.check(apart[0] > DRIFT * before[0] and gap <= FALL_BACK * before[0],
                f"the halves' means are {before[0]:.4f} apart before, {apart[0]:.4f} at the end of the cut, "
                f"{gap:.4f} {after_s:.1f} s after healing (consensus distance {before[1]:.4f}, "
                f"{apart[1]:.4f}, {consensus:.4f})")
    time.sleep(3)
    counts, lines = [], []
    for one, other in itertools.permutations(halves):
        for rank in one:
            counts += state_changes(many, rank, other, clocks[rank]).values()
            lines.append(lines_about(many, rank, other, clocks[rank]))
    dials = sum(what == "dialled" for _, what, _, _ in many.relay.log()[dials_before:])
    trial.check(max(counts) <= ALLOWED_CHANGES,
                f"state changes of a pair across: at most {max(counts)}, mean "
                f"{sum(counts) / len(counts):.1f}; log lines about the other half: at most "
                f"{max(lines)} a peer; {dials} dials in all")
    back = [rank for rank in everybody
            if any((int(e["from"][1:]) in halves[0]) != (rank in halves[0])
                   for e in many.events(rank, "merge.applied", since_ns=clocks[rank] + int(span_s * 1e9)))]
    trial.check(len(back) == size, f"{len(back)} of {size} peers have merged across again")
    many.signal(pool.signal.SIGTERM)
    many.wait_end(30)
    trial.check(many.result()["peers_lost"] == 0, "the run ends with all peers")


if __name__ == "__main__":
    trials.run(__doc__, work, seconds=30)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who belongs to a pool when peers come in any order, die, and come again under the same name.

One peer is killed and started again ten times: always the same peer in a new start, never a second one.
Four peers start at once, fifty times, with delays of 0 to 2 s, the first one last in every fifth: always
one pool of four. And the first one a minute after the others, who must wait and say so.
"""

import random
import signal
import time

import pool
import trial as trials

RETURN_S = 15
RESTARTED = 2
SHORT = (*pool.DIGITS, "--epochs", "300", "--eval-every", "0")


def incarnations_seen(many, watcher):
    """Starts of the restarted peer that this one has heard of, in order."""
    name = pool.peer_name(RESTARTED)
    return [event["inc"] for event in many.events(watcher, "peer.joined") if event.get("who") == name]


def merged_with(many, rank, name, since_ns):
    return any(event["from"] == name for event in many.events(rank, "merge.applied", since_ns=since_ns))


def restarts(trial, options):
    times = 3 if options.quick else 10
    words = (*pool.ENDLESS, "--model", "mlp:64", "--merge-every", "20", "--time", "3600s")
    many = pool.Pool(trial, 4, *words, "--seed", trial.seed, name="restarts").start().wait_training()
    others = [rank for rank in range(4) if rank != RESTARTED]
    name, took, wrong = pool.peer_name(RESTARTED), [], []
    for number in range(1, times + 1):
        many.kill(RESTARTED)
        time.sleep(random.Random(f"restart {trial.seed} {number}").choice((0.0, 0.1, 1.0, 3.0)))
        clocks = many.clocks(others)
        begin = time.monotonic()
        many.start(RESTARTED)

        def is_back():
            return all(merged_with(many, rank, name, clocks[rank])
                       and incarnations_seen(many, rank)[-1:] == [number] for rank in others)

        trial.wait_until(lambda: is_back() or len(many.alive()) < 4, f"start {number + 1} is back", RETURN_S)
        took.append(time.monotonic() - begin)
        if len(many.alive()) < 4 or many.endpoint(RESTARTED)["incarnation"] != number:
            wrong.append(number)
    seen = [incarnations_seen(many, rank) for rank in others]
    trial.check(not wrong and all(starts == sorted(set(starts)) for starts in seen),
                f"{times} restarts: back with all others after {max(took):.1f} s at most (mean "
                f"{sum(took) / times:.1f}); starts seen: {seen[0]}")
    adopted = [len([e for e in log if e["ev"] == "state.adopted"])
               for log in [*many.earlier_logs(RESTARTED), many.log(RESTARTED)]]
    trial.check(adopted == [0] + times * [1], f"weights taken over in each start: {adopted}")
    many.signal(signal.SIGTERM)
    many.wait_end(30)
    result = many.result()
    trial.check((result["peers"], result["peers_lost"]) == (4, 0),
                f"{result['peers']} peers, {result['peers_lost']} lost at the end")
    many.close()


def is_connected(many, size):
    """Whether merges join all peers to one pool."""
    reached, border = {0}, [0]
    partners = {rank: {int(event["from"][1:]) for event in many.events(rank, "merge.applied")}
                for rank in range(size)}
    while border:
        rank = border.pop()
        for other in partners[rank] - reached:
            reached.add(other)
            border.append(other)
    return len(reached) == size


def start_together(trial, options):
    times = 4 if options.quick else 50
    longest, good = 0.0, 0
    for number in range(times):
        draw = random.Random(f"start {trial.seed} {number}")
        delays = [draw.uniform(0.0, 0.6 if options.quick else 2.0) for _ in range(4)]
        if number % 5 == 0:
            delays[0] = max(delays) + 0.3
        many = pool.Pool(trial, 4, *SHORT, "--seed", trial.seed, name=f"start-{number}")
        begin = time.monotonic()
        for rank in sorted(range(4), key=delays.__getitem__):
            time.sleep(max(0.0, begin + delays[rank] - time.monotonic()))
            many.start(rank)
        last_start = time.monotonic()
        many.wait_training(seconds=60)
        longest = max(longest, time.monotonic() - last_start)
        codes = many.wait_end(60)
        result = many.result()
        is_good = (set(codes.values()) == {0} and result["verdict"] == "ok" and is_connected(many, 4)
                   and (result["peers"], result["peers_lost"]) == (4, 0)
                   and [many.endpoint(rank)["incarnation"] for rank in range(4)] == [0] * 4)
        good += is_good
        if not is_good:
            told = ", ".join(f"{delay:.2f}" for delay in delays)
            trial.check(False, f"start {number}, delays {told} s: verdict {result['verdict']}, "
                               f"{result['peers_lost']} lost, exit codes {codes}")
            return
        many.close()
        trial.pools.remove(many)
    trial.check(good == times, f"{good} of {times} pools of 4 were one pool; all trained {longest:.1f} s "
                               f"after the last start at most")


def first_one_last(trial, options):
    wait_s = 7 if options.quick else 60
    many = pool.Pool(trial, 3, *SHORT, name="late-first")
    many.start(1, 2)
    time.sleep(wait_s)
    texts = [many.text(rank) for rank in (1, 2)]
    trial.check(len(many.alive()) == 2 and all("waiting for" in text for text in texts),
                f"{wait_s} s without the first peer: {len(many.alive())} of 2 wait; "
                f"{texts[0].count('waiting for')} lines: {(texts[0].splitlines() or ['nothing'])[-1]!r}")
    many.start(0)
    codes = many.wait_end(60)
    result = many.result()
    trial.check(set(codes.values()) == {0} and (result["peers"], result["peers_lost"]) == (3, 0),
                f"then all three finish: {result['verdict']}, {result['peers_lost']} lost")
    many.close()


def work(trial, options):
    restarts(trial, options)
    start_together(trial, options)
    first_one_last(trial, options)


if __name__ == "__main__":
    trials.run(__doc__, work)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers join late, one after the other, while everybody merges; donors die in the middle of their gift.

A joiner begins with the weights of a peer that trains. It must be as accurate as the pool within 5
merges, and never train on half a model: where a donor is cut off or killed at half of its weights, or
several give nothing, it goes to the next one.
"""

import signal
import statistics
import time

import models
import pool
import trial as trials

MERGES = 5
# Of one joiner: two evaluations of 92 % on 1000 examples differ by 1.2 points (one standard error). And
# of all joiners in the mean, where chance evens out.
TOLERANCE, MEAN_TOLERANCE = 0.025, 0.01
# Loss on a shard never seen before: 2.3 with weights that know nothing, below 0.3 with the pool's.
HALF_TRAINED = 0.8
JOIN_S = 20


def accuracies(many, rank):
    return [(event["t_ns"], event["acc"]) for event in many.events(rank, "eval.finished")]


def after_merges(many, rank, merges):
    """The first evaluation behind that many merges since it came; none yet."""
    applied = many.events(rank, "merge.applied")
    if len(applied) < merges:
        return None
    return next((acc for t_ns, acc in accuracies(many, rank) if t_ns > applied[merges - 1]["t_ns"]), None)


def pool_range(many, ranks):
    newest = [accuracies(many, rank)[-1][1] for rank in ranks if accuracies(many, rank)]
    return min(newest), max(newest)


def first_steps(many, rank):
    """What it has taken over, and the loss of its first block."""
    adopted = many.events(rank, "state.adopted")
    blocks = many.events(rank, "block.finished")
    before = [event for event in blocks if not adopted or event["t_ns"] < adopted[0]["t_ns"]]
    return adopted, len(before), blocks[0]["loss"] if blocks else float("inf")


def judge_joiner(trial, many, rank, members, what):
    """Waits for the joiner to be one of the pool; returns its figures."""
    name = pool.peer_name(rank)
    trial.wait_until(lambda: many.events(rank, "block.finished"), f"{what}: {name} trains", JOIN_S)
    joined_s = many.events(rank, "block.finished")[0]["t_ns"] * 1e-9
    acc = trial.wait_until(lambda: after_merges(many, rank, MERGES),
                           f"{what}: {MERGES} merges and an evaluation of {name}", JOIN_S)
    low, high = pool_range(many, members)
    adopted, blocks_before, loss = first_steps(many, rank)
    losses = [statistics.median(e["loss"] for e in many.events(member, "block.finished")[-20:])
              for member in members]
    good = (len(adopted) == 1 and blocks_before == 0 and acc >= low - TOLERANCE
            and loss < HALF_TRAINED)
    text = (f"{name} from {adopted[0]['from'] if adopted else 'nobody'} in {joined_s:.2f} s, loss of its "
            f"first block {loss:.3f} (pool {statistics.mean(losses):.3f}), after {MERGES} merges {acc:.1%} "
            f"(pool {low:.1%} to {high:.1%})")
    return good, acc - low, text


def begin(trial, size, members, seconds, relay, name):
    words = (*pool.DIGITS, "--model", "mlp:128", "--epochs", "1000000", "--schedule", "constant",
             "--eval-every", "100", "--merge-every", "10", "--seed", trial.seed, "--time", f"{seconds:g}s",
             "--start-with", members)
    many = pool.Pool(trial, size, *words, name=name, relay=relay).start(*range(members))
    many.wait_training(*range(members))
    time.sleep(1.5)
    return many


def many_joins(trial, options):
    members, joins = (3, 2) if options.quick else (4, 20)
    many = begin(trial, members + joins, members, 3600, False, "joins")
    good, behind = [], []
    for rank in range(members, members + joins):
        many.start(rank)
        # The pool is everybody who trains already, those who came late before it included.
        is_good, difference, text = judge_joiner(trial, many, rank, range(rank), "join")
        good.append(is_good)
        behind.append(difference)
        if not is_good or options.quick or rank % 5 == 0:
            trial.say(f"         {text}")
    trial.check(all(good) and statistics.mean(behind) > -MEAN_TOLERANCE,
                f"{sum(good)} of {joins} late joins took a whole model and were in the pool's range within "
                f"{MERGES} merges: {100 * statistics.mean(behind):+.1f} points from the pool's worst in the "
                f"mean, {100 * min(behind):+.1f} at worst")
    many.signal(signal.SIGTERM)
    many.wait_end(60)
    result = many.result()
    trial.check(result["peers_lost"] == 0 and models.are_whole(many, range(members + joins)),
                f"{result['peers']} peers, {result['peers_lost']} lost; every final model is finite, "
                f"with the digest that it names")
    many.close()


def dying_donors(trial, options):
    """The first gift to each joiner ends at its half; then the donor is dead, or lives on."""
    members, joins = (4, 1) if options.quick else (6, 6)
    many = begin(trial, members + joins, members, 3600, True, "dying")
    killed, good = [], []
    for number, rank in enumerate(range(members, members + joins)):
        how = ("kill", "close", "stall")[number % 3]
        rule = many.relay.tell(do="kill-after", peer=rank, kinds=["model"], share=0.5,
                               how="stall" if how == "stall" else "reset", name=f"gift-{rank}")
        seen = len(many.relay.log())
        many.start(rank)
        gift = trial.wait_until(
            lambda: [entry for entry in many.relay.log()[seen:] if entry[1] == "ended in mid-message"],
            "a gift that ends in its middle", JOIN_S)
        donor = next(end for end in gift[0][2:] if end != rank)
        if how == "kill":
            many.kill(donor)
            killed.append(donor)
        left = [member for member in range(rank) if member not in killed]
        is_good, _, text = judge_joiner(trial, many, rank, left, how)
        another = many.events(rank, "state.adopted")[0]["from"] != pool.peer_name(donor) or how != "kill"
        lost = [e for e in many.events(rank, "fault.seen") if e["kind"] == "donor lost"]
        good.append(is_good and another and bool(lost) and rule is not None)
        trial.say(f"         {pool.peer_name(donor)}'s weights to it ended at half ({how}): {text}")
        many.relay.tell(do="end", name=f"gift-{rank}")
    trial.check(all(good), f"{sum(good)} of {joins} joiners whose first donor failed went to another one")
    many.signal(signal.SIGTERM)
    many.wait_end(60)
    result = many.result()
    alive = [rank for rank in range(members + joins) if rank not in killed]
    trial.check(result["peers_lost"] == len(killed) and models.are_whole(many, alive),
                f"{len(killed)} donors killed, {result['peers_lost']} lost; every final model is finite")
    many.close()


def stingy_donors(trial, options):
    """Of all donors only the last one gives: the others fall silent, or cut off what they give."""
    members = 4 if options.quick else 6
    many = begin(trial, members + 1, members, 3600, True, "stingy")
    joiner, giver = members, members - 1
    for number in range(members - 1):
        if number % 2:
            many.relay.tell(do="cut", pair=[number, joiner], name=f"cut-{number}")
        else:
            many.relay.tell(do="kill-after", pair=[number, joiner], sender=number, share=0.5, times=1000,
                            how="reset", kinds=["model"], name=f"cut-{number}")
    many.start(joiner)
    trial.wait_until(lambda: many.events(joiner, "state.adopted"), "weights from the one that gives",
                     4 * JOIN_S)
    adopted = many.events(joiner, "state.adopted")[0]
    lost = [event["who"] for event in many.events(joiner, "fault.seen") if event["kind"] == "donor lost"]
    trial.check(adopted["from"] == pool.peer_name(giver),
                f"{members - 1} of {members} donors give nothing: weights from {adopted['from']} after "
                f"{adopted['t_ns'] * 1e-9:.1f} s, given up before: {', '.join(lost) or 'none'}")
    many.close()


def work(trial, options):
    many_joins(trial, options)
    dying_donors(trial, options)
    stingy_donors(trial, options)


if __name__ == "__main__":
    trials.run(__doc__, work)

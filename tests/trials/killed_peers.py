#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three of ten peers are killed at random instants; the others must lose nothing by it.

The run must end, and the survivors be as accurate, within 0.5 points, as in a pool in which the three
never were: the same ids over the same shards.
"""

import random
import statistics
import time

import pool
import trial as trials

TOLERANCE = 0.005
WORDS = ("--eval-every", "0", "--model", "mlp:128")


def progress(many, ranks):
    """Mean share of the epochs done, of those who live."""
    shares = []
    for rank in ranks:
        blocks = many.events(rank, "block.finished")
        if blocks:
            shares.append(blocks[-1]["samples"] / (many.epochs * many.shard))
    return sum(shares) / len(shares) if shares else 0.0


def accuracy(trial, many, survivors, what):
    codes = many.wait_end(300)
    result = many.result()
    wanted = {pool.peer_name(rank) for rank in survivors}
    alive = {peer["peer"] for peer in result["per_peer"] if peer["alive"]}
    finished = [peer["reason"] for peer in result["per_peer"] if peer["peer"] in wanted]
    good = (result["verdict"] == "ok" and alive == wanted and set(finished) == {"finished"}
            and all(codes[rank] == 0 for rank in survivors))
    if not good:
        trial.check(False, f"seed {trial.seed}: {what}: verdict {result['verdict']}, alive {sorted(alive)}, "
                           f"reasons {finished}, exit codes {codes}")
    accuracies = [peer["test_acc"] for peer in result["per_peer"] if peer["peer"] in wanted]
    return statistics.mean(accuracies), min(accuracies), result["wall_s"]


def begin(trial, size, name, options, words):
    data = (*pool.DIGITS, "--epochs", "40") if options.quick else ("--epochs", "20")
    many = pool.Pool(trial, size, *data, *WORDS, "--seed", trial.seed, *words, name=name)
    many.epochs, many.shard = (40, 6000 // size) if options.quick else (20, 60000 // size)
    return many


def one_seed(trial, options):
    size, victims_wanted = (5, 2) if options.quick else (10, 3)
    draw = random.Random(f"killed {trial.seed}")
    victims = draw.sample(range(size), victims_wanted)
    instants = sorted(draw.uniform(0.15, 0.85) for _ in victims)
    survivors = [rank for rank in range(size) if rank not in victims]
    many = begin(trial, size, f"killed-{trial.seed}", options, ()).start()
    many.wait_training()
    for victim, instant in zip(victims, instants):
        trial.wait_until(lambda: progress(many, survivors) >= instant, f"{instant:.0%} of the run", 300)
        many.kill(victim)
    mean, worst, wall_s = accuracy(trial, many, survivors, "with the killed")
    many.close()
    alone = begin(trial, size, f"without-{trial.seed}", options, ("--start-with", len(survivors)))
    alone.start(*survivors)
    mean_alone, worst_alone, wall_alone_s = accuracy(trial, alone, survivors, "without them")
    alone.close()
    killed = ", ".join(f"{pool.peer_name(v)} at {i:.0%}" for v, i in zip(victims, instants))
    trial.check(mean > mean_alone - TOLERANCE,
                f"seed {trial.seed}: killed {killed}: survivors {mean:.2%} (worst {worst:.2%}, "
                f"{wall_s:.1f} s), undisturbed without them {mean_alone:.2%} (worst "
                f"{worst_alone:.2%}, {wall_alone_s:.1f} s), "
                f"difference {100 * (mean - mean_alone):+.2f} points")
    return mean - mean_alone


def work(trial, options):
    differences = []
    for trial.seed in range(options.seed, options.seed + options.seeds):
        differences.append(one_seed(trial, options))
        time.sleep(0.2)
    mean = statistics.mean(differences)
    trial.check(mean > -TOLERANCE, f"mean difference over {len(differences)} seeds: {100 * mean:+.2f} points")


if __name__ == "__main__":
    trials.run(__doc__, work, seeds=5)

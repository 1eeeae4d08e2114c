#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the reference pool and its variations, and prints the tables of README.md.

    experiments/studies/reference.py --binary build/ci/hearsay --out runs/reference
                                     [--only "NAME;NAME"] [--seeds 0,1,2]

Runs that already have a result.json are not repeated: an interrupted study goes on where it was.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

REFERENCE = ("--peers 16 --epochs 25 --batch 32 --optimizer sgd:lr=0.05,momentum=0.9,clip=1 "
             "--schedule cosine --model mlp:256,128 --protocol pairwise --merge ema:0.5 "
             "--merge-every 1 --data fashion-mnist --split iid")

# name -> flags changed against the reference
POOLS = {
    "reference": "",
    "no merging": "--protocol local",
    "push": "--protocol push",
    "push, alpha 0.25": "--protocol push --merge ema:0.25",
    "push-sum": "--protocol push-sum",
    "pairwise, waiting": "--wait",
    "K truncated": "--merge-every 1,mode=truncated",
    "K shifted": "--merge-every 1,mode=shifted",
    "K in steps": "--merge-every 1,mode=steps",
    "lambda 0.0625": "--merge-every 0.0625",
    "lambda 0.25": "--merge-every 0.25",
    "lambda 4": "--merge-every 4",
    "alpha 0.25": "--merge ema:0.25",
    "alpha 0.1 to 0.5": "--merge ema:a=0.1..0.5,shape=linear",
    "alpha 0.1 to 0.5, cosine": "--merge ema:a=0.1..0.5,shape=cosine",
    "alpha 0.5 to 0.1": "--merge ema:a=0.5..0.1,shape=linear",
    "sample-weighted": "--merge sample-weighted",
    "with staleness": "--merge ema:0.5+staleness:half-life=20",
    "with confidence": "--merge ema:0.5+confidence:g=2",
    "end game, 8 rounds": "--end-game rounds=8",
    "ddp": "--protocol ddp",
    "ddp, 1 %, nothing kept": "--protocol ddp:feedback=none --codec topk:1%+int8",
    "ddp, 1 %, ef": "--protocol ddp --codec topk:1%+int8",
    "ddp, 1 %, ef21": "--protocol ddp:feedback=ef21 --codec topk:1%+int8",
    "ddp, 1 %, dgc": "--protocol ddp:feedback=dgc --codec topk:1%+int8",
    "outer nesterov": "--outer nesterov",
    "outer nesterov, lr 1, mu 0.5": "--outer nesterov:lr=1,mu=0.5",
    "outer noloco": "--outer noloco",
    "outer noloco, a 1, mu 0.3": "--outer noloco:a=1,gamma=1,mu=0.3",
    "outer delayed": "--outer delayed",
    "outer delayed, lr 1, mu 0.5": "--outer delayed:lr=1,mu=0.5",
    "diloco": "--protocol diloco",
    "diloco, lr 1, mu 0.5": "--protocol diloco:lr=1,mu=0.5",
    "diloco, plain mean": "--protocol diloco:lr=1,mu=0",
    "diloco, plain mean, int8": "--protocol diloco:lr=1,mu=0 --codec int8",
    "diloco, plain mean, int4": "--protocol diloco:lr=1,mu=0 --codec int4",
    "diloco, plain mean, 5 %, nothing kept": "--protocol diloco:lr=1,mu=0,feedback=none --codec topk:5%+int8",
    "diloco, plain mean, 5 %, ef": "--protocol diloco:lr=1,mu=0 --codec topk:5%+int8",
    "diloco, lr 1, mu 0.5, 5 %, ef": "--protocol diloco:lr=1,mu=0.5 --codec topk:5%+int8",
    "choco, ring, topk": "--protocol choco --topology ring --codec topk:0.1 --merge-every 0.125",
    "choco, ring, int8": "--protocol choco --topology ring --codec int8",
    "pairwise, ring": "--topology ring",
    "low rank 4": "--codec lowrank:4",
    "low rank 16": "--codec lowrank:16 --merge-every 0.25",
    "all data in one peer": "--peers 1",
}

# Sixteen merges an epoch; the horizon of the learning rate is what each protocol does best with.
SLOW = "--peers 4 --chaos slow=p03*4 --target test_acc=0.86 --eval-every 0"
SLOW_PEER = {
    "pairwise, ideal": SLOW + " --net ideal --epochs 3 --merge-every 0.0625",
    "ddp, ideal": SLOW + " --net ideal --epochs 3 --protocol ddp",
    "ddp, ideal, 2 epochs": SLOW + " --net ideal --epochs 2 --protocol ddp",
    "pairwise, ideal, 20 epochs": SLOW + " --net ideal --epochs 20",
    "ddp, ideal, 20 epochs": SLOW + " --net ideal --epochs 20 --protocol ddp",
    "pairwise, lan": SLOW + " --net lan --epochs 3 --merge-every 0.0625",
    "ddp, lan": SLOW + " --net lan --epochs 3 --protocol ddp",
}

CONVERGE = "--peers 8 --epochs 60 --schedule constant"
CONVERGENCE = {
    "until converged": CONVERGE + " --until-converged",
    "not stopped": CONVERGE,
    "one peer cut off": CONVERGE + " --until-converged --chaos partition=p03@5%",
}


def merged_flags(changes):
    """The reference's flags with those of `changes` put in their place."""
    flags = {}
    for text in (REFERENCE, changes):
        words, i = text.split(), 0
        while i < len(words):
            has_value = i + 1 < len(words) and not words[i + 1].startswith("--")
            flags[words[i]] = words[i + 1] if has_value else None
            i += 2 if has_value else 1
    return [word for flag, value in flags.items() for word in (flag, value) if word is not None]


def is_complete(result):
    return result.exists() and json.loads(result.read_text())["verdict"] != "interrupted"


def run(options, name, changes, seed):
    folder = options.out / (name.replace(", ", "-").replace(" ", "-") + f"-s{seed}")
    result = folder / "result.json"
    if folder.exists() and not is_complete(result):
        shutil.rmtree(folder)  # interrupted: begin again
    if not result.exists():
        command = [options.binary, "sim", *merged_flags(changes), "--seed", str(seed),
                   "--run", str(folder), "--quiet"]
        print("+", " ".join(command), file=sys.stderr, flush=True)
        done = subprocess.run(command, stdout=subprocess.DEVNULL)
        if not result.exists():
            sys.exit(f"reference.py: run '{name}' left no result.json (exit {done.returncode})")
    return json.loads(result.read_text()), folder


def chosen(options, table):
    return {name: flags for name, flags in table.items() if not options.only or name in options.only}


def refuse_unknown(options):
    known = {**POOLS, **SLOW_PEER, **CONVERGENCE}
    for name in options.only:
        if name not in known:
            sys.exit(f"reference.py: no pool is called '{name}'; names are parted by ';'")


def pool_table(options):
    rows = chosen(options, POOLS)
    if not rows:
        return
    print("| pool | mean | worst | averaged model | MB sent | merges | wall s |")
    print("|---|---|---|---|---|---|---|")
    for name, flags in rows.items():
        results = [run(options, name, flags, seed)[0] for seed in options.seeds]

        def mean(key):
            return statistics.fmean(r[key] for r in results)

        worst = min(r["test_acc_min"] for r in results)
        print(f"| {name} | {100 * mean('test_acc_mean'):.2f} | {100 * worst:.2f} "
              f"| {100 * mean('test_acc_averaged_model'):.2f} | {mean('payload_bytes') / 1e6:.0f} "
              f"| {mean('merges'):.0f} | {mean('wall_s'):.1f} |", flush=True)


def slow_peer_table(options):
    rows = chosen(options, SLOW_PEER)
    if not rows:
        return
    print("\n| one slow peer of 4 | virtual s to 86 % |\n|---|---|")
    for name, flags in rows.items():
        results = [run(options, "slow " + name, flags, seed)[0] for seed in options.seeds]
        times = [r.get("target_reached_s") for r in results]
        text = ", ".join("missed" if t is None else f"{t:.3f}" for t in times)
        print(f"| {name} | {text} |", flush=True)


def validation_curve(folder):
    """Mean test loss over the peers after each whole epoch."""
    losses = {}
    for line in open(folder / "events.jsonl", encoding="utf-8"):
        event = json.loads(line)
        if event["ev"] == "eval.finished" and "loss" in event:
            losses.setdefault(event["peer"], []).append(event["loss"])
    shortest = min(len(series) for series in losses.values())
    return [statistics.fmean(series[i] for series in losses.values()) for i in range(shortest)]


def convergence_table(options):
    rows = chosen(options, CONVERGENCE)
    if not rows:
        return
    print("\n| run | epochs trained | lowest loss after epoch | ended |\n|---|---|---|---|")
    for name, flags in rows.items():
        for seed in options.seeds:
            result, folder = run(options, name, flags, seed)
            curve = validation_curve(folder)
            trained = 0.9 if "--until-converged" in flags else 1.0  # the rest judges models
            epochs = [p["samples"] / (trained * p["shard"]) for p in result["per_peer"]]
            print(f"| {name}, seed {seed} | {statistics.median(epochs):.1f} | {curve.index(min(curve)) + 1} "
                  f"| {result.get('reason', 'after its epochs')} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/ci/hearsay")
    parser.add_argument("--out", type=pathlib.Path, default="runs/reference")
    parser.add_argument("--only", type=lambda text: text.split(";"), default=[])
    parser.add_argument("--seeds", type=lambda text: [int(s) for s in text.split(",")],
                        default=[0, 1, 2])
    options = parser.parse_args()
    refuse_unknown(options)
    options.out = pathlib.Path(options.out)
    options.out.mkdir(parents=True, exist_ok=True)
    pool_table(options)
    slow_peer_table(options)
    convergence_table(options)


if __name__ == "__main__":
    main()

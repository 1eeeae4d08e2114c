#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference pool on a bad network beside a good one: a fifth of all frames lost, a fifth late by up to a
tenth of a second (an epoch takes 0.12), a fifth doubled.

    experiments/studies/loss.py --binary build/ci/hearsay --out runs/loss [--seeds 0,1,2] [--epochs 25]
                                [--only WORD,WORD] [--jobs 2]

Prints, for every codec, mean accuracy without and with these faults, the difference in points, merges and
how many were refused. Exits 1 where a difference is worse than --most (0.3 points). Runs that already have a
result.json are not repeated.
"""
import argparse
import concurrent.futures
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

POOL = ("--peers 16 --batch 32 --optimizer sgd:lr=0.05,momentum=0.9,clip=1 --schedule cosine "
        "--model mlp:256,128 --data fashion-mnist --eval-every 0 --threads 1").split()
FAULTS = "--chaos drop=20% --chaos reorder=20% --chaos duplicate=20%".split()
TOPK = "--codec topk:0.1+int8 --merge-every 0.5,mode=steps --merge "
CASES = {"dense": "--codec raw", "topk, ema:0.5": TOPK + "ema:0.5", "topk, ema:0.9": TOPK + "ema:0.9",
         "mirrored": "--codec blocks:0.25+int4+mirror --merge-every 0.5,mode=steps",
         "preset wire-20x": "--codec blocks:0.25+auto+mirror --merge-every 0.6,mode=steps --outer noloco",
         "lossless": "--codec lossless"}


def flags():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--epochs", default="25")
    parser.add_argument("--only", default="", help="words of the cases to run")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, one thread each")
    parser.add_argument("--most", type=float, default=0.3, help="points that faults may cost")
    return parser.parse_args()


def run(options, name, is_bad, seed):
    network = "bad" if is_bad else "good"
    words = name.replace(",", "").replace(":", "").replace(" ", "-")
    folder = options.out / f"{words}-e{options.epochs}-{network}-s{seed}"
    result = folder / "result.json"
    if not result.exists():
        shutil.rmtree(folder, ignore_errors=True)  # interrupted: begin again
        command = [options.binary, "sim", *POOL, "--epochs", options.epochs, *CASES[name].split(),
                   *(FAULTS if is_bad else []), "--seed", str(seed), "--run", str(folder), "--quiet",
                   "--check"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0 or not result.exists():
            sys.exit(f"loss.py: exit {done.returncode} of: {' '.join(command)}\n{done.stderr[-500:]}")
    return json.loads(result.read_text())


def main():
    options = flags()
    words = [word for word in options.only.split(",") if word]
    names = [name for name in CASES if not words or any(word in name for word in words)]
    seeds = [int(seed) for seed in options.seeds.split(",")]
    options.out.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {(name, bad, seed): pool.submit(run, options, name, bad, seed)
                for name in names for seed in seeds for bad in (False, True)}
        print("| codec | good network | bad network | points | merges | on the bad one | refused there |\n"
              "|---|---|---|---|---|---|---|", flush=True)
        worst = 0.0
        for name in names:
            good, bad = ({key: statistics.fmean(jobs[name, is_bad, seed].result()[key] for seed in seeds)
                          for key in ("test_acc_mean", "merges", "merges_refused")}
                         for is_bad in (False, True))
            points = 100 * (bad["test_acc_mean"] - good["test_acc_mean"])
            worst = min(worst, points)
            print(f"| {name} | {100 * good['test_acc_mean']:.2f} | {100 * bad['test_acc_mean']:.2f} "
                  f"| {points:+.2f} | {good['merges']:.0f} | {bad['merges']:.0f} "
                  f"| {bad['merges_refused']:.0f} |", flush=True)
    return 1 if worst < -options.most else 0


if __name__ == "__main__":
    sys.exit(main())

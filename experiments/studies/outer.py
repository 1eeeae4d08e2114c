#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Outer optimisers, published copies and low rank on the preset `digits`: accuracy and bytes.

    experiments/studies/outer.py --binary build/ci/hearsay [--seeds 0,1,2,3,4] [--only "NAME;NAME"]

Half a minute of one core for all. Differences between rows are of the same seeds.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile

CHOCO = "--protocol choco --topology ring"
POOLS = {
    "pairwise": "",
    "nesterov": "--outer nesterov",
    "nesterov, lr 1, mu 0.5": "--outer nesterov:lr=1,mu=0.5",
    "noloco": "--outer noloco",
    "noloco, a 1": "--outer noloco:a=1,gamma=0.7,mu=0.5",
    "noloco, no momentum": "--outer noloco:mu=0",
    "noloco, int8": "--outer noloco --codec int8",
    "noloco, topk": "--outer noloco --codec topk:0.1+mirror",
    "delayed": "--outer delayed",
    "delayed, lr 1, mu 0.5": "--outer delayed:lr=1,mu=0.5",
    "diloco": "--protocol diloco",
    "diloco, lr 1, mu 0.5": "--protocol diloco:lr=1,mu=0.5",
    "diloco, plain mean": "--protocol diloco:lr=1,mu=0",
    "ddp": "--protocol ddp",
    "ring": "--topology ring",
    "ring, often": "--topology ring --merge-every 0.125",
    "ring, often, topk": "--topology ring --merge-every 0.125 --codec topk:0.1+mirror",
    "choco, topk": CHOCO + " --merge-every 0.125 --codec topk:0.1",
    "choco, topk, int8": CHOCO + " --merge-every 0.125 --codec topk:0.1+int8",
    "choco, topk, gamma 0.2": "--protocol choco:gamma=0.2 --topology ring --merge-every 0.125 "
                              "--codec topk:0.1",
    "choco, randk": CHOCO + " --merge-every 0.125 --codec randk:0.1",
    "choco, int8": CHOCO + " --codec int8",
    "choco, int4": CHOCO + " --codec int4",
    "choco, int8, 5 % lost": CHOCO + " --codec int8 --chaos drop=5%",
    "ring, 5 % lost": "--topology ring --chaos drop=5%",
    "low rank 1": "--codec lowrank:1",
    "low rank 4": "--codec lowrank:4",
    "low rank 4, often": "--codec lowrank:4 --merge-every 0.25",
    "low rank 16": "--codec lowrank:16",
    "topk, often": "--codec topk:0.1+mirror --merge-every 0.25",
    "blocks, often": "--codec blocks:0.1+mirror --merge-every 0.25",
}


def result_of(binary, flags, seed, folder):
    command = [binary, "sim", "--preset", "digits", "--eval-every", "0", "--seed", str(seed), "--json",
               "--quiet", "--run", f"{folder}/run", *flags.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--binary", required=True)
    options.add_argument("--seeds", default="0,1,2,3,4")
    options.add_argument("--only", default="", help="names of pools, joined by ';'")
    given = options.parse_args()
    wanted = [name for name in given.only.split(";") if name] or list(POOLS)
    for name in wanted:
        if name not in POOLS:
            sys.exit(f"--only: there is no pool '{name}'; there are {'; '.join(POOLS)}")
    seeds = [int(seed) for seed in given.seeds.split(",")]
    print("| pool | flags | mean | worst | MB |\n|---|---|---|---|---|")
    for name in wanted:
        results = []
        for seed in seeds:
            with tempfile.TemporaryDirectory() as folder:
                results.append(result_of(given.binary, POOLS[name], seed, folder))
        mean = statistics.mean(100 * r["test_acc_mean"] for r in results)
        worst = statistics.mean(100 * r["test_acc_min"] for r in results)
        bytes_mean = statistics.mean(r["payload_bytes"] for r in results) / 1e6
        flags = POOLS[name] or "none"
        print(f"| {name} | `{flags}` | {mean:.2f} | {worst:.2f} | {bytes_mean:.1f} |", flush=True)


if __name__ == "__main__":
    main()

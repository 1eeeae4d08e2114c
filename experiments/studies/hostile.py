#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two of ten peers are hostile: what each attack does to the honest ones under each merge rule.

    experiments/studies/hostile.py --binary build/ci/hearsay --out runs/hostile [--seeds 0,1,2]
                                   [--attacks NAME,NAME] [--rules NAME,NAME] [--splits iid,dirichlet:0.3]

Prints one table a split: mean accuracy of the eight honest peers under each rule without attack, and by
how many points each attack lowers it. Runs that already have a result.json are not repeated.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

POOL = ("--peers 10 --epochs 10 --batch 32 --optimizer sgd:lr=0.05,momentum=0.9,clip=1 --schedule cosine "
        "--model mlp:256,128 --merge-every 0.25 --eval-every 0").split()
HOSTILE = ("p08", "p09")
HONEST = range(8)

RULES = {
    "defaults": "ema:0.5",
    "+norm-clip": "ema:0.5+norm-clip",
    "+cosine-gate": "ema:0.5+cosine-gate:0",
    "+gate": "ema:0.5+gate:kappa=1",
    "median": "median:b=5",
    "trimmed-mean": "trimmed-mean:b=5,f=2",
    "krum": "krum:b=5,f=2",
}
ATTACKS = {
    "none": None,
    "NaN": "nan={}",
    "x 1e6": "scale={}*1e6",
    "sign flip": "sign-flip={}",
    "noise": "noise={}*1",
    "stale": "replay-stale={}@20%",
    "drift 0.1": "drift={}*0.1",
    "labels": "label-flip={}",
    "drift 0.03": "drift={}*0.03",
    "drift 0.3": "drift={}*0.3",
}


def words(text):
    return text.split(",")


def run(options, split, rule, attack, seed):
    name = "-".join((split, rule, attack, f"s{seed}")).replace(" ", "").replace(":", "")
    folder = options.out / name
    result = folder / "result.json"
    if not result.exists():
        command = [options.binary, "sim", *POOL, "--split", split, "--merge", RULES[rule],
                   "--data", options.data, "--threads", str(options.threads), "--seed", str(seed), "--run",
                   str(folder), "--quiet"]
        if ATTACKS[attack]:
            for peer in HOSTILE:
                command += ["--chaos", ATTACKS[attack].format(peer)]
        print("+", " ".join(command), file=sys.stderr, flush=True)
        done = subprocess.run(command, stdout=subprocess.DEVNULL)
        if not result.exists():
            sys.exit(f"hostile.py: {name} left no result.json (exit {done.returncode})")
    peers = json.loads(result.read_text())["per_peer"]
    return 100 * statistics.fmean(peers[i]["test_acc"] or 0.0 for i in HONEST)


def cell(options, split, rule, attack):
    values = [run(options, split, rule, attack, seed) for seed in options.seeds]
    if attack == "none":
        return f"{statistics.fmean(values):.2f}"
    free = [run(options, split, rule, "none", seed) for seed in options.seeds]
    return f"{statistics.fmean(values) - statistics.fmean(free):+.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=lambda text: [int(word) for word in words(text)], default=[0])
    parser.add_argument("--splits", type=words, default=["iid", "dirichlet:0.3"])
    parser.add_argument("--attacks", type=words, default=list(ATTACKS))
    parser.add_argument("--rules", type=words, default=list(RULES))
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for split in options.splits:
        print(f"\n| {split} | " + " | ".join(options.attacks) + " |")
        print("|---|" + "---|" * len(options.attacks))
        for rule in options.rules:
            cells = [cell(options, split, rule, attack) for attack in options.attacks]
            print(f"| {rule} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

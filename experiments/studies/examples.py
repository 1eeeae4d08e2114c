#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What becomes of single examples: passed on, left out, put in quarantine; and models that are traded.

    experiments/studies/examples.py --binary build/ci/hearsay --out runs/examples [--seeds 0,1,2]
                                    [--tables passing,noise,retire,trade] [--rows NAME,NAME]

The reference pool of the README (16 peers, 25 epochs, mlp:256,128, Fashion-MNIST) with one thing changed.
Prints a table each: mean and spread of the mean accuracy, bytes sent, visits (examples in mini-batches).
Runs that already have a result.json are not repeated; a run is about a minute of one core.

passing  Dirichlet 0.1, 32 examples a merge by every rule: all rows but the first send the same bytes
noise    iid, a tenth of the labels wrong, without and with quarantine: share found, precision
retire   iid, without and with retirement: visits, accuracy, accuracy on what was retired
trade    Dirichlet 0.1: merging alone, models traded, examples passed on; bytes as they come
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

POOL = ("--peers 16 --epochs 25 --batch 32 --optimizer sgd:lr=0.05,momentum=0.9,clip=1 --schedule cosine "
        "--model mlp:256,128 --merge-every 1 --eval-every 0 --data fashion-mnist --device cpu").split()
SKEWED = "--split dirichlet:0.1"

TABLES = {
    "passing": {
        "none": SKEWED,
        "random": SKEWED + " --share hard:32,by=random",
        "sender's lowest": SKEWED + " --share hard:32,by=sender",
        "receiver's lowest": SKEWED + " --share hard:32,by=receiver",
        "by class": SKEWED + " --share hard:32,by=classes",
        "novel": SKEWED + " --share hard:32,by=novel",
        "reducible loss": SKEWED + " --share hard:32,by=rho",
        "signed, +1": SKEWED + " --cluster agglo --share hard:32,by=signed,sign=1",
        "signed, 0": SKEWED + " --cluster agglo --share hard:32,by=signed,sign=0",
        "signed, -1": SKEWED + " --cluster agglo --share hard:32,by=signed,sign=-1",
        "random, copies": SKEWED + " --share hard:32,by=random,mode=copy",
    },
    "noise": {
        "clean labels": "--split iid",
        "believed": "--split iid+noise:10%",
        "quarantine": "--split iid+noise:10% --quarantine hard:every=1",
        "quarantine, wide": "--split iid+noise:10% --quarantine hard:every=1,confidence=0.2,spread=0.2",
        "four models": "--split iid+noise:10% --quarantine hard:every=1,models=4",
        "quarantine, clean": "--split iid --quarantine hard:every=1",
    },
    "retire": {
        "all": "--split iid",
        "unlike models": "--split iid --retire agreed",
        "any models": "--split iid --retire agreed:alike=1,every=2",
        "any, early": "--split iid --retire agreed:alike=1,every=1,retire=25%",
        "hard sampling": "--split iid --sampling hard",
    },
    "trade": {
        "merging": SKEWED,
        "models 10 %": SKEWED + " --trade models:10%",
        "models 30 %": SKEWED + " --trade models:30%",
        "models always": SKEWED + " --trade models:100%,horizon=1",
        "examples": SKEWED + " --share hard:32,by=random",
        "examples, models 10 %": SKEWED + " --share hard:32,by=random --trade models:10%",
    },
}


def words(text):
    return text.split(",")


def run(options, table, row, seed):
    name = "".join(c if c.isalnum() else "-" for c in f"{table}-{row}") + f"-s{seed}"
    folder = options.out / name
    result = folder / "result.json"
    if not result.exists():
        command = [options.binary, "sim", *POOL, *TABLES[table][row].split(), "--seed", str(seed),
                   "--threads", str(options.threads), "--run", str(folder), "--quiet"]
        print("+", " ".join(command), file=sys.stderr, flush=True)
        done = subprocess.run(command, stdout=subprocess.DEVNULL)
        if not result.exists():
            sys.exit(f"examples.py: {name} left no result.json (exit {done.returncode})")
    return json.loads(result.read_text())


def retired_accuracy(result):
    """Of all that were retired in the pool, the share that the models had right at their last look."""
    pairs = [(peer["examples_retired"], peer["retired_acc"]) for peer in result["per_peer"]
             if peer.get("examples_retired")]
    count = sum(number for number, _ in pairs)
    return sum(number * share for number, share in pairs) / count if count else None


def cells_of(results):
    """The columns of one row, means over seeds."""
    accuracy = [100 * result["test_acc_mean"] for result in results]
    mean = statistics.fmean
    cells = [f"{mean(accuracy):.2f}",
             f"{statistics.stdev(accuracy):.2f}" if len(accuracy) > 1 else "-",
             f"{100 * mean(result['test_acc_averaged_model'] for result in results):.2f}",
             f"{mean(result['wire_bytes'] for result in results) / 2**20:.1f}",
             f"{mean(result['example_bytes'] for result in results) / 2**20:.1f}",
             f"{mean(result['samples'] for result in results) / 1e6:.3f}"]
    retired = [retired_accuracy(result) for result in results]
    found = "-"
    if "wrong_labels" in results[0]:
        wrong = sum(result["wrong_labels"] for result in results)
        hit = sum(result["wrong_quarantined"] for result in results)
        all_found = sum(result["examples_quarantined"] for result in results)
        found = f"{100 * hit / wrong:.1f} / {100 * hit / max(1, all_found):.1f}"
    cells.append(found)
    known = [share for share in retired if share is not None]
    cells.append(f"{100 * mean(known):.2f}" if known else "-")
    return cells


HEAD = ["acc %", "sd", "averaged %", "wire MiB", "examples MiB", "M visits", "found / right %",
        "acc retired %"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=lambda text: [int(word) for word in words(text)], default=[0])
    parser.add_argument("--tables", type=words, default=list(TABLES))
    parser.add_argument("--rows", type=words, default=None)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for table in options.tables:
        if table not in TABLES:
            parser.error(f"--tables: there is no {table}; known: {', '.join(TABLES)}")
        print(f"\n| {table} | " + " | ".join(HEAD) + " |")
        print("|---|" + "---|" * len(HEAD))
        for row in TABLES[table]:
            if options.rows is not None and row not in options.rows:
                continue
            results = [run(options, table, row, seed) for seed in options.seeds]
            print(f"| {row} | " + " | ".join(cells_of(results)) + " |", flush=True)


if __name__ == "__main__":
    main()

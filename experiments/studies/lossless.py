#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes of a lossless message against the learning rate: how many bf16 weights change between two merges.

    experiments/studies/lossless.py --binary build/ci/hearsay --out runs/lossless [--seeds 0] [--epochs 3]
                                    [--rates 1e-2,1e-3,1e-4,1e-5,1e-6] [--jobs 2]

The reference pool at a constant rate, SGD with momentum and AdamW, sixteen merges an epoch. Prints, of the
messages of the last epoch, the mean share of the weights that a message says and its bytes, beside bf16 whole
and fp32; and what the whole run came to. Receivers check the digest of every message. Runs that already have
a result.json are not repeated.
"""
import argparse
import concurrent.futures
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

POOL = ("--peers 16 --batch 32 --schedule constant --model mlp:256,128 --data fashion-mnist --eval-every 0 "
        "--merge-every 0.0625,mode=steps --threads 1").split()
OPTIMIZERS = {"SGD": "sgd:lr={},momentum=0.9,clip=1", "AdamW": "adamw:lr={}"}


def flags():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rates", default="1e-2,1e-3,1e-4,1e-5,1e-6")
    parser.add_argument("--only", default="", help="optimisers, such as SGD")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, one thread each")
    return parser.parse_args()


def run(options, optimizer, rate, codec, seed):
    folder = options.out / f"{optimizer}-{rate}-{codec}-e{options.epochs}-s{seed}"
    if not (folder / "result.json").exists():
        shutil.rmtree(folder, ignore_errors=True)  # interrupted: begin again
        command = [options.binary, "sim", *POOL, "--epochs", str(options.epochs), "--codec", codec,
                   "--optimizer", OPTIMIZERS[optimizer].format(rate), "--seed", str(seed), "--run",
                   str(folder), "--quiet"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"lossless.py: exit {done.returncode} of: {' '.join(command)}\n{done.stderr[-500:]}")
    return folder


def messages(folder):
    """[(bytes, density)] of the messages of the last third of the run, refusals, and its result."""
    sent, refused = [], 0
    with open(folder / "events.jsonl", encoding="utf-8") as log:
        for line in log:
            if '"delta.sent"' in line:
                event = json.loads(line)
                sent.append((event["t_ns"], event["bytes"], event.get("density", 1.0)))
            elif '"merge.decided"' in line:
                refused += "cannot be read" in line
    last = max(t for t, _, _ in sent) * 2 / 3
    return [(size, share) for t, size, share in sent if t >= last], refused, \
        json.loads((folder / "result.json").read_text())


def main():
    options = flags()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    words = [word for word in options.only.split(",") if word]
    names = [name for name in OPTIMIZERS if not words or name in words]
    options.out.mkdir(parents=True, exist_ok=True)
    print("| optimiser | learning rate | changed, % | kB a message | times below bf16 | below fp32 | mean, % "
          "| unread |\n|---|---|---|---|---|---|---|---|", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {(o, r): [pool.submit(run, options, o, r, "lossless", seed) for seed in seeds]
                for o in names for r in options.rates.split(",")}
        for (optimizer, rate), runs in jobs.items():
            found = [messages(job.result()) for job in runs]
            size = statistics.fmean(size for each, _, _ in found for size, _ in each)
            share = statistics.fmean(share for each, _, _ in found for _, share in each)
            whole = max(size for each, _, _ in found for size, _ in each)  # an anchor
            mean = 100 * statistics.fmean(result["test_acc_mean"] for _, _, result in found)
            unread = sum(refused for _, refused, _ in found)
            print(f"| {optimizer} | {rate} | {100 * share:.2f} | {size / 1e3:.1f} | {whole / size:.1f} "
                  f"| {2 * whole / size:.1f} | {mean:.2f} | {unread} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

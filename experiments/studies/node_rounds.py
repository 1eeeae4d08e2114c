#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Node-rounds a second in the scenario with which Python simulators of gossip learning are tried.

    experiments/studies/node_rounds.py --binary build/ci/hearsay [--pairs 9]

16 nodes, 30 rounds of one local epoch and one push to a random other node, a perceptron of 64 hidden
units (4,810 parameters) on the 1,797 digits of 8x8 pixels that come with scikit-learn, 80 % of them for
training; a tenth of the messages is lost and a fifth of the nodes is off-line at any time. A message gets
through when neither happens, so 28 % are dropped. The data come from PyPI's scikit-learn package, fetched
once. Times are of whole processes and, beside them, of the run without starting and reading data.
"""
import argparse
import gzip
import json
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

NODES, ROUNDS, TEST_EVERY = 16, 30, 5
MEMBER = "sklearn/datasets/data/digits.csv.gz"


def write_idx(path, shape, values):
    head = struct.pack(">HBB", 0, 8, len(shape)) + struct.pack(f">{len(shape)}I", *shape)
    path.write_bytes(head + bytes(values))


def fetch_digits(folder):
    """The digits as IDX files: every fifth is for testing; pixels 0 .. 16 become 0 .. 255."""
    if (folder / "t10k-labels-idx1-ubyte").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder,
                    "scikit-learn"], check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        lines = gzip.decompress(wheel.read(MEMBER)).decode().split()
    rows = [[int(float(word)) for word in line.split(",")] for line in lines]
    parts = {"train": [row for i, row in enumerate(rows) if i % TEST_EVERY],
             "t10k": [row for i, row in enumerate(rows) if not i % TEST_EVERY]}
    for name, part in parts.items():
        pixels = [round(value * 255 / 16) for row in part for value in row[:64]]
        write_idx(folder / f"{name}-images-idx3-ubyte", (len(part), 8, 8), pixels)
        write_idx(folder / f"{name}-labels-idx1-ubyte", (len(part),), [row[64] for row in part])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("runs/digits-8x8"))
    options = parser.parse_args()
    fetch_digits(options.data)
    whole, inside, accuracies = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.pairs):
            run = f"{folder}/s{seed}"
            command = [options.binary, "sim", "--data", f"mnist:{options.data}", "--peers", str(NODES),
                       "--epochs", str(ROUNDS), "--model", "mlp:64", "--protocol", "push", "--merge-every",
                       "1,mode=shifted", "--chaos", "drop=28%", "--eval-every", "0", "--checkpoint-every",
                       "off", "--seed", str(seed), "--run", run, "--quiet", "--json"]
            begin = time.perf_counter()
            out = subprocess.run(command, capture_output=True, check=True)
            whole.append(time.perf_counter() - begin)
            result = json.loads(out.stdout)
            inside.append(result["wall_s"])
            accuracies.append(result["test_acc_mean"])
    for what, times in (("whole processes", whole), ("runs alone", inside)):
        median = statistics.median(times)
        print(f"{what}: median {1000 * median:.0f} ms ({1000 * min(times):.0f} to {1000 * max(times):.0f}), "
              f"{NODES * ROUNDS / median:,.0f} node-rounds a second")
    print(f"test accuracy {100 * statistics.mean(accuracies):.1f} % in the mean of {options.pairs} seeds")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our transport beside Open MPI's over TCP on this machine: the same inputs, rounds and checks.

    experiments/studies/wire.py --build build/ci [--pairs 5] [--mpirun-flags "--mca btl tcp,self"]

Both sides run in turns, so that both meet the same machine. Prints the median over the pairs of
each side's median, and of the ratio within a pair. Needs no second machine and no data.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

# operation, processes, values
CASES = (("swap", 2, 25_000_000), ("swap", 2, 1_000_000), ("swap", 2, 10_000),
         ("allreduce", 4, 1_000_000), ("allreduce", 4, 235_146))


def output_of(command):
    print("+", " ".join(map(str, command)), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"wire.py: exit {done.returncode} of: {' '.join(map(str, command))}")
    return done.stdout


def ours(options, op, processes, values):
    command = [options.build / "hearsay", "bench", "net", "--op", op, "--sizes", str(values),
               "--processes", str(processes), "--json"]
    return json.loads(output_of(command))["rows"][0]


def theirs(options, op, processes, values):
    command = [options.mpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
               "-n", str(processes), *options.mpirun_flags.split(),
               options.build / f"mpi_{op}", str(values)]
    return json.loads(output_of(command))


def compare(options, op, processes, values):
    pairs = []
    for i in range(options.pairs):
        sides = [ours, theirs] if i % 2 == 0 else [theirs, ours]
        row = {side: side(options, op, processes, values) for side in sides}
        pairs.append((row[ours], row[theirs]))
    for name, side in (("ours", 0), ("MPI's", 1)):
        wrong = sum(pair[side]["wrong"] for pair in pairs)
        if wrong:
            sys.exit(f"wire.py: {wrong} wrong values in {name} {op} of {values}")
    ratios = [mine["p50_us"] / other["p50_us"] for mine, other in pairs]
    same = all(mine["digest"] == other["digest"] for mine, other in pairs)
    times = [statistics.median(pair[side]["p50_us"] for pair in pairs) for side in (0, 1)]
    print(f"| {op} | {processes} | {values:,} | {times[0] / 1e3:.2f} | {times[1] / 1e3:.2f} "
          f"| {statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} "
          f"| {'yes' if same else 'no'} |", flush=True)
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/ci"))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--mpirun-flags", default="--mca btl tcp,self")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[],
                        help="operations, such as swap")
    options = parser.parse_args()
    print("| operation | processes | values | ours, ms | MPI, ms | ours / MPI | over the pairs "
          "| same digest |")
    print("|---|---|---|---|---|---|---|---|")
    cases = [case for case in CASES if not options.only or case[0] in options.only]
    return 0 if all([compare(options, *case) for case in cases]) else 1


if __name__ == "__main__":
    sys.exit(main())

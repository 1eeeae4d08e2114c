#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are our trees those of SciPy? 100 random inputs for each of four linkages, merge by merge.

python3 -B experiments/studies/linkage_twins.py --binary build/ci/linkage (a few seconds). One line a linkage:
inputs, merges, the greatest relative difference of heights; exit status 1 when a merge differs. Without SciPy
(pip install scipy) there is nothing to compare with: says so and exits 77, which CTest counts as skipped.
Ours takes squared distances under Ward's linkage and gives squared heights; SciPy's takes and gives roots.
"""

import argparse
import pathlib
import subprocess
import sys

INPUTS = 100
PEERS = 40  # at most
TOLERANCE = 1e-9  # relative, of a height


def inputs(numpy, pdist):
    """Points in 1 to 8 dimensions, so that trees are deep and shallow."""
    for seed in range(INPUTS):
        rng = numpy.random.default_rng(seed)
        yield pdist(rng.standard_normal((2 + seed % (PEERS - 1), 1 + seed % 8)))


def our_trees(binary, method, cases, numpy, num_obs):
    text = "".join(f"{num_obs(case)} {' '.join(repr(float(d)) for d in case)}\n" for case in cases)
    done = subprocess.run([binary, method], input=text, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        sys.exit(f"linkage_twins: {binary} {method} exited {done.returncode}: {done.stderr.strip()}")
    rows = numpy.array([[float(v) for v in line.split()] for line in done.stdout.splitlines()])
    at = 0
    for case in cases:
        merges = num_obs(case) - 1
        yield rows[at:at + merges]
        at += merges
    if at != len(rows):
        sys.exit(f"linkage_twins: {len(rows)} merges printed, {at} expected")


def compare(binary, method, cases, numpy, hierarchy, num_obs):
    """Merges seen, merges that differ, greatest relative difference of heights."""
    squared = method == "ward"
    trees = our_trees(binary, method, [case**2 for case in cases] if squared else cases, numpy, num_obs)
    merges = wrong = 0
    worst = 0.0
    for case, ours in zip(cases, trees):
        theirs = hierarchy.linkage(case, method)
        heights = numpy.sqrt(ours[:, 2]) if squared else ours[:, 2]
        differs = numpy.abs(heights - theirs[:, 2]) / theirs[:, 2]
        same = (ours[:, [0, 1, 3]] == theirs[:, [0, 1, 3]]).all(axis=1) & (differs <= TOLERANCE)
        merges += len(ours)
        wrong += int((~same).sum())
        worst = max(worst, float(differs.max()))
    return merges, wrong, worst


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True, help="the program linkage of the build")
    binary = parser.parse_args().binary
    if not binary.is_file():
        parser.error(f"{binary} is not there; build it: ninja -C build/ci linkage")
    try:
        import numpy
        from scipy.cluster import hierarchy
        from scipy.spatial.distance import num_obs_y, pdist
    except ImportError as error:
        print(f"linkage_twins: skipped: {error} (pip install scipy)")
        return 77
    cases = list(inputs(numpy, pdist))
    failed = False
    for method in ("single", "complete", "average", "ward"):
        merges, wrong, worst = compare(binary.resolve(), method, cases, numpy, hierarchy, num_obs_y)
        failed = failed or wrong > 0
        print(f"{method}: {len(cases)} inputs, {merges} merges, {wrong} differ; heights within {worst:.1e}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

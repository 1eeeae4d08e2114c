#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Live pools on a busy machine, with peers killed, restarted, frozen and cut off: each is made again.

Every event, every digest after a merge and every last model must be equal. Says how long both took.
"""

import json
import subprocess
import sys
import time

import trial as trials

BUSY = "while True: pass"
MERGES = 300


def launch(trial, options, seed, seconds):
    run = trial.folder / f"run-{seed}"
    faults = [f"kill=p01@{0.2 * seconds:.1f}s", f"kill=p02@{0.3 * seconds:.1f}s",
              f"stall=p03@{0.4 * seconds:.1f}s..{0.4 * seconds + min(5, 0.4 * seconds):.1f}s",
              f"partition=p04@{0.3 * seconds:.1f}s..{0.5 * seconds:.1f}s", "drop=0.5%"]
    words = ["launch", "-n", "8", "--preset", "digits", "--epochs", "1000000", "--eval-every", "0",
             "--schedule", "constant", "--merge-every", "2", "--time", f"{seconds}s", "--restarts", "1",
             "--seed", str(seed), "--quiet", "--log-digests", "on", "--run", str(run)]
    for fault in faults:
        words += ["--chaos", fault]
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(options.busy)]
    try:
        begin = time.monotonic()
        done = subprocess.run([options.hearsay, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              cwd=trial.folder, timeout=seconds + 60)
        return run, done.returncode, time.monotonic() - begin
    finally:
        for each in others:
            each.kill()


def work(trial, options):
    seconds = 4 if options.quick else options.seconds
    options.busy = 0 if options.quick else 2
    for seed in range(options.seed, options.seed + (1 if options.quick else options.seeds)):
        run, code, took = launch(trial, options, seed, seconds)
        out = subprocess.run([options.hearsay, "replay", str(run), "--json"], capture_output=True,
                             timeout=20 * seconds + 60)
        found = json.loads(out.stdout or "{}")
        journals = sum(path.stat().st_size for path in run.glob("peers/*/inputs.*.bin"))
        is_equal = found.get("equal") and found.get("complete") and not found["damage"]
        trial.check(code == 0 and out.returncode == 0 and is_equal
                    and found["merges"] >= (MERGES if not options.quick else 50)
                    and found["models_equal"] == found["models_compared"] == 8,
                    f"seed {seed}: {found.get('merges')} merges made again, {found.get('digests')} digests "
                    f"and {found.get('models_equal')} of 8 models equal; "
                    f"{journals / max(1, found['merges']):.0f} bytes of journal a merge")
        trial.say(f"         the run took {took:.1f} s beside {options.busy} busy processes, its replay "
                  f"{found['wall_s']:.1f} s")
        for line in found["differences"] + [each for peer in found["peers"] for each in peer["damage"]]:
            trial.say(f"         {line[:300]}")


if __name__ == "__main__":
    trials.run(__doc__, work, seconds=15, seeds=5)

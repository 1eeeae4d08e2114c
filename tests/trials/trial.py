# SPDX-License-Identifier: Apache-2.0
"""What every trial is made of: arguments, a folder, checks that print their figures, a verdict."""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

TAIL_LINES = 6


def parse(doc, seconds, seeds=1):
    """usage: TRIAL HEARSAY [--quick] [--seconds S, where it has spans] [--seeds N] [--keep]"""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hearsay", nargs="?", default=os.environ.get("HEARSAY_BINARY"),
                        help="the program; or in HEARSAY_BINARY")
    parser.add_argument("--quick", action="store_true", help="small pools and short spans, for a test")
    if seconds is not None:
        parser.add_argument("--seconds", type=float, help=f"of one measured span (default {seconds:g})")
    parser.add_argument("--seeds", type=int, default=seeds, help=f"how many, from --seed on ({seeds})")
    parser.add_argument("--seed", type=int, default=0, help="the first one (0)")
    parser.add_argument("--keep", action="store_true", help="leave the runs where they are, and say where")
    options = parser.parse_args()
    if not options.hearsay:
        parser.error("name the hearsay binary, or set HEARSAY_BINARY")
    options.hearsay = os.path.abspath(options.hearsay)
    if seconds is not None:
        options.is_default_seconds = options.seconds is None
        options.seconds = seconds if options.seconds is None else options.seconds
    return options


class Trial:
    """Owns a folder and pools; whatever happens, no process of theirs is left behind."""

    def __init__(self, options):
        self.options = options
        self.seed = options.seed
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hearsay-trial-"))
        self.begun = time.monotonic()
        self.pools = []
        self.failures = []
        self.verdict = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for pool in self.pools:
            pool.close()
        if kind is not None and issubclass(kind, Failure):
            self.failures.append(str(error))
        broken = kind is not None and not issubclass(kind, Failure)
        if self.failures or broken:
            print(f"seed {self.seed}", flush=True)
            for pool in self.pools[-1:]:
                pool.print_tails(TAIL_LINES)
        if self.options.keep:
            print(f"runs are in {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        print(f"took     {time.monotonic() - self.begun:.1f} s", flush=True)
        if broken:
            return False
        self.verdict = "ok" if not self.failures else "failed: " + "; ".join(self.failures)
        print(f"verdict  {self.verdict}", flush=True)
        return True

    @property
    def exit_code(self):
        return 0 if self.verdict == "ok" else 1

    def say(self, text):
        print(text, flush=True)

    def check(self, is_met, text):
        """One line of figures, with what was demanded of them."""
        print(f"{'ok      ' if is_met else 'FAILED  '} {text}", flush=True)
        if not is_met:
            self.failures.append(text)
        return is_met

    def wait_until(self, condition, what, seconds):
        """Polls; a condition that is not met in time ends the trial."""
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise Failure(f"{what}: not within {seconds:g} s")
            time.sleep(0.02)
        return value


class Failure(Exception):
    """Something did not come about, and the trial cannot go on."""


def run(doc, work, seconds=None, seeds=1):
    """The whole of a trial script: work(trial, options)."""
    options = parse(doc, seconds, seeds)
    with Trial(options) as trial:
        work(trial, options)
    sys.exit(trial.exit_code)

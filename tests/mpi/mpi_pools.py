# SPDX-License-Identifier: Apache-2.0
"""Pools under mpirun, from outside. Nothing of a job outlives its test, nor do its session files."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

import harness  # noqa: E402
import pools  # noqa: E402

MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none")
JOB_TIMEOUT_S = 60


def why_not():
    """Why no job can be started here; empty when one can."""
    if shutil.which("mpirun") is None:
        return "mpirun is not installed"
    if b"built without MPI" in pathlib.Path(harness.binary()).read_bytes():
        return "hearsay is built without MPI"
    return ""


class MpiTest(pools.PoolTest):
    """A test in an empty folder that also holds the session files of Open MPI."""

    def setUp(self):
        if reason := why_not():
            raise unittest.SkipTest(reason)
        super().setUp()

    def command(self, *args, ranks=4, train=()):
        return [*MPIRUN, "-n", str(ranks), *args, harness.binary(), "train", *map(str, train)]

    def start_job(self, command, env=None, **options):
        for stream in ("stdout", "stderr"):
            options.setdefault(stream, subprocess.PIPE)
        process = subprocess.Popen(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, start_new_session=True,
            env=harness.environment(self.folder, TMPDIR=str(self.folder), **(env or {})), **options)
        self.addCleanup(self.end, process)
        return process

    def run_job(self, *train, command=None, code=0, ranks=4, **options):
        """A job to its end, with nobody left; fails unless it ends with `code`, or one of several."""
        process = self.start_job(command or self.command(ranks=ranks, train=train), **options)
        out = self.finish(process, JOB_TIMEOUT_S)
        codes = code if isinstance(code, tuple) else (code,)
        self.assertIn(out.returncode, codes, out.stderr.decode())
        self.nobody_left(3)
        return out

    def begin_job(self, *train, ranks=4, run="run"):
        """Starts a job; returns its mpirun when all peers train."""
        process = self.start_job(self.command(ranks=ranks, train=(*train, "--run", run)))
        self.wait_until(lambda: self.all_train(run, ranks) or process.poll() is not None,
                        "all peers train")
        self.assertIsNone(process.poll(), "the job ended by itself")
        return process

    def in_folder(self):
        """Names of processes of this test: {pid: name}."""
        names = {}
        for pid in pools.processes_in(self.folder):
            try:
                names[pid] = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            except OSError:
                continue
        return names

    def check_table(self, text, lost):
        """The root-cause table names each of the lost once, with host, cause and log."""
        table = text[text.index("peers that died, first to last:"):].splitlines()
        for number, peer in enumerate(lost):
            self.assertRegex(table[1 + 2 * number],
                             rf"^ +\d+\.\d s  {peer} +{os.uname().nodename} +killed by SIGKILL +last: ")
            self.assertRegex(table[2 + 2 * number], rf"^ +log run/peers/{peer}/stderr\.log$")

    def check_survivors(self, lost, reasons=("finished",), run="run"):
        result = self.result_of(run)
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", len(lost)))
        for peer in result["per_peer"]:
            self.assertEqual(peer["alive"], peer["peer"] not in lost)
            if peer["alive"]:
                self.assertIn(peer["reason"], reasons)
                self.assertLess(peer["test_loss"], 10)
        return result

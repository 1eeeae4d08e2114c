#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk that fills up while a run is written: exit 1, one line, and a log that can be read."""

import os
import resource
import subprocess

import harness

LONG = ("--peers", "4", "--epochs", "60", "--quiet")
MODEL_BYTES = 17098 * 4


def limit_to(size):
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}


class DiskFullTest(harness.CliTest):
    def check_full(self, result, run, errno_text):
        self.assertEqual(result.stdout, b"")
        line = self.one_line(result)
        for part in (f"{run}/events.jsonl", errno_text, "--run"):
            self.assertIn(part, line)
        events = self.events_of(run)
        self.assertEqual(events[0]["ev"], "run.started")
        left = [name for name in harness.tree(self.folder / run) if ".tmp" in name]
        self.assertEqual(left, [])
        self.assertFalse((self.folder / run / "export").exists(), "a model of half a run")

    def test_a_file_size_limit_ends_the_run_with_a_readable_log(self):
        for size in (4000, 20000, 65536, 70000, 100000):
            with self.subTest(size=size):
                run = f"run{size}"
                result = self.sim(*LONG, "--run", run, code=1, **limit_to(size))
                self.check_full(result, run, "File too large")
                log = self.folder / run / "events.jsonl"
                self.assertLessEqual(log.stat().st_size, size)
                self.assertGreater(log.stat().st_size, size - 1000, "less kept than there was room")
                verdict = self.result_of(run)
                self.assertEqual((verdict["verdict"], verdict["exit_code"]), ("log failed", 1))

    def test_a_full_file_system_ends_the_run_with_a_readable_log(self):
        if os.geteuid() != 0:
            self.skipTest("mounting a small file system needs root")
        small = self.folder / "small"
        small.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)]
        try:
            mounted = subprocess.run(mount, capture_output=True, timeout=10).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            mounted = False
        if not mounted:
            self.skipTest("this system lets nobody mount a small file system")
        try:
            result = self.sim(*LONG, "--run", "small/run", code=1)
            self.check_full(result, "small/run", "No space left on device")
            self.assertGreater(len(self.events_of("small/run")), 50)
        finally:
            subprocess.run(["umount", str(small)], capture_output=True, timeout=10)

    def test_no_room_for_the_header_leaves_no_folder(self):
        result = self.hearsay(*harness.SMALL, *LONG, "--run", "run", **limit_to(500))
        self.assertIn(result.returncode, (1, 2))
        line = self.one_line(result)
        self.assertIn("run/run.json", line)
        self.assertIn("File too large", line)
        self.assertEqual(harness.tree(self.folder), {})

    def test_no_room_for_the_model_is_not_called_a_failure_of_the_log(self):
        result = self.sim("--peers", "2", "--epochs", "1", "--quiet", "--run", "run", code=1,
                          **limit_to(MODEL_BYTES // 2))
        line = self.one_line(result)
        self.assertIn("run/export/model.safetensors", line)
        self.assertIn("File too large", line)
        self.assertEqual([name for name in harness.tree(self.folder) if "model." in name], [])
        self.assertEqual(self.events_of("run")[-1]["ev"], "run.finished")
        self.assertNotIn("log", self.result_of("run")["verdict"])


if __name__ == "__main__":
    harness.main()

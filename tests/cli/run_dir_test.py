#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where a run is written, and what happens when it cannot be."""

import json
import os
import subprocess

import harness

QUICK = ("--peers", "2", "--epochs", "1", "--quiet")


class RunDirTest(harness.CliTest):
    def test_an_existing_folder_is_refused_and_untouched(self):
        self.write("mine/events.jsonl", "precious\n")
        self.write("mine/deep/notes", b"\x00\x01")
        line = self.refused_sim(("--run", "mine"), "run directory mine", "exists", "--run")
        self.assertIn("remove", line)

    def test_a_finished_run_is_refused_and_untouched(self):
        self.sim(*QUICK, "--run", "once")
        self.refused_sim(("--run", "once"), "once", "exists")
        self.refused_sim(("--run", "./once/"), "once", "exists")

    def test_a_file_in_the_way_is_refused(self):
        self.write("file", "x")
        self.refused_sim(("--run", "file"), "file", "exists")
        self.refused_sim(("--run", "file/below"), "file/below", "Not a directory")

    def test_an_unwritable_parent_is_refused(self):
        locked = self.folder / "locked"
        locked.mkdir()
        locked.chmod(0o555)
        if os.geteuid() == 0:
            self.skipTest("nothing is unwritable for root")
        self.refused_sim(("--run", "locked/run"), "locked/run", "Permission denied")

    def test_folders_on_the_way_are_made(self):
        self.sim(*QUICK, "--run", "a/b/c")
        self.assertTrue((self.folder / "a/b/c/result.json").is_file())

    def test_a_dry_run_writes_nothing(self):
        result = self.sim(*QUICK, "--dry-run", "--run", "dry")
        self.assertIn(b"parameters", result.stdout)
        self.assertEqual(harness.tree(self.folder), {})

    def test_a_run_leaves_its_four_parts_and_nothing_else(self):
        self.sim(*QUICK, "--run", "run")
        self.assertEqual(sorted(harness.tree(self.folder / "run")),
                         ["events.jsonl", "export", "export/model.json",
                          "export/model.safetensors", "result.json", "run.json"])

    def test_the_default_name_holds_preset_seed_and_time(self):
        result = self.sim(*QUICK, "--seed", "7")
        names = [path.name for path in (self.folder / "runs").iterdir() if not path.is_symlink()]
        self.assertEqual(len(names), 1)
        self.assertRegex(names[0], r"^digits-s7-\d{8}-\d{6}$")
        self.assertIn(names[0].encode(), result.stdout)
        header = json.loads((self.folder / "runs" / names[0] / "run.json").read_text())
        self.assertEqual((header["run"], header["seed"]), (names[0], 7))

    def test_latest_points_to_the_newest_run(self):
        latest = self.folder / "runs/latest"
        for name in ("one", "two"):
            self.sim(*QUICK, "--run", f"runs/{name}")
            self.assertTrue(latest.is_symlink())
            self.assertEqual(os.readlink(latest), name)
        self.assertEqual(sorted(os.listdir(self.folder / "runs")), ["latest", "one", "two"])

    def test_a_refused_run_leaves_latest_alone(self):
        self.sim(*QUICK, "--run", "runs/one")
        self.sim(*QUICK, "--run", "runs/two")
        self.refused_sim(("--run", "runs/one"), "exists")
        self.assertEqual(os.readlink(self.folder / "runs/latest"), "two")

    def test_somebody_elses_latest_is_left_alone(self):
        mine = self.write("runs/latest", "mine")
        self.sim(*QUICK, "--run", "runs/one")
        self.assertFalse(mine.is_symlink())
        self.assertEqual(mine.read_text(), "mine")

    def test_runs_started_at_once_get_folders_of_their_own(self):
        command = (*harness.SMALL, *QUICK)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        processes = [self.start(*command, **quiet) for _ in range(4)]
        self.assertEqual([process.wait(harness.TIMEOUT_S) for process in processes], [0] * 4)
        runs = [path for path in (self.folder / "runs").iterdir() if not path.is_symlink()]
        self.assertEqual(len(runs), 4, runs)
        digests = {self.result_of(path.relative_to(self.folder))["digest"] for path in runs}
        self.assertEqual(len(digests), 1)
        self.assertTrue((self.folder / "runs/latest/result.json").is_file())

    def test_the_largest_seed_is_written_alike_everywhere(self):
        seed = 2**64 - 1
        self.sim(*QUICK, "--seed", seed, "--run", "run")
        self.assertEqual(json.loads((self.folder / "run/run.json").read_text())["seed"], seed)
        self.assertEqual(self.events_of("run")[0]["seed"], seed)


if __name__ == "__main__":
    harness.main()

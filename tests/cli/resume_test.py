#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A simulation that was stopped or killed goes on and ends as if it had not been."""

import json
import os
import random
import shutil
import signal
import subprocess
import time

import harness

# About three seconds of work, so that a signal finds it running.
LONG = ("--peers", "5", "--epochs", "120", "--merge-every", "0.25", "--chaos", "drop=1%", "--chaos",
        "kill=p03@60%", "--compute", "jitter", "--net", "link:bandwidth=20Mb/s,latency=1ms,jitter=2ms",
        "--min-peers", "4")
OFTEN = ("--checkpoint-every", "50ms")
WALL_CLOCK = ("wall_s", "training_share")


class ResumeTest(harness.CliTest):
    def start_run(self, *args):
        process = self.start(*harness.SMALL, *args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
            process.communicate()

    def wait_for(self, what):
        deadline = time.monotonic() + harness.TIMEOUT_S
        while not what():
            self.assertLess(time.monotonic(), deadline, "never came")
            time.sleep(0.005)

    def checkpoints(self, run="run"):
        folder = self.folder / run / "ckpt"
        return sorted(p.name for p in folder.iterdir() if p.name.isdigit()) if folder.exists() else []

    def whole(self):
        self.sim(*LONG, "--quiet", "--run", "whole")
        return self.history("whole")

    def history(self, run):
        result = self.result_of(run)
        for key in WALL_CLOCK:
            del result[key]
        log = (self.folder / run / "events.jsonl").read_bytes()
        model = (self.folder / run / "export/model.safetensors").read_bytes()
        # Its header names the run; the values are the end of the file.
        return log.split(b"\n", 1)[1], result, model[-4 * 17098:]

    def resume(self, *args, code=0, run="run"):
        result = self.hearsay("sim", "--run", run, "--resume", "--quiet", *args)
        self.assertEqual(result.returncode, code, result.stderr.decode())
        return result.stderr.decode()

    def stop(self, process, number):
        process.send_signal(number)
        _, err = process.communicate(timeout=harness.TIMEOUT_S)
        return err.decode()

    def test_stops_by_signals_and_goes_on_to_the_same_end(self):
        whole = self.whole()
        process = self.start_run(*LONG, "--run", "run", "--checkpoint-every", "off")
        self.wait_for(lambda: (self.folder / "run/events.jsonl").exists())
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGINT, 130)):
            time.sleep(0.1)
            err = self.stop(process, number)
            self.assertEqual(process.returncode, code, err)
            self.assertIn("hearsay sim --run run --resume", err.splitlines()[-1])
            self.assertEqual(self.result_of("run")["verdict"], "interrupted")
            process = self.start("sim", "--run", "run", "--resume", "--quiet", "--threads", "2",
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
            self.addCleanup(self.end, process)
            self.wait_for(lambda: not (self.folder / "run/result.json").exists())
        _, err = process.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual(process.returncode, 0, err.decode())
        self.assertEqual(self.history("run"), whole)
        self.assertGreater(self.result_of("run")["wall_s"], 0.3)

    def test_killed_at_any_time_it_goes_on_from_the_checkpoint_before(self):
        whole = self.whole()
        for seed in range(6):
            with self.subTest(seed=seed):
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                process = self.start_run(*LONG, "--run", "run", *OFTEN)
                self.wait_for(self.checkpoints)
                time.sleep(random.Random(seed).uniform(0, 0.4))
                process.kill()
                process.communicate()
                if not (self.folder / "run/result.json").exists():
                    self.resume(*(OFTEN if seed % 2 else ()))
                self.assertEqual(self.history("run"), whole)
                left = [name for name in harness.tree(self.folder / "run") if ".tmp" in name]
                self.assertEqual(left if seed % 2 else [], [])

    def test_sigusr1_writes_a_checkpoint_and_changes_nothing(self):
        whole = self.whole()
        process = self.start_run(*LONG, "--run", "run", "--checkpoint-every", "off")
        self.wait_for((self.folder / "run").exists)
        process.send_signal(signal.SIGUSR1)
        self.wait_for(self.checkpoints)
        process.send_signal(signal.SIGUSR1)
        self.wait_for(lambda: len(self.checkpoints()) == 2)
        _, err = process.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual(process.returncode, 0, err.decode())
        self.assertEqual(self.history("run"), whole)
        self.assertEqual((self.folder / "run/ckpt/latest").read_text(), "000002\n")
        self.refused(("sim", "--run", "run", "--resume"), "run", "complete", "ok")

    def interrupted(self, *args):
        process = self.start_run(*LONG, "--run", "run", *args)
        self.wait_for(lambda: (self.folder / "run/events.jsonl").exists())
        time.sleep(0.2)
        err = self.stop(process, signal.SIGINT)
        self.assertEqual(process.returncode, 130, err)

    def test_what_would_change_the_history_is_refused_by_name(self):
        self.interrupted()
        again = ("sim", "--run", "run", "--resume")
        for flag, text in (("seed", "1"), ("peers", "6"), ("epochs", "41"), ("chaos", "drop=2%"),
                           ("net", "ideal"), ("merge", "ema:0.4"), ("batch", "16"),
                           ("eval-every", "0"), ("preset", "fashion"), ("time", "1s")):
            self.refused((*again, f"--{flag}", text), f"--{flag} {text}", "--resume", "run/run.json")
        self.refused((*again, "--config", "run/run.json"), "--config", "--resume")
        self.refused(again, "--seed 9", "HEARSAY_SEED", env={"HEARSAY_SEED": "9"})
        self.refused(("sim", "--resume"), "--resume", "--run")
        self.resume("--seed", "0", "--threads", "2", "--min-peers", "1", "--checkpoint-every", "10s")

    def test_nothing_to_resume(self):
        self.refused(("sim", "--run", "absent", "--resume"), "absent")
        (self.folder / "empty").mkdir()
        self.refused(("sim", "--run", "empty", "--resume"), "nothing to resume in empty", "run.json")
        self.sim("--epochs", "1", "--quiet", "--run", "done")
        self.refused(("sim", "--run", "done", "--resume"), "done", "complete")
        (self.folder / "done/result.json").unlink()
        self.refused(("sim", "--run", "done", "--resume"), "nothing to resume in done", "checkpoint")

    def test_damage_is_named_and_the_checkpoint_before_is_taken(self):
        whole = self.whole()
        self.interrupted(*OFTEN)
        names = self.checkpoints()
        self.assertGreater(len(names), 1)
        newest, before = names[-1], names[-2]
        model = self.folder / "run/ckpt" / newest / "model.safetensors"
        data = bytearray(model.read_bytes())
        data[len(data) // 2] ^= 4
        model.write_bytes(data)
        kept = self.folder / "kept"
        shutil.copytree(self.folder / "run", kept)
        err = self.resume()
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn(f"run/ckpt/{newest}/model.safetensors: offset ", err)
        self.assertEqual(self.history("run"), whole)
        for name in names:
            (kept / "ckpt" / name / "state.json").write_bytes(b"{}")
        before = harness.tree(kept)
        result = self.hearsay("sim", "--run", "kept", "--resume", "--quiet")
        self.assertEqual(result.returncode, 4)
        line = result.stderr.decode().splitlines()[-1]
        self.assertIn(f"kept/ckpt/{newest}/state.json: offset 2: ", line)
        self.assertEqual(harness.tree(kept), before)

    def test_a_log_that_lost_its_end_is_damage(self):
        self.interrupted("--checkpoint-every", "off")
        log = self.folder / "run/events.jsonl"
        size = log.stat().st_size
        state = json.loads((self.folder / "run/ckpt/000001/state.json").read_text())
        self.assertLess(state["log"]["bytes"], size)
        with open(log, "r+b") as file:
            file.truncate(state["log"]["bytes"] - 1)
        result = self.hearsay("sim", "--run", "run", "--resume", "--quiet")
        self.assertEqual(result.returncode, 4)
        self.assertIn("run/events.jsonl: offset ", result.stderr.decode())

    def test_a_run_that_still_runs_is_left_alone(self):
        process = self.start_run("--peers", "2", "--epochs", "1000000", "--eval-every", "0", "--run",
                                 "run", *OFTEN)
        self.wait_for(self.checkpoints)
        result = self.hearsay("sim", "--run", "run", "--resume", "--quiet")
        self.assertEqual(result.returncode, 2)
        self.assertIn("another process", self.one_line(result))
        self.stop(process, signal.SIGINT)
        self.assertEqual(self.events_of("run")[-1]["ev"], "run.finished")

    def test_the_command_and_the_data_must_be_the_same(self):
        self.interrupted()
        path = self.folder / "run/run.json"
        run = json.loads(path.read_text())
        path.write_text(json.dumps({**run, "data_digest": "0" * 32}))
        self.refused(("sim", "--run", "run", "--resume"), "data", "digest")
        path.write_text(json.dumps({**run, "command": "launch"}))
        self.refused(("sim", "--run", "run", "--resume"), "hearsay launch")
        path.write_text(json.dumps({**run, "blas": "another"}))
        self.assertIn("another", self.resume())

    def test_a_full_disk_costs_the_checkpoint_and_not_the_run(self):
        if os.geteuid() != 0:
            self.skipTest("mounting a small file system needs root")
        small = self.folder / "small"
        small.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(small)]
        if subprocess.run(mount, capture_output=True, timeout=10).returncode != 0:
            self.skipTest("this system lets nobody mount a small file system")
        try:
            whole = self.whole()
            process = self.start_run(*LONG, "--run", "small/run", "--checkpoint-every", "off",
                                     "--quiet")
            self.wait_for((small / "run").exists)
            process.send_signal(signal.SIGUSR1)
            self.wait_for(lambda: self.checkpoints("small/run"))
            good = harness.tree(small / "run/ckpt")
            filler = small / "filler"
            # What is left is enough for the log meanwhile, and not for half a checkpoint.
            size = sum(p.stat().st_size for p in (small / "run/ckpt").rglob("*") if p.is_file())
            disk = os.statvfs(small)
            filler.write_bytes(bytes(disk.f_bavail * disk.f_bsize - size // 2))
            for _ in range(3):
                process.send_signal(signal.SIGUSR1)
                time.sleep(0.1)
            self.assertEqual(harness.tree(small / "run/ckpt"), good)
            filler.unlink()
            process.send_signal(signal.SIGUSR1)
            _, err = process.communicate(timeout=harness.TIMEOUT_S)
            self.assertEqual(process.returncode, 0, err.decode())
            lines = [line for line in err.decode().splitlines() if "checkpoint" in line]
            self.assertEqual(len(lines), 2, lines)
            self.assertIn("No space left on device", lines[0])
            self.assertIn("again", lines[1])
            self.assertEqual(self.history("small/run"), whole)
        finally:
            subprocess.run(["umount", str(small)], capture_output=True, timeout=10)


if __name__ == "__main__":
    harness.main()

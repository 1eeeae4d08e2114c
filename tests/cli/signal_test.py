#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGINT and SIGTERM: a clean stop within the budget of 10 s; the second one leaves now."""

import signal
import subprocess
import time

import harness

STOP_BUDGET_S = 10
ENDLESS = ("--peers", "2", "--epochs", "1000000", "--eval-every", "0")
# About a second a mini-batch on one core: slow enough to see what a stop waits for.
SLOW = ("--peers", "1", "--epochs", "1000000", "--eval-every", "0", "--batch", "3000", "--model",
        "mlp:2048,2048", "--protocol", "local")


class SignalTest(harness.CliTest):
    def start_run(self, *args):
        process = self.start(*harness.SMALL, *args, "--run", "run", stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        self.wait_for(self.folder / "run/events.jsonl")
        time.sleep(0.3)
        self.assertIsNone(process.poll(), "the run ended by itself")
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def wait_for(self, path):
        deadline = time.monotonic() + harness.TIMEOUT_S
        while not path.exists():
            self.assertLess(time.monotonic(), deadline, f"{path} never came")
            time.sleep(0.02)

    def stop(self, process, number, budget=STOP_BUDGET_S):
        begin = time.monotonic()
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=budget)
        except subprocess.TimeoutExpired:
            self.fail(f"still running {budget} s after signal {number}")
        self.check_manners(subprocess.CompletedProcess([], process.returncode, out, err))
        return time.monotonic() - begin, err.decode()

    def check_stopped(self, code):
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["exit_code"]), ("interrupted", code))
        self.assertEqual(result["peers_lost"], 0)
        last = self.events_of("run")[-1]
        self.assertEqual((last["ev"], last["verdict"]), ("run.finished", "interrupted"))
        self.assertTrue((self.folder / "run/export/model.safetensors").exists())

    def test_the_first_sigint_ends_cleanly_with_130(self):
        for args in ((), ("--wait",), ("--protocol", "push-sum"), ("--protocol", "ddp")):
            with self.subTest(args=args):
                process = self.start_run(*ENDLESS, *args)
                _, err = self.stop(process, signal.SIGINT)
                self.assertEqual(process.returncode, 130, err)
                self.assertIn("interrupted", err.splitlines()[-1])
                self.check_stopped(130)
                (self.folder / "run").rename(self.folder / f"done{'-'.join(args)}")

    def test_sigterm_ends_cleanly_with_143(self):
        process = self.start_run(*ENDLESS)
        _, err = self.stop(process, signal.SIGTERM)
        self.assertEqual(process.returncode, 143, err)
        self.check_stopped(143)

    def test_a_stop_waits_for_a_mini_batch_and_not_for_many(self):
        process = self.start_run(*SLOW)
        spent, err = self.stop(process, signal.SIGINT)
        self.assertEqual(process.returncode, 130, err)
        self.assertLess(spent, STOP_BUDGET_S)
        self.check_stopped(130)

    def test_the_second_signal_leaves_at_once(self):
        for first, second, code in ((signal.SIGINT, signal.SIGINT, 130),
                                    (signal.SIGINT, signal.SIGTERM, 143)):
            with self.subTest(second=second):
                process = self.start_run(*SLOW)
                process.send_signal(first)
                time.sleep(0.1)
                if process.poll() is not None:
                    self.skipTest("the clean stop was faster than the second signal")
                spent, err = self.stop(process, second)
                self.assertEqual(process.returncode, code, err)
                self.assertLess(spent, 0.5)
                events = (self.folder / "run/events.jsonl").read_bytes()
                self.assertTrue(events == b"" or events.endswith(b"\n"), "a torn line")
                if (self.folder / "run/result.json").exists():
                    self.result_of("run")  # whole or absent
                (self.folder / "run").rename(self.folder / f"left-{second}")


if __name__ == "__main__":
    harness.main()

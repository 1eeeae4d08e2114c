#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals to a launcher and to its peers, streams that nobody reads: clean ends, nobody left."""

import os
import signal
import subprocess
import time

import harness
import pools

STOP_BUDGET_S = 10
ORPHAN_BUDGET_S = STOP_BUDGET_S + 2


class StopTest(pools.PoolTest):
    def test_a_signal_to_the_launcher_stops_all_peers_cleanly(self):
        for number, code, args in ((signal.SIGINT, 130, ()), (signal.SIGTERM, 143, ()),
                                   (signal.SIGINT, 130, ("--wait",)),
                                   (signal.SIGTERM, 143, ("--protocol", "ddp"))):
            with self.subTest(number=number, args=args):
                run = f"run{number}{''.join(args)}"
                launcher = self.begin(*pools.ENDLESS, *args, run=run)
                launcher.send_signal(number)
                out = self.finish(launcher, STOP_BUDGET_S)
                self.assertEqual(launcher.returncode, code, out.stderr)
                self.nobody_left()
                self.assertIn(b"interrupted", out.stderr.splitlines()[-1])
                self.assertNotIn(b"peers that died", out.stderr)
                self.check_stopped(run, code)

    def check_stopped(self, run, code):
        result = self.result_of(run)
        self.assertEqual((result["verdict"], result["exit_code"]), ("interrupted", code))
        self.assertEqual(result["peers_lost"], 0)
        for peer in range(3):
            # Nobody in a synchronous pool can go on after the first one has stopped.
            reasons = {"interrupted", "stopped"} if "ddp" in run else {"interrupted"}
            self.assertIn(result["per_peer"][peer]["reason"], reasons)
            self.assertIn(self.log_of(peer, run)[-1]["reason"], reasons)
            self.checkpoint_of(peer, run)
        self.assertTrue((self.folder / run / "export/model.safetensors").is_file())

    def test_a_signal_while_peers_still_start_leaves_nothing_behind(self):
        process = self.start("launch", "-n", "2", *pools.HEAVY, "--run", "run", "--",
                             "sleep", "100", stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        self.wait_until(lambda: len(pools.processes_in(self.folder)) == 3, "all are started")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(STOP_BUDGET_S), 143)
        self.nobody_left()
        self.assertEqual(harness.tree(self.folder), {})

    def test_the_second_signal_ends_the_launcher_at_once_and_its_peers_soon(self):
        launcher = self.begin(*pools.HEAVY, peers=2)
        launcher.send_signal(signal.SIGINT)
        time.sleep(0.1)
        self.assertIsNone(launcher.poll(), "the clean stop was faster than the second signal")
        launcher.send_signal(signal.SIGTERM)
        self.finish(launcher, 1)
        self.assertEqual(launcher.returncode, 143)
        self.nobody_left(ORPHAN_BUDGET_S)

    def test_no_peer_outlives_a_killed_launcher(self):
        for args in ((), ("--chaos", "stall=p01@1s..900s")):
            with self.subTest(args=args):
                run = f"run{len(args)}"
                launcher = self.begin(*pools.ENDLESS, *args, run=run)
                time.sleep(1.2 if args else 0)
                self.assertGreaterEqual(len(pools.processes_in(self.folder)), 4)
                launcher.kill()
                launcher.wait()
                self.nobody_left(ORPHAN_BUDGET_S)
                for peer in (0, 2):
                    self.assertEqual(self.log_of(peer, run)[-1]["ev"], "peer.left")
                    self.checkpoint_of(peer, run)


class OnePeerTest(pools.PoolTest):
    def test_a_peer_that_is_told_to_leave_says_goodbye_and_the_others_finish(self):
        launcher = self.begin(*pools.ENDLESS, "--time", "6s")
        os.kill(self.pid_of(1), signal.SIGTERM)
        out = self.finish(launcher, pools.POOL_TIMEOUT_S)
        self.assertEqual(launcher.returncode, 0, out.stderr)
        self.nobody_left()
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 0))
        ends = [peer["reason"] for peer in result["per_peer"]]
        self.assertEqual((ends[0], ends[2]), ("time", "time"))
        self.assertNotIn(ends[1], ("time", "finished"))
        self.assertEqual(self.log_of(1)[-1]["ev"], "peer.left")
        self.checkpoint_of(1)
        self.assertNotIn(b"peers that died", out.stderr)
        for peer in (0, 2):
            log = self.log_of(peer)
            reasons = {event["reason"] for event in log if event["ev"] == "peer.lost"}
            self.assertLessEqual(reasons, {"left"})
            left = self.log_of(1)[-1]["t_ns"]
            self.assertGreater(log[-1]["t_ns"], left + 5e8, "it has trained on")

    def test_a_peer_that_is_killed_from_outside_is_lost_and_named(self):
        launcher = self.begin(*pools.ENDLESS, "--time", "2s")
        os.kill(self.pid_of(2), signal.SIGKILL)
        out = self.finish(launcher, pools.POOL_TIMEOUT_S)
        self.assertEqual(launcher.returncode, 0, out.stderr)
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 1))
        self.assertEqual(result["per_peer"][2]["reason"], "killed by SIGKILL")
        self.assertIn(b"log run/peers/p02/stderr.log", out.stderr)
        self.nobody_left()

    def test_a_checkpoint_on_demand_does_not_stop_anything(self):
        launcher = self.begin(*pools.ENDLESS, "--time", "2s")
        latest = self.peer_folder(1) / "ckpt/latest"
        self.assertFalse(latest.exists())
        os.kill(self.pid_of(1), signal.SIGUSR1)
        first = self.wait_until(lambda: latest.exists() and latest.read_text(), "a checkpoint")
        self.checkpoint_of(1)
        out = self.finish(launcher, pools.POOL_TIMEOUT_S)
        self.assertEqual((launcher.returncode, self.result_of("run")["verdict"]), (0, "ok"),
                         out.stderr)
        self.assertGreater(int(latest.read_text()), int(first), "it has trained on")
        self.assertFalse((self.peer_folder(0) / "ckpt" / first.strip()).exists())


class StreamTest(pools.PoolTest):
    ARGS = ("-n", "3", *pools.DIGITS, "--epochs", "60", "--chaos", "kill=p01@30%", "--run", "run")

    def check_whole(self):
        self.nobody_left()
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 1))
        for peer in (0, 2):
            self.assertEqual(self.log_of(peer)[-1]["reason"], "finished")

    def test_a_closed_stdout_is_reported_and_the_run_is_whole(self):
        out = self.hearsay("launch", *self.ARGS, "--quiet", stdout=None,
                           preexec_fn=lambda: os.close(1))
        self.assertIn(out.returncode, (1, 2))
        self.assertIn(b"stdout", out.stderr.splitlines()[-1])
        self.check_whole()

    def test_a_stdout_without_a_reader_ends_without_a_trace(self):
        ours, theirs = os.pipe()
        os.close(ours)
        try:
            out = self.hearsay("launch", *self.ARGS, "--json", stdout=theirs)
        finally:
            os.close(theirs)
        self.assertIn(out.returncode, (0, 1, 2))
        self.check_whole()

    def test_a_stderr_that_is_closed_or_without_a_reader_stops_nothing(self):
        self.launch(*self.ARGS, stderr=None, preexec_fn=lambda: os.close(2))
        self.check_whole()
        (self.folder / "run").rename(self.folder / "closed")
        ours, theirs = os.pipe()
        os.close(ours)
        try:
            self.launch(*self.ARGS, stderr=theirs)
        finally:
            os.close(theirs)
        self.check_whole()

    def test_all_streams_closed_reach_no_file_of_the_run(self):
        process = self.start("launch", *self.ARGS, preexec_fn=lambda: os.closerange(0, 3))
        self.assertIn(process.wait(pools.POOL_TIMEOUT_S), (0, 1, 2))
        self.check_whole()


if __name__ == "__main__":
    harness.main()

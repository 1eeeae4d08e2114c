#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers under mpirun that die, diverge or cannot start: what becomes of the others and of the job."""

import os
import signal
import time

import mpi_pools
import harness
import pools

BAD_OPTIMIZER = ("--optimizer", "sgd:lr=1e30")


class KilledPeerTest(mpi_pools.MpiTest):
    def kill_one(self, rank):
        job = self.begin_job(*pools.ENDLESS, "--time", "1.5s")
        os.kill(self.pid_of(rank), signal.SIGKILL)
        out = self.finish(job, mpi_pools.JOB_TIMEOUT_S)
        text = out.stderr.decode()
        self.assertEqual(job.returncode, 0, text)
        self.nobody_left(3)
        lost = f"p{rank:02}"
        self.check_survivors([lost], reasons=("time",))
        self.check_table(text, [lost])
        self.assertEqual(text.count(f"{lost} killed by SIGKILL; 3 go on"), 1, text)
        self.assertIn(b"verdict ok (3 of 4 peers, 1 lost)", out.stdout)

    def test_the_peer_of_rank_0_may_be_killed(self):
        self.kill_one(0)

    def test_a_peer_in_the_middle_may_be_killed(self):
        self.kill_one(1)

    def test_the_last_peer_may_be_killed(self):
        self.kill_one(3)

    def test_a_kill_may_be_asked_for_as_the_first_five_minutes_do(self):
        out = self.run_job(*pools.DIGITS, "--epochs", "800", "--run", "run", "--chaos", "kill=1@30%")
        lost = [peer["peer"] for peer in self.result_of("run")["per_peer"] if not peer["alive"]]
        self.assertEqual(len(lost), 1)
        self.check_survivors(lost)
        self.check_table(out.stderr.decode(), lost)

    def test_a_stopped_peer_holds_nobody_up(self):
        job = self.begin_job(*pools.ENDLESS, "--time", "3s", ranks=3)
        time.sleep(0.3)
        os.kill(self.pid_of(2), signal.SIGSTOP)
        time.sleep(1.2)
        os.kill(self.pid_of(2), signal.SIGCONT)
        out = self.finish(job, mpi_pools.JOB_TIMEOUT_S)
        self.assertEqual(job.returncode, 0, out.stderr)
        self.check_survivors([], reasons=("time",))
        times = [event["t_ns"] * 1e-9 for event in self.log_of(2)]
        gap, begin = max((after - before, before) for before, after in zip(times, times[1:]))
        self.assertGreater(gap, 1.0)
        for peer in (0, 1):
            meanwhile = [event for event in self.log_of(peer) if event["ev"] == "block.finished"
                         and begin + 0.3 < event["t_ns"] * 1e-9 < begin + gap - 0.3]
            self.assertGreater(len(meanwhile), 3)


class NoQuorumTest(mpi_pools.MpiTest):
    def test_too_few_survivors_fail_the_job(self):
        out = self.run_job(*pools.DIGITS, "--epochs", "800", "--run", "run", "--chaos", "kill=3@30%",
                           "--min-peers", "2", code=3)
        self.assertEqual(self.result_of("run")["verdict"], "lost quorum")
        self.assertIn(b"--min-peers 2", out.stderr)
        self.assertEqual(out.stderr.count(b"/stderr.log"), 3)

    def test_a_job_of_which_every_peer_fails_fails(self):
        out = self.run_job(*pools.DIGITS, "--epochs", "1", "--run", "run", *BAD_OPTIMIZER, code=3)
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["exit_code"], result["peers_lost"]),
                         ("lost quorum", 3, 4))
        self.assertIn(b"lost quorum", out.stderr)

    def test_one_peer_that_diverges_leaves_the_others_a_good_end(self):
        train = (*pools.DIGITS, "--epochs", "60", "--run", "run")
        command = [*mpi_pools.MPIRUN, "-n", "2", harness.binary(), "train", *train, ":", "-n", "1",
                   harness.binary(), "train", *train, *BAD_OPTIMIZER]
        self.run_job(command=command, ranks=3)
        result = self.check_survivors(["p02"])
        self.assertEqual(result["per_peer"][2]["reason"], "diverged")


class StartTest(mpi_pools.MpiTest):
    def refused_job(self, command, *parts):
        """Fails with one line of ours, which holds the parts; leaves no process and no run."""
        before = time.monotonic()
        out = self.run_job(command=command, code=(1, 2))
        self.assertLess(time.monotonic() - before, 20)
        lines = [line for line in out.stderr.decode().splitlines() if line.startswith("hearsay: ")]
        self.assertEqual(len(lines), 1, out.stderr.decode())
        for part in parts:
            self.assertIn(part, lines[0])
        self.assertEqual(out.stdout.count(b"verdict"), 0)
        self.assertFalse((self.folder / "run").exists())
        self.assertFalse((self.folder / "runs").exists())

    def test_one_of_two_peers_that_cannot_start_ends_the_job_with_its_words(self):
        for bad in (0, 1):
            with self.subTest(bad=bad):
                ranks = []
                for rank in range(2):
                    data = ("--data", "idx:nowhere") if rank == bad else ()
                    ranks += [*([":"] if rank else []), "-n", "1", harness.binary(), "train",
                              *pools.DIGITS, "--run", "run", *data]
                self.refused_job([*mpi_pools.MPIRUN, *ranks], "nowhere", f"p{bad:02} could not start")

    def test_wrong_words_are_refused(self):
        for words, part in ((("--epoch", "3"), "--epochs"), (("--peers", "3"), "--peers"),
                            (("--chaos", "slow=p01*0.5"), "slow=p01"),
                            (("--min-peers", "5"), "--min-peers")):
            with self.subTest(words=words):
                out = self.run_job(*pools.DIGITS, "--run", "run", *words, ranks=2, code=(1, 2))
                self.assertIn(part, out.stderr.decode())
                self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    harness.main()

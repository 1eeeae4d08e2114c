#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals to mpirun and to its processes: clean ends in time, checkpoints, no process left behind."""

import os
import pathlib
import signal
import time

import mpi_pools
import harness
import pools

STOP_BUDGET_S = 10
ORPHAN_BUDGET_S = STOP_BUDGET_S + 2


class StopTest(mpi_pools.MpiTest):
    def check_peers(self, peers):
        """Each has said goodbye, written its numbers and a whole checkpoint."""
        for peer in range(peers):
            self.assertEqual(self.log_of(peer)[-1]["ev"], "peer.left")
            self.checkpoint_of(peer)
            self.assertTrue((self.peer_folder(peer) / "result.json").is_file())

    def stop(self, number):
        job = self.begin_job(*pools.ENDLESS, ranks=3)
        time.sleep(0.3)
        job.send_signal(number)
        out = self.finish(job, STOP_BUDGET_S)
        self.assertNotEqual(job.returncode, 0)
        # mpirun may return before the peers, which live in sessions of their own.
        self.nobody_left(STOP_BUDGET_S)
        self.check_peers(3)
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["exit_code"], result["peers_lost"]),
                         ("interrupted", 128 + number, 0), out.stderr)
        self.assertTrue((self.folder / "run/export/model.safetensors").is_file())
        self.assertNotIn(b"peers that died", out.stderr)

    def test_sigterm_to_mpirun_ends_cleanly(self):
        self.stop(signal.SIGTERM)

    def test_sigint_to_mpirun_ends_cleanly(self):
        # mpirun passes SIGINT on as SIGTERM.
        job = self.begin_job(*pools.ENDLESS, ranks=3)
        time.sleep(0.3)
        job.send_signal(signal.SIGINT)
        self.finish(job, STOP_BUDGET_S)
        self.assertNotEqual(job.returncode, 0)
        self.nobody_left(STOP_BUDGET_S)
        self.check_peers(3)
        self.assertEqual(self.result_of("run")["verdict"], "interrupted")

    def test_sigusr1_to_mpirun_writes_checkpoints_and_stops_nothing(self):
        job = self.begin_job(*pools.ENDLESS, "--time", "3s", "--checkpoint-every", "off", ranks=3)
        latest = [self.peer_folder(peer) / "ckpt/latest" for peer in range(3)]
        self.assertFalse(any(path.exists() for path in latest))
        job.send_signal(signal.SIGUSR1)
        first = self.wait_until(lambda: all(path.exists() for path in latest)
                                and [path.read_text() for path in latest], "checkpoints")
        out = self.finish(job, mpi_pools.JOB_TIMEOUT_S)
        self.assertEqual((job.returncode, self.result_of("run")["verdict"]), (0, "ok"), out.stderr)
        for before, path in zip(first, latest):
            self.assertGreater(int(path.read_text()), int(before), "it has trained on")
        self.assertEqual({peer["reason"] for peer in self.result_of("run")["per_peer"]}, {"time"})

    def test_sigterm_to_one_peer_lets_the_others_finish(self):
        job = self.begin_job(*pools.ENDLESS, "--time", "3s", ranks=3)
        os.kill(self.pid_of(0), signal.SIGTERM)
        out = self.finish(job, mpi_pools.JOB_TIMEOUT_S)
        self.assertEqual(job.returncode, 0, out.stderr)
        result = self.check_survivors([], reasons=("time", "told to leave", "interrupted", "stopped"))
        self.assertEqual([peer["reason"] for peer in result["per_peer"]][1:], ["time", "time"])
        self.check_peers(3)


class ResumeTest(mpi_pools.MpiTest):
    def test_a_stopped_job_goes_on_with_a_rank_more(self):
        job = self.begin_job(*pools.ENDLESS, ranks=2)
        job.send_signal(signal.SIGTERM)
        self.finish(job, STOP_BUDGET_S)
        self.nobody_left(STOP_BUDGET_S)
        before = [peer["samples"] for peer in self.result_of("run")["per_peer"]]
        self.run_job("--run", "run", "--resume", "--time", "2s", ranks=3)
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers"], result["peers_lost"]), ("ok", 3, 0))
        for peer, samples in enumerate(before):
            self.assertGreater(result["per_peer"][peer]["samples"], samples)
            self.assertIn("run.resumed", {event["ev"] for event in self.log_of(peer)})
        self.assertIn("state.adopted", {event["ev"] for event in self.log_of(2)})


class OrphanTest(mpi_pools.MpiTest):
    def parent_of(self, pid):
        status = pathlib.Path(f"/proc/{pid}/stat").read_text()
        return int(status.rsplit(")", 1)[1].split()[1])

    def test_nobody_outlives_a_killed_mpirun(self):
        job = self.begin_job(*pools.ENDLESS)
        time.sleep(0.3)
        self.assertGreaterEqual(list(self.in_folder().values()).count("hearsay"), 8)
        job.kill()
        job.wait()
        self.nobody_left(ORPHAN_BUDGET_S)
        for peer in range(4):
            self.assertEqual(self.log_of(peer)[-1]["ev"], "peer.left")
            self.checkpoint_of(peer)

    def test_a_stopped_peer_ends_as_soon_as_it_goes_on(self):
        job = self.begin_job(*pools.ENDLESS, ranks=2)
        stopped = self.pid_of(1)
        os.kill(stopped, signal.SIGSTOP)
        job.kill()
        job.wait()
        self.wait_until(lambda: set(pools.processes_in(self.folder)) <= {stopped}, "the others end",
                        ORPHAN_BUDGET_S)
        os.kill(stopped, signal.SIGCONT)
        self.nobody_left(ORPHAN_BUDGET_S)

    def test_a_killed_supervisor_ends_the_job_and_nobody_is_left(self):
        for rank in (0, 2):
            with self.subTest(rank=rank):
                run = f"run{rank}"
                job = self.begin_job(*pools.ENDLESS, ranks=3, run=run)
                supervisor = self.parent_of(self.pid_of(rank, run))
                self.assertEqual(self.in_folder()[supervisor], "hearsay")
                os.kill(supervisor, signal.SIGKILL)
                self.finish(job, ORPHAN_BUDGET_S)
                self.assertNotEqual(job.returncode, 0)
                self.nobody_left(ORPHAN_BUDGET_S)


if __name__ == "__main__":
    harness.main()

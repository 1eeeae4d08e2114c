#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers of a launcher that says rank and size only: they find each other by files in the run folder."""

import json
import os
import signal
import socket
import subprocess

import harness
import pools


def torchrun(rank, size, restarts=0, job="a-job", **more):
    return {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "MASTER_PORT": "29500",
            "TORCHELASTIC_RUN_ID": job, "TORCHELASTIC_RESTART_COUNT": str(restarts), **more}


def slurm(rank, size, **more):
    return {"SLURM_PROCID": str(rank), "SLURM_NTASKS": str(size), "SLURM_JOB_ID": "4711",
            "SLURM_STEP_ID": "0", **more}


class ByRankTest(pools.TalkingTest):
    def begin_rank(self, rank, size, *args, env=None, **how):
        return self.begin_peer("train", *args, env=env or torchrun(rank, size, **how))

    def endpoint(self, peer):
        return json.loads((self.peer_folder(peer) / "endpoint.json").read_text())

    def started(self, name="run/started.json"):
        return json.loads((self.folder / name).read_text())

    def who_began(self):
        return [peer["peer"] for peer in self.started()["peers"]]


class MeetingTest(ByRankTest):
    def check_job(self, run, processes):
        printed = [self.end_of(process) for process in processes]
        self.nobody_left()
        self.assertEqual(sum("verdict ok (3 of 3 peers)" in text for text in printed), 1, printed)
        result = self.result_of(run)
        self.assertEqual((result["verdict"], result["peers"], result["peers_lost"]), ("ok", 3, 0))
        self.assertGreater(result["merges_applied"], 0)

    def test_ranks_of_torchrun_become_one_pool(self):
        run = "runs/digits-s0-torchrun-a-job"
        self.check_job(run, [self.begin_rank(rank, 3, *pools.DIGITS) for rank in (2, 0, 1)])
        header = json.loads((self.folder / run / "run.json").read_text())
        self.assertEqual((header["launcher"], header["peers"]), ("torchrun", 3))
        self.assertEqual(header["config"]["peers"], {"value": "3", "origin": "torchrun"})
        self.assertEqual(os.readlink(self.folder / "runs/latest"), "digits-s0-torchrun-a-job")

    def test_tasks_of_slurm_become_one_pool(self):
        self.check_job("runs/digits-s0-slurm-4711.0",
                       [self.begin_rank(rank, 3, *pools.DIGITS, env=slurm(rank, 3)) for rank in range(3)])

    def test_any_launcher_may_say_rank_and_size_when_all_have_one_folder(self):
        for name, variables in (("plain", lambda rank: {"RANK": str(rank), "WORLD_SIZE": "3"}),
                                ("own", lambda rank: {"HEARSAY_PEER": str(rank), "HEARSAY_PEERS": "3"})):
            with self.subTest(name=name):
                self.check_job(name, [self.begin_rank(rank, 3, *pools.DIGITS, "--run", name,
                                                      env=variables(rank)) for rank in range(3)])

    def test_peers_that_start_at_once_are_always_one_pool(self):
        """Four at once, never two pools; 50 times with HEARSAY_SLOW."""
        for repeat in range(50 if os.environ.get("HEARSAY_SLOW") else 6):
            with self.subTest(repeat=repeat):
                run = f"run{repeat}"
                processes = [self.begin_rank(rank, 4, *pools.DIGITS, "--epochs", "1", "--run", run,
                                             job=run) for rank in range(4)]
                for process in processes:
                    self.end_of(process, seconds=30)
                self.assertEqual(len(self.started(f"{run}/started.json")["peers"]), 4)
                result = self.result_of(run)
                self.assertEqual((result["peers"], result["peers_lost"]), (4, 0))


class WaitingTest(ByRankTest):
    def test_whoever_waits_says_for_whom_and_how_to_change_it(self):
        second = self.begin_rank(1, 3, *pools.DIGITS, "--run", "run")
        self.hears(second, "waiting for p00 to make run")
        first = self.begin_rank(0, 3, *pools.DIGITS, "--run", "run")
        for process in (first, second):
            said = self.hears(process, "waiting for p02: 2 of the 3 peers to begin with are here")
            self.assertIn("--start-with begins with fewer", said)
        for process, number, code in ((first, signal.SIGTERM, 143), (second, signal.SIGINT, 130)):
            process.send_signal(number)
            self.assertEqual(self.end_of(process, code=code, seconds=5), "")

    def test_a_pool_begins_with_fewer_and_lets_the_others_in(self):
        words = (*pools.ENDLESS, "--run", "run", "--start-with", "2", "--time", "4s")
        two = [self.begin_rank(rank, 3, *words) for rank in (0, 2)]
        self.wait_until(lambda: self.all_train_of(0, 2), "two train")
        self.assertEqual(self.who_began(), ["p00", "p02"])
        late = self.begin_rank(1, 3, *words)
        self.hears(late, "  late  ->  run")
        for process in (*two, late):
            self.end_of(process)
        self.assertEqual(self.result_of("run")["peers_lost"], 0)
        self.assertGreater(self.result_of("run")["per_peer"][1]["merges_applied"], 0)

    def all_train_of(self, *peers):
        return all((self.peer_folder(peer) / "events.jsonl").exists() for peer in peers)


class AgainTest(ByRankTest):
    def test_a_killed_peer_comes_back_ten_times_as_a_later_start(self):
        """Each start is told from the last; nobody goes on with a dead one."""
        words = (*pools.ENDLESS, "--run", "run")
        pool = {rank: self.begin_rank(rank, 3, *words) for rank in range(3)}
        self.wait_until(lambda: self.all_train("run", 3), "all train")
        for again in range(1, 11):
            pool[1].kill()
            pool[1].wait()
            # A launcher may or may not count.
            pool[1] = self.begin_rank(1, 3, *words, restarts=again if again % 2 else 0)
            self.hears(pool[1], "  late  ->  run")
            self.wait_until(lambda: self.endpoint(1)["pid"] == pool[1].pid, "its own endpoint")
            self.assertEqual(self.endpoint(1)["incarnation"], again)
        self.wait_until(lambda: self.merged_with(0, 1) and self.merged_with(2, 1), "all merge with it")
        for process in pool.values():
            self.assertIsNone(process.poll(), self.said(process))
            process.send_signal(signal.SIGINT)
        for process in pool.values():
            self.end_of(process, code=130)

    def merged_with(self, peer, other):
        log = (self.peer_folder(peer) / "events.jsonl").read_text().splitlines()
        lost = max((i for i, line in enumerate(log) if '"peer.lost"' in line), default=0)
        return any('"merge.applied"' in line and f'"from":"p{other:02}"' in line for line in log[lost:])

    def test_a_job_that_is_started_again_as_a_whole_begins_again(self):
        words = (*pools.ENDLESS, "--run", "run", "--time", "2s")
        pool = [self.begin_rank(rank, 2, *words) for rank in range(2)]
        self.wait_until(lambda: self.all_train("run", 2), "all train")
        for process in pool:
            process.kill()
            process.wait()
        pool = [self.begin_rank(rank, 2, *words, restarts=1) for rank in range(2)]
        for process in pool:
            self.assertNotIn("late", self.hears(process, "->  run"))
            self.end_of(process)
        self.assertEqual(self.result_of("run")["peers_lost"], 0)
        again = self.started("run/started.torchrun-a-job-1.json")
        self.assertEqual([peer["incarnation"] for peer in again["peers"]], [1, 1])
        self.refused(("train", *words), "run has ended", "--run", env=torchrun(0, 2))

    def test_files_of_another_job_do_not_count(self):
        words = (*pools.DIGITS, "--run", "run", "--epochs", "1", "--start-with", "1")
        self.end_of(self.begin_rank(0, 2, *words))
        for rank in range(2):
            with self.subTest(rank=rank):
                self.refused(("train", *pools.DIGITS, "--run", "run"), "belongs to job torchrun a-job",
                             env=torchrun(rank, 2, job="another"))


class RefusedTest(ByRankTest):
    def test_wrong_words_are_refused_in_one_line(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            used = "127.0.0.1:%d" % taken.getsockname()[1]
            job = torchrun(0, 2)
            for words, env, *parts in (
                    (("--peers", "3"), job, "--peers 3", "torchrun started 2"),
                    (("--chaos", "drop=1%"), job, "--chaos", "torchrun"),
                    (("--target", "test_acc=0.9"), job, "--target", "torchrun"),
                    (("--restarts", "2"), job, "--restarts", "torchrun"),
                    (("--name", "p01"), job, "--name", "rank"),
                    (("--listen", used), job, used, "in use"),
                    (("--listen", "0.0.0.0:0"), job, "--listen", "--insecure"),
                    (("--announce", "0.0.0.0:7400"), job, "--announce", "leads nowhere"),
                    (("--announce", "nowhere"), job, "--announce", "port"),
                    ((), torchrun(0, 2, LOCAL_WORLD_SIZE="1"), "several hosts", "--insecure"),
                    ((), slurm(0, 2, SLURM_NNODES="2"), "several hosts", "--insecure"),
                    ((), torchrun(2, 2), "which of how many"),
                    ((), {"RANK": "0", "WORLD_SIZE": "2"}, "--run DIR"),
                    ((), {"HEARSAY_PEER": "0", "HEARSAY_PEERS": "2"}, "HEARSAY_PEER", "--run DIR")):
                with self.subTest(words=words, env=env):
                    self.refused(("train", *pools.DIGITS, *words), *parts, env=env)

    def test_a_dry_run_starts_nothing(self):
        for rank in range(2):
            out = self.hearsay("train", *pools.DIGITS, "--dry-run", env=torchrun(rank, 2))
            self.assertEqual((out.returncode, b"torchrun" in out.stdout), (0, rank == 0))
        self.assertEqual(harness.tree(self.folder), {})

    def test_peers_of_several_hosts_announce_an_address_that_leads_somewhere(self):
        routable = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
        process = self.begin_rank(0, 2, *pools.DIGITS, "--run", "run", "--insecure",
                                  env=torchrun(0, 2, LOCAL_WORLD_SIZE="1"))
        self.hears(process, "waiting for p01")
        host, port = self.endpoint(0)["address"].rsplit(":", 1)
        self.assertIn(host, routable or ["127.0.0.1"])
        self.assertNotEqual(port, "0")
        process.send_signal(signal.SIGTERM)
        self.end_of(process, code=143)


if __name__ == "__main__":
    harness.main()

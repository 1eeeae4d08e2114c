#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpirun hearsay train: peers that come back, peers without supervisors, words that are wrong."""

import json

import mpi_pools
import harness
import pools


class RestartTest(mpi_pools.MpiTest):
    def test_a_killed_peer_of_any_rank_is_started_again(self):
        for rank in (0, 2):
            with self.subTest(rank=rank):
                run = f"run{rank}"
                out = self.run_job(*pools.ENDLESS, "--time", "3s", "--restarts", "1", "--run", run,
                                   "--chaos", f"kill=p{rank:02}@0.5s", ranks=3)
                result = self.result_of(run)
                self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 0))
                said = f"p{rank:02} killed by SIGKILL; started again (1 of 1)\n"
                self.assertEqual(out.stderr.decode().count(said), 1, out.stderr)
                endpoint = json.loads((self.peer_folder(rank, run) / "endpoint.json").read_text())
                self.assertEqual(endpoint["incarnation"], 1)
                self.nobody_left(3)


class NoSupervisorTest(mpi_pools.MpiTest):
    def test_ranks_are_peers_that_meet_by_files(self):
        out = self.run_job(*pools.DIGITS, "--no-supervisor", "--run", "run", ranks=3)
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers"], result["peers_lost"]), ("ok", 3, 0))
        self.assertEqual(out.stderr.count(b"mpirun ends the whole job when one peer dies"), 1)
        self.assertEqual(len(json.loads((self.folder / "run/started.json").read_text())["peers"]), 3)
        self.nobody_left(3)

    def test_without_a_name_of_its_own_the_run_has_that_of_the_job(self):
        self.run_job(*pools.DIGITS, "--no-supervisor", "--epochs", "1", ranks=2)
        runs = [path for path in (self.folder / "runs").iterdir() if not path.is_symlink()]
        self.assertEqual(len(runs), 1)
        self.assertRegex(runs[0].name, r"^digits-s0-openmpi-\w+")

    def test_it_is_refused_where_there_is_no_mpirun(self):
        self.refused(("train", "--no-supervisor"), "--no-supervisor", "mpirun only")
        self.refused(("launch", "-n", "2", "--no-supervisor"), "--no-supervisor")


class SecretTest(mpi_pools.MpiTest):
    def test_ranks_share_a_secret_that_is_handed_on_by_its_name(self):
        secret = "9f1c7d52b0e84a6f-of-the-job"
        out = self.run_job(*pools.DIGITS, "--secret", "env:POOL", "--run", "run", ranks=3,
                           env={"POOL": secret})
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 0))
        self.assertGreater(result["merges_applied"], 0)
        self.assertNotIn(secret.encode(), out.stderr + out.stdout)
        for path in (self.folder / "run").rglob("*"):
            if path.is_file():
                self.assertNotIn(secret.encode(), path.read_bytes(), path)

    def test_beyond_loopback_ranks_need_protection(self):
        out = self.run_job(*pools.DIGITS, "--listen", "0.0.0.0:0", "--run", "run", ranks=2, code=(1, 2))
        self.assertIn(b"--secret FILE or --tls CA,CERT,KEY, or add --insecure", out.stderr)
        self.assertFalse((self.folder / "run").exists())


class WrongWordsTest(mpi_pools.MpiTest):
    def test_a_wrong_flag_is_said_once_for_all_ranks(self):
        for words, part in ((("--epoch", "3"), "--epochs"), (("--peers", "3"), "--peers 3"),
                            (("--name", "p01"), "--name"), (("--start-with", "1"), "--start-with"),
                            (("--merge", "emma"), "emma")):
            with self.subTest(words=words):
                out = self.run_job(*pools.DIGITS, "--run", "run", *words, ranks=4, code=(1, 2))
                lines = [line for line in out.stderr.decode().splitlines() if line.startswith("hearsay: ")]
                self.assertEqual(len(lines), 1, out.stderr.decode())
                self.assertIn(part, lines[0])
                self.assertFalse((self.folder / "run").exists())

    def test_a_wrong_flag_of_another_rank_is_said_by_that_one(self):
        train = (harness.binary(), "train", *pools.DIGITS, "--run", "run")
        command = [*mpi_pools.MPIRUN, "-n", "1", *train, ":", "-n", "1", *train, "--epoch", "3"]
        out = self.run_job(command=command, code=(1, 2))
        self.assertIn(b"--epochs", out.stderr)
        self.nobody_left(5)


if __name__ == "__main__":
    harness.main()

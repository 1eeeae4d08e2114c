#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One pool over two hosts: mpirun with a host file, on network namespaces that are joined by a cable."""

import json
import os
import signal

import mpi_pools
import harness
import pools
import two_hosts

OPEN = ("--listen", "0.0.0.0:0", "--insecure")


class TwoHostsTest(mpi_pools.MpiTest):
    def setUp(self):
        super().setUp()
        self.hosts = two_hosts.TwoHosts(self, self.folder)

    def job(self, *train):
        return self.hosts.command(mpi_pools.MPIRUN, "-n", "4", harness.binary(), "train", *train)

    def host_of(self, peer):
        return json.loads((self.peer_folder(peer) / "endpoint.json").read_text())["host"]

    def check_crossing(self):
        """Both hosts hold two peers, and every peer has merged with one of the other host."""
        hosts = [self.host_of(peer) for peer in range(4)]
        self.assertEqual(sorted(hosts), ["alpha", "alpha", "beta", "beta"])
        for peer in range(4):
            address = json.loads((self.peer_folder(peer) / "endpoint.json").read_text())["address"]
            self.assertTrue(address.startswith(two_hosts.SUBNET), address)
            partners = {event["from"] for event in self.log_of(peer) if event["ev"] == "merge.applied"}
            others = {f"p{other:02}" for other in range(4) if hosts[other] != hosts[peer]}
            self.assertTrue(partners & others, f"p{peer:02} on {hosts[peer]} met {partners} only")

    def test_a_pool_over_two_hosts_is_one_pool(self):
        out = self.run_job(command=self.job(*pools.ENDLESS, *OPEN, "--time", "2s", "--run", "run"))
        self.check_survivors([], reasons=("time",))
        self.check_crossing()
        self.assertNotIn(b" lost (", out.stderr)

    def test_peers_that_cannot_reach_each_other_are_not_called_a_good_pool(self):
        out = self.run_job(command=self.job(*pools.DIGITS, "--run", "run"), code=(0, 1, 2, 3))
        crossed = False
        if (self.folder / "run").exists():
            met = [{e["from"] for e in self.log_of(p) if e["ev"] == "merge.applied"} for p in range(4)]
            host = [self.host_of(peer) for peer in range(4)]
            crossed = any(host[int(name[1:])] != host[peer] for peer in range(4) for name in met[peer])
        text = out.stderr.decode()
        self.assertTrue(crossed or (out.returncode != 0 and "--listen" in text), text)

    def test_a_killed_peer_of_the_other_host_is_named_with_its_host(self):
        job = self.start_job(self.job(*pools.ENDLESS, *OPEN, "--time", "3s", "--run", "run"))
        self.wait_until(lambda: self.all_train("run", 4) or job.poll() is not None, "all peers train")
        lost = next(peer for peer in range(4) if self.host_of(peer) == "beta")
        os.kill(self.pid_of(lost), signal.SIGKILL)  # namespaces of networks share their process ids
        out = self.finish(job, mpi_pools.JOB_TIMEOUT_S)
        text = out.stderr.decode()
        self.assertEqual(job.returncode, 0, text)
        self.check_survivors([f"p{lost:02}"], reasons=("time",))
        self.assertRegex(text, rf"p{lost:02} +beta +killed by SIGKILL +last: ")

    def test_nobody_on_either_host_outlives_a_killed_mpirun(self):
        job = self.start_job(self.job(*pools.ENDLESS, *OPEN, "--run", "run"))
        self.wait_until(lambda: self.all_train("run", 4) or job.poll() is not None, "all peers train")
        self.assertIsNone(job.poll())
        job.kill()  # sh and ip have become mpirun
        self.nobody_left(12)
        self.wait_until(lambda: not self.hosts.pids(0) | self.hosts.pids(1), "nobody in the namespaces", 3)


if __name__ == "__main__":
    harness.main()

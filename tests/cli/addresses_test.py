#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers by hand at addresses of every kind: both families, names, zones, wildcards, two hosts, no network."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mpi"))

import harness
import pools
import two_hosts

SHORT = (*pools.DIGITS, "--epochs", "2", "--run", "run")


class AddressTest(pools.TalkingTest):
    def begin_in(self, space, *args):
        """In the network namespace `space`; empty: here."""
        if not space:
            return self.begin_peer(*args)
        path = self.folder / f"said.{len(list(self.folder.glob('said.*')))}"
        with open(path, "wb") as said:
            process = subprocess.Popen(
                ["ip", "netns", "exec", space, harness.binary(), *map(str, args)], cwd=self.folder,
                env=harness.environment(self.folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=said)
        process.said = path
        self.addCleanup(self.end, process)
        return process

    def begin_first(self, space, *args):
        first = self.begin_in(space, "train", *SHORT, *args)
        line = re.search(r"join with  hearsay train --join (\S+)", self.hears(first, "join with"))
        return first, line.group(1)

    def pool_of_two(self, listen, first_in="", second_in="", more=()):
        """The announced addresses of both, after they have merged to a good end."""
        first, address = self.begin_first(first_in, "--peers", "2", "--listen", listen, *more)
        second = self.begin_in(second_in, "train", "--join", address, *more)
        printed = [self.end_of(process) for process in (first, second)]
        self.assertEqual(sum("verdict ok (2 of 2 peers)" in text for text in printed), 1, printed)
        self.assertGreater(self.result_of("run")["merges_applied"], 0)
        subprocess.run(["rm", "-r", str(self.folder / "run")], check=True)
        return address, re.search(r"p01 of 2  (\S+)", self.said(second)).group(1)


class HereTest(AddressTest):
    def test_addresses_of_both_families_and_names_work_and_port_0_is_announced_as_what_it_became(self):
        for listen, host in (("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "[::1]"), ("localhost:0", "")):
            with self.subTest(listen=listen):
                if host == "[::1]" and not os.path.exists("/proc/net/if_inet6"):
                    self.skipTest("no IPv6 here")
                for address in self.pool_of_two(listen):
                    self.assertTrue(address.startswith(host), address)
                    self.assertNotIn(address.rsplit(":", 1)[1], ("", "0"))

    def test_what_is_announced_is_dialled(self):
        first, address = self.begin_first("", "--peers", "2", "--announce", "localhost:0")
        self.assertRegex(address, r"^localhost:[1-9]\d*$")
        second = self.begin_peer("train", "--join", address)
        for process in (first, second):
            self.end_of(process)


class LonelyMachineTest(AddressTest):
    """A network namespace of its own: first with loopback only, then with one family."""

    def setUp(self):
        super().setUp()
        if reason := two_hosts.why_not():
            raise unittest.SkipTest(reason)
        self.space = f"hs{os.getpid()}alone"
        self.ip("netns", "add", self.space)
        self.addCleanup(subprocess.run, ["ip", "netns", "del", self.space], capture_output=True)
        self.ip("-n", self.space, "link", "set", "lo", "up")

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def plug_in(self):
        self.ip("-n", self.space, "link", "add", "cable", "type", "veth", "peer", "name", "socket")
        for end in ("socket", "cable"):
            self.ip("-n", self.space, "link", "set", end, "up")

    def test_loopback_alone_is_enough_also_for_a_wildcard(self):
        for listen, host in (("127.0.0.1:0", "127.0.0.1"), ("0.0.0.0:0", "127.0.0.1"),
                             ("[::]:0", "[::1]")):
            with self.subTest(listen=listen):
                for address in self.pool_of_two(listen, self.space, self.space, ("--insecure",)):
                    self.assertTrue(address.startswith(host), address)

    def test_a_family_that_this_machine_has_not_is_named(self):
        self.plug_in()
        for own, target, has in (("10.9.8.7/24", "[fd00::7]:7400", "IPv4"),
                                 ("fd00::8/64", "10.9.8.7:7400", "IPv6")):
            words = f"address, and this machine has {has} only"
            with self.subTest(own=own):
                self.ip("-n", self.space, "addr", "flush", "dev", "cable")
                self.ip("-n", self.space, "addr", "add", own, "dev", "cable")
                joiner = self.begin_in(self.space, "train", "--join", target)
                self.assertIn("trying again", self.hears(joiner, words))
                joiner.send_signal(signal.SIGINT)
                self.end_of(joiner, code=130, seconds=8)

    def test_a_link_local_address_with_its_zone_works(self):
        self.plug_in()
        self.ip("-n", self.space, "addr", "add", "fe80::77/64", "dev", "cable", "nodad")
        for address in self.pool_of_two("[fe80::77%cable]:0", self.space, self.space, ("--insecure",)):
            self.assertTrue(address.startswith("[fe80::77%cable]:"), address)


class TwoHostsTest(AddressTest):
    def setUp(self):
        super().setUp()
        self.hosts = two_hosts.TwoHosts(self, self.folder)

    def test_a_wildcard_is_announced_as_what_the_other_host_can_reach(self):
        alpha, beta = self.hosts.spaces
        addresses = self.pool_of_two("0.0.0.0:0", alpha, beta, ("--insecure",))
        for address, host in zip(addresses, self.hosts.addresses):
            self.assertTrue(address.startswith(host + ":"), address)

    def test_a_loopback_address_is_refused_by_who_cannot_reach_it(self):
        alpha, beta = self.hosts.spaces
        first, address = self.begin_first(alpha, "--peers", "2", "--listen", "0.0.0.0:0", "--insecure")
        joiner = self.begin_in(beta, "train", "--join", address, "--listen", "127.0.0.1:0")
        self.end_of(joiner, code=2)
        self.assertIn("means nothing to", self.said(joiner))
        self.assertIn("--announce", self.said(joiner))
        open_joiner = self.begin_in(beta, "train", "--join", address)
        self.end_of(open_joiner, code=2)
        self.assertIn("--insecure", self.said(open_joiner))
        first.send_signal(signal.SIGTERM)
        self.end_of(first, code=143)

    def test_ranks_on_two_hosts_are_one_pool(self):
        """As torchrun starts them with one process on each of two hosts."""
        both = []
        for rank, space in enumerate(self.hosts.spaces):
            words = [f"RANK={rank}", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=1", "TORCHELASTIC_RUN_ID=two"]
            path = self.folder / f"said.{rank}"
            with open(path, "wb") as said:
                process = subprocess.Popen(
                    ["ip", "netns", "exec", space, "unshare", "--uts", "sh", "-c",
                     f'hostname {self.hosts.names[rank]}; exec env "$@"', "sh", *words,
                     harness.binary(), "train", *SHORT, "--insecure"],
                    cwd=self.folder, env=harness.environment(self.folder), stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=said)
            process.said = path
            self.addCleanup(self.end, process)
            both.append(process)
        printed = [self.end_of(process) for process in both]
        self.assertEqual(sum("verdict ok (2 of 2 peers)" in text for text in printed), 1, printed)
        for rank in range(2):
            endpoint = json.loads((self.peer_folder(rank) / "endpoint.json").read_text())
            self.assertEqual(endpoint["host"], self.hosts.names[rank])
            self.assertTrue(endpoint["address"].startswith(self.hosts.addresses[rank] + ":"))


if __name__ == "__main__":
    harness.main()

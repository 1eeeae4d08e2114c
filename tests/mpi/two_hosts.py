# SPDX-License-Identifier: Apache-2.0
"""Two hosts that are none: network namespaces joined by a cable, each with a name of its own."""

import os
import shutil
import subprocess
import unittest

SUBNET = "10.213.77"
# mpirun calls it as it would call ssh: host, then words that make one command line.
AGENT = """#!/bin/sh
shift
exec ip netns exec {space} unshare --uts sh -c 'hostname {host}; exec sh -c "$0"' "$*"
"""


def why_not():
    if os.geteuid() != 0:
        return "making network namespaces needs root"
    for tool in ("ip", "unshare", "hostname"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    probe = f"hs{os.getpid()}probe"
    if subprocess.run(["ip", "netns", "add", probe], capture_output=True).returncode:
        return "network namespaces cannot be made here"
    subprocess.run(["ip", "netns", "del", probe], check=True)
    return ""


class TwoHosts:
    """alpha, where mpirun runs, and beta; both see the same files."""

    def __init__(self, test, folder):
        if reason := why_not():
            raise unittest.SkipTest(reason)
        self.folder = folder
        self.names = ["alpha", "beta"]
        self.spaces = [f"hs{os.getpid()}{name}" for name in self.names]
        self.addresses = [f"{SUBNET}.{number}" for number in (1, 2)]
        for space in self.spaces:
            self._ip("netns", "add", space)
            test.addCleanup(self._remove, space)
        ends = [f"hs{os.getpid()}{letter}" for letter in "ab"]
        self._ip("link", "add", ends[0], "netns", self.spaces[0], "type", "veth", "peer", "name", ends[1],
                 "netns", self.spaces[1])
        for space, end, address in zip(self.spaces, ends, self.addresses):
            self._ip("-n", space, "addr", "add", f"{address}/24", "dev", end)
            self._ip("-n", space, "link", "set", "lo", "up")
            self._ip("-n", space, "link", "set", end, "up")
        (folder / "agent").write_text(AGENT.format(space=self.spaces[1], host=self.names[1]))
        (folder / "agent").chmod(0o755)
        (folder / "hosts").write_text("".join(f"{address} slots=2\n" for address in self.addresses))
        self.ends = ends

    def _ip(self, *words):
        out = subprocess.run(["ip", *words], capture_output=True, text=True)
        if out.returncode:
            raise RuntimeError(f"ip {' '.join(words)}: {out.stderr}")

    def _remove(self, space):
        """Ends who still lives there first: a namespace lives as long as its processes."""
        left = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True).stdout
        for pid in map(int, left.split()):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        subprocess.run(["ip", "netns", "del", space], capture_output=True)

    def pids(self, host):
        out = subprocess.run(["ip", "netns", "pids", self.spaces[host]], capture_output=True, text=True)
        return set(map(int, out.stdout.split()))

    def unplug(self):
        self._ip("-n", self.spaces[1], "link", "set", self.ends[1], "down")

    def command(self, mpirun, *words):
        """`mpirun words` on alpha, with both hosts."""
        network = f"{SUBNET}.0/24"
        job = [*mpirun, "--hostfile", "hosts", "--mca", "plm_rsh_agent", str(self.folder / "agent"),
               "--mca", "oob_tcp_if_include", network, "--mca", "btl", "tcp,self",
               "--mca", "btl_tcp_if_include", network, *map(str, words)]
        return ["ip", "netns", "exec", self.spaces[0], "unshare", "--uts", "sh", "-c",
                f'hostname {self.names[0]}; exec "$@"', "sh", *job]

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines with hardly a network: loopback only, or one family of addresses where the other is asked for.

Pools must work on loopback alone. What cannot work must be said at once, with the address and the cause.
Needs root, for network namespaces; skipped otherwise.
"""

import os
import subprocess
import sys

import pool
import trial as trials

SKIP_CODE = 77
SHORT = (*pool.DIGITS, "--epochs", "20", "--eval-every", "0")


class Namespace:
    """A network of its own: nothing but loopback, with or without IPv6."""

    def __init__(self, number, has_ipv6):
        self.name = f"hs{os.getpid()}n{number}"
        subprocess.run(["ip", "netns", "add", self.name], check=True)
        try:
            if not has_ipv6:
                self.run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; "
                                     "echo 1 > /proc/sys/net/ipv6/conf/lo/disable_ipv6")
            self.run("ip", "link", "set", "lo", "up")
        except BaseException:
            self.close()
            raise

    def run(self, *words, timeout=30, **options):
        return subprocess.run(["ip", "netns", "exec", self.name, *map(str, words)], timeout=timeout,
                              capture_output=True, text=True, **options)

    def close(self):
        subprocess.run(["ip", "netns", "del", self.name], check=True)


def pool_works(trial, space, options, name, listen=None):
    """A pool of three on this network: by hearsay launch, or each by itself with an address."""
    words = [options.hearsay, "launch", "-n", "3", *SHORT, "--run", name]
    if listen:
        start_all = 'for RANK in 0 1 2; do RANK=$RANK "$@" & done; wait'
        words = ["env", "WORLD_SIZE=3", "sh", "-c", start_all, "sh", options.hearsay, "train", *SHORT,
                 "--run", name, "--listen", listen]
    out = space.run(*words, cwd=trial.folder)
    said = [line for line in out.stdout.splitlines() if line.startswith("run ")] or [out.stderr[-200:]]
    return "verdict ok (3 of 3 peers)" in said[0], " ".join(said[0].split())


def refused(trial, space, options, *words):
    """(is one clear line at once, that line)."""
    try:
        out = space.run("timeout", "8", options.hearsay, "train", *words, cwd=trial.folder)
    except subprocess.TimeoutExpired:
        return False, "no end"
    lines = [line for line in out.stderr.splitlines() if line.strip()]
    return out.returncode == 2 and len(lines) == 1, (lines or ["nothing said"])[-1]


def keeps_trying(trial, space, options, address):
    """A joiner that cannot reach the address: what it says until it is ended."""
    out = space.run("timeout", "-s", "INT", "3", options.hearsay, "train", "--join", address,
                    cwd=trial.folder)
    return next((line for line in out.stderr.splitlines() if address in line), out.stderr)


def work(trial, options):
    spaces = [Namespace(0, True), Namespace(1, False)]
    try:
        both, old = spaces
        for space, name, listen in ((both, "loopback", None), (both, "loopback-ipv6", "[::1]:0"),
                                    (old, "no-ipv6", None)):
            is_good, line = pool_works(trial, space, options, name, listen)
            trial.check(is_good, line)
        is_good, line = refused(trial, old, options, *SHORT, "--peers", "2", "--listen", "[::1]:0")
        trial.check(is_good and "::1" in line, f"IPv6 asked for where there is none: {line}")
        is_good, line = refused(trial, both, options, *SHORT, "--peers", "2", "--insecure", "--listen",
                                "203.0.113.7:7000")
        trial.check(is_good and "203.0.113.7" in line, f"somebody else's address: {line}")
        for space, address in ((old, "[::1]:7000"), (both, "198.51.100.1:7000"),
                               (both, "[2001:db8::1]:7000")):
            line = keeps_trying(trial, space, options, address)
            trial.check(address in line and len(line) > len(address) + 20, f"joining {address}: {line}")
        clean = not (trial.folder / "runs").exists()
        trial.check(clean, "what could not start has left nothing")
    finally:
        for space in spaces:
            space.close()


if __name__ == "__main__":
    if os.geteuid() != 0 or subprocess.run(["ip", "netns", "list"], capture_output=True).returncode:
        print("skipped: making network namespaces needs root")
        sys.exit(SKIP_CODE)
    trials.run(__doc__, work)

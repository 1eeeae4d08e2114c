#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Thousands of strangers at one peer's door: connections that say nothing, and some that say a byte a second.

With and without a secret: the peer's memory and descriptors stay bounded, its pool trains and merges on,
and a peer of the pool that comes back in the middle of it gets in.
"""

import pathlib
import resource
import selectors
import signal
import socket
import time

import failed_exchanges
import pool
import trial as trials

ALLOWED_BYTES = 8 << 20
HALF_OPEN = 64  # the program's own limit
ALLOWED_DESCRIPTORS = HALF_OPEN + 16
SLOW = 200
TARGET = 0


class Crowd:
    """Connections of people who want nothing but the room that they take."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.address = (host, int(port))
        self.silent, self.slow = [], []
        self.refused = 0

    def dial(self):
        sock = socket.socket()
        sock.settimeout(5)
        sock.connect(self.address)
        sock.setblocking(False)
        return sock

    def hold_open(self, count):
        for _ in range(count):
            try:
                self.silent.append(self.dial())
            except OSError:
                self.refused += 1

    def say_a_byte(self):
        """To as many as there may be; whoever has been hung up on dials again."""
        self.slow = [sock for sock in self.slow if self.still_open(sock)]
        while len(self.slow) < SLOW:
            try:
                self.slow.append(self.dial())
            except OSError:
                self.refused += 1
                break
        for sock in self.slow:
            try:
                sock.send(b"h")
            except OSError:
                continue

    @staticmethod
    def still_open(sock):
        with selectors.DefaultSelector() as waiting:
            waiting.register(sock, selectors.EVENT_READ)
            if not waiting.select(0):
                return True
        sock.close()
        return False

    def close(self):
        for sock in self.silent + self.slow:
            sock.close()


def samples(many, ranks):
    return sum(many.events(rank, "block.finished")[-1]["samples"] for rank in ranks)


def speed(many, ranks, seconds, meanwhile=lambda: None):
    begin, before = time.monotonic(), samples(many, ranks)
    while time.monotonic() - begin < seconds:
        meanwhile()
        time.sleep(0.5)
    return (samples(many, ranks) - before) / (time.monotonic() - begin)


def besiege(trial, many, silent, seconds, name):
    pid = many.processes[TARGET].pid
    ranks = list(range(many.size))
    usual = speed(many, ranks, seconds)
    memory, files = failed_exchanges.resident_bytes(pid), failed_exchanges.descriptors(pid)
    clocks = many.clocks()
    crowd, most = Crowd(many.addresses[TARGET]), [memory, files]

    def press():
        crowd.say_a_byte()
        most[0] = max(most[0], failed_exchanges.resident_bytes(pid))
        most[1] = max(most[1], failed_exchanges.descriptors(pid))

    crowd.hold_open(silent)
    press()
    besieged = speed(many, ranks, seconds, press)
    trial.check(most[0] - memory < ALLOWED_BYTES and most[1] - files <= ALLOWED_DESCRIPTORS,
                f"{name}: {len(crowd.silent)} connections without a word and {SLOW} at a byte a second, "
                f"for {seconds:g} s: memory {memory / 2 ** 20:.1f} MiB, at most "
                f"{(most[0] - memory) / 2 ** 20:+.2f}; "
                f"descriptors {files}, at most {most[1] - files:+d}")
    trial.say(f"         samples/s of the pool {100 * (besieged / usual - 1):+.1f} %; both sides of the "
              "siege run on this machine")
    merged = [len(many.events(rank, "merge.applied", since_ns=clocks[rank])) for rank in ranks]
    trial.check(all(merged), f"{name}: merges meanwhile: {', '.join(map(str, merged))}")
    return crowd


def has_merged(many, rank):
    """In its newest start."""
    return (many.endpoint(rank)["pid"] == many.processes[rank].pid
            and b'"merge.applied"' in (many.folder(rank) / "events.jsonl").read_bytes())


def work(trial, options):
    silent, seconds = (1000, 4) if options.quick else (10_000, options.seconds)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, silent + 2000), hard))
    secret = pathlib.Path(trial.folder / "secret")
    secret.write_text("only for the length of this trial\n")
    secret.chmod(0o600)
    for name, words in (("plain", ()), ("with a secret", ("--secret", secret))):
        many = pool.Pool(trial, 3, *pool.ENDLESS, "--model", "mlp:64", "--merge-every", "1", "--time",
                         "3600s", "--seed", trial.seed, *words, name=name.replace(" ", "-"))
        many.start().wait_training()
        crowd = besiege(trial, many, silent, seconds, name)
        many.kill(2)
        begin = time.monotonic()
        many.start(2)
        trial.wait_until(lambda: has_merged(many, 2), "a peer comes back beside the crowd", 60)
        trial.say(f"         {pool.peer_name(2)} is killed, comes back and has merged after "
                  f"{time.monotonic() - begin:.1f} s")
        crowd.close()
        many.signal(signal.SIGTERM)
        many.wait_end(30)
        trial.check(many.result()["peers_lost"] == 0, f"{name}: nobody lost at the end")
        many.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


if __name__ == "__main__":
    trials.run(__doc__, work, seconds=30)

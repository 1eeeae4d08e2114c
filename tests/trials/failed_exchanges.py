#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ten thousand exchanges that end half-way: connections break in the middle of weights, again and again.

Memory and descriptors of all peers must be flat after the first tenth, and the pool must still merge once
the network is good again.
"""

import pathlib
import signal
import time

import pool
import trial as trials

SHARE = 0.5  # of a frame's weights that arrives
ALLOWED_BYTES = 4 << 20
ALLOWED_DESCRIPTORS = 4
PAGE_BYTES = 4096


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def descriptors(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def look(many):
    pids = [many.processes[rank].pid for rank in many.alive()]
    return [resident_bytes(pid) for pid in pids], [descriptors(pid) for pid in pids]


def work(trial, options):
    size, wanted = (6, 300) if options.quick else (10, 10_000)
    many = pool.Pool(trial, size, *pool.ENDLESS, "--model", "mlp:64", "--merge-every", "1", "--time", "3600s",
                     "--seed", trial.seed, relay=True).start().wait_training()
    rule = many.relay.tell(do="kill-after", share=SHARE, how="reset", times=1 << 30,
                           kinds=["request", "reply"])
    begin, warm, highest = time.monotonic(), None, None
    limit_s = 60 if options.quick else 1200
    while rule.hits < wanted and time.monotonic() - begin < limit_s:
        time.sleep(0.2)
        memory, files = look(many)
        if rule.hits < wanted // 10:
            warm = memory, files
        else:
            highest = ([max(pair) for pair in zip(memory, highest[0])] if highest else memory, files)
    took = time.monotonic() - begin
    if not trial.check(rule.hits >= wanted and len(many.alive()) == size,
                       f"{rule.hits} of {wanted} exchanges ended half-way in {took:.0f} s, {len(many.alive())} of "
                       f"{size} peers live"):
        return
    memory, files = look(many)
    growth = max(after - before for before, after in zip(warm[0], memory))
    trial.check(growth < ALLOWED_BYTES,
                f"resident memory: {max(warm[0]) / 2 ** 20:.1f} MiB after the first tenth, "
                f"{max(memory) / 2 ** 20:.1f} at the end (at most {max(highest[0]) / 2 ** 20:.1f}), grown by "
                f"{growth / 2 ** 20:+.2f} at most")
    trial.check(max(files) <= 2 * size + max(warm[1]) + ALLOWED_DESCRIPTORS,
                f"descriptors: {max(warm[1])} after the first tenth, {max(files)} at the end")
    clocks = many.clocks()
    many.relay.tell(do="end", name="kill-after")
    trial.wait_until(lambda: all(many.events(rank, "merge.applied", since_ns=clocks[rank])
                                 for rank in range(size)), "all merge again on a good network", 30)
    many.signal(signal.SIGTERM)
    many.wait_end(30)
    result = many.result()
    trial.check(result["peers_lost"] == 0, f"{result['peers_lost']} lost at the end; {result['merges_applied']} "
                                           f"merges applied in all")


if __name__ == "__main__":
    trials.run(__doc__, work)

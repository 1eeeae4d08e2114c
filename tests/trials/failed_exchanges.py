#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ten thousand exchanges that end half-way: connections break in the middle of weights, answers are lost.

Memory and descriptors of all peers must be flat after the first tenth, and the pool must merge as before
once the network is good again.
"""

import pathlib
import signal
import time

import pool
import trial as trials

# Of frames with weights. Where every frame failed, peers would soon hardly try any more.
CHANCE = 0.1
ALLOWED_BYTES = 4 << 20
ALLOWED_DESCRIPTORS = 4
PAGE_BYTES = 4096


class Counter:
    """How often a word stands in the logs, read on from where it was."""

    def __init__(self, many, word):
        self.many, self.word = many, word
        self.at = dict.fromkeys(range(many.size), 0)
        self.count = 0

    def look(self):
        for rank in self.at:
            with open(self.many.folder(rank) / "events.jsonl", "rb") as file:
                file.seek(self.at[rank])
                data = file.read()
            whole = data.rfind(b"\n") + 1
            self.count += data.count(self.word, 0, whole)
            self.at[rank] += whole
        return self.count


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def descriptors(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def look(many):
    pids = [many.processes[rank].pid for rank in many.alive()]
    return [resident_bytes(pid) for pid in pids], [descriptors(pid) for pid in pids]


def work(trial, options):
    size, wanted, limit_s = (6, 120, 30) if options.quick else (10, 10_000, 800)
    words = (*pool.ENDLESS, "--model", "mlp:64", "--merge-every", "1", "--time", "3600s")
    many = pool.Pool(trial, size, *words, "--seed", trial.seed, relay=True).start().wait_training()
    rule = many.relay.tell(do="kill-after", share=0.5, how="reset", times=1 << 30, chance=CHANCE,
                           kinds=["request", "reply"])
    halves = Counter(many, b'"merge.half"')
    begin, warm, most = time.monotonic(), None, 0
    while halves.look() < wanted and time.monotonic() - begin < limit_s and len(many.alive()) == size:
        time.sleep(0.5)
        memory, files = look(many)
        if halves.count < wanted // 10 or warm is None:
            warm = memory, files
        most = max(most, *memory)
    took = time.monotonic() - begin
    memory, files = look(many)
    trial.check(halves.count >= wanted and len(many.alive()) == size,
                f"{halves.count} of {wanted} exchanges ended half-way in {took:.0f} s ({rule.hits} "
                f"connections broken in mid-frame), {len(many.alive())} of {size} peers live")
    growth = max(after - before for before, after in zip(warm[0], memory))
    trial.check(growth < ALLOWED_BYTES,
                f"resident memory: at most {max(warm[0]) / 2 ** 20:.1f} MiB after the first tenth, "
                f"{max(memory) / 2 ** 20:.1f} at the end ({most / 2 ** 20:.1f} in between), grown by "
                f"{growth / 2 ** 20:+.2f} MiB in one peer at most")
    trial.check(max(files) <= 2 * size + max(warm[1]) + ALLOWED_DESCRIPTORS,
                f"descriptors: {max(warm[1])} after the first tenth, {max(files)} at the end")
    clocks = many.clocks()
    many.relay.tell(do="end", name="kill-after")
    trial.wait_until(lambda: all(many.events(rank, "merge.applied", since_ns=clocks[rank])
                                 for rank in range(size)), "all merge again on a good network", 45)
    many.signal(signal.SIGTERM)
    many.wait_end(30)
    result = many.result()
    trial.check(result["peers_lost"] == 0,
                f"{result['peers_lost']} lost at the end; {result['merges_applied']} merges applied in all")


if __name__ == "__main__":
    trials.run(__doc__, work)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One peer is ten times slower, then its bandwidth halves in mid-run; nothing is tuned.

Idle time of the others' compute lanes must stay within 2 %, and what happens to merges is stated: started,
answered, half done, skipped. The same pool without the slow peer is run for comparison.
"""

import signal
import threading
import time

import pool
import trial as trials

SLOW = 3
FACTOR = 10
SLICE_S = 0.02  # of stopping and going on
BANDWIDTH_BPS = 20e6
ALLOWED_IDLE = 0.02


class Brake:
    """Lets a process run for a tenth of the time, in slices."""

    def __init__(self, process):
        self.process = process
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self):
        while not self.is_over.is_set() and self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)
            self.is_over.wait(SLICE_S * (1 - 1 / FACTOR))
            self.process.send_signal(signal.SIGCONT)
            self.is_over.wait(SLICE_S / FACTOR)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)

    def release(self):
        self.is_over.set()
        self.thread.join()


def merges(many, ranks, since):
    """(started, answered, half done, late answers) by these peers since their clocks."""
    started = answered = half = late = 0
    for rank in ranks:
        for event in many.log(rank):
            if event.get("t_ns", 0) < since[rank]:
                continue
            started += event["ev"] == "partner.chosen"
            answered += event["ev"] == "merge.applied"
            half += event["ev"] == "merge.half"
            late += event.get("kind") == "late reply"
    return started, answered, half, late


def measure(trial, options, with_slow_one):
    size, span_s = 4, options.seconds
    words = (*pool.ENDLESS, "--model", "mlp:128", "--merge-every", "20", "--time", f"{4 * span_s + 30:g}s",
             "--seed", trial.seed, *(() if with_slow_one else ("--start-with", size - 1)))
    ranks = [rank for rank in range(size) if with_slow_one or rank != SLOW]
    others = [rank for rank in ranks if rank != SLOW]
    many = pool.Pool(trial, size, *words, relay=True, name=f"slow-{with_slow_one}").start(*ranks)
    many.wait_training(*ranks)
    brake = Brake(many.processes[SLOW]) if with_slow_one else None
    idle = []
    try:
        time.sleep(1)
        for bps in (BANDWIDTH_BPS, BANDWIDTH_BPS / 2) if with_slow_one else (BANDWIDTH_BPS,):
            if with_slow_one:
                many.relay.tell(do="end", name="rate")
                many.relay.tell(do="rate", peer=SLOW, bps=bps)
            clocks = many.clocks(others)
            span = pool.Span(many, others)
            time.sleep(span_s)
            rate, net, share = span.end().total()
            idle.append(share)
            started, answered, half, late = merges(many, others, clocks)
            text = (f"beside one {FACTOR}x slower, its link at {bps / 1e6:g} Mb/s" if with_slow_one
                    else "without a slow peer")
            trial.check(share <= ALLOWED_IDLE,
                        f"{text}: others idle {share:.2%}, {net:,.0f} samples/s net of waiting for a core "
                        f"({rate:,.0f} with it); merges: {started} started, {answered} applied, {half} "
                        f"given up, {late} answers too late")
    finally:
        if brake:
            brake.release()
    many.signal(signal.SIGTERM)
    many.wait_end(30)
    peers = [peer for peer in many.result()["per_peer"] if peer["peer"] in map(pool.peer_name, others)]
    in_training = sum(peer["train_s"] for peer in peers) / sum(peer["wall_s"] for peer in peers)
    skipped = sum(peer["merges_skipped"] for peer in peers)
    trial.say(f"         whole run of the others: {in_training:.1%} of wall time in mini-batches, "
              f"{sum(peer['merges'] for peer in peers)} merges started, {skipped} skipped")
    many.close()
    return in_training, idle


def work(trial, options):
    if options.quick and options.is_default_seconds:
        options.seconds = 2.5
    alone, _ = measure(trial, options, False)
    beside, _ = measure(trial, options, True)
    trial.check(beside > alone - ALLOWED_IDLE,
                f"share of wall time in mini-batches: {alone:.1%} without the slow peer, {beside:.1%} with")


if __name__ == "__main__":
    trials.run(__doc__, work, seconds=12)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One of eight peers is killed and does not come back: how often do the others dial it, and say so?

Dials must get rarer, a line is written for a change of state and not for a try, and training goes on.
"""

import signal
import time

import pool
import trial as trials

DEAD = 5
# Back-off from 0.1 to 10 s: the first seconds hold about eight tries, a minute about thirteen.
ALLOWED_DIALS_FIRST, ALLOWED_DIALS_A_MINUTE = 12, 12
ALLOWED_LINES = 4


def work(trial, options):
    size, span_s = 8, (8.0 if options.quick and options.is_default_seconds else options.seconds)
    words = (*pool.ENDLESS, "--model", "mlp:64", "--merge-every", "20", "--time", "3600s")
    many = pool.Pool(trial, size, *words, "--seed", trial.seed, relay=True).start().wait_training()
    others = [rank for rank in range(size) if rank != DEAD]
    time.sleep(2)
    span = pool.Span(many, others)
    time.sleep(3)
    before = span.end().total()
    clocks = many.clocks(others)
    many.kill(DEAD)
    killed = time.monotonic()
    span = pool.Span(many, others)
    time.sleep(span_s)
    after = span.end().total()
    dials = [(t - killed, dialler) for t, what, dialler, door in many.relay.log()
             if what == "dialled" and t > killed and door == DEAD]
    by_whom = [sum(dialler == rank for _, dialler in dials) for rank in others]
    about = {rank: [event for event in many.events(rank, "fault.seen", "peer.lost", since_ns=clocks[rank])
                    if event.get("who") == pool.peer_name(DEAD)] for rank in others}
    lines = [len(events) for events in about.values()]
    knows = [min((event["t_ns"] - clocks[rank] for event in events if event["ev"] == "peer.lost"),
                 default=None) for rank, events in about.items()]
    allowed = ALLOWED_DIALS_FIRST + ALLOWED_DIALS_A_MINUTE * span_s / 60
    trial.check(max(by_whom) <= allowed,
                f"in {span_s:g} s: {len(dials)} dials to the dead peer by {len(others)} others, at "
                f"most {max(by_whom)} by one (allowed {allowed:.0f}); "
                f"{sum(t > span_s / 2 for t, _ in dials)} of them in the second half")
    trial.check(max(lines) <= ALLOWED_LINES,
                f"at most {max(lines)} lines about it in one log (allowed {ALLOWED_LINES})")
    trial.check(None not in knows, "all others know of its death, the last one after "
                                   f"{max(t or 0 for t in knows) * 1e-9:.1f} s")
    # Speed changes within a minute by itself, as training converges; who waits for the dead is idle.
    trial.check(after[2] <= options.idle,
                f"others {pool.change(before[1], after[1]):+.1%} samples/s, idle {before[2]:.2%} -> "
                f"{after[2]:.2%}")
    many.signal(signal.SIGTERM)
    many.wait_end(30)
    trial.check(many.result()["peers_lost"] == 1, f"{many.result()['peers_lost']} lost at the end")


if __name__ == "__main__":
    trials.run(__doc__, work, seconds=60)

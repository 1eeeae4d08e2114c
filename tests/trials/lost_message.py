#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exactly one message of each kind is lost, or one connection ends or stands still in the middle of weights.

No run may wait for a message that cannot come again: it ends as it would have, soon, with everybody there.
And where the sender dies with its frame at 40 %, its partner merges nothing of it and goes to others.
"""

import time

import pool
import trial as trials

KINDS = ("request", "reply", "finished", "left", "ping", "pong", "hello")
BREAKS = (("a reset at half a frame", {"share": 0.5, "how": "reset"}),
          ("an end at half a frame", {"share": 0.5, "how": "close"}),
          ("silence at half a frame", {"share": 0.5, "how": "stall"}))
EXTRA_S = 15  # the longest standstill within a message is 10 s


def begin(trial, size, *words, name):
    words = (*pool.DIGITS, "--model", "mlp:64", "--eval-every", "0", "--merge-every", "5", *words)
    return pool.Pool(trial, size, *words, "--seed", trial.seed, name=name, relay=True)


def finish(trial, many, what, undisturbed_s, rule):
    begun = time.monotonic()
    codes = many.wait_end(undisturbed_s + 60)
    took = time.monotonic() - begun
    result = many.result()
    hit = "undisturbed" if rule is None else "it happened" if rule.hits else "none was sent"
    trial.check(set(codes.values()) == {0} and (result["verdict"], result["peers_lost"]) == ("ok", 0)
                and took < undisturbed_s + EXTRA_S,
                f"{what}: {hit}; the end after {took:.1f} s, verdict {result['verdict']}, "
                f"{result['peers_lost']} lost")
    many.close()
    return took


def one_lost(trial, options):
    epochs = "100" if options.quick else "1000"
    kinds = KINDS[1:3] if options.quick else KINDS
    breaks = BREAKS[:1] if options.quick else BREAKS
    many = begin(trial, 3, "--epochs", epochs, name="nothing").start()
    undisturbed_s = finish(trial, many, "nothing", 60, None)
    for kind in kinds:
        many = begin(trial, 3, "--epochs", epochs, name=f"lost-{kind}")
        if kind == "hello":  # the connection breaks before it is open
            rule = many.relay.tell(do="reset", peer=0, every_s=1.5)
        else:
            rule = many.relay.tell(do="loss", share=1, kinds=[kind], times=1)
        finish(trial, many.start(), f"one {kind}", undisturbed_s, rule)
    for what, words in breaks:
        many = begin(trial, 3, "--epochs", epochs, name=what.replace(" ", "-"))
        rule = many.relay.tell(do="kill-after", **words)
        finish(trial, many.start(), what, undisturbed_s, rule)


def death_in_mid_frame(trial, options):
    """A1: the sender is killed with 40 % of its weights on the way."""
    many = begin(trial, 5, "--epochs", "1000000", "--time", "3600s", "--schedule", "constant", name="death")
    many.start().wait_training()
    rule = many.relay.tell(do="kill-after", kinds=["request"], share=0.4, how="stall")
    sender, partner, seq = trial.wait_until(lambda: rule.cut, "a request cut off", 20)
    clock = many.now_ns(partner)
    many.kill(sender)
    many.relay.tell(do="end", name="kill-after")

    def next_merges():
        return many.events(partner, "merge.applied", since_ns=clock)

    trial.wait_until(lambda: len(next_merges()) >= 3, f"{pool.peer_name(partner)} merges with others", 15)
    taken = [event for event in many.events(partner, "delta.received", "merge.applied")
             if event["from"] == pool.peer_name(sender) and event["seq"] == seq]
    applied = [event["mseq"] for event in many.events(partner, "merge.applied")]
    trial.check(not taken and applied == list(range(1, len(applied) + 1)),
                f"{pool.peer_name(sender)} killed with 40 % of its weights sent: {pool.peer_name(partner)} "
                f"took {len(taken)} of it, and merged with another "
                f"{(next_merges()[0]['t_ns'] - clock) * 1e-9:.2f} s later")
    many.signal(pool.signal.SIGTERM)
    many.wait_end(30)
    many.close()


def work(trial, options):
    one_lost(trial, options)
    death_in_mid_frame(trial, options)


if __name__ == "__main__":
    trials.run(__doc__, work)

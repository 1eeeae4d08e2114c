# SPDX-License-Identifier: Apache-2.0
"""The promises of an event log, checked without a line of the program's own code.

Each check takes the events behind the header and yields one text a breach.
"""

from collections import Counter, defaultdict

USED = ("accept", "scale")


def line_numbers(events):
    following = Counter()
    for event in events:
        if event["n"] != following[event["peer"]]:
            yield f"{event['peer']}: n {event['n']}, not {following[event['peer']]}"
        following[event["peer"]] = event["n"] + 1


def clocks(events):
    last = defaultdict(int)
    for event in events:
        if event["t_ns"] < last[event["peer"]]:
            yield f"{event['peer']} line {event['n']}: t_ns goes back"
        last[event["peer"]] = event["t_ns"]


def merge_counters(events):
    last = Counter()
    for event in events:
        if event["ev"] == "merge.applied":
            last[event["peer"]] += 1
            if event["mseq"] != last[event["peer"]]:
                yield f"{event['peer']}: mseq {event['mseq']}, not {last[event['peer']]}"


def explained_merges(events):
    """An applied merge was decided once before, for use, and what it applies had arrived once."""
    decided, received, applied, applied_as = Counter(), Counter(), Counter(), {}
    for event in events:
        key = (event["peer"], event.get("from"), event.get("seq"))
        if event["ev"] == "run.resumed":  # what it had merged after its checkpoint is undone
            for gone in [each for each in decided if each[0] == event["peer"]
                         and applied_as.get(each, event["mseq"] + 1) > event["mseq"]]:
                decided[gone] = applied[gone] = 0
        if event["ev"] == "merge.decided":
            decided[key] += event["verdict"] in USED
            if received[key] != 1:
                yield f"{key} decided after {received[key]} arrivals"
            if event["verdict"] in USED and not 0 <= event["alpha"] <= 1:
                yield f"{key} has alpha {event['alpha']}"
        elif event["ev"] == "delta.received":
            received[key] += 1
        elif event["ev"] == "merge.applied":
            applied[key] += 1
            applied_as[key] = event["mseq"]
            if (decided[key], received[key], applied[key]) != (1, 1, 1):
                yield (f"{key} applied: {decided[key]} decisions, {received[key]} arrivals, "
                       f"{applied[key]} applications")


def sent_deltas(events):
    """What arrives was sent to this peer before, once, with as many bytes."""
    sent, arrived = {}, Counter()
    for event in events:
        if event["ev"] == "delta.sent":
            key = (event["peer"], event["to"], event["seq"])
            if key in sent:
                yield f"{key} sent twice"
            if event["to"] == event["peer"]:
                yield f"{key} sent to itself"
            sent[key] = event
        elif event["ev"] == "delta.received":
            key = (event["from"], event["peer"], event["seq"])
            arrived[key] += 1
            if key not in sent:
                yield f"{key} received but not sent before"
            elif sent[key]["t_ns"] > event["t_ns"] or sent[key]["bytes"] != event["bytes"]:
                yield f"{key} arrives early or changed"
            if arrived[key] > 1:
                yield f"{key} received {arrived[key]} times"


def lives(events):
    """A peer joins first and says nothing after it has left; a pool's last line ends the run."""
    joined, left = set(), set()
    for event in events:
        peer = event["peer"]
        if peer == "pool":
            continue
        if event["ev"] == "peer.joined":
            joined.add(peer)
        if peer not in joined or peer in left:
            yield f"{peer} line {event['n']}: {event['ev']} outside of its life"
        if event["ev"] == "peer.left":
            left.add(peer)
    if not events or events[-1]["ev"] != "run.finished":
        yield "the last line is no run.finished"


def agreement(events, result):
    """The result counts what the log tells."""
    applied, payload = Counter(), Counter()
    for event in events:
        if event["ev"] == "merge.applied":
            applied[event["peer"]] += 1
        if event["ev"] == "delta.sent":
            payload[event["peer"]] += event["bytes"]
    for peer in result["per_peer"]:
        name = peer["peer"]
        if peer["merges_applied"] != applied[name]:
            yield f"{name}: {peer['merges_applied']} merges in the result, {applied[name]} logged"
        if peer["payload_bytes"] < payload[name]:
            yield f"{name}: {peer['payload_bytes']} payload bytes, {payload[name]} logged"
        if peer["wire_bytes"] < peer["payload_bytes"]:
            yield f"{name}: fewer bytes on the wire than payload"
    if result["merges_applied"] != sum(applied.values()):
        yield f"{result['merges_applied']} merges of the pool, {sum(applied.values())} logged"
    if events and result["verdict"] != events[-1].get("verdict"):
        yield f"verdict {result['verdict']}, logged {events[-1].get('verdict')}"


CHECKS = (line_numbers, clocks, merge_counters, explained_merges, sent_deltas, lives)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hearsay export: each format read back by another reader or by its definition; damaged runs."""

import collections
import csv
import json
import random
import sqlite3
import struct
import unittest
import xml.etree.ElementTree

import harness

GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    """TFRecords of a file, both checksums compared."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        head = data[at:at + 8]
        (length,) = struct.unpack("<Q", head)
        assert struct.unpack("<I", data[at + 8:at + 12])[0] == masked(head), at
        body = data[at + 12:at + 12 + length]
        assert struct.unpack("<I", data[at + 12 + length:at + 16 + length])[0] == masked(body), at
        yield body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def message(data):
    """The fields of a protobuf message: {number: [value, ...]}."""
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            size, form = {1: (8, "<d"), 5: (4, "<f")}[kind]
            value, at = struct.unpack(form, data[at:at + size])[0], at + size
        fields[key >> 3].append(value)
    return fields


def scalars(path):
    """[(wall time, step, tag, value)]"""
    found = []
    events = [message(body) for body in records(path)]
    assert events[0][3] == [b"brain.Event:2"], events[0]
    for event in events[1:]:
        for value in message(event[5][0])[1]:
            fields = message(value)
            found.append((event[1][0], event[2][0], fields[1][0].decode(), fields[2][0]))
    return found


class ExportTest(harness.CliTest):
    def simulate(self, *args):
        self.sim("--peers", "4", "--epochs", "3", "--quiet", "--run", "runs/one", *args)
        return [event for event in self.events_of("runs/one") if event["ev"] != "run.started"]

    def export(self, kind, *args, code=0):
        out = self.hearsay("export", "runs/one", "--to", kind, *args, timeout=60)
        self.assertEqual(out.returncode, code, out.stdout + out.stderr)
        return out

    def test_graphml_is_the_merge_graph(self):
        events = self.simulate()
        self.export("graphml", "-o", "g.graphml")
        root = xml.etree.ElementTree.parse(self.folder / "g.graphml").getroot()
        value = lambda element: {data.get("key"): data.text for data in element}
        nodes = {node.get("id"): value(node) for node in root.iter(GRAPHML + "node")}
        edges = [(edge.get("source"), edge.get("target"), value(edge))
                 for edge in root.iter(GRAPHML + "edge")]
        applied = {(e["peer"], e["mseq"]): e for e in events if e["ev"] == "merge.applied"}
        self.assertGreater(len(applied), 4)
        merged = {(n["peer"], int(n["mseq"])): name for name, n in nodes.items() if n["kind"] == "merge"}
        self.assertEqual(set(merged), set(applied))
        self.assertEqual(len(nodes), len(applied) + 4)
        alphas = {(e["peer"], e["from"], e["seq"]): e["alpha"]
                  for e in events if e["ev"] == "merge.decided"}
        found = {}
        for source, target, data in edges:
            if data["edge"] == "merge":
                found[nodes[target]["peer"], nodes[source]["peer"], int(data["seq"])] = float(data["alpha"])
        self.assertEqual(found, {key: alphas[key] for key in
                                 ((e["peer"], e["from"], e["seq"]) for e in applied.values())})
        self.assertEqual(sum(data["edge"] == "local" for _, _, data in edges), len(applied))

    def test_graph_json_holds_the_same_in_columns(self):
        events = self.simulate()
        self.export("graph")
        graph = json.loads((self.folder / "runs/one/graph.json").read_text())
        nodes, edges = graph["nodes"], graph["edges"]
        applied = [e for e in events if e["ev"] == "merge.applied"]
        self.assertEqual(nodes["kind"].count("merge"), len(applied))
        self.assertEqual({len(column) for column in edges.values()}, {len(applied)})
        self.assertEqual([p["peer"] for p in graph["peers"]], ["p00", "p01", "p02", "p03"])
        for start, end in zip(edges["from"], edges["to"]):
            self.assertLessEqual(nodes["t_ns"][start], nodes["t_ns"][end])

    def test_csv_has_every_event_once(self):
        events = self.simulate("--chaos", "kill=p01@50%")
        self.export("csv", "--out", "tables")
        rows = 0
        for path in (self.folder / "tables").iterdir():
            named = [e for e in events if e["ev"] + ".csv" == path.name]
            with open(path, newline="") as file:
                table = list(csv.DictReader(file))
            self.assertEqual(len(table), len(named), path)
            for row, event in zip(table, named):
                for key, value in event.items():
                    if key != "ev":
                        text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
                        same = row[key] == text or float(row[key]) == value
                        self.assertTrue(same, (path, key, row[key], value))
            rows += len(table)
        self.assertEqual(rows, len(events))

    def test_tensorboard_files_hold_the_log_s_scalars(self):
        events = self.simulate()
        self.export("tensorboard")
        for peer in ("p00", "p03"):
            (path,) = (self.folder / "runs/one/tb" / peer).iterdir()
            self.assertIn("tfevents", path.name)
            read = scalars(path)
            losses = [(step, value) for _, step, tag, value in read if tag == "train/loss"]
            blocks = [e for e in events if e["ev"] == "block.finished" and e["peer"] == peer]
            self.assertEqual([step for step, _ in losses], [e["samples"] for e in blocks])
            for (_, value), event in zip(losses, blocks):
                self.assertAlmostEqual(value, event["loss"], places=5)
            merges = [value for _, _, tag, value in read if tag == "gossip/merges"]
            self.assertEqual(merges, [float(i + 1) for i in range(len(merges))])
            self.assertGreater(len(merges), 0)
            sent = [e["bytes"] for e in events if e["ev"] == "delta.sent" and e["peer"] == peer]
            self.assertEqual([v for _, _, t, v in read if t == "gossip/bytes_sent"][-1], sum(sent))
            steps = [step for _, step, _, _ in read]
            self.assertEqual(steps, sorted(steps))
            self.assertGreater(read[0][0], 1.6e9)

    def test_sqlite_answers_questions(self):
        events = self.simulate()
        out = self.hearsay("export", "runs/one", "--to", "sqlite", "-o", "run.db")
        if b"built without SQLite" in out.stderr:
            self.assertEqual(out.returncode, 2)
            raise unittest.SkipTest("built without SQLite")
        self.assertEqual(out.returncode, 0, out.stderr)
        database = sqlite3.connect(self.folder / "run.db")
        count = lambda sql: database.execute(sql).fetchone()[0]
        self.assertEqual(count("PRAGMA integrity_check"), "ok")
        self.assertEqual(count("SELECT count(*) FROM events"), len(events))
        applied = [e for e in events if e["ev"] == "merge.applied"]
        rows = database.execute(
            "SELECT peer, mseq, from_peer, seq FROM merges WHERE kind = 'merge'").fetchall()
        self.assertEqual(sorted(rows),
                         sorted((e["peer"], e["mseq"], e["from"], e["seq"]) for e in applied))
        losses = database.execute("SELECT loss FROM blocks WHERE peer = 'p02' ORDER BY t_ns").fetchall()
        self.assertEqual([loss for (loss,) in losses],
                         [e["loss"] for e in events if e["ev"] == "block.finished" and e["peer"] == "p02"])
        self.assertEqual(count("SELECT count(*) FROM evals"),
                         sum(e["ev"] == "eval.finished" for e in events))
        self.assertEqual(count("SELECT count(*) FROM peers"), 4)
        plan = database.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM merges WHERE peer='p00' AND mseq=3").fetchall()
        self.assertIn("merges_by_peer", str(plan))

    def test_nothing_is_overwritten_unasked(self):
        self.simulate()
        for kind, out in (("graphml", "one.graphml"), ("csv", "tables")):
            self.export(kind, "-o", out)
            self.refused(("export", "runs/one", "--to", kind, "-o", out), out, "--force")
            self.export(kind, "-o", out, "--force")
        self.refused(("export", "runs/one", "--to", "graphml", "-o", "tables"), "a folder")
        self.refused(("export", "runs/one", "--to", "graphml", "-o", "no/such/x.graphml"), "no/such")

    def test_wrong_words_are_refused(self):
        self.simulate()
        self.refused(("export", "runs/one"), "--to", "graphml")
        self.refused(("export", "runs/one", "--to", "graphmal"), "graphml")
        self.refused(("export", "runs/none", "--to", "csv"), "runs/none")
        self.refused(("export", ".", "--to", "csv"), "no event log")

    def test_damaged_logs_never_crash_and_are_named(self):
        self.simulate()
        log = self.folder / "runs/one/events.jsonl"
        whole = log.read_bytes()
        self.export("sqlite", "-o", "whole.db")
        rng = random.Random(7)
        kinds = ["graphml", "graph", "csv", "tensorboard", "sqlite"]
        codes = collections.Counter()
        for trial in range(30):
            data = bytearray(whole)
            for _ in range(rng.randrange(1, 6)):
                at = rng.randrange(len(data))
                if rng.random() < 0.5:
                    data[at] = rng.randrange(256)
                else:  # a digit that makes a number wild, a key that goes away
                    data[at:at + rng.randrange(8)] = rng.choice(
                        [b"", b"9" * 25, b"-1e308", b"\"", b"null", b"\0"])
            if rng.random() < 0.3:
                data = data[:rng.randrange(len(data))]
            log.write_bytes(data)
            kind = kinds[trial % len(kinds)]
            out = self.hearsay("export", "runs/one", "--to", kind, "-o", f"out{trial}", timeout=60)
            self.assertIn(out.returncode, (0, 2, 4), (trial, out.stderr))
            codes[out.returncode] += 1
            seen = self.hearsay("inspect", "runs/one", "--json", timeout=60)
            self.assertIn(seen.returncode, (0, 1, 2, 4), (trial, seen.stderr))
            if seen.stdout:
                json.loads(seen.stdout)
        self.assertGreater(codes[4], 5, codes)


if __name__ == "__main__":
    harness.main()

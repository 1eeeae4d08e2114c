#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hearsay inspect: what it says of runs and files that are in order, torn, damaged or not there."""

import json
import math
import random
import struct

import harness
import pools


class InspectTest(pools.PoolTest):
    def inspect(self, *args, code=0):
        out = self.hearsay("inspect", *args)
        self.assertEqual(out.returncode, code, out.stdout + out.stderr)
        return out

    def found(self, *args, code=0):
        return json.loads(self.inspect(*args, "--json", code=code).stdout)

    def simulate(self):
        self.sim("--peers", "4", "--epochs", "3", "--quiet", "--run", "runs/one", "--chaos", "kill=p01@50%")

    def test_a_simulated_run_is_in_order(self):
        self.simulate()
        found = self.found("runs/one")
        self.assertEqual((found["ok"], found["peers"], found["logs"]), (True, 4, 1))
        self.assertEqual(found["counts"]["merge.applied"],
                         self.result_of("runs/one")["merges_applied"])
        text = self.inspect().stdout.decode()  # runs/latest
        self.assertIn("invariants  hold", text)

    def test_a_pool_with_dead_and_reborn_peers_is_in_order(self):
        self.launch("-n", "3", *pools.ENDLESS, "--time", "4s", "--quiet", "--restarts", "1", "--run", "run",
                    "--chaos", "kill=p01@1s", "--chaos", "corrupt=1%", "--chaos", "drop=1%")
        found = self.found("run")
        self.assertEqual((found["breaches"], found["damaged"], found["peers"]), ([], [], 3))
        self.assertGreater(found["logs"], 2)
        one = self.found("run/peers/p00/events.jsonl")
        self.assertEqual((one["ok"], one["peers"]), (True, 1))

    def test_a_torn_end_is_named_and_a_hole_is_a_breach(self):
        self.simulate()
        log = self.folder / "runs/one/events.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)
        log.write_bytes(b"".join(lines[:-1]) + lines[-1][:10])
        self.assertEqual(len(self.found("runs/one")["torn"]), 1)
        gone = next(i for i, line in enumerate(lines) if b'"merge.decided"' in line)
        log.write_bytes(b"".join(lines[:gone] + lines[gone + 1:]))
        breaches = self.found("runs/one", code=1)["breaches"]
        self.assertTrue(any(line.startswith("n: ") for line in breaches), breaches)
        self.assertIn(b"broken", self.inspect("runs/one", code=1).stdout)

    def test_damage_is_named_with_its_place(self):
        self.simulate()
        log = self.folder / "runs/one/events.jsonl"
        bytes_ = bytearray(log.read_bytes())
        bytes_[bytes_.index(b"\n") + 1] = 0xFF
        log.write_bytes(bytes_)
        damaged = self.found("runs/one", code=4)["damaged"]
        self.assertEqual(len(damaged), 1)
        self.assertRegex(damaged[0], r"events\.jsonl: offset \d+")

    def test_the_merge_graph_is_told_in_numbers_that_fit_the_log(self):
        self.simulate()
        graph = self.found("runs/one")["graph"]
        events = self.events_of("runs/one")
        applied = [e for e in events if e["ev"] == "merge.applied"]
        self.assertEqual((graph["merges"], graph["models"]), (len(applied), len(applied)))
        for peer in graph["per_peer"]:
            name = peer["peer"]
            self.assertEqual(peer["merges_in"], sum(e["peer"] == name for e in applied))
            self.assertEqual(peer["merges_out"], sum(e["from"] == name for e in applied))
            ancestry = peer["ancestry"]
            self.assertAlmostEqual(sum(ancestry["shares"]) + ancestry["initial"], 1.0)
            self.assertAlmostEqual(peer["self_share"], ancestry["shares"][int(name[1:])])
            self.assertTrue(1.0 <= peer["effective_shards"] <= 4.0, peer)
        for link in graph["links"]:
            ends = link["from"], link["to"]
            self.assertEqual(link["models"], sum((e["from"], e["peer"]) == ends for e in applied))
        ages = [e["age_samples"] for e in events
                if e["ev"] == "merge.decided" and e["verdict"] != "refuse"]
        self.assertAlmostEqual(graph["age_samples_mean"], sum(ages) / len(ages))
        self.assertTrue(0.0 < graph["mixing"]["contraction_theory"] < 1.0)
        self.assertNotIn("gaps", graph)
        text = self.inspect("runs/one").stdout.decode()
        for word in ("spread", "mixing", "gap samples", "took from", "p03"):
            self.assertIn(word, text)

    def test_of_many_peers_the_ends_and_the_middle_are_shown(self):
        self.sim("--peers", "20", "--epochs", "2", "--quiet", "--run", "runs/many")
        lines = self.inspect("runs/many").stdout.decode().splitlines()
        self.assertTrue(any(line.split() == ["least", "median", "most"] for line in lines), lines)
        self.assertLess(len(lines), 40)
        self.assertLess(max(map(len, lines)), 140)

    def test_all_gradients_averaged_is_one_ancestry(self):
        self.sim("--peers", "4", "--epochs", "2", "--protocol", "ddp", "--quiet", "--run", "runs/ddp")
        graph = self.found("runs/ddp")["graph"]
        self.assertEqual(graph["merges"], 0)
        for peer in graph["per_peer"]:
            self.assertAlmostEqual(peer["effective_shards"], 4.0, places=2)

    def test_a_missing_log_is_a_gap_and_not_a_failure(self):
        self.launch("-n", "3", *pools.DIGITS, "--epochs", "4", "--quiet", "--run", "run")
        (self.folder / "run/peers/p02/events.jsonl").unlink()
        graph = json.loads(self.hearsay("inspect", "run", "--json").stdout)["graph"]
        merged = [link["models"] for link in graph["links"] if link["from"] == "p02"]
        gaps = {gap["what"]: gap["count"] for gap in graph["gaps"]}
        self.assertEqual(gaps["models of p02, whose log is missing"], sum(merged))

    def test_checkpoints_are_held_against_their_digests(self):
        self.launch("-n", "2", *pools.DIGITS, "--epochs", "3", "--quiet", "--run", "run")
        folder = sorted(path for path in (self.folder / "run/peers/p01/ckpt").iterdir() if path.is_dir())[-1]
        found = self.found(folder)
        self.assertEqual((found["kind"], found["peer"], found["ok"]), ("checkpoint", "p01", True))
        self.assertTrue(all(part["ok"] for part in found["parts"]))
        model = folder / "model.safetensors"
        data = bytearray(model.read_bytes())
        data[-5] ^= 1
        model.write_bytes(data)
        found = self.found(folder, code=4)
        self.assertEqual([part["file"] for part in found["parts"] if not part["ok"]], ["model.safetensors"])
        self.assertRegex(found["damaged"][0], r"model\.safetensors: offset \d+")
        model.unlink()
        self.assertEqual(len(self.found(folder, code=4)["damaged"]), 1)
        (folder / "state.json").write_text("{}")
        self.assertEqual(len(self.found(folder, code=4)["damaged"]), 1)

    def test_models_are_described(self):
        self.simulate()
        path = self.folder / "runs/one/export/model.safetensors"
        found = self.found(path)
        self.assertEqual((found["kind"], found["dtype"], found["not_finite"]), ("safetensors", "F32", 0))
        self.assertEqual(found["parameters"], sum(math.prod(t["shape"]) for t in found["tensors"]))
        self.assertIn("hearsay.run", found["metadata"])
        data = bytearray(path.read_bytes())
        data[-4:] = struct.pack("<f", math.nan)
        path.write_bytes(data)
        self.assertEqual(self.found(path)["not_finite"], 1)
        path.write_bytes(data[:-2])
        self.assertEqual(len(self.found(path, code=4)["damaged"]), 1)

    def test_journals_are_counted_and_cuts_are_named(self):
        self.launch("-n", "2", *pools.DIGITS, "--epochs", "3", "--quiet", "--run", "run")
        path = self.folder / "run/peers/p00/inputs.0.bin"
        found = self.found(path)
        self.assertEqual((found["kind"], found["peer"], found["whole"]), ("journal", "p00", True))
        events = (self.folder / "run/peers/p00/events.jsonl").read_text()
        self.assertEqual(found["counts"]["frame_with_values"], events.count('"delta.received"'))
        self.assertGreater(found["counts"]["trained"], 10)
        path.write_bytes(path.read_bytes()[:-3])
        found = self.found(path, code=4)
        self.assertFalse(found["whole"])
        self.assertRegex(found["damaged"][0], r"inputs\.0\.bin: offset \d+: is torn")

    EXAMPLE = bytes.fromhex("6873070304010100010000000200000007000000000000000500000000000000"
                            "40e2010000000000000000000000e03f08000000000000007a69970103000000"
                            "0200000001000000040000003c0000000000803f000020c0bac865ad")

    def test_wire_messages_are_told_one_by_one(self):
        path = self.write("tap.bin", self.EXAMPLE * 3)
        found = self.found(path)
        self.assertEqual((found["kind"], found["messages"], found["counts"]), ("frames", 3, {"reply": 3}))
        frame = found["frames"][1]
        self.assertEqual((frame["offset"], frame["from"], frame["to"], frame["seq"], frame["values"]),
                         (92, "p01", "p02", 7, 2))
        self.assertAlmostEqual(frame["norm"], math.hypot(1.0, 2.5))
        self.assertIn("p01 to p02", self.inspect(path).stdout.decode())
        for at, offset in ((92 + 20, 92), (92 + 85, 92 + 60), (92 + 91, 92 + 60)):
            data = bytearray(self.EXAMPLE * 3)
            data[at] ^= 4
            found = self.found(self.write("tap.bin", bytes(data)), code=4)
            self.assertEqual(found["messages"], 1)
            self.assertIn(f"offset {offset}:", found["damaged"][0])
        for size in range(2, 92, 7):
            self.assertEqual(self.found(self.write("tap.bin", self.EXAMPLE[:size]), code=4)["messages"], 0)

    def test_garbled_files_of_every_kind_never_crash(self):
        self.simulate()
        rng = random.Random(3)
        files = [self.EXAMPLE * 2, (self.folder / "runs/one/export/model.safetensors").read_bytes()[:4000],
                 b"hearsay inputs 2\n" + bytes(40),
                 (self.folder / "runs/one/events.jsonl").read_bytes()[:3000]]
        for trial in range(40):
            data = bytearray(files[trial % len(files)])
            for _ in range(4):
                data[rng.randrange(len(data))] = rng.randrange(256)
            path = self.write("file", bytes(data[:rng.randrange(1, len(data))]))
            out = self.hearsay("inspect", path, "--json")
            self.assertIn(out.returncode, (0, 1, 2, 4), out.stderr)

    def test_what_is_no_run_is_refused_in_one_line(self):
        self.write("text", "nothing of ours")
        for word in ("nowhere", ".", "text"):
            out = self.inspect(word, code=2)
            self.assertEqual(len(out.stderr.splitlines()), 1, out.stderr)


if __name__ == "__main__":
    harness.main()

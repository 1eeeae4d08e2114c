#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How runs end, how they repeat, what the exported model holds."""

import json
import re
import struct

import harness


class OutcomeTest(harness.CliTest):
    def test_a_learning_rate_that_diverges_loses_the_quorum_and_names_the_peers(self):
        result = self.sim("--peers", "4", "--epochs", "1", "--optimizer", "sgd:lr=1e30", "--run",
                          "run", code=3)
        text = result.stderr.decode()
        for peer in ("p00", "p01", "p02", "p03"):
            self.assertRegex(text, rf"not finite \({peer}\)")
        last = text.splitlines()[-1]
        self.assertIn("lost quorum", last)
        self.assertIn("not finite", last)
        self.assertIn("--optimizer", last)
        self.assertFalse((self.folder / "run/export").exists(), "there is no model to export")

    def test_the_result_of_a_diverged_pool_is_coherent(self):
        self.sim("--peers", "3", "--epochs", "1", "--optimizer", "sgd:lr=1e30", "--quiet", "--run",
                 "run", code=3)
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["exit_code"]), ("lost quorum", 3))
        self.assertEqual((result["peers"], result["peers_lost"]), (3, 3))
        self.assertEqual([peer["reason"] for peer in result["per_peer"]], ["diverged"] * 3)
        self.assertFalse(any(peer["alive"] for peer in result["per_peer"]))
        self.assertEqual(self.events_of("run")[-1]["verdict"], "lost quorum")
        faults = [e for e in self.events_of("run") if e.get("kind") == "loss not finite"]
        self.assertEqual(sorted(e["who"] for e in faults), ["p00", "p01", "p02"])

    def test_a_pool_without_a_live_peer_has_no_test_numbers(self):
        self.sim("--peers", "2", "--epochs", "1", "--optimizer", "sgd:lr=1e30", "--quiet", "--run",
                 "run", code=3)
        result = self.result_of("run")
        for key in ("test_acc_mean", "test_loss_mean", "test_acc_averaged_model"):
            self.assertIsNone(result.get(key), f"{key} of nobody (a loss of 0 looks perfect)")

    def test_the_comparison_that_a_run_suggests_runs(self):
        for number, args in enumerate((
                (), ("--codec", "topk:5%+mirror", "--merge-every", "0.6,mode=steps", "--topology", "ring"),
                ("--merge", "ema:0.9", "--outer", "noloco", "--bandwidth", "10MiB/s", "--until-converged"),
                ("--protocol", "push", "--wait", "--end-game", "rounds=2", "--cluster", "agglo"),
                ("--share", "hard", "--log-examples"), ("--sampling", "hard"))):
            with self.subTest(args=args):
                out = self.sim("--peers", "4", "--epochs", "1", "--quiet", "--run", f"run{number}", *args)
                last = out.stdout.decode().splitlines()[-1].split()
                self.assertEqual(last[:3], ["compare", "hearsay", "sim"])
                same = self.hearsay(*last[2:], "--quiet", "--run", f"ddp{number}")
                self.assertEqual(same.returncode, 0, same.stderr.decode())
                self.assertEqual(self.result_of(f"ddp{number}")["merges"], 0)

    def test_odd_pools_finish_and_everybody_merges(self):
        for peers in (1, 3, 5, 7):
            with self.subTest(peers=peers):
                run = f"run{peers}"
                self.sim("--peers", peers, "--epochs", "4", "--quiet", "--run", run)
                result = self.result_of(run)
                self.assertEqual((result["verdict"], result["exit_code"]), ("ok", 0))
                self.assertEqual(len(result["per_peer"]), peers)
                gaps = [peer["longest_merge_gap_epochs"] for peer in result["per_peer"]]
                self.assertEqual(result["longest_merge_gap_epochs"], max(gaps))
                for peer in result["per_peer"]:
                    self.assertEqual(peer["reason"], "finished")
                    self.assertLessEqual(peer["longest_merge_gap_epochs"], 4.0)
                    self.assertGreater(peer["longest_merge_gap_epochs"], 0.0)
                    self.assertEqual(peer["merges_applied"] >= 1, peers > 1, peer)

    def test_a_missed_target_and_a_fault_that_never_fired_exit_1(self):
        result = self.sim("--peers", "2", "--epochs", "1", "--quiet", "--target", "test_acc=0.999",
                          "--run", "target", code=1)
        self.assertIn("test_acc", self.one_line(result))
        self.assertEqual(self.result_of("target")["verdict"], "target missed")
        result = self.sim("--peers", "2", "--epochs", "1", "--quiet", "--chaos", "kill=p01@900s",
                          "--run", "fault", code=1)
        self.assertIn("kill=p01@900s", self.one_line(result))

    def test_a_quorum_counts_the_peers_alive_at_the_end(self):
        kill = ("--peers", "3", "--epochs", "2", "--quiet", "--chaos", "kill=1@50%")
        self.sim(*kill, "--min-peers", "2", "--run", "enough")
        result = self.sim(*kill, "--min-peers", "3", "--run", "few", code=3)
        self.assertIn("--min-peers 3", self.one_line(result))
        self.assertEqual(self.result_of("few")["peers_lost"], 1)


class RepeatTest(harness.CliTest):
    ARGS = ("--peers", "4", "--epochs", "3", "--quiet")

    def log_and_digest(self, run, *args, threads="1"):
        result = self.hearsay("sim", "--preset", "digits", *self.ARGS, "--threads", threads,
                              "--run", run, *args)
        self.assertEqual(result.returncode, 0, result.stderr)
        log = (self.folder / run / "events.jsonl").read_bytes().split(b"\n", 1)[1]
        return log, self.result_of(run)["digest"]

    def test_a_seed_fixes_log_and_digest_whatever_the_threads(self):
        for extra in ((), ("--protocol", "push-sum", "--wait"), ("--chaos", "drop=10%")):
            with self.subTest(extra=extra):
                name = "".join(filter(str.isalnum, "".join(extra)))
                first = self.log_and_digest("a" + name, "--seed", "7", *extra)
                self.assertGreater(len(first[0]), 2000)
                self.assertEqual(first, self.log_and_digest("b" + name, "--seed", "7", *extra))
                self.assertEqual(first, self.log_and_digest("c" + name, "--seed", "7", *extra,
                                                            threads="2"))

    def test_another_seed_gives_another_run(self):
        one, other = (self.log_and_digest(f"s{seed}", "--seed", seed) for seed in (7, 8))
        self.assertNotEqual(one[0], other[0])
        self.assertNotEqual(one[1], other[1])

    def test_alone_every_protocol_is_plain_training(self):
        digests = {}
        for protocol in ("local", "pairwise", "push", "push-sum"):
            self.sim("--peers", "1", "--epochs", "2", "--quiet", "--protocol", protocol, "--run",
                     protocol)
            digests[protocol] = self.result_of(protocol)["digest"]
        self.assertEqual(len(set(digests.values())), 1, digests)

    def test_a_run_json_as_config_repeats_the_run(self):
        args = ("--seed", "5", "--merge", "ema:0.3+staleness:half-life=9", "--topology", "ring",
                "--split", "dirichlet:0.5+noise:5%", "--chaos", "slow=p01*3", "--chaos", "drop=1%")
        self.sim(*self.ARGS, *args, "--run", "first")
        again = self.hearsay("sim", "--config", "first/run.json", "--run", "again", "--quiet")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.result_of("first")["digest"], self.result_of("again")["digest"])
        headers = [json.loads((self.folder / run / "run.json").read_text())
                   for run in ("first", "again")]
        values = [{key: entry["value"] for key, entry in header.pop("config").items()}
                  for header in headers]
        self.assertEqual(values[0], values[1])
        for header in headers:
            for key in ("run", "started"):
                header.pop(key)
        self.assertEqual(headers[0], headers[1])
        self.assertEqual(values[0]["chaos"], ["slow=p01*3", "drop=1%"])


class ModelFileTest(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.sim("--peers", "3", "--epochs", "1", "--quiet", "--model", "mlp:24,12", "--run", "run")
        self.data = (self.folder / "run/export/model.safetensors").read_bytes()
        self.length = struct.unpack("<Q", self.data[:8])[0]
        self.header = json.loads(self.data[8:8 + self.length])
        self.metadata = self.header.pop("__metadata__")

    def test_names_shapes_and_types_follow_pytorch(self):
        shapes = {"0.weight": [24, 256], "0.bias": [24], "2.weight": [12, 24], "2.bias": [12],
                  "4.weight": [10, 12], "4.bias": [10]}
        self.assertEqual({name: entry["shape"] for name, entry in self.header.items()}, shapes)
        self.assertEqual({entry["dtype"] for entry in self.header.values()}, {"F32"})

    def test_tensors_fill_the_file_without_gap_or_overlap(self):
        body = len(self.data) - 8 - self.length
        end = 0
        for entry in sorted(self.header.values(), key=lambda entry: entry["data_offsets"]):
            begin, stop = entry["data_offsets"]
            count = 1
            for size in entry["shape"]:
                count *= size
            self.assertEqual((begin, stop - begin), (end, 4 * count))
            end = stop
        self.assertEqual(end, body)
        self.assertEqual((8 + self.length) % 8, 0, "the values are not aligned")
        values = struct.unpack(f"<{body // 4}f", self.data[8 + self.length:])
        self.assertTrue(all(abs(value) < 100 for value in values))
        self.assertGreater(len(set(values)), len(values) // 2)

    def test_metadata_tell_the_ancestry_in_strings(self):
        for key, value in self.metadata.items():
            self.assertIsInstance(value, str, key)
        self.assertEqual(self.metadata["format"], "pt")
        self.assertEqual(self.metadata["hearsay.run"], "run")
        result = self.result_of("run")
        self.assertEqual(self.metadata["hearsay.samples"], str(result["samples"]))
        parents = [f"{p['peer']}:{p['merges_applied']}" for p in result["per_peer"]]
        self.assertEqual(self.metadata["hearsay.parents"].split(","), parents)
        self.assertTrue(re.match(r"\d+\.\d+\.\d+", self.metadata["hearsay.version"]))
        self.assertIn("hearsay.peer", self.metadata)
        beside = json.loads((self.folder / "run/export/model.json").read_text())
        self.assertEqual(beside["peers"], ["p00", "p01", "p02"])
        self.assertEqual(beside["test_acc"], result["test_acc_averaged_model"])


if __name__ == "__main__":
    harness.main()

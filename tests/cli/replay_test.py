#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hearsay replay: live pools made again bit for bit, through deaths, restarts and attacks, or with one thing
changed; and what it says of runs whose journals are damaged or missing."""

import json
import signal

import harness
import model_files
import pools


class ReplayTest(pools.PoolTest):
    def replay(self, *args, code=0, run="run"):
        out = self.hearsay("replay", run, *args, "--json", timeout=60)
        self.assertEqual(out.returncode, code, out.stdout.decode() + out.stderr.decode())
        return json.loads(out.stdout)

    def pool(self, *args, peers=4, code=0):
        self.launch("-n", peers, *pools.DIGITS, "--run", "run", "--quiet", "--log-digests", "on", *args,
                    code=code)

    def check_equal(self, found, merges):
        self.assertEqual((found["differences"], found["equal"], found["complete"]), ([], True, True))
        self.assertGreaterEqual(found["merges"], merges)
        self.assertEqual(found["digests"], found["merges"])
        self.assertEqual(found["models_equal"], found["models_compared"])

    def test_a_pool_is_made_again_bit_for_bit(self):
        for words in (("--protocol", "pairwise"), ("--protocol", "push", "--merge", "median:b=3"),
                      ("--protocol", "push-sum"), ("--protocol", "ddp"), ("--protocol", "diloco"),
                      ("--outer", "noloco:a=0.5", "--codec", "int8"), ("--outer", "delayed:n=2"),
                      ("--codec", "lowrank:2"), ("--codec", "blocks:0.25+auto+mirror"), ("--codec", "auto"),
                      ("--codec", "lossless:anchor=4"), ("--codec", "auto", "--bandwidth", "50KiB/s"),
                      ("--codec", "ma:10%+int8+qm:literal"),
                      ("--codec", "score:2%+density:slow=5%,fast=20%+mirror"),
                      ("--protocol", "choco", "--topology", "ring", "--codec", "topk:20%"),
                      ("--merge", "ema+gate:kappa=1", "--end-game", "rounds=2")):
            with self.subTest(words=words):
                self.pool("--epochs", "15", *words)
                found = self.replay()
                self.rename_run()
                self.check_equal(found, 0 if "ddp" in words or "diloco" in words else 2)
                self.assertEqual(found["models_compared"], 4)

    def rename_run(self):
        (self.folder / "run").rename(self.folder / f"run-{len(list(self.folder.glob('run-*')))}")

    def test_deaths_restarts_stalls_and_attacks_are_made_again_too(self):
        self.pool("--epochs", "1000000", "--time", "6s", "--eval-every", "0", "--restarts", "1",
                  "--merge-every", "2", "--schedule", "constant", "--chaos", "kill=p01@1s", "--chaos",
                  "stall=p02@2s..3s", "--chaos", "noise=p03*0.1@1s..3s", "--chaos", "poison=p00@2.5s",
                  "--chaos", "label-flip=p02@1s..2s", "--chaos", "drop=1%", "--chaos", "corrupt=0.5%")
        found = self.replay()
        self.assertEqual((found["differences"], found["damage"]), ([], []))
        self.assertGreater(found["merges"], 100)
        self.assertGreater(found["digests"], 100)
        self.assertEqual((found["models_equal"], found["models_compared"]), (4, 4))

    def test_examples_that_change_hands_do_so_again(self):
        self.pool("--epochs", "1000000", "--time", "5s", "--eval-every", "0", "--restarts", "1",
                  "--merge-every", "2", "--schedule", "constant", "--split", "dirichlet:0.5", "--share",
                  "hard:8,by=receiver", "--sampling", "hard:every=2", "--trade", "models:20%", "--chaos",
                  "kill=p01@1s", "--chaos", "drop=2%")
        result = json.loads((self.folder / "run/result.json").read_text())
        self.assertGreater(result["example_bytes"], 8 * 56)
        lines = (self.folder / "run/peers/p01/examples.log").read_text().splitlines()
        self.assertEqual({line.split()[0] for line in lines}, {"offer", "took", "closed"})
        events = {event["ev"] for event in self.log_of(2)}
        self.assertLessEqual({"examples.sent", "examples.received", "examples.settled",
                              "examples.judged"}, events)
        found = self.replay()
        self.assertEqual((found["differences"], found["damage"]), ([], []))
        self.assertEqual((found["models_equal"], found["models_compared"]), (4, 4))

    def test_a_resumed_pool_is_made_again_from_its_first_beginning(self):
        process = self.begin(*pools.ENDLESS, "--merge-every", "2", "--log-digests", "on", peers=3)
        process.send_signal(signal.SIGINT)
        self.finish(process, 20)
        self.launch("--run", "run", "--resume", "--time", "2s", "--quiet", "--epochs", "1000001")
        found = self.replay()
        self.assertEqual((found["differences"], found["damage"]), ([], []))
        self.assertEqual((found["models_equal"], found["models_compared"]), (3, 3))

    def test_a_replay_stops_after_a_merge_and_keeps_the_model(self):
        self.pool("--epochs", "10")
        last = [event for event in self.log_of(1) if event["ev"] == "merge.applied"][-1]
        found = self.replay("--until", f"p01@{last['mseq']}", "--model-out", "m.safetensors")
        self.assertEqual((found["differences"], found["peers"][1]["merges"]), ([], last["mseq"]))
        metadata, values = model_files.read(self.folder / "m.safetensors")
        self.assertEqual(metadata["merges"], str(last["mseq"]))
        if library := model_files.hash_library():
            self.assertEqual(model_files.digest(library, [values]), last["after"])
        self.replay("--until", "p01@99999", code=2)

    def test_one_thing_changed_gives_both_results(self):
        self.pool("--epochs", "10")
        same = self.replay("--swap", "merge=ema")
        self.assertEqual([peer["test_acc"] for peer in same["peers"]],
                         [peer["recorded_test_acc"] for peer in same["peers"]])
        other = self.replay("--swap", "merge=ema:0.05")
        self.assertNotEqual([peer["digest"] for peer in same["peers"]],
                            [peer["digest"] for peer in other["peers"]])
        alone = self.replay("--drop-peer", "p02")
        self.assertGreater(sum(peer["frames_missing"] for peer in alone["peers"]), 0)
        text = self.hearsay("replay", "run", "--quiet", "--swap", "merge=ema:0.05").stdout.decode()
        self.assertRegex(text, r"p00 +\d+\.\d\d % +\d+\.\d\d %")

    def test_a_changed_weight_is_found_and_named(self):
        self.pool("--epochs", "10")
        log = self.folder / "run/peers/p01/events.jsonl"
        text = log.read_text()
        at = text.index('"after":"') + 9
        log.write_text(text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1:])
        found = self.replay(code=1)
        self.assertEqual(len(found["differences"]), 1)
        self.assertIn("merge.applied", found["differences"][0])

    def test_damage_is_named_and_the_rest_is_made_again(self):
        self.pool("--epochs", "10")
        journal = self.folder / "run/peers/p02/inputs.0.bin"
        whole = journal.read_bytes()
        for wrong in (whole[:len(whole) // 2], whole[:20], b"", whole[:600] + b"\xff" + whole[601:],
                      whole + b"more"):
            journal.write_bytes(wrong)
            found = self.replay(code=4)
            self.assertEqual(found["differences"], [])
            self.assertFalse(found["complete"])
            said = found["damage"] + [line for peer in found["peers"] for line in peer["damage"]]
            self.assertTrue(any("p02" in line for line in said), said)
        journal.unlink()
        self.assertTrue(self.replay(code=4)["damage"])

    def test_a_missing_start_of_a_peer_is_named_and_its_later_ones_are_compared(self):
        self.pool("--epochs", "1000000", "--time", "3s", "--eval-every", "0", "--restarts", "1", "--chaos",
                  "kill=p01@1s")
        (self.folder / "run/peers/p01/inputs.0.bin").unlink()
        self.assertEqual(self.replay(code=4)["differences"], [])

    def test_what_cannot_be_replayed_is_refused_in_one_line(self):
        self.pool("--epochs", "2", peers=2)
        for words in (("nowhere",), ("run", "--until", "p07@1"), ("run", "--until", "1"),
                      ("run", "--swap", "codec=int9"), ("run", "--swap", "merge=emma"),
                      ("run", "--drop-peer", "9")):
            out = self.hearsay("replay", *words)
            self.assertEqual((out.returncode, len(out.stderr.splitlines())), (2, 1), out.stderr)


if __name__ == "__main__":
    harness.main()

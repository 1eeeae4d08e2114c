#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hearsay launch: a pool of processes on this machine, and the files that it leaves."""

import json

import event_checks
import harness
import model_files
import pools

SHORT = (*pools.DIGITS, "--epochs", "3")
MEASURED_OF_POOL = {"io_cpu_share", "peak_rss_bytes_mean"}
MEASURED_OF_PEER = {"wall_s", "train_s", "cpu_s", "io_cpu_s", "peak_rss_bytes"}
PEER_FILES = ("endpoint.json", "events.jsonl", "result.json", "ckpt/latest", "stderr.log")

def received_deltas(logs):
    """What arrives was sent to this peer by the one that is named, once, with as many bytes."""
    sent = {(event["peer"], event["to"], event["seq"]): event["bytes"]
            for log in logs for event in log if event["ev"] == "delta.sent"}
    arrived = set()
    for log in logs:
        for event in log:
            if event["ev"] != "delta.received":
                continue
            key = (event["from"], event["peer"], event["seq"])
            if sent.get(key) != event["bytes"]:
                yield f"{key}: {event['bytes']} bytes received, {sent.get(key)} sent"
            if key in arrived:
                yield f"{key} received twice"
            arrived.add(key)


class LaunchTest(pools.PoolTest):
    def test_the_number_of_peers_may_be_written_in_three_ways(self):
        for number, words in enumerate((("-n", "2"), ("-n2",), ("--peers", "2"))):
            with self.subTest(words=words):
                run = f"run{number}"
                self.launch(*words, *SHORT, "--quiet", "--run", run)
                self.assertEqual(self.result_of(run)["peers"], 2)

    def test_the_result_speaks_as_that_of_a_simulation(self):
        out = self.launch("-n", "4", *pools.DIGITS, "--json", "--quiet", "--run", "run")
        self.assertEqual(out.stderr, b"")
        self.assertEqual(out.stdout, (self.folder / "run/result.json").read_bytes())
        self.sim("--peers", "4", "--quiet", "--run", "simulated")
        live, simulated = self.result_of("run"), self.result_of("simulated")
        self.assertEqual(set(live), set(simulated) | MEASURED_OF_POOL)
        self.assertEqual((live["verdict"], live["exit_code"], live["virtual_s"]), ("ok", 0, None))
        for ours, theirs in zip(live["per_peer"], simulated["per_peer"]):
            self.assertEqual(set(ours), set(theirs) | MEASURED_OF_PEER)
            for key in ("peer", "alive", "reason", "shard", "samples"):
                self.assertEqual(ours[key], theirs[key])
            self.assertGreater(ours["peak_rss_bytes"], 1 << 20)
        self.assertGreater(live["test_acc_min"], 0.8)

    def test_every_peer_leaves_its_files_and_a_log_that_keeps_its_promises(self):
        for args in ((), ("--protocol", "push-sum"), ("--protocol", "push", "--wait")):
            with self.subTest(args=args):
                run = "run" + "".join(args)
                self.launch("-n", "3", *pools.DIGITS, "--quiet", "--run", run, *args)
                self.check_files(run, 3)
                logs = [self.log_of(peer, run) for peer in range(3)]
                breaches = list(received_deltas(logs))
                for log in logs:
                    for check in (event_checks.line_numbers, event_checks.clocks,
                                  event_checks.merge_counters, event_checks.explained_merges):
                        breaches += check(log)
                    self.assertEqual((log[0]["ev"], log[-1]["ev"], log[-1]["reason"]),
                                     ("peer.joined", "peer.left", "finished"))
                result = self.result_of(run)
                end = [{"ev": "run.finished", "peer": "pool", "verdict": "ok"}]
                breaches += event_checks.agreement(sum(logs, []) + end, result)
                self.assertEqual(breaches, [])
                self.assertGreater(result["merges_applied"], 0)

    def check_files(self, run, peers):
        pids = set()
        for peer in range(peers):
            folder = self.peer_folder(peer, run)
            for name in PEER_FILES:
                self.assertTrue((folder / name).is_file(), f"{folder}/{name}")
            self.assertEqual((folder / "stderr.log").read_bytes(), b"")
            endpoint = json.loads((folder / "endpoint.json").read_text())
            self.assertEqual(set(endpoint), {"address", "pid", "host", "incarnation"})
            self.assertRegex(endpoint["address"], r"^127\.0\.0\.1:\d+$")
            pids.add(endpoint["pid"])
            own = json.loads((folder / "result.json").read_text())
            told = self.result_of(run)["per_peer"][peer]
            for key in set(own) & set(told):
                self.assertEqual(own[key], told[key], key)
        self.assertEqual(len(pids), peers)
        left = [path for path in harness.tree(self.folder / run) if ".tmp" in path]
        self.assertEqual(left, [])

    def test_digests_can_be_made_again_from_the_model_files(self):
        library = model_files.hash_library()
        if library is None:
            self.skipTest("no shared library of xxHash here")
        self.launch("-n", "3", *SHORT, "--quiet", "--run", "run")
        models = []
        for peer in range(3):
            metadata, values = model_files.read(self.checkpoint_of(peer) / "model.safetensors")
            self.assertEqual(metadata["hearsay.digest"], model_files.digest(library, [values]))
            self.assertEqual(metadata["hearsay.peer"], f"p{peer:02}")
            models.append(values)
        self.assertEqual(self.result_of("run")["digest"], model_files.digest(library, models))
        _, exported = model_files.read(self.folder / "run/export/model.safetensors")
        beside = json.loads((self.folder / "run/export/model.json").read_text())
        self.assertEqual(beside["digest"], model_files.digest(library, [exported]))
        self.assertEqual(beside["peers"], ["p00", "p01", "p02"])
        self.assertEqual(beside["test_acc"], self.result_of("run")["test_acc_averaged_model"])

    def test_alone_a_live_peer_trains_as_a_simulated_one(self):
        for protocol in ("pairwise", "push-sum", "ddp"):
            run = f"live-{protocol}"
            self.launch("-n", "1", *SHORT, "--protocol", protocol, "--quiet", "--run", run)
            self.sim("--config", f"{run}/run.json", "--quiet", "--run", protocol)
            live, simulated = self.result_of(run), self.result_of(protocol)
            for key in ("digest", "samples", "test_acc_mean", "test_loss_mean"):
                self.assertEqual(live[key], simulated[key], (protocol, key))
            models = [model_files.read(self.folder / name / "export/model.safetensors")[1]
                      for name in (run, protocol)]
            self.assertEqual(models[0], models[1])

    def test_sums_in_a_codec_leave_all_peers_with_the_same_bits(self):
        for protocol in ("ddp", "diloco:lr=1,mu=0.5"):
            run = protocol[:3]
            self.launch("-n", "3", *SHORT, "--protocol", protocol, "--codec", "topk:5%+int8", "--quiet",
                        "--run", run)
            result = self.result_of(run)
            self.assertEqual((result["verdict"], result["consensus_distance"]), ("ok", 0))
            self.assertGreater(result["payload_bytes"], 0)

    def test_a_run_json_is_a_config_for_the_simulation_and_for_the_launcher(self):
        self.launch("-n", "3", *SHORT, "--seed", "5", "--merge", "ema:0.3", "--batch", "40",
                    "--quiet", "--run", "first", env={"HEARSAY_MERGE_EVERY": "0.5"})
        again = self.hearsay("sim", "--config", "first/run.json", "--quiet", "--run", "simulated")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.launch("--config", "first/run.json", "--quiet", "--run", "again")
        configs = [json.loads((self.folder / run / "run.json").read_text())["config"]
                   for run in ("first", "simulated", "again")]
        values = [{key: entry["value"] for key, entry in config.items()} for config in configs]
        self.assertEqual(values[0]["merge-every"], "0.5")
        self.assertEqual(values[0], values[2])
        for key in set(values[0]) & set(values[1]):
            self.assertEqual(values[0][key], values[1][key], key)
        self.assertEqual(self.result_of("again")["samples"], self.result_of("first")["samples"])


if __name__ == "__main__":
    harness.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A live pool that was stopped or killed goes on from its peers' checkpoints."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter

import event_checks
import harness
import pools

EPOCHS = 300
LONG = (*pools.DIGITS, "--epochs", str(EPOCHS), "--eval-every", "0", "--merge-every", "2")
OFTEN = ("--checkpoint-every", "200ms")
STOP_BUDGET_S = 10


def merge_counters(events):
    """mseq counts on from a checkpoint's."""
    last = Counter()
    for event in events:
        if event["ev"] == "run.resumed":
            last[event["peer"]] = event["mseq"]
        elif event["ev"] == "merge.applied":
            last[event["peer"]] += 1
            if event["mseq"] != last[event["peer"]]:
                yield f"{event['peer']}: mseq {event['mseq']}, not {last[event['peer']]}"


CHECKS = (event_checks.line_numbers, event_checks.clocks, merge_counters,
          event_checks.explained_merges)


class LiveResumeTest(pools.PoolTest):
    def checkpoints(self, peer, run="run"):
        folder = self.peer_folder(peer, run) / "ckpt"
        names = [path.name for path in folder.iterdir()] if folder.exists() else []
        return sorted((name for name in names if name.isdigit()), key=int)

    def about(self, peer, run="run", back=1):
        """state.json of the newest checkpoint, or of one before it."""
        folder = self.peer_folder(peer, run) / "ckpt" / self.checkpoints(peer, run)[-back]
        return json.loads((folder / "state.json").read_text())

    def stopped(self, *args, run="run", peers=3, number=signal.SIGINT):
        """A pool that a signal has stopped cleanly."""
        launcher = self.begin(*args, run=run, peers=peers)
        launcher.send_signal(number)
        out = self.finish(launcher, STOP_BUDGET_S)
        self.assertEqual(launcher.returncode, 128 + number, out.stderr)
        self.assertIn(f"hearsay launch --run {run} --resume".encode(), out.stderr.splitlines()[-1])
        self.nobody_left()

    def killed(self, *args, run="run", peers=3):
        """A pool of which no process had time for a word, with a checkpoint of every peer."""
        launcher = self.begin(*args, *OFTEN, run=run, peers=peers)
        self.wait_until(lambda: all(self.checkpoints(p, run) for p in range(peers)), "checkpoints")
        pids = pools.processes_in(self.folder)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        launcher.wait()
        self.nobody_left()
        self.assertFalse((self.folder / run / "result.json").exists())

    def resume(self, *args, run="run", code=0, **options):
        return self.launch("--run", run, "--resume", "--quiet", *args, code=code, **options)

    def check_logs(self, run="run", peers=3):
        for peer in range(peers):
            events = self.log_of(peer, run)
            self.assertEqual([text for check in CHECKS for text in check(events)], [])

    def resumptions(self, peer, run="run"):
        return [event for event in self.log_of(peer, run) if event["ev"] == "run.resumed"]

    def check_whole(self, run="run", peers=3, epochs=EPOCHS):
        """Every peer has trained on each of its examples as often as it should."""
        result = self.result_of(run)
        self.assertEqual((result["verdict"], result["peers"], result["peers_lost"]), ("ok", peers, 0))
        for peer in result["per_peer"]:
            self.assertEqual(peer["samples"], epochs * peer["shard"], peer["peer"])
        self.assertGreater(result["test_acc_min"], 0.9)
        self.check_logs(run, peers)
        return result

    def test_a_stopped_pool_goes_on_to_its_end(self):
        self.stopped(*LONG)
        before = self.result_of("run")
        at_stop = [self.about(peer) for peer in range(3)]
        for peer in range(3):
            for name in ("model", "optimizer", "arrays"):
                self.assertTrue((self.checkpoint_of(peer) / f"{name}.safetensors").is_file())
            self.assertLess(at_stop[peer]["samples"], EPOCHS * before["per_peer"][peer]["shard"])
        launcher = self.start("launch", "--run", "run", "--resume", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, launcher)
        self.wait_until(lambda: all(b'"run.resumed"' in (self.peer_folder(peer) / "events.jsonl").read_bytes()
                                    for peer in range(3)), "all go on")
        launcher.send_signal(signal.SIGINT)  # a second time, in the middle
        self.finish(launcher, STOP_BUDGET_S)
        self.assertEqual(launcher.returncode, 130)
        self.resume()
        after = self.check_whole()
        self.assertGreater(after["samples"], before["samples"])
        self.assertGreater(after["merges"], before["merges"])
        self.assertGreater(after["wall_s"], before["wall_s"])
        self.assertGreater(after["payload_bytes"], before["payload_bytes"])
        for peer in range(3):
            first, second = self.resumptions(peer)
            for key in ("samples", "steps", "mseq"):
                self.assertEqual(first[key], at_stop[peer][key])
            self.assertEqual((first["inc"], second["inc"]), (1, 2))
            self.assertEqual(json.loads((self.peer_folder(peer) / "endpoint.json").read_text())
                             ["incarnation"], 2)
        header = json.loads((self.folder / "run/run.json").read_text())
        self.assertEqual(len(header["resumed"]), 2)
        self.refused(("launch", "--run", "run", "--resume"), "complete", "run")

    def test_a_killed_pool_goes_on_from_its_checkpoints(self):
        self.killed(*LONG)
        at_kill = [self.about(peer) for peer in range(3)]
        log = self.peer_folder(1) / "events.jsonl"
        log.write_bytes(log.read_bytes()[:-7])  # torn, as by a machine that lost its power
        self.resume()
        self.check_whole()
        for peer in range(3):
            (resumed,) = self.resumptions(peer)
            self.assertEqual([resumed[key] for key in ("samples", "steps", "mseq")],
                             [at_kill[peer][key] for key in ("samples", "steps", "mseq")])

    def test_baselines_go_on(self):
        for protocol in ("local", "ddp"):
            with self.subTest(protocol=protocol):
                args = (*pools.DIGITS, "--epochs", "150", "--eval-every", "0", "--protocol", protocol)
                self.stopped(*args, run=protocol)
                self.resume(run=protocol)
                self.check_whole(protocol, epochs=150)

    def test_push_sum_and_waiting_pools_go_on(self):
        for i, args in enumerate((("--protocol", "push-sum"), ("--wait",),
                                  ("--optimizer", "adamw:lr=1e-3"), ("--end-game", "rounds=4"))):
            with self.subTest(args=args):
                run = f"run{i}"
                self.killed(*LONG, *args, run=run)
                self.resume(run=run)
                self.check_whole(run)

    def test_ddp_goes_on_from_one_step_only(self):
        self.stopped(*pools.DIGITS, "--epochs", "400", "--eval-every", "0", "--protocol", "ddp", *OFTEN)
        shutil.rmtree(self.peer_folder(1) / "ckpt" / self.checkpoints(1)[-1])
        if self.about(0)["steps"] != self.about(1)["steps"]:
            self.refused(("launch", "--run", "run", "--resume"), "mini-batch", "ddp")
        shutil.rmtree(self.peer_folder(1) / "ckpt")
        result = self.hearsay("launch", "--run", "run", "--resume", "--quiet",
                              timeout=pools.POOL_TIMEOUT_S)
        self.assertEqual(result.returncode, 2)
        self.assertIn("p01 has no checkpoint", self.one_line(result))

    def test_diloco_goes_on_from_one_round_only_wherever_in_it_its_peers_stand(self):
        self.killed(*pools.DIGITS, "--epochs", "400", "--eval-every", "0", "--protocol", "diloco")
        stands = [{name: self.about(peer, back=i + 1)["state"]["protocol"]["round"]
                   for i, name in enumerate(reversed(self.checkpoints(peer)))} for peer in range(3)]
        newest = [next(iter(each.values())) for each in stands]
        older = [name for name, at in stands[1].items() if at != newest[0]]
        if older:  # p01 in another round than p00
            self.put_aside(1, [name for name in stands[1] if int(name) > int(older[0])])
            self.refused(("launch", "--run", "run", "--resume"), "round", "diloco", "ckpt")
            self.put_back(1)
        common = set.intersection(*(set(each.values()) for each in stands))
        if not common:
            return
        for peer, each in enumerate(stands):  # as the refusal says
            self.put_aside(peer, [name for name, at in each.items() if at > max(common)])
        self.resume()
        self.check_whole(epochs=400)

    def put_aside(self, peer, names):
        for name in names:
            aside = self.folder / "aside" / str(peer)
            aside.mkdir(parents=True, exist_ok=True)
            (self.peer_folder(peer) / "ckpt" / name).rename(aside / name)

    def put_back(self, peer):
        for path in (self.folder / "aside").glob(f"{peer}/*"):
            path.rename(self.peer_folder(peer) / "ckpt" / path.name)

    def test_a_peer_without_a_checkpoint_joins_late(self):
        self.killed(*LONG)
        shutil.rmtree(self.peer_folder(2) / "ckpt")
        self.resume()
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 0))
        self.assertGreater(result["test_acc_min"], 0.9)
        self.check_logs()
        events = self.log_of(2)
        self.assertIn("state.adopted", [event["ev"] for event in events])
        self.assertTrue((self.peer_folder(2) / "events.0.jsonl").exists())
        self.assertEqual(len(self.resumptions(0)), 1)

    def test_damage_is_named_and_the_checkpoint_before_is_taken(self):
        self.killed(*LONG)
        self.resume("--epochs", str(EPOCHS + 20))
        model = self.checkpoint_of(1) / "model.safetensors"
        data = bytearray(model.read_bytes())
        data[-3] ^= 1
        model.write_bytes(data)
        before = self.about(1, back=2)
        self.resume("--epochs", str(EPOCHS + 40))
        said = (self.peer_folder(1) / "stderr.log").read_text()
        self.assertIn("model.safetensors: offset ", said)
        self.assertEqual(self.resumptions(1)[-1]["steps"], before["steps"])
        self.check_whole(epochs=EPOCHS + 40)
        for name in self.checkpoints(1):
            (self.peer_folder(1) / "ckpt" / name / "state.json").write_bytes(b"")
        result_before = (self.folder / "run/result.json").read_bytes()
        header = json.loads((self.folder / "run/run.json").read_text())
        out = self.resume("--epochs", str(EPOCHS + 60), code=4)
        self.assertIn("state.json: offset 0", self.one_line(out))
        self.assertEqual((self.folder / "run/result.json").read_bytes(), result_before)
        self.assertEqual(json.loads((self.folder / "run/run.json").read_text()), header)

    def test_pools_of_another_size_divide_the_data_anew(self):
        self.stopped(*LONG)
        steps = self.about(0)["steps"]
        shutil.copytree(self.folder / "run", self.folder / "fewer")
        self.resume("-n", "4")
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers"], result["peers_lost"]), ("ok", 4, 0))
        self.assertGreater(result["test_acc_min"], 0.9)
        self.check_logs(peers=4)
        (resumed,) = self.resumptions(0)
        self.assertLess(resumed["steps"], steps)  # smaller shards: fewer mini-batches an epoch
        self.assertIn("state.adopted", [event["ev"] for event in self.log_of(3)])
        self.assertEqual(json.loads((self.folder / "run/run.json").read_text())["peers"], 4)
        self.resume("-n", "2", run="fewer")
        result = self.result_of("fewer")
        self.assertEqual((result["verdict"], result["peers"], result["peers_lost"]), ("ok", 2, 0))
        self.assertGreater(self.resumptions(0, "fewer")[0]["steps"], steps)
        self.check_logs("fewer", peers=2)

    def test_what_a_pool_is_cannot_be_changed(self):
        self.stopped(*LONG)
        again = ("launch", "--run", "run", "--resume")
        for flag, text in (("model", "mlp:20"), ("data", "mnist:x"), ("split", "dirichlet:0.1"),
                           ("seed", "7"), ("optimizer", "adamw:lr=1e-3"), ("protocol", "push"),
                           ("batch", "16"), ("preset", "fashion")):
            self.refused((*again, f"--{flag}", text), f"--{flag} {text}")
        self.refused((*again, "--config", "run/run.json"), "--config")
        self.refused(("sim", "--run", "run", "--resume"), "hearsay launch")
        self.refused(("launch", "--run", "absent", "--resume"), "absent")
        for peer in range(3):
            shutil.rmtree(self.peer_folder(peer) / "ckpt")
        self.refused(again, "nothing to resume in run", "checkpoint")

    def test_a_pool_that_still_runs_is_left_alone(self):
        launcher = self.begin(*pools.ENDLESS)
        result = self.hearsay("launch", "--run", "run", "--resume", "--quiet")
        self.assertEqual(result.returncode, 2)
        self.assertIn("has not ended", self.one_line(result))
        launcher.send_signal(signal.SIGINT)
        self.finish(launcher, STOP_BUDGET_S)
        self.assertEqual(launcher.returncode, 130)

    def test_sigusr1_to_the_launcher_or_to_one_peer_writes_checkpoints(self):
        launcher = self.begin(*pools.ENDLESS, "--checkpoint-every", "off")
        self.assertEqual([self.checkpoints(peer) for peer in range(3)], [[], [], []])
        launcher.send_signal(signal.SIGUSR1)
        self.wait_until(lambda: all(self.checkpoints(peer) for peer in range(3)), "checkpoints")
        os.kill(self.pid_of(1), signal.SIGUSR1)
        self.wait_until(lambda: len(self.checkpoints(1)) == 2, "another one")
        self.wait_until(lambda: b"ckpt.written" in (self.peer_folder(0) / "events.jsonl").read_bytes(),
                        "a word of it")
        written = [event for event in self.log_of(0) if event["ev"] == "ckpt.written"]
        (name,) = self.checkpoints(0)
        folder = self.peer_folder(0) / "ckpt" / name
        size = sum(path.stat().st_size for path in folder.iterdir())
        self.assertEqual([(event["dir"], event["bytes"]) for event in written],
                         [(f"ckpt/{name}", size)])
        self.assertIsNone(launcher.poll())
        launcher.send_signal(signal.SIGTERM)
        self.finish(launcher, STOP_BUDGET_S)
        self.assertEqual(launcher.returncode, 143)

    def test_a_full_disk_costs_checkpoints_and_not_the_pool(self):
        small = self.folder / "small"
        small.mkdir()
        if os.geteuid() != 0 or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(small)],
                capture_output=True, timeout=10).returncode != 0:
            self.skipTest("mounting a small file system needs root")
        self.addCleanup(subprocess.run, ["umount", "-l", str(small)], capture_output=True, timeout=10)
        # Mini-batches that take long enough for logs and journals to fill no disk meanwhile.
        launcher = self.begin(*pools.ENDLESS, "--merge-every", "50", "--model", "mlp:768", *OFTEN,
                              run="small/run")
        self.wait_until(lambda: all(self.checkpoints(p, "small/run") for p in range(3)), "checkpoints")
        os.kill(launcher.pid, signal.SIGSTOP)
        filler = small / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
            # Room for lines of the logs, not for a checkpoint.
            file.truncate(max(0, file.tell() - 250_000))
        os.kill(launcher.pid, signal.SIGCONT)
        log = self.peer_folder(0, "small/run") / "events.jsonl"
        self.wait_until(lambda: b"no checkpoint" in log.read_bytes(), "a word of it")
        good = self.checkpoints(0, "small/run")
        time.sleep(1)
        self.assertEqual(self.checkpoints(0, "small/run"), good)
        filler.unlink()
        self.wait_until(lambda: b"checkpoints again" in log.read_bytes(), "they are written again")
        faults = [event for event in self.log_of(0, "small/run")
                  if event["ev"] == "fault.seen" and "checkpoint" in event["kind"]]
        self.assertEqual([fault["kind"] for fault in faults], ["no checkpoint", "checkpoints again"])
        self.assertIn("No space left on device", faults[0]["detail"])
        left = [name for name in harness.tree(self.peer_folder(0, "small/run")) if ".tmp" in name]
        self.assertLessEqual(len(left), 4)  # of the one that is being written
        launcher.send_signal(signal.SIGINT)
        self.finish(launcher, STOP_BUDGET_S)
        self.assertEqual(launcher.returncode, 130)


if __name__ == "__main__":
    harness.main()

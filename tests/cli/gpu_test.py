# SPDX-License-Identifier: Apache-2.0
"""Pools that train on a GPU: they learn, repeat themselves, are made again. Skipped without one."""

import json
import signal
import subprocess
import sys
import time

import harness


def cuda_facts(binary):
    out = subprocess.run([binary, "doctor", "--json"], capture_output=True, check=True).stdout
    return json.loads(out)["cuda"]


class GpuTest(harness.CliTest):
    def run_sim(self, run, *args):
        self.sim("--run", run, "--device", "cuda:0", *args)
        return self.result_of(run)

    def events(self, run):
        return (self.folder / run / "events.jsonl").read_bytes().split(b"\n", 1)[1]

    def test_a_pool_learns_as_on_a_cpu_and_repeats_itself(self):
        args = ("--epochs", "6", "--compute", "jitter:cv=0.5", "--merge-every", "0.5", "--seed", "5")
        first, again = self.run_sim("a", *args), self.run_sim("b", *args)
        self.assertEqual(first["digest"], again["digest"])
        self.assertEqual(self.events("a"), self.events("b"))
        self.sim("--run", "c", "--device", "cpu", *args)
        self.assertAlmostEqual(first["test_acc_mean"], self.result_of("c")["test_acc_mean"], delta=0.03)
        self.assertTrue(json.loads((self.folder / "a/run.json").read_text())["device"].startswith("cuda:0 "))

    def test_other_rules_optimisers_and_baselines(self):
        for number, args in enumerate((("--optimizer", "adamw:lr=3e-3,clip=1"), ("--protocol", "ddp"),
                                       ("--protocol", "push-sum"), ("--protocol", "local"),
                                       ("--merge", "ema:0.5+gate:kappa=2"),
                                       ("--chaos", "kill=p02@20%..50%", "--chaos", "nan=p01@40%"))):
            cpu, gpu = f"cpu{number}", f"gpu{number}"
            mean = self.run_sim(gpu, "--epochs", "5", "--check", *args)["test_acc_mean"]
            self.sim("--run", cpu, "--device", "cpu", "--epochs", "5", *args)
            self.assertAlmostEqual(mean, self.result_of(cpu)["test_acc_mean"], delta=0.05, msg=args)

    def test_a_run_is_made_again(self):
        args = ("--epochs", "6", "--log-digests", "on", "--seed", "2")
        whole = self.run_sim("whole", *args)
        out = self.hearsay("replay", "whole", "--json")
        self.assertEqual(out.returncode, 0, out.stderr)
        found = json.loads(out.stdout)
        self.assertTrue(found["equal"] and found["digest"] == whole["digest"])

    def test_gpus_merge_with_each_other_and_give_the_bits_of_one(self):
        if len(cuda_facts(harness.binary())["devices"]) < 2:
            self.skipTest("one GPU")
        args = ("--epochs", "6", "--merge-every", "0.5", "--seed", "7")
        self.sim("--run", "two", "--device", "cuda:0,1", *args)
        self.assertEqual(self.run_sim("one", *args)["digest"], self.result_of("two")["digest"])
        self.assertEqual(self.events("one"), self.events("two"))

    def test_a_stopped_pool_goes_on_with_the_snapshots_that_were_on_their_way(self):
        args = ("--epochs", "300", "--compute", "jitter:cv=0.5", "--merge-every", "0.2", "--seed", "3")
        whole = self.run_sim("whole", *args)
        cut = self.start(*harness.SMALL, *args, "--run", "cut", "--device", "cuda:0", "--checkpoint-every",
                         "50ms", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + harness.TIMEOUT_S
        while not list(self.folder.glob("cut/ckpt/*/state.json")) and time.monotonic() < deadline:
            time.sleep(0.005)
        cut.send_signal(signal.SIGINT)
        self.assertEqual(cut.wait(harness.TIMEOUT_S), 130)
        out = self.hearsay("sim", "--run", "cut", "--resume")
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertEqual(self.result_of("cut")["digest"], whole["digest"])
        self.assertEqual(self.events("cut"), self.events("whole"))

    def test_live_peers_share_the_gpu_and_are_made_again(self):
        out = self.hearsay("launch", "-n", "4", "--preset", "digits", "--epochs", "10", "--device", "cuda",
                           "--log-digests", "on", "--run", "live", timeout=120)
        self.assertEqual(out.returncode, 0, out.stderr)
        first = json.loads((self.folder / "live/peers/p00/events.jsonl").read_text().split("\n", 1)[0])
        self.assertTrue(first["device"].startswith("cuda:"), first)
        out = self.hearsay("replay", "live", "--json", timeout=120)
        found = json.loads(out.stdout)
        self.assertEqual(out.returncode, 0, found["differences"])
        self.assertTrue(found["equal"] and found["digests"] > 0)


if __name__ == "__main__":
    if not cuda_facts(sys.argv[1])["usable"]:
        print("skipped: no GPU that hearsay can train on")
        sys.exit(harness.SKIP_CODE)
    harness.main()

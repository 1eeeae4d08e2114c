# SPDX-License-Identifier: Apache-2.0
"""Pools that train on a GPU: they learn, repeat themselves, are made again. Skipped without one."""

import contextlib
import json
import signal
import subprocess
import sys
import time

import harness


def cuda_facts(binary):
    out = subprocess.run([binary, "doctor", "--json"], capture_output=True, check=True).stdout
    return json.loads(out)["cuda"]


@contextlib.contextmanager
def full_gpu():
    """Takes all memory of GPU 0 but 64 MiB, in another process; gives whether that succeeded."""
    code = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
free, total = ctypes.c_size_t(), ctypes.c_size_t()
bad = cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), 0)
bad = bad or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) or cuda.cuCtxSetCurrent(context)
bad = bad or cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
bad = bad or cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(free.value - (64 << 20)))
print(0 if bad else 1, flush=True)
sys.stdin.read()
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as holder:
        yield holder.stdout.readline().strip() == b"1"
        holder.stdin.close()


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

    def test_training_is_measured_as_a_batch_of_peers(self):
        out = self.hearsay("bench", "train", "--device", "cuda:0", "--peers", "1,3", "--json")
        self.assertEqual((out.returncode, out.stderr), (0, b""))
        report = json.loads(out.stdout)
        self.assertTrue(report["header"]["device"].startswith("cuda:0 "))
        rows = report["rows"]
        self.assertEqual([(row["batch"], row["peers"]) for row in rows], [(32, 1), (32, 3), (64, 1), (64, 3)])
        for row in rows:
            self.assertTrue(0 < row["share_of_sgemm"] < 1.1 and 0 < row["share_on_gpu"] < 1.1, row)
            samples = row["samples_per_s"] * row["p50_us"] / 1e6
            self.assertAlmostEqual(samples, row["batch"] * row["peers"], delta=1e-6 * samples)

    def test_live_peers_on_a_gpu_outlive_one_that_is_killed(self):
        out = self.hearsay("launch", "-n", "4", "--preset", "digits", "--epochs", "30", "--device", "cuda",
                           "--chaos", "kill=p02@30%", "--run", "killed", timeout=120)
        alive = [peer["alive"] for peer in self.result_of("killed")["per_peer"]]
        self.assertEqual(alive, [True, True, False, True], out.stderr)
        out = self.hearsay("replay", "killed", "--json", timeout=120)
        self.assertEqual(out.returncode, 0, out.stderr)

    def test_auto_trains_on_the_cpu_where_the_gpu_is_full(self):
        with full_gpu() as fits:
            if not fits:
                self.skipTest("the GPU's memory cannot be taken")
            out = self.hearsay(*harness.SMALL, "--epochs", "1", "--device", "auto", "--run", "full")
            self.assertEqual(out.returncode, 0, out.stderr)
            lines = [line for line in out.stderr.decode().splitlines() if "training on the CPU" in line]
            self.assertEqual(len(lines), 1, out.stderr)
            self.assertEqual(json.loads((self.folder / "full/run.json").read_text())["device"], "cpu")
            out = self.hearsay(*harness.SMALL, "--epochs", "1", "--device", "cuda:0", "--run", "asked")
            self.assertEqual(out.returncode, 2)
            self.assertIn(b"--device cpu", out.stderr)

    def test_live_peers_share_the_gpu_and_are_made_again(self):
        out = self.hearsay("launch", "-n", "4", "--preset", "digits", "--epochs", "10", "--device", "cuda",
                           "--log-digests", "on", "--run", "live", timeout=120)
        self.assertEqual(out.returncode, 0, out.stderr)
        first = json.loads((self.folder / "live/peers/p00/events.jsonl").read_text().split("\n", 1)[0])
        self.assertTrue(first["device"].startswith("cuda:"), first)
        self.assertIn(first["device"].encode(), (self.folder / "live/peers/p00/inputs.0.bin").read_bytes())
        peers = json.loads((self.folder / "live/result.json").read_text())["per_peer"]
        self.assertGreater(sum(peer.get("frames_handed_over", 0) for peer in peers), 0, peers)
        out = self.hearsay("replay", "live", "--json", timeout=120)
        found = json.loads(out.stdout)
        self.assertEqual(out.returncode, 0, found["differences"])
        self.assertTrue(found["equal"] and found["digests"] > 0)


if __name__ == "__main__":
    if not cuda_facts(sys.argv[1])["usable"]:
        print("skipped: no GPU that hearsay can train on")
        sys.exit(harness.SKIP_CODE)
    harness.main()

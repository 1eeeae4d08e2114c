# SPDX-License-Identifier: Apache-2.0
"""hearsay replay of simulations: made again from the seed, line by line."""

import json
import signal
import subprocess
import time

import harness
import model_files


class ReplaySimTest(harness.CliTest):
    def replay(self, *args, code=0):
        out = self.hearsay("replay", *args, "--json")
        self.assertEqual(out.returncode, code, out.stderr.decode() + out.stdout.decode())
        return json.loads(out.stdout)

    def log(self, run):
        return self.folder / run / "events.jsonl"

    def test_a_simulation_under_faults_is_made_again(self):
        self.sim("--run", "a", "--epochs", "6", "--chaos", "kill=p02@20%..50%", "--chaos", "drop=5%",
                 "--protocol", "push", "--seed", "3", "--log-digests", "on")
        found = self.replay("a", "--threads", "2")
        self.assertTrue(found["equal"])
        self.assertEqual(found["digest"], self.result_of("a")["digest"])
        events = [event for event in self.events_of("a") if not event["ev"].startswith("run.")]
        self.assertEqual((found["events_equal"], found["lines_missing"]), (len(events), 0))
        text = self.hearsay("replay", "a")
        self.assertIn(b"logged events equal; digest", text.stdout)

    def test_a_difference_is_named_and_damage_costs_itself_alone(self):
        self.sim("--run", "a", "--epochs", "3")
        lines = self.log("a").read_bytes().splitlines(keepends=True)
        wrong = lines[20].replace(b'"t_ns":', b'"t_ns":9')
        self.log("a").write_bytes(b"".join(lines[:20] + [wrong] + lines[21:]))
        found = self.replay("a", code=1)
        event = json.loads(lines[20])
        self.assertTrue(found["differences"][0].startswith(f"{event['peer']}, line {event['n']}: logged "))
        damaged = lines[:20] + [b"\xff\x00 no event\n"] + lines[21:-3] + [b'{"ev":"bl']
        self.log("a").write_bytes(b"".join(damaged))
        found = self.replay("a", code=4)
        self.assertEqual((len(found["damage"]), found["differences"]), (2, []))
        self.assertEqual(found["lines_missing"], 3)  # the one that is run.finished is not made again
        (self.folder / "a/events.jsonl").unlink()
        self.assertEqual(self.replay("a", code=4)["events_equal"], 0)

    def test_runs_that_were_cut_off_are_a_beginning(self):
        for number, ends in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
            run = f"r{ends}"
            cut = self.start("sim", "--preset", "digits", "--epochs", "400", "--threads", "1", "--run", run,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + harness.TIMEOUT_S
            while not self.log(run).exists() or self.log(run).stat().st_size < 100_000:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            cut.send_signal(number)
            self.assertEqual(cut.wait(timeout=harness.TIMEOUT_S), ends)
            text = (self.folder / run / "run.json").read_text()
            found = self.replay(run)
            self.assertTrue(found["equal"] and found["cut_off"], text[:80])
            self.assertGreater(found["events_equal"], 300)

    def test_one_model_of_the_past_is_written(self):
        self.sim("--run", "a", "--epochs", "4", "--merge-every", "0.5")
        out = self.hearsay("replay", "a", "--until", "p03@2", "--model-out", "m.safetensors")
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertIn(b"model of p03 after its merge 2", out.stderr)
        self.assertEqual(model_files.read(self.folder / "m.safetensors")[0]["merges"], "2")
        self.refused(("replay", "a", "--until", "p03@9999"), "--until: p03 has ")

    def test_another_rule_on_the_same_seed(self):
        self.sim("--run", "a", "--epochs", "3")
        same = self.replay("a", "--swap", "merge=ema:0.5")
        self.assertEqual(same["now"]["digest"], same["recorded"]["digest"])
        other = self.replay("a", "--swap", "merge=ema:0.1")
        self.assertNotEqual(other["now"]["digest"], other["recorded"]["digest"])
        self.assertIn(b"acc mean", self.hearsay("replay", "a", "--swap", "merge=ema:0.1").stdout)
        self.refused(("replay", "a", "--drop-peer", "p01"), "--chaos partition")
        self.refused(("replay", "a", "--seed-data", "4"), "--seed-data")

    def test_the_kernels_of_the_recording_are_taken_where_they_run(self):
        names = ["Prescott", "Nehalem"]  # run on any x86-64 of today
        if b"core type Prescott" in self.hearsay("doctor").stdout:
            names.reverse()  # the usual ones of this machine are not recorded with
        core, other = ({"OPENBLAS_CORETYPE": name} for name in names)
        if f"core type {names[0]}".encode() not in self.hearsay("doctor", env=core).stdout:
            self.skipTest("the BLAS library lets nobody choose its kernels")
        self.sim("--run", "a", "--epochs", "2", env=core)
        self.assertTrue(self.replay("a")["equal"])
        here = self.sim("--run", "b", "--epochs", "2")
        self.assertEqual(here.returncode, 0)
        self.assertNotEqual(self.result_of("a")["digest"], self.result_of("b")["digest"])
        # Somebody has chosen others: side by side, and no word of equality.
        out = self.hearsay("replay", "a", "--json", env=other)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertIn(b"tolerance mode: recorded with OpenBLAS", out.stderr)
        found = json.loads(out.stdout)
        self.assertIs(found["checked"], False)
        self.assertNotIn("equal", found)
        self.assertAlmostEqual(found["now"]["test_acc_mean"], found["recorded"]["test_acc_mean"], delta=0.05)


if __name__ == "__main__":
    harness.main()

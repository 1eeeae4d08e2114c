# SPDX-License-Identifier: Apache-2.0
"""Studies, scenarios and checks of simulations."""

import json
import signal
import subprocess
import time

import harness

SMALL = {"preset": "digits", "epochs": 1, "peers": 3}


class StudyTest(harness.CliTest):
    def study(self, name, content):
        self.write(name, json.dumps(content))
        return name

    def run_ok(self, *args):
        out = self.hearsay(*args, timeout=60)
        self.assertEqual(out.returncode, 0, out.stderr.decode())
        return out

    def test_a_study_runs_all_combinations_once_and_prints_means(self):
        study = self.study("s.json", {"base": SMALL, "vary": {"merge-every": [1, 0.2], "seed": [0, 1, 2]}})
        out = self.run_ok("sim", "--study", study, "--run", "st", "--threads", "2", "--json")
        rows = json.loads(out.stdout)["rows"]
        self.assertEqual([row["merge-every"] for row in rows], ["1", "0.2"])
        for row in rows:
            self.assertEqual((row["runs"], row["failed"], row["test_acc_mean"]["n"]), (3, 0, 3))
            self.assertGreater(row["test_acc_mean"]["half_width_95"], 0)
        one = self.result_of("st/merge-every=1,seed=2")
        same = self.run_ok("sim", "--preset", "digits", "--epochs", "1", "--peers", "3", "--seed", "2",
                           "--run", "one", "--json")
        self.assertEqual(json.loads(same.stdout)["digest"], one["digest"])
        self.assertLess(rows[0]["merges_applied"]["mean"], rows[1]["merges_applied"]["mean"])

        runs = {path: path.stat().st_mtime_ns for path in (self.folder / "st").glob("merge*/result.json")}
        self.assertEqual(len(runs), 6)
        (self.folder / "st/merge-every=1,seed=0/result.json").unlink()
        again = self.run_ok("sim", "--study", study, "--run", "st")
        self.assertIn(b"5/6 runs", again.stderr)
        self.assertEqual(again.stdout.split()[0], b"merge-every")
        redone = [path for path, stamp in runs.items() if path.stat().st_mtime_ns != stamp]
        self.assertEqual([path.parent.name for path in redone], ["merge-every=1,seed=0"])

    def test_a_study_that_is_cut_off_goes_on(self):
        content = {"base": {**SMALL, "epochs": 30}, "vary": {"seed": list(range(6))}}
        study = self.study("s.json", content)
        first = self.start("sim", "--study", study, "--run", "st", "--threads", "1",
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + harness.TIMEOUT_S
        while not list(self.folder.glob("st/*/result.json")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        first.send_signal(signal.SIGINT)
        error = first.communicate(timeout=harness.TIMEOUT_S)[1]
        self.assertEqual(first.returncode, 128 + signal.SIGINT)
        self.assertIn(b"the same command goes on", error)
        out = self.run_ok("sim", "--study", study, "--run", "st", "--json")
        self.assertEqual(json.loads(out.stdout)["rows"][0]["runs"], 6)

    def test_what_is_wrong_is_said_before_anything_runs(self):
        for content, line in (({"vary": {"merge": ["ema:0.5", "emma"]}},
                               b"--study, run merge=emma: --merge: unknown merge rule 'emma'"),
                              ({"vary": {"sede": [1]}}, b"'sede' in vary is no option (did you mean 'seed'"),
                              ({"base": SMALL}, b'a study is {"base": {...}')):
            study = self.study("bad.json", content)
            self.refused(("sim", "--study", study, "--run", "bad"), line.decode())
        good = self.study("good.json", {"base": SMALL, "vary": {"seed": [0]}})
        self.refused(("sim", "--study", good, "--seed", "1"), "varies in the study")
        self.run_ok("sim", "--study", good, "--run", "g", "--quiet")
        other = self.study("good.json", {"base": {**SMALL, "epochs": 2}, "vary": {"seed": [0]}})
        self.refused(("sim", "--study", other, "--run", "g"), "of another study")

    def test_a_run_that_fails_is_named_and_the_others_count(self):
        study = self.study("s.json", {"base": SMALL, "vary": {"target": ["off", "test_acc=0.9999"]}})
        out = self.hearsay("sim", "--study", study, "--run", "st", "--json")
        self.assertEqual(out.returncode, 1)
        self.assertIn(b"target=test_acc_0.9999: target missed: test_acc reached", out.stderr)
        self.assertEqual([row["failed"] for row in json.loads(out.stdout)["rows"]], [0, 1])

    def test_a_random_scenario_is_checked_and_repeats(self):
        flags = ("sim", "--preset", "digits", "--epochs", "12", "--scenario", "random", "--seed", "5",
                 "--check", "--json")
        first = self.hearsay(*flags, "--run", "a")
        self.assertIn(json.loads(first.stdout)["verdict"], ("ok", "fault never fired"))
        config = json.loads((self.folder / "a/run.json").read_text())["config"]
        self.assertEqual(config["compute"]["origin"], "scenario random")
        again = self.hearsay("sim", "--config", "a/run.json", "--run", "b", "--json")
        self.assertEqual(json.loads(again.stdout)["digest"], json.loads(first.stdout)["digest"])
        logs = [(self.folder / run / "events.jsonl").read_bytes().split(b"\n", 1)[1] for run in "ab"]
        self.assertEqual(*logs)

    def test_a_peer_that_comes_back_is_in_the_log_and_survives_a_resumption(self):
        flags = ("--preset", "digits", "--epochs", "60", "--chaos", "kill=p02@10%..20%", "--check")
        self.run_ok("sim", *flags, "--run", "whole")
        adopted = [event["peer"] for event in self.events_of("whole") if event["ev"] == "state.adopted"]
        self.assertEqual(adopted, ["p02"])
        self.run_ok("inspect", "whole")
        # Stopped after it came back, and gone on with: the same history.
        cut = self.start("sim", *flags, "--threads", "1", "--run", "cut",
                         stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        log = self.folder / "cut/events.jsonl"
        deadline = time.monotonic() + harness.TIMEOUT_S
        while cut.poll() is None and not (log.exists() and b"state.adopted" in log.read_bytes()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)
        cut.send_signal(signal.SIGINT)
        self.assertEqual(cut.wait(timeout=harness.TIMEOUT_S), 130, "it ended before it was stopped")
        self.run_ok("sim", "--run", "cut", "--resume")
        self.assertEqual(self.result_of("whole")["digest"], self.result_of("cut")["digest"])

    def test_what_only_simulations_have_is_refused_elsewhere(self):
        self.refused(("launch", "-n", "2", "--chaos", "kill=p01@10%..20%"), "come back by --restarts")
        self.refused(("launch", "-n", "2", "--scenario", "random"), "--scenario")


if __name__ == "__main__":
    harness.main()

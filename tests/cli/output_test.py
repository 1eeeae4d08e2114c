#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes to stdout and stderr, also when nobody listens there."""

import json
import os
import pty
import re
import signal
import time

import harness

QUICK = ("--peers", "2", "--epochs", "1")
NOISY = ("--peers", "4", "--epochs", "6", "--chaos", "kill=p01@30%", "--chaos", "drop=5%")


class OutputTest(harness.CliTest):
    def test_json_prints_exactly_the_result_file(self):
        for args in ((), ("--quiet",), ("--protocol", "ddp"), ("--end-game", "off")):
            with self.subTest(args=args):
                run = "run" + "".join(args)
                result = self.sim(*QUICK, "--json", *args, "--run", run)
                self.assertEqual(result.stdout, (self.folder / run / "result.json").read_bytes())
                self.assertEqual(json.loads(result.stdout)["verdict"], "ok")

    def test_json_of_a_failed_run_is_its_result_file_too(self):
        result = self.sim(*QUICK, "--json", "--target", "test_acc=0.999", "--run", "run", code=1)
        self.assertEqual(result.stdout, (self.folder / "run/result.json").read_bytes())

    def test_json_may_come_from_the_environment(self):
        result = self.sim(*QUICK, "--run", "run", env={"HEARSAY_JSON": "1", "HEARSAY_QUIET": "1"})
        self.assertEqual(json.loads(result.stdout)["peers"], 2)
        self.assertEqual(result.stderr, b"")

    def test_quiet_leaves_stderr_empty_when_all_goes_well(self):
        self.assertEqual(self.sim(*QUICK, "--quiet", "--run", "run").stderr, b"")
        self.assertEqual(self.sim(*NOISY, "--quiet", "--run", "noisy").stderr, b"")

    def test_the_closing_block_fits_the_promised_form(self):
        lines = self.sim(*QUICK, "--run", "run").stdout.decode().splitlines()
        self.assertRegex(lines[0], r"^run      run +verdict ok \(2 of 2 peers\)$")
        self.assertTrue(lines[1].startswith("model    export/model.safetensors"))
        self.assertTrue(any(line.startswith("traffic  ") for line in lines))
        self.assertLessEqual(max(map(len, lines)), 100)

    def read_all(self, descriptor):
        text = b""
        try:
            while piece := os.read(descriptor, 1 << 16):
                text += piece
        except OSError:  # Linux's way to say that the other side of a terminal is closed
            pass
        os.close(descriptor)
        return text

    def test_no_colours_even_on_a_terminal(self):
        for env in ({"TERM": "xterm-256color"}, {"TERM": "xterm-256color", "NO_COLOR": "1"}):
            with self.subTest(env=env):
                ours, theirs = pty.openpty()
                try:
                    run = f"run{len(env)}"
                    result = self.sim(*NOISY, "--run", run, env=env, stderr=theirs, stdout=theirs)
                finally:
                    os.close(theirs)
                text = self.read_all(ours)
                self.assertEqual(result.returncode, 0)
                self.assertIn(b"p01 killed", text)
                self.assertNotIn(b"\x1b", text)

    def test_a_full_stdout_is_reported(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no full device here")
        with open("/dev/full", "wb") as full:
            result = self.hearsay(*harness.SMALL, *QUICK, "--quiet", "--run", "run", stdout=full)
        self.assertIn(result.returncode, (1, 2))
        self.assertIn("stdout", self.one_line(result))
        self.assertEqual(self.result_of("run")["verdict"], "ok")

    def test_a_closed_stdout_is_reported_and_the_run_is_whole(self):
        result = self.hearsay(*harness.SMALL, *NOISY, "--quiet", "--run", "run",
                              stdout=None, preexec_fn=lambda: os.close(1))
        self.assertIn(result.returncode, (1, 2))
        self.assertIn("stdout", self.one_line(result))
        self.assertEqual(self.events_of("run")[-1]["ev"], "run.finished")
        self.assertEqual(self.result_of("run")["verdict"], "ok")

    def test_a_closed_stderr_does_not_reach_the_log(self):
        result = self.hearsay(*harness.SMALL, *NOISY, "--run", "run", stderr=None,
                              preexec_fn=lambda: os.close(2))
        self.assertEqual(result.returncode, 0)
        self.assertEqual(self.events_of("run")[-1]["ev"], "run.finished")

    def test_all_streams_closed_do_not_reach_the_log(self):
        process = self.start(*harness.SMALL, *NOISY, "--run", "run",
                             preexec_fn=lambda: os.closerange(0, 3))
        self.assertIn(process.wait(harness.TIMEOUT_S), (0, 1, 2))
        self.assertEqual(self.events_of("run")[-1]["ev"], "run.finished")

    def test_a_pipe_without_a_reader_ends_without_a_trace(self):
        for args in (("sim", "--help-all"), (*harness.SMALL, *QUICK, "--json", "--run", "run")):
            with self.subTest(args=args):
                ours, theirs = os.pipe()
                os.close(ours)
                try:
                    result = self.hearsay(*args, stdout=theirs)
                finally:
                    os.close(theirs)
                self.assertIn(result.returncode, (0, 1, 2, -signal.SIGPIPE))
        self.assertEqual(self.result_of("run")["verdict"], "ok")


class HelpTest(harness.CliTest):
    def text(self, *args, columns=100):
        result = self.hearsay(*args)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        lines = result.stdout.decode().splitlines()
        self.assertGreater(len(lines), 3)
        self.assertLessEqual(max(map(len, lines)), columns)
        return lines

    def test_help_fits_one_screen(self):
        for args in (("--help",), ("help",), ("-h",), ("sim", "--help"), ("help", "sim"),
                     ("doctor", "--help"), ("data", "split", "--help"), ("bench", "--help")):
            with self.subTest(args=args):
                result = self.hearsay(*args)
                lines = result.stdout.decode().splitlines()
                self.assertEqual(result.returncode, 0)
                self.assertTrue(0 < len(lines) <= 40, len(lines))
                self.assertLessEqual(max(map(len, lines)), 100)

    def test_help_shows_three_examples_and_every_command(self):
        text = "\n".join(self.text("--help"))
        self.assertEqual(text.count("\n  hearsay "), 3)
        for command in ("sim", "bench", "data", "config", "doctor", "help"):
            self.assertRegex(text, rf"\n  {command} +\S")

    def test_help_starts_fast(self):
        times = []
        for _ in range(5):
            start = time.monotonic()
            self.hearsay("--help")
            times.append(1e3 * (time.monotonic() - start))
        print(f"help: best of 5 {min(times):.1f} ms", end=" ", flush=True)
        self.assertLess(min(times), 100)

    def test_help_maps_no_cuda_library(self):
        loader = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(self.folder / "ld")}
        self.hearsay("--help", env=loader)
        logs = list(self.folder.glob("ld.*"))
        self.assertTrue(logs, "the loader wrote no log")
        text = "".join(log.read_text(errors="replace") for log in logs)
        self.assertIn("libc.so", text)
        self.assertNotIn("libcu", text)
        self.assertNotIn("libnvidia", text)
        self.assertNotIn("libhearsay_cuda", text)

    def test_every_option_stands_in_help_and_in_the_schema(self):
        lines = self.text("sim", "--help-all") + self.text("train", "--help-all")
        options = {match.group(1) for line in lines
                   if (match := re.match(r"  --([a-z][a-z-]*)", line))}
        options -= {"no-supervisor", "study"}  # of `train` and `sim` alone, on their command lines only
        variables = {match.group(1) for line in lines
                     if (match := re.search(r"HEARSAY_([A-Z_]+)$", line))}
        schema = json.loads(self.hearsay("config", "list", "--schema").stdout)
        self.assertGreater(len(options), 20)
        # A config file cannot name another one, so this option alone is no key.
        self.assertEqual(options - {"config"}, set(schema["properties"]))
        self.assertEqual({option.upper().replace("-", "_") for option in options}, variables)
        self.assertIs(schema["additionalProperties"], False)

    def test_doctor_ends_well_on_any_machine(self):
        lines = self.text("doctor", columns=400)
        for subject in ("cpu", "blas", "gpu", "mpi", "memory"):
            self.assertTrue(any(line.startswith(subject) for line in lines), subject)

    def test_doctor_finds_no_gpu_and_says_why(self):
        result = self.hearsay("doctor", "--json", env={"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        for subject, entry in found.items():
            self.assertIsInstance(entry["usable"], bool, subject)
            self.assertTrue(entry["text"], subject)
        self.assertFalse(found["gpu"]["usable"] and found["gpu"]["devices"] == [])

    def test_the_shown_config_is_a_config_file(self):
        shown = self.hearsay("config", "show", "--json", "--preset", "digits", "--peers", "3")
        self.write("pool.json", shown.stdout)
        again = self.hearsay("config", "show", "--json", "--config", "pool.json")
        values = [{key: entry["value"] for key, entry in json.loads(r.stdout)["config"].items()}
                  for r in (shown, again)]
        self.assertEqual(values[0], values[1])


if __name__ == "__main__":
    harness.main()

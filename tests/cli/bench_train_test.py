#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`hearsay bench train` on the CPU, and what it refuses; on a GPU see gpu_test.py."""

import json

import harness

TINY = ("--model", "mlp:8")


class BenchTrainTest(harness.CliTest):
    def test_a_row_for_every_size_of_mini_batch(self):
        out = self.hearsay("bench", "train", *TINY, "--json")
        self.assertEqual((out.returncode, out.stderr), (0, b""))
        report = json.loads(out.stdout)
        self.assertEqual(report["header"]["device"], "cpu")
        self.assertEqual([(row["batch"], row["peers"]) for row in report["rows"]], [(32, 1), (64, 1)])
        for row in report["rows"]:
            self.assertGreaterEqual(row["p99_us"], row["p50_us"])
            self.assertAlmostEqual(row["samples_per_s"] * row["p50_us"] / (row["batch"] * 1e6), 1, delta=1e-9)

    def test_the_table_names_the_device_and_a_share_that_is_missed_is_exit_1(self):
        out = self.hearsay("bench", "train", *TINY, "--require", "100%")
        self.assertEqual(out.returncode, 1)
        lines = out.stdout.decode().splitlines()
        self.assertIn("device cpu", lines[1])
        head, = (line for line in lines if line.startswith("#  op"))
        rows = [line for line in lines if not line.startswith("#")]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertEqual(len(row.split()), len(head.split()) - 1)

    def test_impossible_work_is_refused(self):
        for args, words in ((("--peers", "4"), ("--peers", "--device cuda")),
                            (("--device", "gpu"), ("gpu", "cuda")),
                            (("--require", "lots"), ("--require", "lots"))):
            with self.subTest(args=args):
                self.refused(("bench", "train", *TINY, *args), *words)
        doctor = json.loads(self.hearsay("doctor", "--json").stdout)
        if not doctor["cuda"]["usable"]:
            self.refused(("bench", "train", "--device", "cuda"), "--device", "--device cpu")


if __name__ == "__main__":
    harness.main()

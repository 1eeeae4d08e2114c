#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`hearsay bench net` between real processes: nothing wrong arrives, the numbers make sense."""

import json

import harness

KEYS = {"op", "n", "bytes", "p50_us", "p99_us", "gb_per_s", "share_of_copy", "wrong"}


class BenchNetTest(harness.CliTest):
    def rows(self, *args):
        result = self.hearsay("bench", "net", *args, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        report = json.loads(result.stdout)
        self.assertEqual(report["header"]["bench"], "net")
        for row in report["rows"]:
            self.assertLessEqual(KEYS, set(row))
            self.assertEqual(row["wrong"], 0)
            self.assertGreaterEqual(row["samples"], 20)
            self.assertGreater(row["p50_us"], 0)
            self.assertGreaterEqual(row["p99_us"], row["p50_us"])
        return report["rows"]

    def test_weights_and_control_frames_between_two_processes(self):
        rows = self.rows("--sizes", "1,5000")
        self.assertEqual([(row["op"], row["n"], row["bytes"]) for row in rows],
                         [("latency", 0, 0), ("swap", 1, 4), ("swap", 5000, 20000),
                          ("exchange", 1, 4), ("exchange", 5000, 20000),
                          ("stream", 1, 4), ("stream", 5000, 20000)])
        self.assertIsNone(rows[0]["share_of_copy"])
        for row in rows:
            self.assertAlmostEqual(row["gb_per_s"], row["bytes"] / row["p50_us"] / 1e3, delta=1e-9)
            self.assertGreater(row["wire_gb_per_s"], row["gb_per_s"])

    def test_the_sums_of_two_and_of_four_processes(self):
        digests = set()
        for processes in (2, 4):
            row, = self.rows("--op", "allreduce", "--sizes", "1003", "--processes", processes)
            self.assertEqual(row["processes"], processes)
            self.assertEqual(row["bytes"], 4 * 1003 * 2 * (processes - 1) // processes)
            digests.add(row["digest"])
        self.assertEqual(len(digests), 2, "four processes have other sums than two")

    def test_the_table_has_a_column_for_every_number(self):
        lines = self.hearsay("bench", "net", "--sizes", "100").stdout.decode().splitlines()
        self.assertTrue(lines[0].startswith("# hearsay bench net"))
        head = [line for line in lines if line.startswith("#  op")][0]
        rows = [line for line in lines if not line.startswith("#")]
        self.assertEqual([row.split()[0] for row in rows], ["latency", "swap", "exchange", "stream"])
        for row in rows:
            self.assertEqual(len(row.split()), len(head.split()) - 1)
            self.assertEqual(row.split()[-1], "0")
        self.assertLessEqual(max(map(len, rows)), 110)

    def test_impossible_work_is_refused(self):
        for args, words in ((("--sizes", "0"), ("--sizes", "0")),
                            (("--sizes", "2.5"), ("--sizes", "2.5")),
                            (("--sizes", "x"), ("--sizes", "x")),
                            (("--op", "swop"), ("swop", "swap")),
                            (("--op", "allreduce", "--processes", "1"), ("--processes", "2")),
                            (("--op", "allreduce", "--processes", "4", "--sizes", "3"),
                             ("--sizes", "3", "4"))):
            with self.subTest(args=args):
                self.refused(("bench", "net", *args), *words)


if __name__ == "__main__":
    harness.main()

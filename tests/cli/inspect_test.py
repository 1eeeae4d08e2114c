#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hearsay inspect: what it says of runs that are in order, torn, damaged or not there."""

import json

import harness
import pools


class InspectTest(pools.PoolTest):
    def inspect(self, *args, code=0):
        out = self.hearsay("inspect", *args)
        self.assertEqual(out.returncode, code, out.stdout + out.stderr)
        return out

    def found(self, *args, code=0):
        return json.loads(self.inspect(*args, "--json", code=code).stdout)

    def simulate(self):
        self.sim("--peers", "4", "--epochs", "3", "--quiet", "--run", "runs/one", "--chaos", "kill=p01@50%")

    def test_a_simulated_run_is_in_order(self):
        self.simulate()
        found = self.found("runs/one")
        self.assertEqual((found["ok"], found["peers"], found["logs"]), (True, 4, 1))
        self.assertEqual(found["counts"]["merge.applied"],
                         self.result_of("runs/one")["merges_applied"])
        text = self.inspect().stdout.decode()  # runs/latest
        self.assertIn("invariants  hold", text)

    def test_a_pool_with_dead_and_reborn_peers_is_in_order(self):
        self.launch("-n", "3", *pools.ENDLESS, "--time", "4s", "--quiet", "--restarts", "1", "--run", "run",
                    "--chaos", "kill=p01@1s", "--chaos", "corrupt=1%", "--chaos", "drop=1%")
        found = self.found("run")
        self.assertEqual((found["breaches"], found["damaged"], found["peers"]), ([], [], 3))
        self.assertGreater(found["logs"], 2)
        one = self.found("run/peers/p00/events.jsonl")
        self.assertEqual((one["ok"], one["peers"]), (True, 1))

    def test_a_torn_end_is_named_and_a_hole_is_a_breach(self):
        self.simulate()
        log = self.folder / "runs/one/events.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)
        log.write_bytes(b"".join(lines[:-1]) + lines[-1][:10])
        self.assertEqual(len(self.found("runs/one")["torn"]), 1)
        gone = next(i for i, line in enumerate(lines) if b'"merge.decided"' in line)
        log.write_bytes(b"".join(lines[:gone] + lines[gone + 1:]))
        breaches = self.found("runs/one", code=1)["breaches"]
        self.assertTrue(any(line.startswith("n: ") for line in breaches), breaches)
        self.assertIn(b"broken", self.inspect("runs/one", code=1).stdout)

    def test_damage_is_named_with_its_place(self):
        self.simulate()
        log = self.folder / "runs/one/events.jsonl"
        bytes_ = bytearray(log.read_bytes())
        bytes_[bytes_.index(b"\n") + 1] = 0xFF
        log.write_bytes(bytes_)
        damaged = self.found("runs/one", code=4)["damaged"]
        self.assertEqual(len(damaged), 1)
        self.assertRegex(damaged[0], r"events\.jsonl: offset \d+")

    def test_what_is_no_run_is_refused_in_one_line(self):
        for word in ("nowhere", "."):
            out = self.inspect(word, code=2)
            self.assertEqual(len(out.stderr.splitlines()), 1, out.stderr)


if __name__ == "__main__":
    harness.main()

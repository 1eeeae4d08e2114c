#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults in live pools: who is lost, who goes on, what the verdict is, all of it in time."""

import statistics
import time

import harness
import pools

POOL = ("-n", "4", *pools.DIGITS, "--epochs", "150", "--run", "run")


class KillTest(pools.PoolTest):
    def check_survivors(self, lost):
        result = self.result_of("run")
        self.assertEqual(result["peers_lost"], len(lost))
        for peer in result["per_peer"]:
            if peer["peer"] in lost:
                self.assertFalse(peer["alive"])
                self.assertEqual(peer["reason"], "killed by SIGKILL")
                self.assertGreater(peer["samples"], 0, "its last numbers are known")
            else:
                self.assertEqual((peer["alive"], peer["reason"]), (True, "finished"))
                self.assertLess(peer["test_loss"], 10)
        return result

    def test_a_killed_peer_is_named_and_the_others_finish(self):
        out = self.launch(*POOL, "--chaos", "kill=p01@30%")
        result = self.check_survivors({"p01"})
        self.assertEqual((result["verdict"], result["exit_code"]), ("ok", 0))
        text = out.stderr.decode()
        self.assertEqual(text.count("p01 killed by SIGKILL; 3 go on"), 1, text)
        self.assertEqual(text.count("p01 lost ("), 1, text)
        table = text[text.index("peers that died, first to last:"):].splitlines()
        self.assertRegex(table[1], r"^ +\d+\.\d s  p01 +\S+ +killed by SIGKILL +last: \w+\.\w+ at ")
        self.assertRegex(table[2], r"^ +log run/peers/p01/stderr\.log$")
        self.assertEqual(len(table), 3, text)
        self.assertIn(b"verdict ok (3 of 4 peers, 1 lost)", out.stdout)
        left = [event for event in self.log_of(1) if event["ev"] == "peer.left"]
        self.assertEqual(left, [])
        for peer in (0, 2, 3):
            log = self.log_of(peer)
            self.assertEqual(log[-1]["reason"], "finished")
            self.assertIn("p01", {e["who"] for e in log if e["ev"] == "peer.lost"})

    def test_hostile_peers_are_refused_and_ignored_and_a_poisoned_one_comes_back(self):
        self.launch(*pools.DIGITS, "-n", "4", "--epochs", "600", "--run", "run", "--quiet",
                    "--chaos", "scale=p01*1e6@5%", "--chaos", "poison=p02@20%")
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 0))
        self.assertGreater(result["merges_refused"], 3)
        for peer in (0, 2, 3):
            self.assertGreater(result["per_peer"][peer]["test_acc"], 0.8)
            faults = [e for e in self.log_of(peer) if e["ev"] == "fault.seen"]
            self.assertIn(("bad weights", "p01"), {(e["kind"], e["who"]) for e in faults})
        kinds = {event.get("kind") for event in self.log_of(2)}
        self.assertIn("own weights not finite", kinds)
        self.assertIn("state.adopted", {event["ev"] for event in self.log_of(2)})

    def test_a_counted_kill_takes_the_peer_that_the_seed_names(self):
        self.launch(*POOL, "--quiet", "--chaos", "kill=1@20%")
        lost = [peer["peer"] for peer in self.result_of("run")["per_peer"] if not peer["alive"]]
        self.assertEqual(len(lost), 1)
        self.check_survivors(set(lost))
        self.sim("--peers", "4", "--quiet", "--chaos", "kill=1@20%", "--run", "simulated")
        simulated = self.result_of("simulated")["per_peer"]
        self.assertEqual(lost, [peer["peer"] for peer in simulated if not peer["alive"]])

    def test_too_many_kills_miss_the_quorum(self):
        out = self.launch(*POOL, "--chaos", "kill=3@30%", "--min-peers", "2", code=3)
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("lost quorum", 3))
        self.assertIn("--min-peers 2", out.stderr.decode().splitlines()[-1])
        self.assertEqual(out.stderr.count(b"stderr.log"), 3)

    def test_a_pool_of_which_nobody_is_left_has_no_numbers_and_no_model(self):
        out = self.launch(*POOL, "--chaos", "kill=4@20%", "--json", "--quiet", code=3)
        self.assertEqual(out.stdout, (self.folder / "run/result.json").read_bytes())
        result = self.result_of("run")
        self.assertEqual((result["peers_lost"], result["test_acc_mean"]), (4, None))
        self.assertFalse((self.folder / "run/export").exists())

    def test_a_synchronous_pool_that_has_lost_a_peer_is_stuck_and_says_so_soon(self):
        begin = time.monotonic()
        out = self.launch("-n", "3", *pools.ENDLESS, "--run", "run", "--protocol", "ddp", "--chaos",
                          "kill=p01@1s", code=1)
        self.assertLess(time.monotonic() - begin, 20)
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("stuck", 1))
        self.assertIn("stuck", out.stderr.decode().splitlines()[-1])


class OtherFaultTest(pools.PoolTest):
    def test_the_others_go_on_while_a_peer_stalls_and_it_comes_back(self):
        out = self.launch("-n", "3", *pools.ENDLESS, "--time", "3.5s", "--run", "run", "--chaos",
                          "stall=p02@0.8s..2.3s")
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 0))
        text = out.stderr.decode()
        self.assertLess(text.index("p02 stalled"), text.index("p02 goes on"))
        times = [event["t_ns"] * 1e-9 for event in self.log_of(2)]
        gap, begin = max((after - before, before) for before, after in zip(times, times[1:]))
        self.assertGreater(gap, 1.2)
        self.assertGreater(times[-1], 2.8, "it went on to the end")
        for peer in (0, 1):
            meanwhile = [event for event in self.log_of(peer) if event["ev"] == "block.finished"
                         and begin + 0.3 < event["t_ns"] * 1e-9 < begin + gap - 0.3]
            self.assertGreater(len(meanwhile), 3)

    def test_a_peer_that_is_cut_off_trains_alone_and_comes_back(self):
        out = self.launch("-n", "3", *pools.ENDLESS, "--time", "9s", "--run", "run", "--chaos",
                          "partition=p02@1s..5s")
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 0))
        text = out.stderr.decode()
        self.assertLess(text.index("p02 cut off"), text.index("p02 reached again"))
        log = self.log_of(2)
        merges = [event["t_ns"] * 1e-9 for event in log if event["ev"] == "merge.applied"]
        gap, begin = max((after - before, before) for before, after in zip(merges, merges[1:]))
        self.assertGreater(gap, 3.5)
        blocks = [event["t_ns"] * 1e-9 for event in log if event["ev"] == "block.finished"]
        self.assertTrue(any(begin + 1 < at < begin + 3 for at in blocks), "it trained meanwhile")

    def test_broken_frames_cost_connections_and_nothing_else(self):
        self.launch("-n", "3", *pools.ENDLESS, "--merge-every", "1", "--time", "4s", "--quiet",
                    "--run", "run", "--chaos", "corrupt=2%")
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 0))
        faults = [event for peer in range(3) for event in self.log_of(peer)
                  if event["ev"] == "fault.seen"]
        broken = [event for event in faults if "checksum is wrong" in event["detail"]]
        self.assertGreater(len(broken), 0)
        self.assertGreater(result["merges_applied"], 10)

    def test_a_stall_that_is_given_in_shares_of_the_budget_ends_too(self):
        self.launch(*POOL, "--quiet", "--chaos", "stall=p02@20%..50%")
        self.assertEqual({peer["reason"] for peer in self.result_of("run")["per_peer"]},
                         {"finished"})

    def test_a_slow_peer_takes_longer_for_a_mini_batch(self):
        self.launch("-n", "4", *pools.ENDLESS, "--time", "3s", "--quiet", "--run", "run",
                    "--chaos", "slow=p03*8")
        steps = [[event["step_ns"] for event in self.log_of(peer) if event["ev"] == "block.finished"]
                 for peer in range(4)]
        # A busy machine may start a peer late, take its core away for a while, or be late to slow it.
        took = [statistics.median(each) for each in steps[:3]]
        self.assertGreater(statistics.quantiles(steps[3])[2], 3 * max(took), (took, steps[3]))

    def test_lost_frames_slow_merging_down_and_nothing_else(self):
        self.launch("-n", "4", *pools.ENDLESS, "--time", "2s", "--quiet", "--run", "run", "--chaos",
                    "drop=20%")
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 0))
        self.assertGreater(result["merges_applied"], 0)

    def test_a_fault_that_never_fires_fails_the_run(self):
        for fault in ("kill=p01@900s", "stall=p00@800s..900s"):
            with self.subTest(fault=fault):
                run = fault.split("=")[0]
                out = self.launch("-n", "2", *pools.DIGITS, "--quiet", "--run", run, "--chaos",
                                  fault, code=1)
                self.assertIn(fault, self.one_line(out))
                self.assertEqual(self.result_of(run)["verdict"], "fault never fired")


class LimitTest(pools.PoolTest):
    def test_time_ends_a_run_well(self):
        self.launch("-n", "3", *pools.ENDLESS, "--time", "1.5s", "--quiet", "--run", "run")
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["reason"]), ("ok", "time limit reached"))
        self.assertGreater(result["wall_s"], 1.4)
        self.assertLess(result["wall_s"], 8)
        for peer in range(3):
            self.assertEqual(self.log_of(peer)[-1]["reason"], "time")
            self.checkpoint_of(peer)

    def test_a_target_ends_a_run_when_it_is_reached(self):
        out = self.launch("-n", "3", *pools.ENDLESS, "--target", "test_acc=0.9", "--run", "run")
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["reason"]), ("ok", "target reached"))
        self.assertGreater(result["target_reached_s"], 0)
        self.assertGreater(result["test_acc_mean"], 0.85)
        self.assertRegex(out.stdout.decode(), r"\ntarget   test_acc >= 0\.9 after \d+\.\d+ s\n")

    def test_a_missed_target_fails_the_run_and_tells_the_best(self):
        for epochs in ("1", "10"):
            with self.subTest(epochs=epochs):
                out = self.launch("-n", "2", *pools.DIGITS, "--epochs", epochs, "--quiet", "--run",
                                  f"run{epochs}", "--target", "test_acc=0.9999", code=1)
                line = self.one_line(out)
                self.assertRegex(line, r"target missed: test_acc reached 0\.[2-9]\d*, not 0\.9999")
                self.assertEqual(self.result_of(f"run{epochs}")["verdict"], "target missed")


if __name__ == "__main__":
    harness.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every protocol, with and without --wait, under every fault: the log keeps its promises."""

import copy

import event_checks
import harness

PROTOCOLS = ("push", "pairwise", "push-sum")
FAULTS = ("", "kill=1@40%", "partition=p02@20%..60%", "drop=10%", "stall=p01@20%..50%",
          "slow=p03*4")


class EventLogTest(harness.CliTest):
    def run_pool(self, run, *args, peers=4, epochs=4):
        self.sim("--peers", peers, "--epochs", epochs, "--quiet", "--run", run, *args)
        header, *events = self.events_of(run)
        self.assertEqual((header["ev"], header["run"], header["peers"]),
                         ("run.started", run, peers))
        return events

    def check(self, run, events):
        breaches = [f"{check.__name__}: {text}"
                    for check in event_checks.CHECKS for text in check(events)]
        breaches += event_checks.agreement(events, self.result_of(run))
        self.assertEqual(breaches, [])
        self.assertGreater(sum(event["ev"] == "merge.applied" for event in events), 3)

    def check_protocol(self, protocol):
        for wait in ((), ("--wait",)):
            for fault in FAULTS:
                with self.subTest(wait=wait, fault=fault):
                    run = f"{protocol}{len(wait)}{fault.split('=')[0]}"
                    chaos = ("--chaos", fault) if fault else ()
                    events = self.run_pool(run, "--protocol", protocol, *wait, *chaos)
                    self.check(run, events)
                    lost = self.result_of(run)["peers_lost"]
                    self.assertEqual(lost, 1 if fault.startswith("kill") else 0)

    def test_push_keeps_the_promises_of_the_log(self):
        self.check_protocol("push")

    def test_pairwise_keeps_the_promises_of_the_log(self):
        self.check_protocol("pairwise")

    def test_push_sum_keeps_the_promises_of_the_log(self):
        self.check_protocol("push-sum")

    def test_small_and_odd_pools_keep_the_promises_too(self):
        for peers, args in ((2, ("--merge-every", "0.1")), (3, ("--topology", "ring")),
                            (7, ("--topology", "exp", "--merge-every", "2")),
                            (5, ("--split", "dirichlet:0.3", "--chaos", "slow=p04*3"))):
            with self.subTest(peers=peers, args=args):
                run = f"pool{peers}"
                self.check(run, self.run_pool(run, *args, peers=peers))

    def test_many_faults_at_once_keep_the_promises_too(self):
        chaos = [word for fault in ("kill=p00@30%", "kill=p05@70%", "drop=20%", "slow=p02*3",
                                    "partition=p01@10%..50%", "stall=p03@40%..60%")
                 for word in ("--chaos", fault)]
        for seed in (1, 2, 3):
            with self.subTest(seed=seed):
                run = f"seed{seed}"
                self.check(run, self.run_pool(run, "--seed", seed, *chaos, peers=6, epochs=6))

    def test_a_killed_peer_falls_silent_and_the_others_notice(self):
        events = self.run_pool("run", "--chaos", "kill=p01@40%")
        last = max(event["t_ns"] for event in events if event["peer"] == "p01")
        lost = [event for event in events if event["ev"] == "peer.lost" and event["who"] == "p01"]
        self.assertEqual(sorted({event["peer"] for event in lost}), ["p00", "p02", "p03"])
        self.assertLessEqual(last, min(event["t_ns"] for event in lost))

    def test_nothing_reaches_or_leaves_a_partitioned_peer(self):
        events = self.run_pool("run", "--chaos", "partition=p02@0%")  # for good
        self.assertTrue(any(event["ev"] == "delta.sent" and event["to"] == "p02"
                            for event in events), "nobody tried")
        for event in events:
            if event["ev"] == "delta.received":
                self.assertNotIn("p02", (event["peer"], event["from"]))

    def test_every_check_fires_on_a_forged_log(self):
        events = self.run_pool("run")
        result = self.result_of("run")

        def find(name):
            return next(i for i, event in enumerate(events) if event["ev"] == name)

        def forged(name, key, value):
            copy_of = copy.deepcopy(events)
            copy_of[find(name)][key] = value
            return copy_of

        def without(name):
            return [event for i, event in enumerate(events) if i != find(name)]

        cases = [
            (event_checks.line_numbers, without("block.finished")),
            (event_checks.clocks, forged("block.finished", "t_ns", 10**15)),
            (event_checks.merge_counters, forged("merge.applied", "mseq", 9)),
            (event_checks.explained_merges, forged("merge.decided", "verdict", "refuse")),
            (event_checks.explained_merges, forged("merge.decided", "alpha", 1.5)),
            (event_checks.explained_merges, without("delta.received")),
            (event_checks.explained_merges, without("merge.decided")),
            (event_checks.sent_deltas, without("delta.sent")),
            (event_checks.sent_deltas, forged("delta.sent", "bytes", 1)),
            (event_checks.sent_deltas, events + [events[find("delta.received")]]),
            (event_checks.lives, without("peer.joined")),
            (event_checks.lives, without("run.finished")),
        ]
        for check, log in cases:
            with self.subTest(check=check.__name__):
                self.assertEqual(list(check(events)), [])
                self.assertNotEqual(list(check(log)), [])
        self.assertNotEqual(list(event_checks.agreement(without("merge.applied"), result)), [])


if __name__ == "__main__":
    harness.main()

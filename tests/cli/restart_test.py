#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hearsay launch --restarts: a peer that dies comes back, and the others find it where it is now."""

import json
import os
import signal

import harness
import pools


class RestartTest(pools.PoolTest):
    def endpoint(self, peer):
        return json.loads((self.peer_folder(peer) / "endpoint.json").read_text())

    def merged_with(self, peer, other):
        return sum(event["ev"] == "merge.applied" and event["from"] == f"p{other:02}"
                   for event in self.log_of(peer))

    def test_a_killed_peer_is_started_again_and_merges_with_all(self):
        out = self.launch("-n", 3, *pools.ENDLESS, "--time", "4s", "--restarts", "1", "--run", "run",
                          "--chaos", "kill=p01@0.5s")
        result = self.result_of("run")
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 0))
        self.assertEqual(result["per_peer"][1]["reason"], "time")
        self.assertEqual(self.endpoint(1)["incarnation"], 1)
        for other in (0, 2):
            self.assertGreater(self.merged_with(1, other), 0)  # in its second start
        self.assertEqual(out.stderr.count(b"p01 killed by SIGKILL; started again (1 of 1)\n"), 1)
        self.assertRegex(out.stderr.decode(), r"p01 .*killed by SIGKILL; started again \(1 of 1\)  last: ")

    def test_after_its_last_start_it_is_lost(self):
        pool = self.begin(*pools.ENDLESS, "--restarts", "1")
        pids = [self.endpoint(peer)["pid"] for peer in range(3)]
        os.kill(pids[2], signal.SIGKILL)
        self.wait_until(lambda: self.endpoint(2)["pid"] != pids[2], "a second start")
        self.wait_until(lambda: self.all_train("run", 3), "it trains")
        os.kill(self.endpoint(2)["pid"], signal.SIGKILL)
        self.wait_until(lambda: not os.path.exists(f"/proc/{self.endpoint(2)['pid']}"), "its end")
        pool.send_signal(signal.SIGINT)
        out = self.finish(pool, 20)
        text = out.stderr.decode()
        self.assertEqual(pool.returncode, 130, text)
        self.nobody_left()
        self.assertEqual(self.result_of("run")["peers_lost"], 1)
        self.assertEqual(self.result_of("run")["per_peer"][2]["reason"], "killed by SIGKILL")
        self.assertEqual(text.count("p02 killed by SIGKILL; 2 go on"), 1)

    def test_whoever_ends_well_is_not_started_again(self):
        pool = self.begin(*pools.ENDLESS, "--restarts", "3", "--time", "2s")
        os.kill(self.endpoint(1)["pid"], signal.SIGTERM)
        out = self.finish(pool, 30)
        self.assertEqual(pool.returncode, 0, out.stderr)
        self.assertNotIn(b"started again", out.stderr)
        self.assertEqual(self.endpoint(1)["incarnation"], 0)


if __name__ == "__main__":
    harness.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hearsay launch: what it starts, and how it ends when it cannot: one line, nothing left behind."""

import json
import sys

import bad_data_test
import harness
import pools

SHORT = (*pools.DIGITS, "--epochs", "3")

# Says what it hears in heard.N, and that it has ended well.
OWN_PROGRAM = """
import json, os, socket
channel = socket.socket(fileno=int(os.environ["HEARSAY_CONTROL_FD"])).makefile("rw")
me = int(os.environ["HEARSAY_PEER"])
def say(**message):
    channel.write(json.dumps(message) + "\\n")
    channel.flush()
channel.write("no JSON\\n" + json.dumps({"is": "rumour"}) + "\\n")
say(**{"is": "ready", "address": f"127.0.0.1:{1000 + me}"})
with open(f"heard.{me}", "w") as file:
    file.write(channel.readline())
say(**{"is": "ended", "reason": "finished", "alive": True})
"""


class CommandTest(pools.PoolTest):
    def test_a_command_may_be_the_program_itself(self):
        self.launch("-n", "2", *SHORT, "--quiet", "--run", "run", "--", harness.binary(), "train",
                    "--config", "run/run.json")
        self.assertEqual(self.result_of("run")["verdict"], "ok")

    def test_a_foreign_program_is_told_everything_and_judged_by_what_it_leaves(self):
        self.write("peer.py", OWN_PROGRAM)
        out = self.launch("-n", "3", *SHORT, "--run", "run", "--", sys.executable, "peer.py",
                          code=3)
        addresses = [f"127.0.0.1:{1000 + peer}" for peer in range(3)]
        for peer in range(3):
            start = json.loads((self.folder / f"heard.{peer}").read_text())
            self.assertEqual((start["do"], start["peers"]), ("start", addresses))
            self.assertTrue((self.folder / start["run"] / "run.json").is_file())
        self.assertIn(b"lost quorum", out.stderr.splitlines()[-1])
        self.assertEqual({peer["reason"] for peer in self.result_of("run")["per_peer"]},
                         {"left no result"})

    def test_a_program_that_ends_before_it_is_ready_ends_the_start(self):
        for program, parts in (("import sys; sys.exit('no data here')", ("no data here",)),
                               ("import os; os.kill(os.getpid(), 9)", ("killed by SIGKILL",)),
                               ("pass", ("exit code 0",))):
            with self.subTest(program=program):
                self.refused(("launch", "-n", "2", *SHORT, "--run", "run", "--", sys.executable,
                              "-c", program), "could not start", *parts)
                self.nobody_left()


class RefusalTest(pools.PoolTest):
    def test_a_dry_run_starts_and_writes_nothing(self):
        before = harness.tree(self.folder)
        out = self.launch("-n", "5", *SHORT, "--dry-run")
        self.assertRegex(out.stdout.decode(), r"^peers +5 processes")
        self.assertIn(b"nothing was started or written", out.stdout)
        self.assertEqual(harness.tree(self.folder), before)

    def test_wrong_words_are_refused_in_one_line(self):
        self.write("there/file", "")
        for words, *parts in (
                (("--epoch", "3"), "--epoch", "--epochs"), (("-n",), "--peers", "value"),
                (("-n", "x"), "--peers", "'x'"), (("-n0",), "--peers 0"),
                (("--peers", "0"), "--peers 0"), (("-n", "2", "more"), "more"),
                (("-n", "2", "--"), "--", "command"), (("--listen", "127.0.0.1:0"), "--listen"),
                (("--join", "127.0.0.1:9"), "--join"), (("--net", "lan"), "--net"),
                (("--chaos", "slow=p01*0.5"), "slow=p01*0.5"),
                (("-n", "3", "--chaos", "kill=p03@20%"), "p03", "p02"),
                (("-n", "2", "--min-peers", "3"), "--min-peers 3"),
                (("-n", "2", "--run", "there"), "there", "exists"),
                (("-n", "2", "--protocol", "pairwize"), "pairwise"),
                (("-n", "2", "--", "no-such-program"), "no-such-program")):
            with self.subTest(words=words):
                self.refused(("launch", *pools.DIGITS, *words), *parts)
                self.nobody_left()

    def test_a_missing_data_set_leaves_nothing_behind(self):
        for run in ((), ("--run", "run")):
            with self.subTest(run=run):
                self.refused(("launch", "-n", "2", "--data", "idx:nowhere", *run),
                             "could not start", "nowhere", "HEARSAY_DATA")
                self.nobody_left()

    def test_a_damaged_data_set_is_named_with_its_place(self):
        for name, content in bad_data_test.good_files().items():
            cut = 100 if name == bad_data_test.TRAIN_IMAGES else len(content)
            self.write(f"set/{name}", content[:cut])
        self.refused(("launch", "-n", "2", "--data", "idx:set", "--model", "mlp:8"),
                     bad_data_test.TRAIN_IMAGES, "offset 100", code=4)
        self.nobody_left()


if __name__ == "__main__":
    harness.main()

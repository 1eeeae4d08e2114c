#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hearsay train by hand: the first peer gathers, others join, any of them may go away."""

import json
import os
import signal
import socket
import subprocess
import time

import harness
import pools

FIRST = ("train", *pools.DIGITS, "--listen", "127.0.0.1:0", "--run", "run")


class ByHandTest(pools.TalkingTest):
    def begin_first(self, *args):
        """The first peer and the address that its join line tells."""
        first = self.begin_peer(*FIRST, *args)
        line = next(line for line in self.hears(first, "waiting for").splitlines()
                    if line.startswith("join with  hearsay train --join "))
        return first, line.split()[-1]

    def begin_pool(self, *args):
        """Three peers that train; the joiners take their places in either order."""
        first, address = self.begin_first("--peers", "3", *args)
        joiners = [self.begin_peer("train", "--join", address) for _ in range(2)]
        self.wait_until(lambda: self.all_train("run", 3), "all train")
        time.sleep(0.3)
        return {process.pid: process for process in (first, *joiners)}

    def end_all_of(self, processes):
        """The result of a pool that ends well; exactly one peer prints it."""
        printed = [self.end_of(process) for process in processes]
        self.nobody_left()
        self.assertEqual(sum("verdict ok" in text for text in printed), 1, printed)
        self.assertFalse((self.folder / "run/.result.claim").exists())
        return self.result_of("run")


class PoolOfThreeTest(ByHandTest):
    def test_three_peers_find_each_other_and_the_last_one_writes_the_result(self):
        pool = self.begin_pool()
        result = self.end_all_of(pool.values())
        self.assertEqual((result["verdict"], result["peers"], result["peers_lost"]), ("ok", 3, 0))
        self.assertEqual({peer["reason"] for peer in result["per_peer"]}, {"finished"})
        self.assertGreater(result["merges_applied"], 0)
        self.assertEqual({self.pid_of(peer) for peer in range(3)}, set(pool))
        self.assertTrue((self.folder / "run/export/model.safetensors").is_file())
        self.assertFalse((self.folder / "runs").exists())
        for process in pool.values():
            self.assertNotIn("acc -1", self.said(process))

    def test_alone_it_is_plain_training(self):
        out = self.hearsay("train", *pools.DIGITS, "--epochs", "3", "--run", "run")
        self.assertEqual((out.returncode, out.stderr.count(b"join with")), (0, 0), out.stderr)
        self.sim("--peers", "1", "--epochs", "3", "--quiet", "--run", "simulated")
        self.assertEqual(self.result_of("run")["digest"], self.result_of("simulated")["digest"])

    def test_a_joiner_may_come_first_and_says_what_it_waits_for(self):
        with socket.socket() as place:  # a port that is free, if nobody else takes it meanwhile
            place.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % place.getsockname()[1]
        joiner = self.begin_peer("train", "--join", address)
        self.hears(joiner, "Connection refused")
        self.assertIn(f"joining {address}", self.said(joiner))
        first = self.begin_peer("train", *pools.DIGITS, "--peers", "2", "--listen", address,
                                "--run", "run")
        self.assertEqual(self.end_all_of([first, joiner])["peers"], 2)

    def test_a_killed_peer_does_not_keep_the_others_from_a_result(self):
        pool = self.begin_pool("--epochs", "1000000", "--eval-every", "0", "--time", "1s")
        pool.pop(self.pid_of(0)).kill()  # the first one is not needed any more
        result = self.end_all_of(pool.values())
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 1))
        self.assertFalse(result["per_peer"][0]["alive"])
        self.assertTrue(any("p00 lost (" in self.said(process) for process in pool.values()))

    def test_a_peer_that_is_told_to_leave_says_goodbye(self):
        pool = self.begin_pool("--epochs", "1000000", "--eval-every", "0", "--time", "4s")
        leaver = pool.pop(self.pid_of(2))
        begin = time.monotonic()
        leaver.send_signal(signal.SIGTERM)
        self.assertEqual(self.end_of(leaver, code=143, seconds=10), "")
        self.assertLess(time.monotonic() - begin, 2)  # it does not wait for those who go on
        self.checkpoint_of(2)
        for process in pool.values():
            self.assertIsNone(process.poll(), self.said(process))
        result = self.end_all_of(pool.values())
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 0))
        self.assertEqual(self.log_of(2)[-1]["ev"], "peer.left")


class GatheringTest(ByHandTest):
    def test_giving_up_while_waiting_leaves_nothing(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number=number):
                first, address = self.begin_first("--peers", "3")
                joiner = self.begin_peer("train", "--join", address)
                self.assertIn("--peers sets the number", self.hears(first, "waiting for 1 of 3"))
                first.send_signal(number)
                self.assertEqual(self.end_of(first, code=code, seconds=5), "")
                self.end_of(joiner, code=2, seconds=10)
                self.assertRegex(self.said(joiner).splitlines()[-1],
                                 "^hearsay: --join: refused by .*: the first peer has given up")
                self.nobody_left()
                self.assertEqual([path for path in harness.tree(self.folder)
                                  if not path.startswith("said.")], [])

    def test_a_joiner_that_gives_up_frees_its_place(self):
        first, address = self.begin_first("--peers", "3", "--epochs", "2")
        gone = self.begin_peer("train", "--join", address)
        self.hears(first, "waiting for 1 of 3")
        gone.send_signal(signal.SIGINT)
        self.assertEqual(self.end_of(gone, code=130, seconds=5), "")
        self.wait_until(lambda: self.said(first).count("waiting for 2 of 3") == 2, "a free place")
        joiners = [self.begin_peer("train", "--join", address) for _ in range(2)]
        self.assertEqual(self.end_all_of([first, *joiners])["peers"], 3)

    def test_wrong_words_are_refused_in_one_line(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            used = "127.0.0.1:%d" % taken.getsockname()[1]
            for words, *parts in (
                    (("--listen", used, "--peers", "2"), used, "in use"),
                    (("--listen", "0.0.0.0:0", "--peers", "2"), "--listen", "--insecure"),
                    (("--listen", "[::]:0", "--peers", "2"), "--listen", "--insecure"),
                    (("--peers", "2", "--min-peers", "3"), "--min-peers 3"),
                    (("--peers", "2", "--chaos", "drop=1%"), "--chaos", "hearsay launch"),
                    (("--peers", "2", "--target", "test_acc=0.9"), "--target", "hearsay launch"),
                    (("--join", used), "--preset", "first peer")):
                with self.subTest(words=words):
                    self.refused(("train", *pools.DIGITS, *words), *parts)
            for words, *parts in ((("--join", used, "--epochs", "3"), "--epochs", "first peer"),
                                  (("--join", used, "--seed", "3"), "--seed", "first peer"),
                                  (("--join", "127.0.0.1"), "--join", "port"),
                                  (("--join", "127.0.0.1:70000"), "--join", "65535")):
                with self.subTest(words=words):
                    self.refused(("train", *words), *parts)

    def test_somebody_else_at_the_first_peers_port_is_noticed(self):
        for answer in (b"HTTP/1.1 400 Bad Request\r\n" + bytes(60), os.urandom(4096)):
            with self.subTest(answer=answer[:10]), socket.socket() as foreign:
                foreign.bind(("127.0.0.1", 0))
                foreign.listen()
                foreign.settimeout(harness.TIMEOUT_S)
                joiner = self.begin_peer("train", "--join",
                                         "127.0.0.1:%d" % foreign.getsockname()[1])
                connection, _ = foreign.accept()
                connection.recv(1 << 16)
                connection.sendall(answer)
                connection.close()
                self.assertEqual(self.end_of(joiner, code=2, seconds=10), "")
                lines = self.said(joiner).splitlines()
                self.assertRegex(lines[-1], "^hearsay: --join: no hearsay peer at .+: .+")
                self.assertEqual(len([l for l in lines if l.startswith("hearsay: ")]), 1)

    def test_random_bytes_at_the_first_peers_port_harm_nobody(self):
        first, address = self.begin_first("--peers", "2", "--epochs", "1000000", "--eval-every",
                                          "0", "--time", "1s")
        host, port = address.split(":")
        self.throw_rubbish(host, int(port))
        joiner = self.begin_peer("train", "--join", address)
        self.wait_until(lambda: self.all_train("run", 2), "both train")
        self.throw_rubbish(host, int(port))
        result = self.end_all_of([first, joiner])
        self.assertEqual((result["verdict"], result["peers_lost"]), ("ok", 0))
        self.assertGreater(result["merges_applied"], 0)

    def throw_rubbish(self, host, port):
        for size in (0, 1, 59, 60, 5000, 100000):
            with socket.create_connection((host, port), timeout=5) as thrower:
                try:
                    thrower.sendall(os.urandom(size))
                    time.sleep(0.02)
                except OSError:
                    pass  # it has hung up, as it may


class SilentTest(ByHandTest):
    def test_a_silent_or_shy_foreign_port_is_named_and_tried_again(self):
        with socket.socket() as foreign:
            foreign.bind(("127.0.0.1", 0))
            foreign.listen()
            foreign.settimeout(harness.TIMEOUT_S)
            joiner = self.begin_peer("train", "--join", "127.0.0.1:%d" % foreign.getsockname()[1])
            first, _ = foreign.accept()
            first.close()
            self.hears(joiner, "trying again")
            silent, _ = foreign.accept()
            self.hears(joiner, "no answer within 8 s; is that a hearsay peer?; trying again")
            again, _ = foreign.accept()
            joiner.send_signal(signal.SIGINT)
            self.end_of(joiner, code=130, seconds=3)
            silent.close()
            again.close()
            self.assertLess(len(self.said(joiner).splitlines()), 5)

    def test_joiners_outlive_a_first_peer_that_is_killed_while_it_gathers(self):
        first, address = self.begin_first("--peers", "3")
        joiners = [self.begin_peer("train", "--join", address) for _ in range(1)]
        self.hears(first, "waiting for 1 of 3")
        self.hears(joiners[0], "waiting for 1 of 3 peers (--peers sets the number")
        first.kill()
        first.wait()
        self.hears(joiners[0], "Connection refused; trying again")
        again = self.begin_peer("train", *pools.DIGITS, "--peers", "3", "--listen", address,
                                "--run", "again")
        joiners.append(self.begin_peer("train", "--join", address))
        printed = [self.end_of(process) for process in (again, *joiners)]
        self.assertEqual(sum("verdict ok (3 of 3 peers)" in text for text in printed), 1, printed)


class MembersTest(ByHandTest):
    """Once a pool runs any of its peers lets others in."""

    ENDLESS = ("--epochs", "1000000", "--eval-every", "0")

    def endpoint(self, peer):
        return json.loads((self.peer_folder(peer) / "endpoint.json").read_text())

    def begin_with(self, peers, start_with, *args):
        """The first `start_with` peers of a pool, by id; all train."""
        first, address = self.begin_first("--peers", peers, "--start-with", start_with, *self.ENDLESS,
                                          *args)
        pool = {0: first}
        for peer in range(1, start_with):
            pool[peer] = self.begin_peer("train", "--join", address)
            if peer < start_with - 1:
                self.hears(first, f"waiting for {start_with - 1 - peer} of")
        self.wait_until(lambda: self.all_train("run", start_with), "all train")
        return pool

    def join_at(self, member, *args):
        return self.begin_peer("train", "--join", self.endpoint(member)["address"], *args)

    def trains_at(self, process, peer, incarnation):
        self.wait_until(lambda: process.poll() is not None or (
            (self.peer_folder(peer) / "endpoint.json").exists()
            and self.endpoint(peer)["pid"] == process.pid), f"p{peer:02} is there")
        self.assertIsNone(process.poll(), self.said(process))
        self.assertEqual(self.endpoint(peer)["incarnation"], incarnation)

    def merged(self, peer, other):
        log = self.peer_folder(peer) / "events.jsonl"
        return any('"merge.applied"' in line and f'"from":"p{other:02}"' in line
                   for line in log.read_text().splitlines())

    def stop_all(self, processes):
        for process in processes:
            self.assertIsNone(process.poll(), self.said(process))
            process.send_signal(signal.SIGINT)
        for process in processes:
            self.end_of(process, code=130)

    def test_any_member_lets_others_in_until_the_pool_is_full(self):
        pool = self.begin_with(4, 2)
        # At once, at two members: they may not get one place.
        late = [self.join_at(member) for member in (0, 1)]
        for process in late:
            self.hears(process, "  late  ->  ")
        places = {self.said(process).splitlines()[-1].split()[0] for process in late}
        self.wait_until(lambda: (self.peer_folder(2) / "events.jsonl").exists()
                        and (self.peer_folder(3) / "events.jsonl").exists(), "both there")
        self.assertEqual(len(places), 2, places)
        self.wait_until(lambda: all(self.merged(a, b) for a in range(4) for b in range(4) if a != b),
                        "everybody merges with everybody", 30)
        out = self.hearsay("train", "--join", self.endpoint(2)["address"])
        self.assertEqual(out.returncode, 2)
        self.assertRegex(out.stderr.decode().splitlines()[-1],
                         "^hearsay: --join: refused by .*: the pool is full: all 4 places are taken")
        self.stop_all([*pool.values(), *late])

    def test_a_killed_peer_comes_back_to_its_place_by_any_member(self):
        pool = self.begin_with(3, 3)
        taken = self.hearsay("train", "--join", self.endpoint(0)["address"], "--name", "p01")
        self.assertEqual(taken.returncode, 2)
        self.assertIn(b"p01 is taken, and its peer is there", taken.stderr)
        for again in range(1, 4):
            victim = pool.pop(1)
            victim.kill()
            victim.wait()
            pool[1] = self.join_at(2 if again % 2 else 0, "--name", "p01")
            self.trains_at(pool[1], 1, again)
        self.wait_until(lambda: self.merged(1, 0) and self.merged(1, 2), "it merges")
        self.stop_all(pool.values())

    def test_the_place_of_the_first_peer_can_be_taken_when_it_is_gone(self):
        pool = self.begin_with(3, 3)
        pool.pop(0).kill()
        pool[0] = self.join_at(1)
        self.trains_at(pool[0], 0, 1)
        self.wait_until(lambda: self.merged(0, 1) and self.merged(0, 2), "it merges")
        self.stop_all(pool.values())

    def test_names_are_places(self):
        first, address = self.begin_first("--peers", "3", "--name", "p02", "--epochs", "2")
        out = self.hearsay("train", "--join", address, "--name", "p02")
        self.assertIn(b"p02 is taken", out.stderr)
        out = self.hearsay("train", "--join", address, "--name", "p07")
        self.assertIn(b"there is no p07 in a pool of 3 peers", out.stderr)
        second = self.begin_peer("train", "--join", address, "--name", "p01")
        self.hears(second, "waiting for 1 of 3")
        third = self.begin_peer("train", "--join", address)
        self.end_all_of([first, second, third])
        for process, name in ((first, "p02"), (second, "p01"), (third, "p00")):
            self.assertIn(f"{name} of 3  127", self.said(process))
        for words in ("p3", "3", "x", "p-1", "p01x", "p99999999999"):
            with self.subTest(words=words):
                self.refused(("train", "--join", address, "--name", words), "--name", words)
        self.refused(("train", *pools.DIGITS, "--peers", "2", "--name", "p05"), "--name", "p05",
                     "2 peers")


if __name__ == "__main__":
    harness.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hearsay watch: runs that go on, runs that have ended, endpoints; on a terminal and without one."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import harness
import pools
import screen

TERMINAL = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
# Epochs of a few milliseconds, evaluated seldom: progress is logged all the time.
RUNNING = (*pools.DIGITS, "--epochs", "1000000", "--eval-every", "1000,n=100")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answer_with(test, payload):
    """A server that says `payload` to whoever connects; returns its port."""
    server = socket.create_server(("127.0.0.1", 0))
    test.addCleanup(server.close)

    def serve():
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                client.recv(4096)
                client.sendall(payload)
    threading.Thread(target=serve, daemon=True).start()
    return server.getsockname()[1]


class WatchTest(pools.PoolTest):
    def once(self, *args, **options):
        result = self.hearsay("watch", *args, "--once", **options)
        self.assertEqual((result.returncode, result.stderr), (0, b""), result.stderr.decode())
        return result.stdout.decode()

    def once_json(self, *args):
        text = self.once(*args, "--json")
        self.assertEqual(text.count("\n"), 1)
        return json.loads(text)

    def begin_plain(self, *args, env=None):
        """A viewer whose output can be looked into meanwhile."""
        path = self.folder / "seen"
        with open(path, "wb") as seen:
            viewer = self.start("watch", *args, env=env, stdin=subprocess.DEVNULL, stdout=seen,
                                stderr=subprocess.STDOUT)
        self.addCleanup(self.end, viewer)
        return viewer

    def seen(self):
        return (self.folder / "seen").read_text()


class EndedRunTest(WatchTest):
    def test_a_simulation_that_has_ended_is_its_result(self):
        self.sim("--peers", "4", "--epochs", "4", "--run", "run", "--chaos", "kill=p03@50%")
        result, seen = self.result_of("run"), self.once_json("run")
        self.assertEqual((seen["run"], seen["verdict"], seen["live"]), ("run", "ok", 3))
        self.assertEqual([peer["peer"] for peer in seen["peers"]], ["p00", "p01", "p02", "p03"])
        self.assertEqual([peer["state"] for peer in seen["peers"]], ["ended"] * 3 + ["lost"])
        for peer, truth in zip(seen["peers"], result["per_peer"]):
            for key in ("samples", "merges", "merges_applied", "payload_bytes"):
                self.assertEqual(peer[key], truth[key], (peer["peer"], key))
        self.assertEqual([peer["progress"] for peer in seen["peers"][:3]], [1.0] * 3)
        self.assertLess(seen["peers"][3]["progress"], 0.6)

    def test_what_the_log_says_is_what_the_result_says(self):
        for number, protocol in enumerate(("pairwise", "push", "push-sum", "local", "ddp")):
            run = f"run{number}"
            self.sim("--peers", "3", "--epochs", "3", "--run", run, "--protocol", protocol)
            truth = self.result_of(run)
            (self.folder / run / "result.json").unlink()
            seen = self.once_json(run)
            with self.subTest(protocol=protocol):
                for peer, own in zip(seen["peers"], truth["per_peer"]):
                    for key in ("samples", "merges", "merges_applied", "merges_refused"):
                        self.assertEqual(peer[key], own[key], key)
                    self.assertEqual((peer["progress"], peer["epochs"]), (1.0, 3.0))
                    if protocol != "ddp":  # its ring's slices are no deltas in the log
                        self.assertEqual(peer["payload_bytes"], own["payload_bytes"])

    def test_a_live_pool_that_has_ended(self):
        self.launch("-n", "3", *pools.DIGITS, "--epochs", "5", "--run", "runs/a")
        for word in ("runs/a", "runs/latest", "runs/a/", str(self.folder / "runs/a")):
            text = self.once(word, env={"LC_ALL": "C.UTF-8"})
            lines = text.splitlines()
            self.assertEqual(lines[0], "a  live pool  ended: ok")
            self.assertRegex(lines[3], r"^p00 ✓ ended   ━{16} 100% +0\.\d{3} ")
            self.assertRegex(text, r"\nmerges  the last \d+, in \d\.\d+ s; a row took in")
            self.assertRegex(text, r"\np02 +\S+ +\S+   ╲ +\d+")
            self.assertLessEqual(max(map(len, lines)), 100)
        self.assertEqual(self.once("--json")[:12], '{"run":"a","')  # runs/latest unless told
        self.assertTrue(self.once("runs/a").isascii())

    def test_without_a_terminal_an_ended_run_ends_the_view(self):
        self.sim("--peers", "3", "--epochs", "2", "--run", "run")
        result = self.hearsay("watch", "run")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        lines = result.stdout.decode().splitlines()
        self.assertRegex(lines[0], r"^\[00:00:00\] 3/3 peers  samples \S+  loss 0\.\d+\+-0\.\d+  acc ")
        self.assertEqual(lines[1:], ["[00:00:00] ended: ok"])


class LiveTest(WatchTest):
    def test_a_pool_is_seen_at_work_and_to_its_end(self):
        launcher = self.begin(*RUNNING)
        first = self.once_json("run")
        self.assertEqual((first["verdict"], first["live"]), (None, 3))
        self.assertEqual({peer["state"] for peer in first["peers"]}, {"training"})
        time.sleep(0.5)
        second = self.once_json("run")
        for before, after in zip(first["peers"], second["peers"]):
            self.assertLess(before["samples"], after["samples"])
            self.assertEqual(after["pid"], self.pid_of(int(after["peer"][1:])))
            self.assertGreater(len(after["newest_merges"]), 0)
            self.assertTrue(0 < after["samples_per_s"] < 1e8)
        viewer = self.begin_plain("run")
        self.wait_until(lambda: "3/3 peers" in self.seen(), "the first line")
        os.kill(self.pid_of(1), signal.SIGKILL)
        self.wait_until(lambda: "p01 lost" in self.seen(), "the loss", 10)
        launcher.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(launcher, 15).returncode, 130)
        self.assertEqual(viewer.wait(harness.TIMEOUT_S), 0)
        self.assertRegex(self.seen(), r"\] ended: interrupted\n$")
        self.assertEqual(self.seen().count("p01 lost"), 1, self.seen())
        self.assertNotIn("\x1b", self.seen())
        self.assertRegex(self.seen(), r"\n\[00:00:\d\d\] 2/3 peers  samples ")

    def test_a_run_is_waited_for_from_before_its_first_log(self):
        run = self.folder / "run"
        run.mkdir()
        (run / "run.json").write_text('{"clock":"monotonic","config":{}}')
        viewer = self.begin_plain("run")
        self.wait_until(lambda: "no log yet in run; waiting for it\n" in self.seen(), "that it waits")
        self.refused(("watch", "run", "--once"), "no log yet in run", "without --once it waits")
        (run / "peers/p00").mkdir(parents=True)
        log = run / "peers/p00/events.jsonl"
        log.write_text('{"ev":"run.started","run":"r","peers":1,"self":"p00"}\n{"ev":"peer.jo')
        self.wait_until(lambda: "1/1 peers  samples 0" in self.seen(), "the peer")
        with open(log, "a") as torn:
            torn.write('ined","t_ns":0,"peer":"p00","steps":4}\n')
        (run / "result.json").write_text('{"verdict":"ok","per_peer":[]}')
        self.assertEqual(viewer.wait(harness.TIMEOUT_S), 0)
        self.assertRegex(self.seen(), r"ended: ok\n$")

    def test_an_endpoint_that_comes_works_and_goes(self):
        port = free_port()
        viewer = self.begin_plain(f"127.0.0.1:{port}")
        self.wait_until(lambda: "does not answer (Connection refused)" in self.seen(), "that it asks")
        launcher = self.begin(*RUNNING, "--metrics", f"127.0.0.1:{port}")
        self.wait_until(lambda: "3/3 peers" in self.seen(), "the pool")
        for address in (f"127.0.0.1:{port}", f"http://127.0.0.1:{port}/metrics", f":{port}"):
            seen = self.once_json(address)
            self.assertEqual((seen["run"], seen["live"]), ("run", 3))
        # One that has just come knows the newest merges of each peer.
        self.wait_until(lambda: all(len(peer["newest_merges"]) > 3 for peer in self.once_json(
            f"127.0.0.1:{port}")["peers"]), "merges")
        text = self.once(f"127.0.0.1:{port}")
        self.assertRegex(text, fr"^run  live pool at 127\.0\.0\.1:{port}\n")
        self.assertRegex(text, r"\nmerges  the last (4[0-8]|[1-3]?\d), in \d")
        os.kill(self.pid_of(2), signal.SIGKILL)
        self.wait_until(lambda: "p02 lost: killed by SIGKILL" in self.seen(), "the loss")
        launcher.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(launcher, 15).returncode, 143)
        self.wait_until(lambda: "no longer answers" in self.seen(), "that it is gone")
        self.assertIsNone(viewer.poll())
        self.assertEqual(viewer.wait(harness.TIMEOUT_S), 0)
        self.assertRegex(self.seen(), r"ended: endpoint gone\n$")
        self.assertEqual(self.seen().count("does not answer"), 1)

    def test_a_signal_ends_a_view_without_a_terminal(self):
        (self.folder / "run/peers").mkdir(parents=True)
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            viewer = self.begin_plain("run")
            self.wait_until(lambda: "waiting" in self.seen(), "that it waits")
            viewer.send_signal(number)
            self.assertEqual(viewer.wait(5), code)


class TerminalTest(WatchTest):
    def begin_in(self, columns, rows, *args, env=TERMINAL):
        self.ours, theirs = pty.openpty()
        self.addCleanup(os.close, self.ours)
        self.resize(columns, rows)
        self.modes = termios.tcgetattr(theirs)
        self.window = screen.FullScreen(self, columns, rows)
        self.viewer = self.start(
            "watch", *args, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0))
        self.theirs = theirs
        self.addCleanup(os.close, theirs)
        self.addCleanup(self.end, self.viewer)

    def resize(self, columns, rows):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def feed(self, seconds):
        """What comes within that time, on the screen."""
        until, text = time.monotonic() + seconds, b""
        while (left := until - time.monotonic()) > 0:
            if select.select([self.ours], [], [], left)[0]:
                text += os.read(self.ours, 1 << 16)
        self.window.feed(text.decode())
        return text.decode()

    def lines(self):
        return [line.rstrip() for line in self.window.lines]

    def leave(self, key, code):
        os.write(self.ours, key)
        self.assertEqual(self.viewer.wait(harness.TIMEOUT_S), code)
        self.feed(0.3)
        self.assertFalse(self.window.is_alternate, "the alternate screen is still there")
        self.assertEqual(termios.tcgetattr(self.theirs), self.modes, "the terminal is not as it was")

    def test_a_pool_at_work_fills_the_window_and_gives_it_back(self):
        launcher = self.begin(*RUNNING)
        self.begin_in(100, 24, "run")
        self.wait_until(lambda: self.feed(0.1) is not None and self.window.pictures > 1, "it")
        before = self.window.pictures
        self.feed(2)
        self.assertTrue(self.window.is_alternate)
        self.assertTrue(2 <= self.window.pictures - before <= 10, self.window.pictures)
        lines = self.lines()
        self.assertEqual(lines[0], "run  live pool")
        self.assertRegex(lines[2], r"^peer +progress +loss +acc +speed +partner +sent$")
        for row, peer in enumerate(("p00", "p01", "p02"), 3):
            self.assertRegex(lines[row], fr"^{peer} ● trains  \S{{16}} +\d+% +\d\.\d{{3}} [▁-█]+")
        self.assertRegex(lines[6], r"^00:00:\d\d  3/3 peers  merges \d+")
        self.assertRegex(lines[8], r"^merges  the last \d+, in \d+\.\d+ s; a row took in a column's")
        self.assertRegex(lines[9], r"^    p00 p01 p02   sum    +\d+\.\d{3}s  p0\d ← p0\d  0\.50")
        self.assertRegex(lines[10], r"^p00   ╲ +\d+ +\d+ +\d+ ")
        self.assertEqual(lines[14], "q ends")
        self.leave(b"q", 0)
        # The last picture stays on the screen that was there before.
        self.assertRegex("\n".join(self.lines()), r"run  live pool\n\npeer .*\np00 ● trains")
        launcher.send_signal(signal.SIGTERM)
        self.finish(launcher, 15)

    def test_control_c_and_other_keys(self):
        self.sim("--peers", "3", "--epochs", "2", "--run", "run")
        self.begin_in(80, 24, "run")
        self.feed(0.6)
        self.assertEqual(self.lines()[0], "run  simulation, virtual time  ended: ok")
        for key in (b"x", b"\x1b[A", b"\r", b"\x1a"):
            os.write(self.ours, key)
            self.feed(0.3)
            self.assertIsNone(self.viewer.poll(), key)
        self.leave(b"\x03", 130)

    def test_any_window_is_filled_and_never_scrolled(self):
        self.sim("--peers", "20", "--epochs", "2", "--run", "run", "--chaos", "kill=p03@50%")
        for columns, rows in ((100, 40), (40, 16), (20, 5), (7, 2), (200, 60)):
            with self.subTest(columns=columns, rows=rows):
                self.begin_in(columns, rows, "run")
                self.feed(0.7)
                self.assertEqual(self.window.scrolled, [])
                self.assertLessEqual(max(map(len, self.lines())), min(columns, 100))
                self.assertGreater(self.window.pictures, 1)
                os.write(self.ours, b"q")
                self.assertEqual(self.viewer.wait(harness.TIMEOUT_S), 0)

    def test_a_smaller_window_is_noticed(self):
        self.sim("--peers", "3", "--epochs", "2", "--run", "run")
        self.begin_in(100, 30, "run")
        self.feed(0.6)
        self.resize(40, 10)
        self.feed(0.6)  # what was on its way
        self.window = screen.FullScreen(self, 40, 10)
        self.window.is_alternate = True
        self.window.kept = [""] * 10
        self.feed(0.6)
        self.assertRegex(self.lines()[1], "^peer +progress +loss +acc$")
        self.leave(b"q", 0)

    def test_colours_only_where_they_are_wanted(self):
        self.sim("--peers", "3", "--epochs", "2", "--run", "run")
        for env in ({**TERMINAL, "NO_COLOR": "1"}, {**TERMINAL, "TERM": "dumb"}):
            self.begin_in(100, 24, "run", env=env)
            self.assertEqual(self.viewer.wait(harness.TIMEOUT_S), 0)
            text = self.feed(0.3)
            self.assertNotIn("\x1b", text)
            self.assertRegex(text, r"^\[00:00:00\] 3/3 peers .*\r\n\[00:00:00\] ended: ok\r\n$")

    def test_an_error_is_said_on_the_screen_that_was_there(self):
        port = answer_with(self, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        self.begin_in(100, 24, f"127.0.0.1:{port}")
        self.assertEqual(self.viewer.wait(harness.TIMEOUT_S), 2)
        self.feed(0.3)
        self.assertFalse(self.window.is_alternate)
        self.assertEqual(termios.tcgetattr(self.theirs), self.modes)
        self.assertIn("is no metrics endpoint of hearsay", " ".join(self.lines()))


class RefusalTest(WatchTest):
    def test_what_is_no_run_is_refused(self):
        self.refused(("watch", "nowhere"), "there is no run nowhere", "HOST:PORT")
        self.refused(("watch",), "there is no run runs/latest")
        self.refused(("watch", "runs/a:1"), "there is no run runs/a:1")
        self.refused(("watch", "127.0.0.1:port"), "a port is a number")
        self.refused(("watch", "a", "b"), "b")
        self.refused(("watch", "--json"), "add --once")
        self.refused(("watch", "--onse"), "--once")
        self.write("file", "x")
        self.refused(("watch", "file"), "not a folder")
        (self.folder / "empty").mkdir()
        self.refused(("watch", "empty"), "empty is no run", "run.json")

    def test_a_port_where_nobody_answers_is_refused_at_once(self):
        self.refused(("watch", f"127.0.0.1:{free_port()}", "--once"), "Connection refused")

    def test_other_peoples_servers_are_no_endpoints(self):
        for payload in (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
                        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
                        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<html>\xff\xfe\x00",
                        b"SSH-2.0-OpenSSH_9.2\r\n\r\n", os.urandom(200) + b"\r\n\r\n"):
            port = answer_with(self, payload)
            for more in ((), ("--once",)):
                self.refused(("watch", f"127.0.0.1:{port}", *more),
                             f"127.0.0.1:{port} is no metrics endpoint of hearsay")


if __name__ == "__main__":
    harness.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The view of a live pool as a terminal shows it: recorded states through a pseudo terminal."""

import fcntl
import json
import math
import os
import pty
import select
import struct
import subprocess
import termios

import harness
import screen

TERMINAL = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
KILLED_AT = 0.5


def peers_at(count, share):
    """The pool when `share` of its budget is done; p01 is lost half-way."""
    peers = []
    for number in range(count):
        done = share * (1 - 0.02 * number)
        lost = number == 1 and share >= KILLED_AT
        peers.append({
            "name": f"p{number:02}", "state": 5 if lost else 1, "clock_s": 30 * done,
            "progress": done, "samples": int(60000 * done), "samples_per_s": 2000 + number,
            "merges": int(20 * done), "payload_bytes": int(9e6 * done),
            "loss": 0.3 + 2 * math.exp(-6 * done), "accuracy": 0.89 if done > 0.1 else -1,
            "partner": f"p{(number + 1) % count:02}", "alpha": 0.5,
            "ended": "killed by SIGKILL" if lost else ""})
    return peers


class PoolViewTest(harness.CliTest):
    def begin(self, columns, rows, *args, env=TERMINAL):
        self.ours, theirs = pty.openpty()
        self.addCleanup(os.close, self.ours)
        self.resize(columns, rows)
        self.screen = screen.Screen(self, columns, rows)
        self.process = self.start(*args, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=theirs)
        os.close(theirs)
        os.set_blocking(self.ours, False)

    def resize(self, columns, rows):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def step(self, **what):
        """Shows one recorded line and returns what came of it; the screen has it too."""
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()
        # A frame may be more than the terminal holds at once.
        text, is_drawn = b"", False
        while not is_drawn:
            ready, _, _ = select.select([self.process.stdout, self.ours], [], [], harness.TIMEOUT_S)
            self.assertTrue(ready, "the view is stuck")
            is_drawn = self.process.stdout in ready
            text += self.read_all()
        self.assertEqual(self.process.stdout.read(1), b".")
        text = (text + self.read_all()).decode()
        self.screen.feed(text)
        return text

    def read_all(self):
        text = b""
        try:
            while piece := os.read(self.ours, 1 << 16):
                text += piece
        except BlockingIOError:
            pass
        return text

    def end(self):
        self.process.stdin.close()
        self.assertEqual(self.process.wait(harness.TIMEOUT_S), 0)
        self.process.stdout.close()

    def play(self, columns, rows, count, env=TERMINAL):
        self.begin(columns, rows, env=env)
        for number in range(21):
            if number == 10:
                self.step(notice="p01 lost (connection reset, noticed by p00); the others go on")
            self.step(peers=peers_at(count, number / 20))
        self.end()
        return [line.rstrip() for line in self.screen.lines]

    def test_a_table_at_100_columns(self):
        lines = self.play(100, 12, 4)
        self.assertRegex(lines[0], r"^\[00:00:\d\d\] p01 lost \(connection reset")
        self.assertRegex(lines[1], r"^peer +progress +loss +acc +speed +partner +sent$")
        self.assertRegex(lines[2], r"^p00 ● trains  ━{16} 100%   0\.305 .{16}  0\.890 +2\.0k/s  p01 0\.50")
        self.assertRegex(lines[3], r"^p01 ✗ lost    ━+╸?─* +98%  killed by SIGKILL$")
        self.assertIn("3/4 peers  merges 76  sent 33.3 MiB  acc 0.890", lines[6])
        self.assertEqual((self.screen.row, self.screen.column), (7, 0))
        self.assertEqual(lines[7:], [""] * 5)
        self.assertEqual(self.screen.scrolled, [])

    def test_a_table_at_40_columns(self):
        lines = self.play(40, 12, 4)
        self.assertEqual(lines[0][10:], " p01 lost (connection reset,")
        self.assertRegex(lines[2], r"^peer +progress +loss +acc$")
        self.assertRegex(lines[3], r"^p00 ● trains  ━+ 100%   0\.305  0\.890$")
        self.assertEqual(lines[4], "p01 ✗ lost    killed by SIGKILL")
        self.assertEqual(lines[8], "merges 76  sent 33.3 MiB  acc 0.890")

    def test_any_window_holds_the_table(self):
        for columns, rows, count in ((2, 1, 3), (9, 4, 3), (25, 6, 12), (200, 30, 3), (80, 24, 64)):
            with self.subTest(columns=columns, rows=rows):
                self.play(columns, rows, count)
                self.assertEqual(self.screen.column, 0)

    def test_more_peers_than_rows_scroll_nothing_away(self):
        lines = self.play(100, 10, 64)
        self.assertEqual(len([line for line in lines if line.startswith("p0")]), 6)
        self.assertEqual(lines[7], "+ 58 more")
        self.assertEqual(len(self.screen.scrolled), 1)  # the notice

    def test_a_smaller_window_is_noticed_at_the_next_redraw(self):
        self.begin(100, 12)
        self.step(peers=peers_at(4, 0.2))
        self.resize(40, 12)
        # This screen breaks no lines again; what the view goes up for that ends at its top.
        self.screen.columns = 40
        self.step(peers=peers_at(4, 0.3))
        self.step(peers=peers_at(4, 0.4))
        self.end()
        self.assertLess(max(len(line.rstrip()) for line in self.screen.lines), 40)
        self.assertEqual(len([line for line in self.screen.lines if line.startswith("p00")]), 1)

    def test_without_utf8_all_is_ascii(self):
        lines = self.play(100, 12, 4, env={"TERM": "xterm", "LC_ALL": "C"})
        self.assertTrue("".join(lines).isascii())
        self.assertRegex(lines[2], r"^p00 \* trains  #{16} 100%")

    def test_no_colour_and_no_cursor_movement_where_it_is_not_wanted(self):
        for env in ({**TERMINAL, "NO_COLOR": "1"}, {**TERMINAL, "TERM": "dumb"}, {"LC_ALL": "C"}):
            with self.subTest(env=env):
                self.begin(100, 24, env=env)
                self.assertEqual(self.step(peers=peers_at(4, 0.2)), "")
                text = self.step(notice="p01 lost")
                self.assertRegex(text, r"^\[00:00:0\d\] p01 lost\r\n$")
                self.end()

    def test_quiet_says_nothing(self):
        self.begin(100, 24, "--quiet")
        self.assertEqual(self.step(peers=peers_at(4, 0.2)), "")
        self.assertEqual(self.step(notice="p01 lost"), "")
        self.end()


if __name__ == "__main__":
    harness.main()

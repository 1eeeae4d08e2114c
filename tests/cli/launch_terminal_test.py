#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hearsay launch in a terminal: its window, its keys, its end; and no control codes elsewhere."""

import fcntl
import os
import pty
import re
import signal
import struct
import termios
import time

import harness
import pools
import screen

TERMINAL = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
FRAME = re.compile("\x1b\\[\\?7l(.*?)\x1b\\[\\?7h", re.DOTALL)
POOL = ("-n", "3", *pools.DIGITS, "--epochs", "200", "--chaos", "kill=p01@40%", "--run", "run")


class LaunchTerminalTest(pools.PoolTest):
    def begin_in(self, columns, *args, env=TERMINAL, **options):
        """Starts a pool as a shell would: the terminal is its controlling one, and its streams."""
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs, **options}
        self.process = self.start(
            "launch", *args, env=env, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0), **streams)
        os.close(theirs)
        self.addCleanup(self.end, self.process)

    def read_all(self):
        """Everything up to the end; the terminal is closed afterwards."""
        text = b""
        try:
            while piece := os.read(self.ours, 1 << 16):
                text += piece
        except OSError:  # Linux's way to say that nobody has the other side any more
            pass
        os.close(self.ours)
        self.process.wait(harness.TIMEOUT_S)
        self.nobody_left()
        return text.decode()

    def check_frames(self, text, columns):
        """What is redrawn fits its window; returns the rows of the last picture."""
        frames = FRAME.findall(text)
        self.assertGreater(len(frames), 2, text)
        window = screen.Screen(self, columns, 24)
        window.feed("".join(frames))
        self.assertEqual(window.column, 0)
        plain = FRAME.sub("", text)
        self.assertNotIn("\x1b", plain, "control codes outside of the pictures")
        return [line.rstrip() for line in window.lines], plain.replace("\r\n", "\n")

    def check_closing_block(self, plain):
        self.assertRegex(plain, r"\nrun      run +verdict ok \(2 of 3 peers, 1 lost\)\n")
        self.assertRegex(plain, r"\nmodel    export/model\.safetensors  acc 0\.\d+ ")
        self.assertRegex(plain, r"\npeers that died, first to last:\n +\d.* p01 .*SIGKILL.*\n")
        self.assertEqual(plain[-1], "\n")

    def test_everything_fits_100_columns(self):
        self.begin_in(100, *POOL)
        text = self.read_all()
        self.assertEqual(self.process.returncode, 0, text)
        rows, plain = self.check_frames(text, 100)
        self.check_closing_block(plain)
        self.assertLessEqual(max(map(len, plain.splitlines())), 100, plain)
        self.assertEqual(len([row for row in rows if re.match(r"p0[02] .* 100% ", row)]), 2, rows)
        self.assertEqual(len([row for row in rows if re.match("p01 ✗ lost .*SIGKILL", row)]), 1)
        self.assertEqual(len([row for row in rows if "p01 killed by SIGKILL" in row]), 1, rows)

    def test_the_table_fits_40_columns(self):
        self.begin_in(40, *POOL)
        text = self.read_all()
        self.assertEqual(self.process.returncode, 0, text)
        rows, plain = self.check_frames(text, 40)
        self.check_closing_block(plain)
        self.assertEqual(len([row for row in rows if re.match("p0[0-2] ", row)]), 3, rows)

    def test_control_c_ends_the_pool_and_leaves_the_table(self):
        self.begin_in(100, "-n", "3", *pools.ENDLESS, "--run", "run")
        self.wait_until(lambda: self.all_train("run", 3), "all train")
        time.sleep(0.8)
        os.write(self.ours, b"\x03")
        text = self.read_all()
        self.assertEqual(self.process.returncode, 130, text)
        rows, plain = self.check_frames(text.replace("^C", ""), 100)
        self.assertEqual(len([row for row in rows if re.match("p0[0-2] ", row)]), 3, rows)
        self.assertRegex(plain, r"\nrun      run +verdict interrupted \(3 of 3 peers\)\n")
        self.assertEqual(self.result_of("run")["verdict"], "interrupted")

    def test_a_terminal_that_is_closed_takes_the_pool_with_it(self):
        self.begin_in(100, "-n", "2", *pools.ENDLESS, "--run", "run")
        self.wait_until(lambda: self.all_train("run", 2), "all train")
        os.close(self.ours)
        self.assertNotEqual(self.process.wait(12), 0)
        self.nobody_left(12)
        for peer in range(2):
            self.checkpoint_of(peer)

    def test_no_control_codes_where_they_are_not_wanted(self):
        for env in ({**TERMINAL, "NO_COLOR": "1"}, {**TERMINAL, "TERM": "dumb"}):
            with self.subTest(env=env):
                self.begin_in(100, *POOL, env=env)
                text = self.read_all()
                self.assertEqual(self.process.returncode, 0, text)
                self.assertNotIn("\x1b", text)
                self.check_closing_block(text.replace("\r\n", "\n"))
                (self.folder / "run").rename(self.folder / f"done{len(env)}{env['TERM']}")

    def test_no_control_codes_in_a_file(self):
        with open(self.folder / "said", "wb") as said:
            self.begin_in(100, *POOL, stderr=said)
            text = self.read_all()
        self.assertEqual(self.process.returncode, 0, text)
        said = (self.folder / "said").read_text()
        self.assertNotIn("\x1b", text + said)
        self.assertIn("p01 killed by SIGKILL", said)
        self.check_closing_block("\n" + said + text.replace("\r\n", "\n"))

    def test_a_stopped_launcher_goes_on(self):
        self.begin_in(100, "-n", "2", *pools.ENDLESS, "--time", "2s", "--run", "run")
        self.wait_until(lambda: self.all_train("run", 2), "all train")
        os.killpg(self.process.pid, signal.SIGSTOP)
        time.sleep(0.5)
        os.killpg(self.process.pid, signal.SIGCONT)
        text = self.read_all()
        self.assertEqual((self.process.returncode, self.result_of("run")["verdict"]), (0, "ok"),
                         text)


if __name__ == "__main__":
    harness.main()

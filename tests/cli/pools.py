# SPDX-License-Identifier: Apache-2.0
"""Live pools from outside: start them, look into their folders and at their processes."""

import json
import os
import pathlib
import subprocess
import time

import harness

DIGITS = ("--preset", "digits")
# Ends by a signal, a limit or a fault only. Evaluations would hide who is slow.
ENDLESS = (*DIGITS, "--epochs", "1000000", "--eval-every", "0")
# A peer's mini-batch takes long enough to see what a stop waits for.
HEAVY = (*ENDLESS, "--batch", "3000", "--model", "mlp:2048,2048")
POOL_TIMEOUT_S = 60


def processes_in(folder):
    """Who lives in `folder`, by the working directory: {pid: command line}. No zombies."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if os.readlink(entry / "cwd").split(" (deleted)")[0] == str(folder):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue  # ended meanwhile, or somebody else's
    return found


class PoolTest(harness.CliTest):
    """A test after which no process is left in its folder."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.end_all)

    def end_all(self):
        for pid in processes_in(self.folder):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass

    def wait_until(self, condition, what, seconds=harness.TIMEOUT_S):
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            self.assertLess(time.monotonic(), deadline, f"{what}: not within {seconds} s")
            time.sleep(0.02)
        return value

    def nobody_left(self, seconds=1):
        """No process of the pool, or of what this test started, is there any more."""
        deadline = time.monotonic() + seconds
        while left := processes_in(self.folder):
            self.assertLess(time.monotonic(), deadline, f"still there after {seconds} s: {left}")
            time.sleep(0.05)

    def launch(self, *args, code=0, **options):
        """A pool of local processes to its end; fails unless that is `code`, with nobody left."""
        options.setdefault("timeout", POOL_TIMEOUT_S)
        result = self.hearsay("launch", *args, **options)
        self.assertEqual(result.returncode, code, result.stderr.decode())
        self.nobody_left()
        return result

    def begin(self, *args, run="run", peers=3, **options):
        """Starts a pool; returns its launcher when all peers train."""
        for stream in ("stdout", "stderr"):
            options.setdefault(stream, subprocess.PIPE)
        process = self.start("launch", "-n", peers, *args, "--run", run,
                             stdin=subprocess.DEVNULL, **options)
        self.addCleanup(self.end, process)
        self.wait_until(lambda: self.all_train(run, peers) or process.poll() is not None,
                        "all peers train")
        time.sleep(0.3)
        self.assertIsNone(process.poll(), "the pool ended by itself")
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def finish(self, process, seconds):
        """The launcher's outcome, within `seconds`."""
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.fail(f"no end within {seconds} s")
        result = subprocess.CompletedProcess([], process.returncode, out or b"", err or b"")
        self.check_manners(result)
        return result

    def peer_folder(self, peer, run="run"):
        return self.folder / run / "peers" / f"p{peer:02}"

    def all_train(self, run, peers):
        for peer in range(peers):
            log = self.peer_folder(peer, run) / "events.jsonl"
            if not log.exists() or b'"peer.joined"' not in log.read_bytes():
                return False
        return True

    def pid_of(self, peer, run="run"):
        return json.loads((self.peer_folder(peer, run) / "endpoint.json").read_text())["pid"]

    def log_of(self, peer, run="run"):
        """A peer's events behind the header line."""
        header, *events = self.events_of(f"{run}/peers/p{peer:02}")
        self.assertEqual((header["ev"], header["self"]), ("run.started", f"p{peer:02}"))
        return events

    def checkpoint_of(self, peer, run="run"):
        """The folder of the newest one, whole."""
        parent = self.peer_folder(peer, run) / "ckpt"
        folder = parent / (parent / "latest").read_text().strip()
        self.assertTrue((folder / "model.safetensors").is_file(), folder)
        return folder


class TalkingTest(PoolTest):
    """A test of processes that are started one by one and looked into while they run."""

    def begin_peer(self, *args, **options):
        """A process with its stderr in a file, so that it can be looked into meanwhile."""
        path = self.folder / f"said.{len(list(self.folder.glob('said.*')))}"
        with open(path, "wb") as said:
            process = self.start(*args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=said, **options)
        process.said = path
        self.addCleanup(self.end, process)
        return process

    def said(self, process):
        return process.said.read_text()

    def hears(self, process, words):
        """Waits until the process has said the words; returns all that it has said."""
        self.wait_until(lambda: words in self.said(process) or process.poll() is not None, words)
        self.assertIn(words, self.said(process))
        return self.said(process)

    def end_of(self, process, code=0, seconds=POOL_TIMEOUT_S):
        out = self.finish(process, seconds)
        self.check_manners(subprocess.CompletedProcess([], process.returncode, out.stdout,
                                                       process.said.read_bytes()))
        self.assertEqual(process.returncode, code, self.said(process))
        return out.stdout.decode()

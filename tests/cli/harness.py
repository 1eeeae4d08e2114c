# SPDX-License-Identifier: Apache-2.0
"""What every test here needs: a folder of its own, a known environment, the binary."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIP_CODE = 77
TIMEOUT_S = 20
CRASH_WORDS = (b"terminate called", b"Assertion", b"Segmentation", b"Aborted", b"ERROR: ",
               b"basic_filebuf", b"std::", b"Traceback")
SMALL = ("sim", "--preset", "digits", "--threads", "1")
_binary = None


def binary():
    return _binary


def is_sanitized():
    data = pathlib.Path(_binary).read_bytes()
    return b"__asan_init" in data or b"__tsan_init" in data


def environment(home, **extra):
    """As after `env -i`, plus PATH and what a sanitizer needs."""
    kept = {name: value for name, value in os.environ.items()
            if name == "PATH" or name.endswith("SAN_OPTIONS")}
    return {**kept, "HOME": str(home), "LC_ALL": "C", **extra}


def tree(folder):
    """Every path below, with the bytes of files and the targets of links."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        else:
            found[name] = ("file", path.read_bytes()) if path.is_file() else ("folder", None)
    return found


class CliTest(unittest.TestCase):
    """A test in an empty folder that goes away afterwards."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hearsay-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self, *args, env=None, **options):
        return subprocess.Popen([binary(), *map(str, args)], cwd=self.folder,
                                env=environment(self.folder, **(env or {})), **options)

    def hearsay(self, *args, env=None, timeout=TIMEOUT_S, **options):
        """Runs to the end; whatever ran too long is killed and fails the test."""
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        process = self.start(*args, env=env, stdin=subprocess.DEVNULL, **options)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fail(f"hearsay {' '.join(map(str, args))}: no end after {timeout} s")
        result = subprocess.CompletedProcess(args, process.returncode, out or b"", err or b"")
        self.check_manners(result)
        return result

    def check_manners(self, result):
        """No crash, no trace of one, no colours: of every command, whatever it ends with."""
        self.assertNotIn(b"\x1b", result.stdout + result.stderr)
        for word in CRASH_WORDS:
            self.assertNotIn(word, result.stderr)
        self.assertNotIn(result.returncode, (-6, -11, -4, -7, -8, 134, 139), result.stderr)

    def sim(self, *args, code=0, **options):
        """A small run in virtual time; fails unless it ends with `code`."""
        result = self.hearsay(*SMALL, *args, **options)
        self.assertEqual(result.returncode, code, result.stderr.decode())
        return result

    def one_line(self, result):
        lines = result.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith("hearsay: "), lines[0])
        self.assertGreater(len(lines[0]), 15, lines[0])
        self.assertLess(len(lines[0]), 400, lines[0])
        return lines[0]

    def refused(self, args, *parts, code=2, env=None):
        """Ends with `code` and one line that holds every part; leaves the folder as it was."""
        before = tree(self.folder)
        result = self.hearsay(*args, env=env)
        self.assertEqual(result.returncode, code, result.stderr.decode())
        self.assertEqual(result.stdout, b"")
        line = self.one_line(result)
        for part in parts:
            self.assertIn(part, line)
        self.assertEqual(sorted(tree(self.folder)), sorted(before), "something was left behind")
        self.assertEqual(tree(self.folder), before, "something was changed")
        return line

    def refused_sim(self, args, *parts, **options):
        short = () if "--epochs" in args else ("--epochs", "1")
        return self.refused((*SMALL, *short, *args), *parts, **options)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def result_of(self, run):
        return json.loads((self.folder / run / "result.json").read_text())

    def events_of(self, run):
        """Every line of the log parsed; a torn or foreign line fails."""
        text = (self.folder / run / "events.jsonl").read_text()
        self.assertTrue(text.endswith("\n"), "the last line is torn")
        events = []
        for number, line in enumerate(text.splitlines(), 1):
            try:
                events.append(json.loads(line))
            except ValueError:
                self.fail(f"{run}/events.jsonl line {number} is no JSON: {line}")
        return events


def main():
    """usage: FILE HEARSAY [unittest options]; or the binary in HEARSAY_BINARY."""
    global _binary
    arguments = sys.argv[1:]
    if arguments and not arguments[0].startswith("-") and os.access(arguments[0], os.X_OK):
        _binary = os.path.abspath(arguments.pop(0))
    else:
        _binary = os.environ.get("HEARSAY_BINARY")
    if not _binary:
        sys.exit("name the hearsay binary as the first argument or in HEARSAY_BINARY")
    program = unittest.main("__main__", argv=[sys.argv[0], *arguments], exit=False, verbosity=2)
    ran, skipped = program.result.testsRun, len(program.result.skipped)
    if not program.result.wasSuccessful() or ran == 0:
        sys.exit(1)
    sys.exit(SKIP_CODE if ran == skipped else 0)

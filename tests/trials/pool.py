# SPDX-License-Identifier: Apache-2.0
"""A pool of processes as torchrun starts them, on this machine, with or without a relay between them."""

import ctypes
import json
import os
import pathlib
import signal
import subprocess
import time

import relay_thread
import trial as trials

DIGITS = ("--preset", "digits")
# Ends by --time only; evaluations would hide who is slow.
ENDLESS = (*DIGITS, "--epochs", "1000000", "--eval-every", "0", "--schedule", "constant")
START_S = 30
_libc = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def own_loopback_address():
    """One that no other process has: pools need no search for free ports."""
    pid = os.getpid()
    return f"127.{64 + (pid >> 16) % 64}.{(pid >> 8) & 255}.{pid & 255 or 1}"


def peer_name(rank):
    return f"p{rank:02}"


def read_log(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1] if line]


class GrowingLog:
    """An event log that is read again and again while it grows: every line is parsed once."""

    def __init__(self, path):
        self.path, self.file, self.events, self.torn = path, None, [], b""

    def read(self):
        if self.file is not None and os.fstat(self.file.fileno()).st_ino != self._inode():
            self.file.close()  # the peer has started again, with a new log
            self.file, self.events, self.torn = None, [], b""
        if self.file is None:
            if not self.path.exists():
                return []
            self.file = open(self.path, "rb")
        *lines, self.torn = (self.torn + self.file.read()).split(b"\n")
        self.events += [json.loads(line) for line in lines if line]
        return self.events

    def _inode(self):
        return self.path.stat().st_ino if self.path.exists() else None


class Pool:
    """`words` go to every peer. Peers start one by one; `size` places, of which some may stay empty."""

    ports = 7000

    def __init__(self, trial, size, *words, name="run", relay=False):
        self.trial, self.size, self.words = trial, size, [str(word) for word in words]
        self.binary = trial.options.hearsay
        self.logs = {}
        self.run = trial.folder / name
        self.said = trial.folder / f"{name}.said"
        self.said.mkdir()
        self.host = own_loopback_address()
        self.processes = {}  # rank: the newest one
        self.starts = {}  # rank: how many
        self.everybody = []
        self.addresses = [f"{self.host}:{Pool.ports + rank}" for rank in range(size)]
        self.doors = [f"{self.host}:{Pool.ports + size + rank}" for rank in range(size)]
        Pool.ports += 2 * size
        self.relay = None
        if relay:
            self.relay = relay_thread.RelayThread(
                [((self.host, int(door.split(":")[1])), (self.host, int(address.split(":")[1])))
                 for door, address in zip(self.doors, self.addresses)], seed=trial.seed)
        trial.pools.append(self)

    # Processes

    def start(self, *ranks):
        for rank in ranks or range(self.size):
            self._start(rank)
        return self

    def _start(self, rank):
        number = self.starts[rank] = self.starts.get(rank, 0) + 1
        words = ["train", *self.words, "--run", str(self.run), "--listen", self.addresses[rank]]
        if self.relay is not None:
            words += ["--announce", self.doors[rank]]
        kept = {key: value for key, value in os.environ.items()
                if key == "PATH" or key.endswith("SAN_OPTIONS")}
        environment = {**kept, "HOME": str(self.trial.folder), "LC_ALL": "C", "RANK": str(rank),
                       "WORLD_SIZE": str(self.size), "LOCAL_RANK": str(rank),
                       "TORCHELASTIC_RUN_ID": "trial", "TORCHELASTIC_RESTART_COUNT": str(number - 1)}
        with open(self.said / f"{peer_name(rank)}.{number}", "wb") as said:
            process = subprocess.Popen([self.binary, *words], cwd=self.trial.folder, env=environment,
                                       stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                       start_new_session=True, preexec_fn=die_with_parent)
        self.processes[rank] = process
        self.everybody.append(process)

    def signal(self, number, *ranks):
        for rank in ranks or self.alive():
            self.processes[rank].send_signal(number)

    def kill(self, *ranks):
        self.signal(signal.SIGKILL, *ranks)
        for rank in ranks:
            self.processes[rank].wait()

    def alive(self):
        return [rank for rank, process in self.processes.items() if process.poll() is None]

    def wait_end(self, seconds):
        """Exit codes by rank, once all have ended."""
        self.trial.wait_until(lambda: not self.alive(), "the pool ends", seconds)
        return {rank: process.returncode for rank, process in self.processes.items()}

    def wait_training(self, *ranks, seconds=START_S):
        ranks = ranks or tuple(range(self.size))
        self.trial.wait_until(lambda: all(self.is_training(rank) for rank in ranks)
                              or len(self.alive()) < len(self.processes), "all train", seconds)
        if ended := [rank for rank in self.processes if rank not in self.alive()]:
            raise trials.Failure(f"{', '.join(map(peer_name, ended))} ended early")
        for rank in ranks:
            if self.endpoint(rank)["pid"] != self.processes[rank].pid:
                raise trials.Failure(f"rank {rank} is not {peer_name(rank)}")
        return self

    def close(self):
        for process in self.everybody:
            if process.poll() is None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
        if self.relay is not None:
            self.relay.close()
            self.relay = None

    # What they leave

    def folder(self, rank):
        return self.run / "peers" / peer_name(rank)

    def endpoint(self, rank):
        return json.loads((self.folder(rank) / "endpoint.json").read_text())

    def log(self, rank):
        """Events of the peer, header lines included; a torn last line does not count."""
        return self.logs.setdefault(rank, GrowingLog(self.folder(rank) / "events.jsonl")).read()

    def earlier_logs(self, rank):
        """Of its earlier starts, first to last."""
        paths = self.folder(rank).glob("events.*.jsonl")
        return [read_log(path) for path in sorted(paths, key=lambda path: int(path.name.split(".")[1]))]

    def events(self, rank, *names, since_ns=0):
        return [event for event in self.log(rank)
                if event["ev"] in names and event.get("t_ns", 0) >= since_ns]

    def is_training(self, rank):
        path = self.folder(rank) / "events.jsonl"
        return path.exists() and b'"block.finished"' in path.read_bytes()

    def now_ns(self, rank):
        """The peer's clock: the time of its newest event, which is moments ago while it trains."""
        path = self.folder(rank) / "events.jsonl"
        with open(path, "rb") as file:
            file.seek(max(0, path.stat().st_size - 4096))
            lines = file.read().split(b"\n")[:-1]
        return json.loads(lines[-1]).get("t_ns", 0)

    def clocks(self, ranks=None):
        return {rank: self.now_ns(rank) for rank in (self.alive() if ranks is None else ranks)}

    def result(self):
        return json.loads((self.run / "result.json").read_text())

    def text(self, rank, start=None):
        """What the peer has said, in its newest start or in the one named."""
        path = self.said / f"{peer_name(rank)}.{start or self.starts[rank]}"
        return path.read_text(errors="replace")

    def print_tails(self, lines):
        for rank in sorted(self.starts):
            print(f"--- {peer_name(rank)}, start {self.starts[rank]}, exit "
                  f"{self.processes[rank].poll()}: last words and events")
            for line in self.text(rank).splitlines()[-lines:]:
                print(f"    {line}")
            path = self.folder(rank) / "events.jsonl"
            if path.exists():
                for line in path.read_text(errors="replace").splitlines()[-lines:]:
                    print(f"    {line[:160]}")


def samples_at(blocks, t_ns):
    """Trained by then, between the ends of blocks in a straight line."""
    before, after = (0, 0), None
    for block in blocks:
        if block["t_ns"] > t_ns:
            after = (block["t_ns"], block["samples"])
            break
        before = (block["t_ns"], block["samples"])
    if after is None or after[0] == before[0]:
        return before[1]
    return before[1] + (after[1] - before[1]) * (t_ns - before[0]) / (after[0] - before[0])


def change(before, after):
    """As a share; from nothing it is a loss too: nothing was measured."""
    return after / before - 1 if before > 0 else -1.0


class Span:
    """What the compute lanes did between begin() and end(): trained, stood still, waited for a core."""

    def __init__(self, pool, ranks):
        self.pool, self.ranks = pool, ranks
        self.first = self._look()
        self.last = None

    def _look(self):
        looks = {}
        for rank in self.ranks:
            pid = self.pool.processes[rank].pid
            run_ns, wait_ns = pathlib.Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[:2]
            looks[rank] = (time.monotonic_ns(), int(run_ns), int(wait_ns), self.pool.now_ns(rank))
        return looks

    def end(self):
        self.last = self._look()
        return self

    def rates(self):
        """Per rank: (samples/s, samples/s of the time in which a core was to be had, share idle)."""
        found = {}
        for rank in self.ranks:
            wall, run, wait, clock = (b - a for a, b in zip(self.first[rank], self.last[rank]))
            blocks = self.pool.events(rank, "block.finished")
            trained = samples_at(blocks, self.last[rank][3]) - samples_at(blocks, self.first[rank][3])
            trained_per_s = trained / clock * 1e9 if clock else 0.0
            found[rank] = (trained_per_s, trained_per_s * wall / max(1, wall - wait),
                           max(0, wall - run - wait) / wall)
        return found

    def total(self):
        """(samples/s, the same net of waiting for a core, mean share idle) of all ranks together."""
        rates = self.rates().values()
        return (sum(r[0] for r in rates), sum(r[1] for r in rates),
                sum(r[2] for r in rates) / len(rates))

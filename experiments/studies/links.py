#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Live pools of processes over slow links: seconds to a mean accuracy, dense beside codecs that adapt.

    experiments/studies/links.py --binary build/ci/hearsay --out runs/links [--seeds 0] [--peers 16]
                                 [--rates 1mbit,10mbit,100mbit,loopback] [--only dense,auto] [--limit 300]

Each peer has a network namespace of its own, and a link (veth) to a bridge in another one; `tbf` keeps both
directions of every link to the rate. Needs root and iproute2. `loopback`: no namespaces and no limit.
The peers are started by hand and join the first. A run ends when the mean of the peers' newest evaluations
(2,000 test examples each, every half epoch) reaches --target, or after --limit seconds: "never" counts as the
limit. Training is at a constant rate, with sixteen merges an epoch asked for, so that what the link lets
through decides. Wall-clock figures depend on the machine; compare rows of one table.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import time

CASES = {"dense": "--codec raw", "auto": "--codec auto", "bandwidth": "--codec auto --bandwidth {bandwidth}"}
SUBNET = "10.77.0"
PORT = 7400


def flags():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rates", default="1mbit,10mbit,100mbit,loopback", help="as tc writes them")
    parser.add_argument("--peers", type=int, default=16)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--only", default="dense,auto", help="cases: " + ", ".join(CASES))
    parser.add_argument("--target", type=float, default=0.86)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of training")
    parser.add_argument("--extra", default="--merge-every 0.0625 --schedule constant --epochs 100000 "
                        "--optimizer sgd:lr=0.02,momentum=0.9,clip=1", help="options of the pool")
    return parser.parse_args()


class Network:
    """Peer i lives in its own namespace, at SUBNET.(i + 1); a hub connects them."""

    def __init__(self, peers, rate):
        self.prefix, self.rate, self.spaces = f"hs{os.getpid()}", rate, []
        try:
            self._build(peers)
        except BaseException:
            self.close()
            raise

    def _ip(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"links.py: {' '.join(words)}: {done.stderr.strip()}; needs root, iproute2 and sch_tbf")

    def _shape(self, space, device):
        # A burst of a few packets; a queue that never drops what the pool sends at once.
        self._ip("tc", "-n", space, "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate, "burst",
                 "16kb", "limit", "64mb")

    def _build(self, peers):
        hub = f"{self.prefix}hub"
        self._ip("ip", "netns", "add", hub)
        self.spaces.append(hub)
        self._ip("ip", "-n", hub, "link", "add", "bridge", "type", "bridge")
        self._ip("ip", "-n", hub, "link", "set", "bridge", "up")
        for i in range(peers):
            space, port = f"{self.prefix}p{i:02}", f"port{i:02}"
            self._ip("ip", "netns", "add", space)
            self.spaces.append(space)
            self._ip("ip", "-n", space, "link", "add", "cable", "type", "veth", "peer", "name", port,
                     "netns", hub)
            self._ip("ip", "-n", space, "addr", "add", f"{SUBNET}.{i + 1}/24", "dev", "cable")
            self._ip("ip", "-n", hub, "link", "set", port, "master", "bridge")
            for where, device in ((space, "lo"), (space, "cable"), (hub, port)):
                self._ip("ip", "-n", where, "link", "set", device, "up")
            self._shape(space, "cable")
            self._shape(hub, port)

    def command(self, i):
        return ["ip", "netns", "exec", self.spaces[i + 1]]

    def address(self, i):
        return f"{SUBNET}.{i + 1}"

    def close(self):
        for space in self.spaces:
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)


class Loopback:
    def command(self, _):
        return []

    def address(self, _):
        return "127.0.0.1"

    def close(self):
        pass


class Curve:
    """Mean over the peers of their newest evaluation, from logs that grow."""

    def __init__(self, run, peers):
        self.logs = [run / "peers" / f"p{i:02}" / "events.jsonl" for i in range(peers)]
        self.read = [0] * peers
        self.evaluations = []  # (seconds, peer, accuracy)
        self.seconds = 0.0

    def look(self):
        for i, log in enumerate(self.logs):
            if not log.exists():
                continue
            with open(log, "rb") as file:
                file.seek(self.read[i])
                text = file.read()
            text = text[:text.rfind(b"\n") + 1]
            self.read[i] += len(text)
            for line in text.splitlines():
                event = json.loads(line)
                self.seconds = max(self.seconds, event.get("t_ns", 0) / 1e9)
                if event["ev"] == "eval.finished":
                    self.evaluations.append((event["t_ns"] / 1e9, i, event["acc"]))

    def reached(self, target):
        newest, best = {}, 0.0
        for seconds, peer, accuracy in sorted(self.evaluations):
            newest[peer] = accuracy
            if len(newest) < len(self.logs):
                continue
            best = max(best, statistics.fmean(newest.values()))
            if best >= target:
                return seconds, best
        return None, best


def start(options, network, run, case, rate, seed):
    bandwidth = rate.replace("mbit", "Mb/s").replace("kbit", "kb/s") if "bit" in rate else "1Gb/s"
    common = ["--insecure", "--quiet"]
    pool = [*CASES[case].format(bandwidth=bandwidth).split(), *options.extra.split(), "--eval-every",
            "0.5,n=2000", "--peers", str(options.peers), "--seed", str(seed), "--device", "cpu",
            "--checkpoint-every", "off", "--log-digests", "off", "--run", str(run)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    processes = []
    for i in range(options.peers):
        own = ["--listen", f"{network.address(i)}:{PORT if i == 0 else 0}"]
        what = pool if i == 0 else ["--join", f"{network.address(0)}:{PORT}"]
        with open(options.out / "peers.log", "ab") as log:
            command = [*network.command(i), str(options.binary.resolve()), "train", *own, *common, *what]
            processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
        time.sleep(0.5 if i == 0 else 0.05)
    return processes


def stop(processes):
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + 20
    for process in processes:
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def measure(options, case, rate, seed):
    run = (options.out / f"{rate}-{case}-s{seed}").resolve()
    shutil.rmtree(run, ignore_errors=True)
    network = Loopback() if rate == "loopback" else Network(options.peers, rate)
    processes, curve = [], Curve(run, options.peers)
    try:
        processes = start(options, network, run, case, rate, seed)
        begun = time.monotonic()
        while curve.seconds < options.limit and curve.reached(options.target)[0] is None:
            if curve.seconds == 0.0 and time.monotonic() - begun > 60:
                sys.exit(f"links.py: the pool has not begun after a minute; see {options.out / 'peers.log'}")
            if all(process.poll() is not None for process in processes):
                sys.exit(f"links.py: all peers have ended; see {options.out / 'peers.log'}")
            time.sleep(0.25)
            curve.look()
    finally:
        stop(processes)
        network.close()
    reached, best = curve.reached(options.target)
    found = {"case": case, "rate": rate, "seed": seed, "reached_s": reached, "best": best,
             "limit_s": options.limit, **traffic(curve)}
    (options.out / f"{rate}-{case}-s{seed}.json").write_text(json.dumps(found))
    return found


def traffic(curve):
    merges, sent, codecs = 0, 0, {}
    for log in curve.logs:
        if not log.exists():
            continue
        for line in log.read_text(encoding="utf-8").splitlines():
            if '"merge.applied"' in line:
                merges += 1
            elif '"delta.sent"' in line:
                event = json.loads(line)
                sent += event["wire_bytes"]
                codecs[event["codec"]] = codecs.get(event["codec"], 0) + 1
    return {"merges": merges, "mb": sent / 1e6, "codecs": codecs}


def main():
    options = flags()
    options.out.mkdir(parents=True, exist_ok=True)
    seeds = [int(seed) for seed in options.seeds.split(",")]
    cases = options.only.split(",")
    print(f"{options.peers} peers, target {options.target}, {os.cpu_count()} cores, load "
          f"{os.getloadavg()[0]:.1f}\n\n"
          "| link | case | s to target | times dense | merges | MB | best mean |\n"
          "|---|---|---|---|---|---|---|", flush=True)
    for rate in options.rates.split(","):
        dense = None
        for case in cases:
            found = [measure(options, case, rate, seed) for seed in seeds]
            never = sum(each["reached_s"] is None for each in found)
            took = statistics.fmean(each["reached_s"] or options.limit for each in found)
            dense = took if case == "dense" else dense
            merges, megabytes, best = (statistics.fmean(each[key] for each in found)
                                       for key in ("merges", "mb", "best"))
            sooner = f"{dense / took:.2f}" if dense else "-"
            missed = f" ({never} never)" if never else ""
            print(f"| {rate} | {case} | {took:.1f}{missed} | {sooner} | {merges:.0f} | {megabytes:.1f} "
                  f"| {best:.4f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--metrics: what the endpoint says of a live pool, read strictly; and clients that mean no good."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

import harness
import pools

SAMPLE = re.compile(r'([a-z_:][a-z0-9_:]*)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\} (\S+)')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
NAMES = {
    "hearsay_peer_up": "gauge", "hearsay_samples_total": "counter", "hearsay_loss": "gauge",
    "hearsay_accuracy": "gauge", "hearsay_step_seconds": "histogram",
    "hearsay_merges_total": "counter", "hearsay_merge_age_samples": "histogram",
    "hearsay_consensus_distance": "gauge", "hearsay_bytes_total": "counter",
    "hearsay_inbox_depth": "gauge", "hearsay_partners_alive": "gauge"}
ONE_EPOCH_TESTS = (*pools.DIGITS, "--epochs", "1000000", "--eval-every", "1,n=100")


def parse(text):
    """({name: type}, {(name, ((label, value), ...)): number}); anything odd is an error."""
    types, samples, family = {}, {}, None
    if not text.endswith("\n"):
        raise ValueError("the last line is torn")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family, _, words = line[7:].partition(" ")
            if family in types or not words:
                raise ValueError(f"announced twice, or not explained: {line}")
            types[family] = None
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            if name != family or types[name] is not None:
                raise ValueError(f"TYPE does not follow its HELP: {line}")
            types[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            if not match:
                raise ValueError(f"no sample: {line}")
            name, labels, value = match.groups()
            suffix = name.removeprefix(family)
            allowed = ("_bucket", "_sum", "_count") if types[family] == "histogram" else ("",)
            if not name.startswith(family) or suffix not in allowed:
                raise ValueError(f"in the family of {family}: {line}")
            pairs = tuple(LABEL.findall(labels))
            if len(dict(pairs)) != len(pairs) or (name, pairs) in samples:
                raise ValueError(f"twice: {line}")
            samples[name, pairs] = float(value)
    return types, samples


class MetricsTest(pools.PoolTest):
    def serve(self, *args, peers=3):
        """A pool whose endpoint is known; returns its launcher."""
        path = self.folder / "said"
        with open(path, "wb") as said:
            process = self.begin(*args, "--metrics", "127.0.0.1:0", peers=peers, stderr=said)
        match = re.search(r"^metrics  http://127\.0\.0\.1:(\d+)/metrics$", path.read_text(), re.M)
        self.assertIsNotNone(match, path.read_text())
        self.port = int(match.group(1))
        return process

    def get(self, path, method="GET", body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        self.addCleanup(connection.close)
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer, answer.read().decode()

    def scrape(self):
        status, answer, text = self.get("/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        return parse(text)

    def stop(self, process, code=143):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process, 15).returncode, code)
        self.nobody_left()


class EndpointTest(MetricsTest):
    def test_every_metric_is_announced_and_counters_only_rise(self):
        process = self.serve(*ONE_EPOCH_TESTS)
        self.wait_until(lambda: len(self.scrape()[0]) == len(NAMES), "all metrics are there")
        types, before = self.scrape()
        self.assertEqual(types, NAMES)
        for (name, labels), value in before.items():
            self.assertEqual([key for key, _ in labels[:2]], ["run", "peer"])
            self.assertEqual(labels[0][1], "run")
            self.assertIn(labels[1][1], ("p00", "p01", "p02"))
            self.assertGreaterEqual(value, 0)
        rising = [key for key in before
                  if re.search(r"_(total|bucket|sum|count)$", key[0])]
        self.assertGreater(len(rising), 50)
        time.sleep(0.8)
        _, after = self.scrape()
        for key in rising:
            self.assertGreaterEqual(after[key], before[key], key)
        self.assertGreater(sum(after[key] for key in rising if key[0] == "hearsay_samples_total"),
                           sum(before[key] for key in rising if key[0] == "hearsay_samples_total"))
        self.check_against_itself(after)
        self.stop(process)

    def check_against_itself(self, samples):
        """What several metrics say of the same thing."""
        for peer in ("p00", "p01", "p02"):
            own = {(name, labels[2:]): value for (name, labels), value in samples.items()
                   if labels[1][1] == peer}
            self.assertEqual(own["hearsay_peer_up", ()], 1)
            self.assertEqual(own["hearsay_partners_alive", ()], 2)
            for name in ("hearsay_step_seconds", "hearsay_merge_age_samples"):
                buckets = [value for (key, _), value in own.items() if key == name + "_bucket"]
                self.assertEqual(buckets, sorted(buckets))
                self.assertEqual(buckets[-1], own[name + "_count", ()])
            # A mini-batch has 32 examples, the last of an epoch fewer.
            steps, seen = own["hearsay_step_seconds_count", ()], own["hearsay_samples_total", ()]
            self.assertTrue(31 * steps <= seen <= 32 * steps, (steps, seen))
            merges = (("verdict", "accept"),)
            self.assertEqual(own["hearsay_merges_total", merges],
                             own["hearsay_merge_age_samples_count", ()])
            for way in ("sent", "received"):
                payload = own["hearsay_bytes_total", (("direction", way), ("kind", "payload"))]
                wire = own["hearsay_bytes_total", (("direction", way), ("kind", "wire"))]
                self.assertTrue(0 < payload < wire < 1.1 * payload + 10000, (payload, wire))
            self.assertLess(own["hearsay_consensus_distance", ()], 1)
            self.assertTrue(0 < own["hearsay_accuracy", (("split", "test"),)] <= 1)

    def test_a_peer_that_dies_is_down_and_too_few_are_not_healthy(self):
        process = self.serve(*pools.ENDLESS, "--min-peers", "3")
        self.wait_until(lambda: self.get("/healthz")[0] == 200, "a healthy pool")
        self.assertEqual(self.get("/healthz")[2], "ok\n")
        os.kill(self.pid_of(1), signal.SIGKILL)
        self.wait_until(lambda: self.get("/healthz")[0] == 503, "a pool with two of three")
        self.assertEqual(self.get("/healthz")[2], "2 peers live, --min-peers asks for 3\n")
        _, samples = self.scrape()
        up = {labels[1][1]: value for (name, labels), value in samples.items()
              if name == "hearsay_peer_up"}
        self.assertEqual(up, {"p00": 1, "p01": 0, "p02": 1})
        peers = json.loads(self.get("/peers.json")[2])
        self.assertEqual((peers["run"], peers["live"], peers["min_peers"]), ("run", 2, 3))
        self.assertEqual([peer["state"] for peer in peers["peers"]][1], "lost")
        self.assertEqual(peers["peers"][1]["ended"], "killed by SIGKILL")
        self.assertEqual(peers["peers"][0]["pid"], self.pid_of(0))
        self.stop(process)

    def test_only_three_pages_and_only_to_be_read(self):
        process = self.serve(*pools.ENDLESS)
        for path in ("/", "/metrics/", "/metric", "/peers.json/../metrics", "/%2e"):
            self.assertEqual(self.get(path)[0], 404, path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            status, answer, _ = self.get("/metrics", method, b"x" * 100)
            self.assertEqual((status, answer.headers["Allow"]), (405, "GET, HEAD"))
        status, answer, body = self.get("/metrics", "HEAD")
        self.assertEqual((status, body), (200, ""))
        self.assertGreater(int(answer.headers["Content-Length"]), 1000)
        self.assertEqual(self.get("/healthz?verbose=1")[0], 200)
        self.stop(process)

    def test_a_port_that_is_taken_starts_nothing(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            for command in (("launch", "-n", "2"), ("train",)):
                self.refused((*command, *pools.DIGITS, "--metrics", f"127.0.0.1:{port}"),
                             f"--metrics 127.0.0.1:{port}", "in use", "port 0")
        self.refused(("launch", "-n", "2", *pools.DIGITS, "--metrics", "9464"), "--metrics: '9464'",
                     "HOST:PORT")

    def test_a_peer_by_hand_serves_its_own_numbers(self):
        with open(self.folder / "said", "wb") as said:
            process = self.start("train", *pools.ENDLESS, "--run", "run", "--metrics",
                                 "127.0.0.1:0", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=said)
        self.addCleanup(self.end, process)
        match = self.wait_until(lambda: re.search(
            r"metrics  http://127\.0\.0\.1:(\d+)/", (self.folder / "said").read_text()), "the port")
        self.port = int(match.group(1))
        self.wait_until(lambda: "hearsay_samples_total" in self.get("/metrics")[2], "its numbers")
        peers = {labels[1][1] for _, labels in self.scrape()[1]}
        self.assertEqual(peers, {"p00"})
        self.assertEqual(self.get("/healthz")[0], 200)
        self.stop(process)

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun here")
    def test_under_mpirun_the_first_rank_serves_the_whole_pool(self):
        with open(self.folder / "said", "wb") as said:
            process = subprocess.Popen(
                ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "--bind-to", "none",
                 harness.binary(), "train", *pools.ENDLESS, "--run", "run", "--metrics",
                 "127.0.0.1:0"], cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=said, env=harness.environment(self.folder))
        self.addCleanup(self.end, process)
        match = self.wait_until(lambda: re.search(
            r"metrics  http://127\.0\.0\.1:(\d+)/", (self.folder / "said").read_text()), "the port")
        self.port = int(match.group(1))
        self.wait_until(lambda: self.get("/metrics")[2].count("hearsay_samples_total{") == 2,
                        "both peers' numbers")
        self.assertEqual(json.loads(self.get("/peers.json")[2])["live"], 2)
        self.assertEqual((self.folder / "said").read_text().count("metrics  http"), 1)
        process.send_signal(signal.SIGTERM)
        process.wait(20)


class HostileClientTest(MetricsTest):
    def connect(self):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        self.addCleanup(client.close)
        return client

    def open_files(self, process):
        return len(os.listdir(f"/proc/{process.pid}/fd"))

    def say(self, client, text):
        """True while the other side takes it."""
        try:
            client.sendall(text)
            return True
        except OSError:
            return False

    def test_whoever_asks_slowly_is_cut_off(self):
        process = self.serve(*pools.ENDLESS)
        client = self.connect()
        begin, alive = time.monotonic(), True
        self.say(client, b"GET /metrics HTTP/1.1\r\nX: ")
        while alive and time.monotonic() < begin + 15:
            alive = self.say(client, b"x")
            time.sleep(0.1)
        self.assertFalse(alive, "still served")
        self.assertTrue(3 < time.monotonic() - begin < 9, time.monotonic() - begin)
        self.assertEqual(self.get("/healthz")[0], 200)
        self.stop(process)

    def test_large_headers_and_noise_are_refused(self):
        process = self.serve(*pools.ENDLESS)
        for request, status in (
                (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * (1 << 20) + b"\r\n\r\n", b"431"),
                (b"GET /" + b"m" * 20000 + b" HTTP/1.1\r\n\r\n", b"431"),
                (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20, b"400"),
                (b"hello\r\n\r\n", b"400"), (b"GET /metrics HTTP/9.9\r\n\r\n", b"400"),
                (b"GET  /metrics\r\n\r\n", b"400")):
            client = self.connect()
            self.say(client, request)
            answer = client.recv(4096)
            self.assertEqual(answer[:12], b"HTTP/1.1 " + status, request[:40])
        status, _, body = self.get("/metrics")
        self.assertEqual((status, len(parse(body)[0]) > 5), (200, True))
        self.stop(process)

    def test_two_hundred_idle_clients_keep_nobody_out(self):
        process = self.serve(*pools.ENDLESS)
        before = self.open_files(process)
        idle = [self.connect() for _ in range(200)]
        for _ in range(5):
            begin = time.monotonic()
            self.assertEqual(self.get("/metrics")[0], 200)
            self.assertLess(time.monotonic() - begin, 2)
        self.assertLessEqual(self.open_files(process), before + 70)
        for client in idle:
            client.close()
        self.wait_until(lambda: self.open_files(process) <= before + 2, "they are let go")
        self.stop(process)

    def test_whoever_takes_no_answer_costs_the_pool_nothing(self):
        process = self.serve(*pools.ENDLESS)
        for _ in range(50):
            client = self.connect()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            self.say(client, b"GET /metrics HTTP/1.1\r\n\r\n")
        seen = [self.total_samples()]
        for _ in range(2):
            time.sleep(0.7)
            seen.append(self.total_samples())
        self.assertTrue(seen[0] < seen[1] < seen[2], seen)
        self.stop(process)

    def total_samples(self):
        return sum(value for (name, _), value in self.scrape()[1].items()
                   if name == "hearsay_samples_total")


if __name__ == "__main__":
    harness.main()

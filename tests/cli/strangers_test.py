#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--secret and --tls: who belongs to the pool trains in it, everybody else is told why not."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import unittest

import harness
import pools

FIRST = ("train", *pools.DIGITS, "--listen", "127.0.0.1:0")
SECRET = "9f1c7d52b0e84a6f-of-the-pool"
OTHER = "00000000-another-secret"
EC_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class StrangersTest(pools.TalkingTest):
    def secret(self, name="pool.key", text=SECRET, mode=0o600):
        path = self.write(name, text + "\n")
        path.chmod(mode)
        return name

    def begin_first(self, *args, run="run", peers=2):
        """The first peer and its address."""
        first = self.begin_peer(*FIRST, "--peers", peers, "--run", run, *args)
        line = next(line for line in self.hears(first, "waiting for").splitlines()
                    if line.startswith("join with  hearsay train --join "))
        return first, line.split("--join ")[1].split()[0]

    def end_all_of(self, processes):
        printed = [self.end_of(process) for process in processes]
        self.nobody_left()
        self.assertEqual(sum("verdict ok" in text for text in printed), 1, printed)
        return self.result_of("run")

    def holds_nowhere(self, text):
        """In no file of the run, in nothing that a process has said, in no command line."""
        for path in self.folder.rglob("*"):
            if path.is_file() and path.name != "pool.key":
                self.assertNotIn(text.encode(), path.read_bytes(), path)
        for pid, words in pools.processes_in(self.folder).items():
            self.assertNotIn(text.encode(), words, pid)

    def refuses(self, address, *args, part, env=None):
        """A joiner that is refused for good: one line, exit 2."""
        out = self.hearsay("train", "--join", address, *args, env=env)
        self.assertEqual(out.returncode, 2, out.stderr.decode())
        self.assertIn(part, self.one_line(out))


class SecretTest(StrangersTest):
    def test_a_pool_with_a_secret_trains_and_the_secret_is_nowhere(self):
        first, address = self.begin_first("--secret", self.secret())
        self.assertIn(f"--join {address} --secret pool.key", self.said(first))
        joiner = self.begin_peer("train", "--join", address, "--secret", "env:POOL",
                                 env={"POOL": SECRET})
        self.wait_until(lambda: self.all_train("run", 2), "both train")
        self.holds_nowhere(SECRET)
        result = self.end_all_of([first, joiner])
        self.assertEqual((result["peers"], result["peers_lost"]), (2, 0))
        self.assertGreater(result["merges_applied"], 0)
        self.holds_nowhere(SECRET)
        self.assertNotIn("secret", json.loads((self.folder / "run/run.json").read_text())["config"])

    def test_a_wrong_secret_none_and_tls_to_none_are_told_apart(self):
        self.secret("other.key", OTHER)
        first, address = self.begin_first("--secret", self.secret())
        for _ in range(3):
            self.refuses(address, "--secret", "other.key", part="it does not have this peer's secret")
            self.refuses(address, part="TLS is spoken here; give your peer the pool's --secret")
        said = self.said(first)
        self.assertEqual(said.count("does not have this peer's secret; give all peers the same"), 1, said)
        self.assertEqual(said.count("it does not speak TLS"), 1, said)
        self.assertNotIn(OTHER, said)
        plain, plain_address = self.begin_first(run="plain")
        self.refuses(plain_address, "--secret", "pool.key", part="it does not speak TLS")
        self.hears(plain, "it speaks TLS and this peer does not")
        for process in (first, plain):
            process.send_signal(signal.SIGINT)
            self.end_of(process, code=130)

    def test_a_running_pool_refuses_strangers_once_and_trains_on(self):
        self.secret("other.key", OTHER)
        endless = ("--epochs", "1000000", "--eval-every", "0", "--time", "4s")
        first, address = self.begin_first("--secret", self.secret(), *endless)
        joiner = self.begin_peer("train", "--join", address, "--secret", "pool.key")
        self.wait_until(lambda: self.all_train("run", 2), "both train")
        for _ in range(3):
            self.refuses(address, "--secret", "other.key", part="it does not have this peer's secret")
            self.refuses(address, part="TLS is spoken here")
        self.end_all_of([first, joiner])
        refused = [event["detail"] for event in self.log_of(0) if event["ev"] == "fault.seen"]
        self.assertEqual(len(refused), 2, refused)

    def test_launched_peers_are_handed_the_name_of_the_secret_only(self):
        for number, words in enumerate((("--secret", self.secret()), ("--secret", "env:POOL"))):
            run = f"run{number}"
            process = self.begin(*pools.DIGITS, *words, "--epochs", "1000000", "--time", "3s", run=run,
                                 env={"POOL": SECRET})
            self.holds_nowhere(SECRET)
            address = json.loads((self.peer_folder(1, run) / "endpoint.json").read_text())["address"]
            with socket.create_connection(address.rsplit(":", 1), timeout=5) as stranger:
                stranger.sendall(b"hs" + bytes(58))
                self.assertIn(b"TLS is spoken here", stranger.makefile("rb").read())
            self.assertEqual(self.finish(process, 30).returncode, 0)
            self.assertGreater(self.result_of(run)["merges_applied"], 0)
            self.holds_nowhere(SECRET)

    def test_a_secret_that_others_may_read_is_warned_of(self):
        out = self.hearsay("train", *pools.DIGITS, "--epochs", "1", "--run", "run", "--secret",
                           self.secret(mode=0o644))
        self.assertEqual(out.returncode, 0)
        self.assertIn(b"hearsay: warning: --secret: others than its owner may use pool.key (mode 0644); "
                      b"chmod 600 pool.key\n", out.stderr)

    def test_beyond_loopback_a_secret_is_as_good_as_insecure(self):
        words = ("train", *pools.DIGITS, "--listen", "0.0.0.0:0", "--epochs", "1", "--run", "run")
        self.refused(words, "--listen", "--secret FILE", "--tls CA,CERT,KEY", "--insecure")
        out = self.hearsay(*words, "--secret", self.secret())
        self.assertEqual(out.returncode, 0, out.stderr.decode())

    def test_wrong_words_are_refused_in_one_line_without_the_secret(self):
        self.secret()
        self.write("short.key", "fifteen letters\n")
        for words, *parts in (
                (("--secret", "short.key"), "--secret", "15 bytes, and 16 are the least"),
                (("--secret", "absent.key"), "--secret", "No such file"),
                (("--secret", "."), "--secret", "directory"),
                (("--secret", "env:ABSENT"), "--secret", "ABSENT is not set"),
                (("--secret", ""), "--secret is empty"),
                (("--secret", "env:HEARSAY_SECRET"), "--secret", "variable of --secret"),
                (("--secret", "pool.key", "--tls", "a,b,c"), "--tls", "take one of them"),
                (("--secret", "pool.key", "--revoked", "x"), "--revoked", "can be told from another"),
                (("--revoked", "x"), "--revoked", "--tls"),
                (("--tls", "a,b"), "--tls", "CA,CERT,KEY"),
                (("--tls", "a,b,c"), "--tls", "a: no authority")):
            for command in (("train", "--peers", "2"), ("launch", "-n", "2")):
                with self.subTest(command=command[0], words=words):
                    self.refused((*command, *pools.DIGITS, *words), *parts)
        line = self.refused(("train", *pools.DIGITS, "--peers", "2"), "--secret",
                            env={"HEARSAY_SECRET": SECRET})
        self.assertNotIn(SECRET, line)

    def test_bench_net_goes_through_tls(self):
        out = self.hearsay("bench", "net", "--op", "exchange", "--sizes", "1000", "--json", "--secret",
                           self.secret())
        report = json.loads(out.stdout)
        self.assertEqual((report["header"]["tls"], report["rows"][0]["wrong"]), (True, 0))


@unittest.skipIf(shutil.which("openssl") is None, "the openssl command is not installed")
class CertificateTest(StrangersTest):
    def openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.folder, check=True, capture_output=True,
                       env=harness.environment(self.folder))

    def authority(self, name="ca"):
        self.openssl("req", "-x509", *EC_KEY, "-keyout", f"{name}.key", "-out", f"{name}.pem",
                     "-subj", f"/CN={name}", "-days", "2")
        return name

    def issue(self, name, authority="ca", days=2):
        """What --tls takes."""
        self.openssl("req", *EC_KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey",
                     f"{authority}.key", "-CAcreateserial", "-days", str(days), "-out", f"{name}.pem")
        os.chmod(self.folder / f"{name}.key", 0o600)
        return f"{authority}.pem,{name}.pem,{name}.key"

    def serial(self, name):
        return subprocess.run(["openssl", "x509", "-in", f"{name}.pem", "-noout", "-serial"],
                              cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def test_certificates_of_one_authority_let_in_and_others_do_not(self):
        self.authority()
        self.authority("foreign")
        first, address = self.begin_first("--tls", self.issue("p0"))
        self.refuses(address, "--tls", self.issue("old", days=-1), part="certificate has expired")
        self.refuses(address, "--tls", self.issue("spy", "foreign"), part="of another authority")
        self.issue("spy", "foreign")
        self.refuses(address, "--tls", "ca.pem,spy.pem,spy.key", part="does not know the authority")
        self.refuses(address, "--secret", self.secret(), part="a certificate and not this pool's secret")
        self.refuses(address, part="TLS is spoken here")
        self.hears(first, "refused 127.0.0.1:")
        self.assertIn("its certificate has expired", self.said(first))
        joiner = self.begin_peer("train", "--join", address, "--tls", self.issue("p1"))
        self.assertEqual(self.end_all_of([first, joiner])["peers_lost"], 0)

    def test_a_peer_that_is_revoked_in_mid_run_is_out_and_the_others_go_on(self):
        self.authority()
        self.write("revoked", "# nobody yet\n")
        endless = ("--epochs", "1000000", "--eval-every", "0", "--revoked", "revoked")
        first, address = self.begin_first("--tls", self.issue("p0"), *endless, peers=3)
        joiners = [self.begin_peer("train", "--join", address, "--name", f"p0{i}", "--tls",
                                   self.issue(f"p{i}"), *(("--revoked", "revoked") if i == 1 else ()))
                   for i in (1, 2)]
        self.wait_until(lambda: self.all_train("run", 3), "all train")
        self.wait_until(lambda: all(self.merges(peer, 2) > 0 for peer in (0, 1)), "all merge")
        self.write("revoked", self.serial("p2"))
        for peer in (0, 1):
            self.wait_until(lambda at=peer: b"peer revoked" in self.log_bytes(at), "it is out", 5)
        time.sleep(0.5)  # what had come before is merged
        before = [self.merges(peer, 2) for peer in (0, 1)]
        others = [self.merges(0, 1), self.merges(1, 0)]
        self.wait_until(lambda: self.merges(0, 1) > others[0] and self.merges(1, 0) > others[1],
                        "the others merge")
        self.assertEqual([self.merges(peer, 2) for peer in (0, 1)], before)
        for process in (first, *joiners):
            process.send_signal(signal.SIGINT)
        for process in (first, *joiners):
            self.end_of(process, code=130)

    def log_bytes(self, peer):
        return (self.peer_folder(peer) / "events.jsonl").read_bytes()

    def merges(self, peer, other):
        return sum('"merge.applied"' in line and f'"from":"p{other:02}"' in line
                   for line in self.log_bytes(peer).decode().splitlines())


if __name__ == "__main__":
    harness.main()

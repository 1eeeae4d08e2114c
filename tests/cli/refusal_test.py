#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wrong words on the command line, in a config file, in the environment: exit 2, one line."""

import json
import resource

import harness

WRONG_NAMES = [  # option, text, the wrong word, the nearest right one
    ("protocol", "pairwize", "pairwize", "pairwise"),
    ("merge", "emma:0.5", "emma", "ema"),
    ("merge", "ema:0.5+stalenes", "stalenes", "staleness"),
    ("codec", "rew", "rew", "raw"),
    ("topology", "rng", "rng", "ring"),
    ("net", "lam", "lam", "lan"),
    ("compute", "fixd", "fixd", "fixed"),
    ("data", "sinthetic:digits", "sinthetic", "synthetic"),
    ("data", "synthetic:digit", "digit", "digits"),
    ("split", "iad", "iad", "iid"),
    ("split", "iid+rotat:groups=2", "rotat", "rotate"),
    ("optimizer", "sdg", "sdg", "sgd"),
    ("schedule", "cosin", "cosin", "cosine"),
    ("model", "mpl:4", "mpl", "mlp"),
    ("chaos", "kil=1@30%", "kil", "kill"),
]
WRONG_KEYS = [
    ("merge", "ema:0.5,shap=linear", "shap", "shape"),
    ("merge", "ema:0.5+staleness:halflife=3", "halflife", "half-life"),
    ("topology", "regular:k=3", "k", "d"),
    ("net", "link:bandwith=1Gb/s", "bandwith", "bandwidth"),
    ("compute", "jitter:c=0.2", "c", "cv"),
    ("split", "iid+rotate:group=2", "group", "groups"),
    ("optimizer", "sgd:l=0.05", "l", "lr"),
    ("merge-every", "1,mod=steps", "mod", "mode"),
    ("merge-every", "1,mode=step", "step", "steps"),
    ("eval-every", "1,m=20", "m", "n"),
]
NO_KEYS = [("merge", "sample-weighted:x=1"), ("topology", "ring:d=2"), ("schedule", "cosine:w=1"),
           ("model", "mlp:64,h=3"), ("protocol", "push:x=1"), ("codec", "raw:x=1")]
WRONG_VALUES = [  # arguments, what the line must hold
    (("--peers", "0"), ("--peers", "at least 1")),
    (("--peers", "-1"), ("--peers", "-1")),
    (("--peers", "4.5"), ("--peers", "4.5")),
    (("--peers", ""), ("--peers",)),
    (("--peers", "99999999999"), ("--peers", "99999999999")),
    (("--epochs", "0"), ("--epochs", "at least 1")),
    (("--batch", "0"), ("--batch", "at least 1")),
    (("--peers", "6001"), ("6001 peers", "6000 training examples", "--peers")),
    (("--peers", "4", "--min-peers", "5"), ("--min-peers 5", "--peers 4")),
    (("--target", "acc=0.5"), ("target metric", "acc", "test_acc")),
    (("--target", "test_acc=86"), ("--target", "86%")),
    (("--target", "test_acc"), ("--target", "test_acc=0.86")),
    (("--merge-every", "0"), ("--merge-every", "above 0")),
    (("--merge-every", "-1"), ("--merge-every", "-1")),
    (("--codec", "auto+int8"), ("--codec", "auto", "drop '+int8'")),
    (("--merge-every", "0.5,mode=literal"), ("--merge-every", "literal", "mode=steps")),
    (("--merge-every", "0.5,mode=shifted"), ("--merge-every", "shifted", "mode=steps")),
    (("--merge", "ema:2"), ("--merge", "between 0 and 1")),
    (("--merge", "ema:nan"), ("--merge", "nan")),
    (("--optimizer", "sgd:lr=-1"), ("--optimizer", "lr=-1")),
    (("--split", "labels:11"), ("labels:11", "10 labels")),
    (("--split", "iid+noise:200%"), ("--split", "200%")),
    (("--time", "-1s"), ("--time", "-1s")),
    (("--time", "5 parsecs"), ("--time", "parsecs")),
    (("--seed", "18446744073709551616"), ("--seed", "too large")),
    (("--peers", "2", "--chaos", "kill=3@10%"), ("--chaos", "kill=3@10%", "2 peers")),
    (("--peers", "2", "--chaos", "kill=p09@10%"), ("--chaos", "p09", "p01")),
    (("--peers", "2", "--chaos", "stall=p01@20%..10%"), ("--chaos", "stall=p01@20%..10%")),
    (("--peers", "5", "--topology", "regular:d=3"), ("--topology", "3-regular", "5 peers", "even")),
    (("--peers", "4", "--topology", "regular:d=4"), ("--topology", "4-regular", "4 peers")),
    (("--protocol", "ddp", "--wait"), ("--wait", "ddp")),
    (("--protocol", "local", "--wait"), ("--wait", "local")),
    (("--protocol", "ddp", "--until-converged"), ("--until-converged", "ddp")),
    (("--peers", "3", "--peers", "4"), ("--peers", "twice")),
    (("--quiet", "--quiet"), ("--quiet", "twice")),
    (("--wait=maybe",), ("--wait", "maybe", "true or false")),
    (("stray",), ("stray",)),
]


class RefusalTest(harness.CliTest):
    def test_unknown_commands_and_flags_suggest_the_nearest(self):
        self.refused(("simm",), "simm", "'sim'")
        self.refused(("--peers", "4"), "--peers")
        self.refused_sim(("--pers", "4"), "--pers", "did you mean --peers?")
        self.refused_sim(("--topolgy=ring",), "--topolgy", "did you mean --topology?")
        self.refused_sim(("--zzzzzzzz",), "--zzzzzzzz", "--help")
        self.refused(("config", "chek"), "chek", "check")

    def test_abbreviations_are_refused(self):
        for flag in ("--pee", "--proto", "--see", "--dry", "--j"):
            with self.subTest(flag=flag):
                self.refused_sim((flag, "1"), f"unknown option {flag}")

    def test_a_missing_value_is_named(self):
        self.refused_sim(("--peers",), "--peers", "value")
        self.refused_sim(("--peers=",), "--peers", "value")
        self.refused_sim(("--protocol", "--wait"), "--protocol", "value")
        self.refused_sim(("--run=",), "--run", "value")

    def test_unknown_names_in_specs_suggest_the_nearest(self):
        for option, text, wrong, near in WRONG_NAMES:
            with self.subTest(option=option, text=text):
                self.refused(("sim", "--threads", "1", f"--{option}", text),
                             f"'{wrong}'", f"did you mean '{near}'?")

    def test_an_unknown_preset_suggests_the_nearest(self):
        self.refused(("sim", "--preset", "digit"), "'digit'", "did you mean 'digits'?")

    def test_unknown_keys_in_specs_suggest_the_nearest(self):
        for option, text, wrong, near in WRONG_KEYS:
            with self.subTest(option=option, text=text):
                self.refused_sim((f"--{option}", text), f"--{option}", f"'{wrong}'",
                                 f"did you mean '{near}'?")

    def test_keys_where_none_belong_are_refused(self):
        for option, text in NO_KEYS:
            with self.subTest(text=text):
                self.refused_sim((f"--{option}", text), f"--{option}", text)

    def test_values_out_of_range_are_refused(self):
        for args, parts in WRONG_VALUES:
            with self.subTest(args=args):
                self.refused_sim(args, *parts)

    def test_times_beyond_the_clock_are_refused(self):
        for args in (("--time", "1e12s"), ("--time", "1e300s"),
                     ("--net", "link:latency=1e300s")):
            with self.subTest(args=args):
                self.refused_sim(("--peers", "2", *args), args[0])

    def test_evaluations_without_end_are_refused_or_done_once_a_step(self):
        command = (*harness.SMALL, "--peers", "2", "--epochs", "1", "--eval-every", "1e-300")
        result = self.hearsay(*command, "--run", "run", timeout=4)
        self.assertIn(result.returncode, (0, 2), result.stderr)

    def test_more_threads_than_the_system_gives_end_in_one_line(self):
        if harness.is_sanitized():
            self.skipTest("a sanitizer needs the address space that this test takes away")
        result = self.hearsay("sim", "--preset", "digits", "--epochs", "1", "--threads", "10000",
                              "--quiet", preexec_fn=lambda: resource.setrlimit(
                                  resource.RLIMIT_AS, (2 << 30, 2 << 30)))
        self.assertEqual(result.returncode, 2)
        self.assertIn("--threads", self.one_line(result))
        self.assertEqual(harness.tree(self.folder), {})

    def test_a_mean_block_too_long_is_not_called_too_short(self):
        line = self.refused_sim(("--merge-every", "1e300"), "--merge-every", "1e300")
        self.assertNotIn("must be above 0, not", line)

    def test_an_empty_run_name_is_refused(self):
        self.refused_sim(("--run", ""), "--run")

    def test_the_end_game_takes_a_number_of_rounds(self):
        self.sim("--peers", "2", "--epochs", "1", "--end-game", "rounds=2", "--run", "run")
        self.assertIn("test_acc_final_mean", self.result_of("run"))
        self.refused_sim(("--end-game", "rounds=0"), "--end-game", "1")
        self.refused_sim(("--end-game", "round=2"), "--end-game", "rounds")

    def test_bad_topology_files_are_named(self):
        cases = {
            "malformed": '{"edges": [[0, 1', "no object": "[1]", "disconnected":
            '{"edges": [[0, 1], [2, 3]]}', "beyond the pool": '{"edges": [[0, 9]]}',
            "loop": '{"edges": [[0, 0]]}', "text": '{"edges": [["a", "b"]]}',
            "negative": '{"edges": [[0,1],[1,2],[2,3],[0,-1]]}',
            "fraction": '{"edges": [[0.5,1],[1,2],[2,3]]}',
            "beyond 32 bits": '{"edges": [[0,4294967297],[1,2],[2,3]]}',
            "three ends": '{"edges": [[0,1,2],[1,2],[2,3]]}',
        }
        for case, text in cases.items():
            with self.subTest(case=case):
                self.write("graph.json", text)
                line = self.refused_sim(("--peers", "4", "--topology", "file:graph.json"),
                                        "--topology", "graph.json")
                self.assertNotIn("4294967295", line)
        for missing in ("file:nope.json", "file:.", "file", "file:"):
            with self.subTest(missing=missing):
                self.refused_sim(("--peers", "4", "--topology", missing), "--topology")


class ConfigRefusalTest(harness.CliTest):
    def refused_config(self, text, *parts):
        self.write("pool.json", text)
        self.refused(("sim", "--config", "pool.json"), "pool.json", *parts)

    def test_unknown_keys_of_a_config_file_suggest_the_nearest(self):
        self.refused_config('{"preset": "digits", "pers": 4}', "'pers'", "did you mean 'peers'?")

    def test_broken_config_files_are_named_with_their_place(self):
        self.refused_config('{"peers": 4,\n  "seed": }', "pool.json:2:", "JSON")
        self.refused_config("[]", "object")
        self.refused_config("", "JSON")
        self.refused_config('{"peers": 4, "peers": 5}', "'peers'", "twice")
        self.refused_config('{"peers": null}', "peers")
        self.refused_config('{"peers": [4]}', "peers")
        self.refused_config('{"peers": "many"}', "--peers", "many")
        self.refused_config('{"config": "other.json"}', "config")
        self.refused(("sim", "--config", "nope.json"), "nope.json", "--config")
        self.refused(("sim", "--config", "."), "--config")

    def test_a_wrong_name_says_that_it_stands_in_the_config_file(self):
        self.refused_config('{"preset": "digits", "merge": "emma"}', "'emma'", "'ema'")

    def test_environment_variables_are_named_when_wrong(self):
        for name, text in (("PEERS", "x"), ("BATCH", "-3"), ("QUIET", "maybe"), ("MERGE", "emma"),
                           ("NET", "link:bandwith=1Gb/s")):
            with self.subTest(name=name):
                self.refused(("sim", "--preset", "digits"), text.split("=")[0].split(":")[-1],
                             f"HEARSAY_{name}", env={f"HEARSAY_{name}": text})

    def test_flags_beat_environment_beats_file_beats_preset(self):
        self.write("pool.json", '{"preset": "digits", "peers": 3, "seed": 3, "epochs": 3}')
        result = self.hearsay("config", "show", "--json", "--config", "pool.json", "--peers", "5",
                              env={"HEARSAY_PEERS": "4", "HEARSAY_SEED": "4"})
        shown = json.loads(result.stdout)["config"]
        values = {key: shown[key]["value"] for key in ("peers", "seed", "epochs", "model")}
        self.assertEqual(values, {"peers": "5", "seed": "4", "epochs": "3", "model": "mlp:64"})
        self.assertIn("HEARSAY_SEED", shown["seed"]["origin"])
        self.assertIn("pool.json", shown["epochs"]["origin"])


if __name__ == "__main__":
    harness.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One live run, damaged in 20 ways, one at a time: each is named, nothing crashes, the rest is made again.

`hearsay replay` must say which file is wrong, and make again what does not need it: weights that only the
damaged peer could have sent end whoever merged them. `hearsay inspect`, `report` and `export` must read the
same run without a crash.
"""

import json
import random
import shutil
import subprocess

import trial as trials

HURT, JOURNAL, LOG = "p02", "inputs.0.bin", "events.jsonl"
TIMEOUT_S = 120


def flip(data, share):
    at = int(len(data) * share)
    return data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1:]


def lines(data):
    return data.splitlines(keepends=True)


def damages():
    """name, file of the run, bytes -> bytes (None: the file goes), what must be named, whether the other
    peers need nothing of what is lost."""
    journal, log = f"peers/{HURT}/{JOURNAL}", f"peers/{HURT}/{LOG}"
    noise = random.Random(1).randbytes
    return (
        ("a journal that ends in mid-chunk", journal, lambda d: d[:len(d) // 2 + 3], JOURNAL, False),
        ("a journal cut at its head", journal, lambda d: d[:9], JOURNAL, False),
        ("an empty journal", journal, lambda d: b"", JOURNAL, False),
        ("no journal", journal, None, "p02 has left no journal", False),
        ("a journal with a wrong byte in its middle", journal, lambda d: flip(d, 0.5), JOURNAL, False),
        ("a journal with a wrong byte in its head", journal, lambda d: flip(d, 0.002), JOURNAL, False),
        ("a journal with a wrong byte at its end", journal, lambda d: d[:-1] + bytes([d[-1] ^ 1]),
         JOURNAL, True),
        ("a journal with a hole", journal, lambda d: d[:len(d) // 3] + d[len(d) // 2:], JOURNAL, False),
        ("a journal with a page of zeros", journal,
         lambda d: d[:len(d) // 2] + bytes(64) + d[len(d) // 2 + 64:], JOURNAL, False),
        ("a journal with something after its end", journal, lambda d: d + b"more", JOURNAL, True),
        ("a journal twice over", journal, lambda d: d + d, JOURNAL, True),
        ("noise for a journal", journal, lambda d: noise(len(d)), JOURNAL, False),
        ("a log that ends in mid-line", log, lambda d: d[:len(d) * 2 // 3], None, True),
        ("an empty log", log, lambda d: b"", LOG, True),
        ("no log", log, None, LOG, True),
        ("a log with a line of noise", log,
         lambda d: b"".join(lines(d)[:20]) + noise(90) + b"\n" + b"".join(lines(d)[20:]), LOG, True),
        ("a log that lacks a line", log,
         lambda d: b"".join(lines(d)[:20] + lines(d)[21:]), "p02: logged", True),
        ("a log with a line twice", log,
         lambda d: b"".join(lines(d)[:21] + lines(d)[20:]), "p02: logged", True),
        ("a last model with a wrong byte", f"peers/{HURT}/ckpt/*/model.safetensors", lambda d: flip(d, 0.7),
         "ckpt", True),
        ("a result that is no JSON", f"peers/{HURT}/result.json", lambda d: b"{" + d, "result.json", True),
    )


def call(options, folder, *words):
    return subprocess.run([options.hearsay, *map(str, words)], capture_output=True, cwd=folder,
                          timeout=TIMEOUT_S)


def is_crash(out):
    return out.returncode < 0 or out.returncode > 4 or b"terminate called" in out.stderr


def work(trial, options):
    run = trial.folder / "run"
    out = call(options, trial.folder, "launch", "-n", "4", "--preset", "digits", "--epochs",
               "12" if options.quick else "40", "--merge-every", "0.5", "--seed", options.seed, "--quiet",
               "--log-digests", "on", "--run", run)
    whole = json.loads(call(options, trial.folder, "replay", run, "--json").stdout)
    trial.check(out.returncode == 0 and whole["equal"] and whole["complete"],
                f"the whole run: {whole['merges']} merges made again, all equal")
    merges_of = {peer["peer"]: peer["merges"] for peer in whole["peers"]}
    for name, path, change, named, are_others_whole in damages():
        hurt = trial.folder / "hurt"
        shutil.rmtree(hurt, ignore_errors=True)
        shutil.copytree(run, hurt, symlinks=True)
        file = sorted(hurt.glob(path))[-1]
        file.unlink() if change is None else file.write_bytes(change(file.read_bytes()))
        out = call(options, trial.folder, "replay", hurt, "--json")
        export = ("export", "--to", "csv", "-o", trial.folder / "csv", "--force")
        others = [call(options, trial.folder, *words, hurt) for words in (("inspect",), ("report",), export)]
        found = json.loads(out.stdout) if out.stdout else None
        said = out.stderr.decode()
        again = []
        if found:
            told = found["damage"] + found["differences"]
            told += [line for peer in found["peers"] for line in peer["damage"]]
            said = "; ".join(told)
            again = [peer["peer"] for peer in found["peers"]
                     if peer["peer"] != HURT and peer["merges"] == merges_of[peer["peer"]]]
        is_named = named is None or named in said
        is_made_again = found is not None and (not are_others_whole or len(again) == 3)
        trial.check(not is_crash(out) and not any(map(is_crash, others)) and is_named and is_made_again,
                    f"{name}: exit {out.returncode}, {found['merges'] if found else 0} merges, whole: "
                    f"{' '.join(again) or 'nobody'}; {said[:110] or 'nothing to say'}")


if __name__ == "__main__":
    trials.run(__doc__, work)

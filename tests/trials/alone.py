#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A pool of one, from the start or because all others have died: it trains on as if it had always been alone.

With nobody to merge with, its weights must be byte for byte those of local training on the same shard.
"""

import subprocess

import pool
import trial as trials
import model_files

EPOCHS = "60"


def digest(many, rank):
    folder = many.folder(rank) / "ckpt"
    metadata, _ = model_files.read(folder / (folder / "latest").read_text().strip() / "model.safetensors")
    return metadata["hearsay.digest"]


def work(trial, options):
    words = (*pool.DIGITS, "--epochs", EPOCHS, "--eval-every", "0", "--seed", str(trial.seed))
    many = pool.Pool(trial, 2, *words, "--start-with", "1", name="alone").start(0)
    many.wait_end(30)
    local = trial.folder / "local"
    subprocess.run([options.hearsay, "launch", "-n", "2", *words, "--protocol", "local", "--quiet", "--run",
                    str(local)], check=True, cwd=trial.folder, capture_output=True, timeout=60)
    alone = digest(many, 0)
    many.run = local
    reference = digest(many, 0)
    trial.check(alone == reference, f"one of two places taken: weights {alone[:16]}, local training "
                                    f"{reference[:16]}")
    shrinks(trial)


def shrinks(trial):
    many = pool.Pool(trial, 3, *pool.DIGITS, "--epochs", "3000", "--eval-every", "0", "--model", "mlp:128",
                     "--merge-every", "5", name="shrinks").start().wait_training()
    clock = many.now_ns(0)
    many.kill(1, 2)
    codes = many.wait_end(120)
    result = many.result()
    survivor = result["per_peer"][0]
    trial.check(codes[0] == 0 and (result["verdict"], result["peers_lost"]) == ("ok", 2)
                and survivor["reason"] == "finished" and survivor["merges_skipped"] > 0,
                f"two of three killed after {clock * 1e-9:.1f} s: the third {survivor['reason']}, accuracy "
                f"{survivor['test_acc']:.1%}, {survivor['merges_skipped']} merges without a partner, verdict "
                f"{result['verdict']}")


if __name__ == "__main__":
    trials.run(__doc__, work)

# SPDX-License-Identifier: Apache-2.0
"""Weights out of the checkpoints of a running pool, and how far they are from each other."""

import array
import math
import pathlib
import signal

import trial  # noqa: F401  where the tests' other folders are found
import model_files


def checkpoint(many, rank):
    """(name, weights) of the newest checkpoint; none when there is no whole one."""
    folder = many.folder(rank) / "ckpt"
    try:
        name = (folder / "latest").read_text().strip()
        _, values = model_files.read(pathlib.Path(folder / name / "model.safetensors"))
    except (OSError, ValueError, KeyError):
        return None
    return name, array.array("f", values)


def ask(many, ranks):
    """A new checkpoint of each: their weights by rank."""
    before = {rank: (checkpoint(many, rank) or ("",))[0] for rank in ranks}
    many.signal(signal.SIGUSR1, *ranks)
    found = {}

    def all_there():
        for rank in set(ranks) - set(found):
            newest = checkpoint(many, rank)
            if newest and newest[0] != before[rank]:
                found[rank] = newest[1]
        return len(found) == len(ranks)

    many.trial.wait_until(all_there, "checkpoints on demand", 20)
    return found


def mean(models):
    models = list(models)
    return [sum(values) / len(models) for values in zip(*models)]


def distance(one, other):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(one, other)))


def consensus(models):
    """Root mean square distance of the models from their mean, in lengths of that mean."""
    middle = mean(models.values())
    spread = math.sqrt(sum(distance(model, middle) ** 2 for model in models.values()) / len(models))
    return spread / max(1e-30, math.sqrt(sum(value * value for value in middle)))


def are_whole(many, ranks):
    """Whether the newest model of each is finite and has the digest that it names."""
    library = model_files.hash_library()
    for rank in ranks:
        folder = many.folder(rank) / "ckpt"
        name = (folder / "latest").read_text().strip()
        metadata, values = model_files.read(folder / name / "model.safetensors")
        if not all(math.isfinite(value) for value in array.array("f", values)):
            return False
        if library and metadata["hearsay.digest"] != model_files.digest(library, [values]):
            return False
    return True

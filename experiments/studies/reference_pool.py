# SPDX-License-Identifier: Apache-2.0
"""The reference pool of the README with one thing changed: runs it once per seed, keeps what has ended.

A study has tables: {table: {row: options of `hearsay sim`}}; and says which columns it wants of a row's
results. An option that a row gives goes before the pool's own. A run is about a minute of one core.
"""
import argparse
import concurrent.futures
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import zlib

POOL = {"peers": "16", "epochs": "25", "batch": "32", "optimizer": "sgd:lr=0.05,momentum=0.9,clip=1",
        "schedule": "cosine", "model": "mlp:256,128", "merge-every": "1", "eval-every": "0",
        "data": "fashion-mnist"}


def flags(doc, tables):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--tables", default=",".join(tables))
    parser.add_argument("--rows", default="", help="words; rows whose names contain one of them")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, one thread each")
    parser.add_argument("--epochs", help="instead of 25, for a quick look")
    options = parser.parse_args()
    for table in options.tables.split(","):
        if table not in tables:
            parser.error(f"--tables: there is no {table}; known: {', '.join(tables)}")
    return options


def command_of(options, row, seed, folder):
    given = row.split()
    words = {**POOL, "device": options.device, "threads": "1", "seed": str(seed), "run": str(folder)}
    if options.epochs:
        words["epochs"] = options.epochs
    own = [word for name, value in words.items() if f"--{name}" not in given
           for word in (f"--{name}", value)]
    return [options.binary, "sim", *own, *given, "--quiet"]


def run(options, name, row, seed):
    """The folder of the run, whose result.json is there."""
    plain = "".join(c if c.isalnum() else "-" for c in name)
    folder = options.out / f"{plain}-{zlib.crc32(row.encode()):08x}-s{seed}"  # told apart by their options
    if not (folder / "result.json").exists():
        shutil.rmtree(folder, ignore_errors=True)  # interrupted: begin again
        command = command_of(options, row, seed, folder)
        print("+", " ".join(command), file=sys.stderr, flush=True)
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not (folder / "result.json").exists():
            raise RuntimeError(f"{name}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
        for part in folder.iterdir():  # of many runs nothing else is wanted
            if part.is_dir():
                shutil.rmtree(part)
    return folder


def result_of(folder):
    return json.loads((folder / "result.json").read_text())


def mean_of(results, key, scale=1.0):
    return scale * statistics.fmean(result[key] for result in results)


def spread_of(results, key, scale=1.0):
    """Half the width of the 95 % interval of the mean, by Student's t; '-' for one seed."""
    student = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}.get(len(results))
    if student is None:
        return "-"
    return f"{student * scale * statistics.stdev(r[key] for r in results) / len(results) ** 0.5:.2f}"


def print_tables(options, tables, head, cells_of):
    """cells_of(folders): the columns of one row, of the folders of its runs, a seed each."""
    seeds = [int(seed) for seed in options.seeds.split(",")]
    wanted = [word for word in options.rows.split(",") if word]
    options.out.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {}
        for table in options.tables.split(","):
            for row, text in tables[table].items():
                if not wanted or any(word in row for word in wanted):
                    jobs[table, row] = [pool.submit(run, options, f"{table}-{row}", text, s) for s in seeds]
        for table in options.tables.split(","):
            print(f"\n{table}, seeds {options.seeds}\n\n| | " + " | ".join(head) + " |")
            print("|---|" + "---|" * len(head))
            for row in tables[table]:
                if (table, row) in jobs:
                    folders = [job.result() for job in jobs[table, row]]
                    print(f"| {row} | " + " | ".join(cells_of(folders)) + " |", flush=True)

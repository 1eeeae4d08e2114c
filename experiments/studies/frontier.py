#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes against accuracy: the reference pool under many codecs, merge rates and alphas.

    experiments/studies/frontier.py --binary build/ci/hearsay --out runs/frontier [--seeds 0,1,2]
                                    [--epochs 25] [--splits iid,dirichlet:0.3] [--only WORD,WORD]
                                    [--device cpu] [--jobs 2] [--plot frontier.png] [--json rows.json]

Prints one table a split: mean, worst and averaged accuracy over the seeds, megabytes on the wire, how
many times fewer than the dense reference, and the points lost against it; rows that nobody beats in both
are marked.
Runs that already have a result.json are not repeated.
"""
import argparse
import concurrent.futures
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

POOL = ("--peers 16 --batch 32 --optimizer sgd:lr=0.05,momentum=0.9,clip=1 --schedule cosine "
        "--model mlp:256,128 --data fashion-mnist --eval-every 0").split()

# --codec, --merge-every, --merge, --protocol, --outer
DENSE = [("raw", rate, "ema:0.5", "pairwise", "none") for rate in ("1", "2", "4")]
DENSE += [(codec, rate, "ema:0.5", "pairwise", "none") for codec, rates in
          (("bf16", "1"), ("int8", "124"), ("int4", "124"), ("lloyd3", "12"), ("lloyd2", "12"))
          for rate in rates]
DENSE += [("int4", "1", "ema:0.5", "push", "none"), ("int4+ef", "1", "ema:0.5", "pairwise", "none")]
OUTER = [("raw", "1", "ema:0.5", "pairwise", "noloco"), ("int4", "2", "ema:0.5", "pairwise", "noloco"),
         ("raw", "1", "ema:0.5", "pairwise", "nesterov")]
OUTER += [("blocks:0.25+auto+mirror", "0.6", "ema:0.5", "pairwise", "noloco"),  # the presets
          ("blocks:0.125+auto:noise=0.4+mirror", "0.6", "ema:0.55", "pairwise", "noloco"),
          ("blocks:0.125+auto:noise=0.4+mirror", "0.6", "ema:0.5", "pairwise", "noloco")]
SPARSE = [(codec, rate, merge, "pairwise", "none") for codec, rate, merge in (
    ("topk:0.01+int8", "0.125", "ema:0.9"), ("topk:0.05+int8", "0.25", "ema:0.9"),
    ("topk:0.05+int8", "0.5", "ema:0.9"), ("topk:0.1+int8", "0.5", "ema:0.9"),
    ("topk:0.05+int4", "0.25", "ema:0.5"), ("topk:0.05+int4+mirror", "0.25", "ema:0.5"),
    ("topk:0.0625+auto+mirror", "0.25", "ema:0.5"), ("threshold:0.05+int8", "0.5", "ema:0.9"),
    ("randk:0.05+int8", "0.25", "ema:0.9"), ("randk:0.0625+auto+mirror", "0.155", "ema:0.5"),
    ("blocks:0.0625+int8", "0.25", "ema:0.9"), ("blocks:0.0625+int8+mirror", "0.25", "ema:0.5"),
    ("blocks:0.0625+lloyd3+mirror", "0.137", "ema:0.5"), ("blocks:0.0625+lloyd2+mirror", "0.1", "ema:0.5"),
    ("blocks:0.0625+lloyd2+mirror", "0.3", "ema:0.5"), ("blocks:0.0625+sign+mirror", "0.1", "ema:0.3"),
    ("blocks:0.125+auto+mirror", "0.23", "ema:0.5"), ("blocks:0.125+auto:noise=0.4+mirror", "0.6", "ema:0.5"),
    ("blocks:0.03125+auto+mirror", "0.18", "ema:0.5"))]
SPARSE += [(f"blocks:{density}+{bits}+mirror", rate, "ema:0.5", "pairwise", "none")
           for density, bits, rates in (
               ("0.0625", "int4", ("0.125", "0.1875", "0.55")), ("0.25", "int4", ("0.5", "0.75", "4")),
               ("0.0625", "auto", ("0.155", "0.3")), ("0.25", "auto", ("0.3", "0.45", "0.6", "1", "2")))
           for rate in rates]


def flags(about=__doc__):
    parser = argparse.ArgumentParser(description=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--splits", default="iid")
    parser.add_argument("--only", default="", help="words; configurations whose names contain one of them")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, one thread each")
    parser.add_argument("--extra", default="",
                        help="more configurations: CODEC;RATE;MERGE;PROTOCOL;OUTER, blanks between")
    parser.add_argument("--plot", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def name_of(config):
    codec, rate, merge, protocol, outer = config
    return (f"{codec}, lambda {rate}, {merge}" + ("" if protocol == "pairwise" else f", {protocol}") +
            ("" if outer == "none" else f", {outer}"))


def folder_of(options, config, split, seed):
    name = "-".join((split, *config, f"s{seed}")) + ("" if options.epochs == 25 else f"-e{options.epochs}")
    return options.out / name.replace(":", "")


def run(options, config, split, seed):
    codec, rate, merge, protocol, outer = config
    folder = folder_of(options, config, split, seed)
    result = folder / "result.json"
    if folder.exists() and not result.exists():
        shutil.rmtree(folder)  # interrupted: begin again
    if not result.exists():
        every = rate if float(rate) >= 1 else f"{rate},mode=steps"
        command = [options.binary, "sim", *POOL, "--epochs", str(options.epochs), "--split", split,
                   "--codec", codec, "--merge-every", every, "--merge", merge,
                   "--protocol", protocol, "--outer", outer, "--device", options.device,
                   "--threads", "1", "--seed", str(seed), "--run", str(folder), "--quiet"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not result.exists():
            print(f"{name_of(config)}: {done.stderr.strip()[-300:]}", file=sys.stderr, flush=True)
            return None
    found = json.loads(result.read_text())
    shutil.rmtree(folder / "export", ignore_errors=True)
    return found


def row_of(config, results):
    return {"name": name_of(config), "config": config,
            "mean": 100 * statistics.fmean(r["test_acc_mean"] for r in results),
            "worst": 100 * min(r["test_acc_min"] for r in results),
            "averaged": 100 * statistics.fmean(r["test_acc_averaged_model"] for r in results),
            "mb": statistics.fmean(r["wire_bytes"] for r in results) / 1e6,
            "merges": statistics.fmean(r["merges"] for r in results),
            "seeds": len(results)}


def mark_frontier(rows):
    best = -1.0
    for row in sorted(rows, key=lambda r: (r["mb"], -r["mean"])):
        row["frontier"] = row["mean"] > best
        best = max(best, row["mean"])


def print_table(split, rows):
    dense = next((r for r in rows if r["name"].startswith("raw, lambda 1, ema:0.5")), None)
    print(f"\n{split}, {rows[0]['seeds']} seed(s)\n\n"
          "| codec, lambda, merge | mean | worst | averaged | MB | times fewer | points |\n"
          "|---|---|---|---|---|---|---|")
    for row in sorted(rows, key=lambda r: r["mb"]):
        fewer = f"{dense['mb'] / row['mb']:.1f}" if dense else "-"
        points = f"{row['mean'] - dense['mean']:+.2f}" if dense else "-"
        mark = "**" if row["frontier"] else ""
        print(f"| {mark}{row['name']}{mark} | {row['mean']:.2f} | {row['worst']:.2f} | {row['averaged']:.2f} "
              f"| {row['mb']:.1f} | {fewer} | {points} |")


def plot(path, tables):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(tables), figsize=(6.5 * len(tables), 4.5), squeeze=False)
    for axis, (split, rows) in zip(axes[0], tables.items()):
        kinds = sorted({row["config"][0].split(":")[0].split("+")[0] for row in rows})
        for kind in kinds:
            mine = [r for r in rows if r["config"][0].split(":")[0].split("+")[0] == kind]
            axis.plot([r["mb"] for r in mine], [r["mean"] for r in mine], "o", label=kind, markersize=5)
        front = sorted((r for r in rows if r["frontier"]), key=lambda r: r["mb"])
        axis.plot([r["mb"] for r in front], [r["mean"] for r in front], "k-", linewidth=0.8)
        axis.set(xscale="log", xlabel="megabytes on the wire", ylabel="mean test accuracy, percent",
                 title=split)
        axis.set_ylim(bottom=max(r["mean"] for r in rows) - 3.0)  # what is worse is in the table
        ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
                 if min(r["mb"] for r in rows) / 1.5 < t < max(r["mb"] for r in rows) * 1.5]
        axis.set_xticks(ticks, [str(t) for t in ticks])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def tables_of(options, configs, measure=lambda folder: {}):
    """Rows of each split; measure(folder) of a run adds columns, as means over the seeds."""
    seeds = [int(seed) for seed in options.seeds.split(",")]
    options.out.mkdir(parents=True, exist_ok=True)
    tables = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for split in options.splits.split(","):
            jobs = {(c, s): pool.submit(run, options, c, split, s) for c in configs for s in seeds}
            rows = []
            for config in configs:
                results = [jobs[config, seed].result() for seed in seeds]
                if not all(results):
                    continue
                more = [measure(folder_of(options, config, split, seed)) for seed in seeds]
                rows.append({**row_of(config, results),
                             **{key: statistics.fmean(each[key] for each in more) for key in more[0]}})
            if not rows:
                sys.exit("no run has ended well")
            tables[split] = rows
    return tables


def main():
    options = flags()
    words = [word for word in options.only.split(",") if word]
    configs = [c for c in DENSE + OUTER + SPARSE if not words or any(word in name_of(c) for word in words)]
    configs += [tuple(text.split(";")) for text in options.extra.split()]
    tables = tables_of(options, configs)
    for split, rows in tables.items():
        mark_frontier(rows)
        print_table(split, rows)
    if options.json:
        options.json.write_text(json.dumps(tables, indent=1))
    if options.plot:
        plot(options.plot, tables)


if __name__ == "__main__":
    main()

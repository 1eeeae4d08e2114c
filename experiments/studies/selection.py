#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which weights a message says, how much of their way, and how many: the reference pool under the
moving-average rules beside top-k, momentum of what is said in its three modes, density that follows the loss.

    experiments/studies/selection.py --binary build/ci/hearsay --out runs/selection [--seeds 0,1,2]
                                     [--epochs 25] [--splits iid,dirichlet:0.3] [--only WORD,WORD] [--jobs 2]

Prints one table a split: the share of the model that a merged message spoke of, over the run and in its last
tenth; accuracy; megabytes on the wire; points against topk:0.05+int8. Each first column is a --codec of
`hearsay sim`, at four merges started an epoch and --merge ema:0.9. Runs that are complete are not repeated.
"""
import json
import statistics

import frontier

CODECS = ["topk:0.05+int8", "topk:0.05,per=tensor+int8",
          "ma:0.05+int8", "ma:0.05,rule=literal+int8", "score:0.05+int8",
          "topk:0.05+int8+qm", "topk:0.05+int8+qm:on_support", "topk:0.05+int8+qm:literal", "topk:0.2+int8",
          "topk:0.01+int8", "topk:0.01+int8+density", "topk:0.05+int8+density"]
CONFIGS = [(codec, "0.25", "ema:0.9", "pairwise", "none") for codec in CODECS]


def kept(folder):
    """Shares of the model in the messages that merges have read, in percent, and the codec's changes."""
    shares, changes = [], 0
    with open(folder / "events.jsonl", encoding="utf-8") as events:
        for line in events:
            if '"ev":"merge.decided"' in line:
                shares.append(100 * json.loads(line)["density"])
            changes += '"ev":"codec.changed"' in line
    return {"kept": statistics.fmean(shares), "kept_last": statistics.fmean(shares[-len(shares) // 10:]),
            "changes": changes}


def print_table(split, rows):
    first = next((row for row in rows if row["config"] == CONFIGS[0]), None)
    print(f"\n{split}, {rows[0]['seeds']} seed(s)\n\n"
          "| codec | kept | at the end | mean | worst | averaged | MB | points | changes |\n"
          "|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        points = f"{row['mean'] - first['mean']:+.2f}" if first else "-"
        print(f"| `{row['config'][0]}` | {row['kept']:.2f} | {row['kept_last']:.2f} | {row['mean']:.2f} "
              f"| {row['worst']:.2f} | {row['averaged']:.2f} | {row['mb']:.1f} | {points} "
              f"| {row['changes']:.0f} |")


def main():
    options = frontier.flags(__doc__)
    words = [word for word in options.only.split(",") if word]
    configs = [c for c in CONFIGS if not words or any(word in c[0] for word in words)]
    configs += [tuple(text.split(";")) for text in options.extra.split()]
    tables = frontier.tables_of(options, configs, kept)
    for split, rows in tables.items():
        print_table(split, rows)
    if options.json:
        options.json.write_text(json.dumps(tables, indent=1))
    if options.plot:
        for rows in tables.values():
            frontier.mark_frontier(rows)
        frontier.plot(options.plot, tables)


if __name__ == "__main__":
    main()

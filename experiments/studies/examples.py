#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What becomes of single examples: passed on, left out, put in quarantine; and models that are traded.

    experiments/studies/examples.py --binary build/ci/hearsay --out runs/examples [--seeds 0,1,2]
                                    [--tables passing,noise,spread,retire,trade] [--jobs 2]

The reference pool (reference_pool.py) with one thing changed. Columns: accuracy of the peers with the 95 %
interval of its mean over seeds, worst peer, averaged model, bytes sent, visits (examples in mini-batches).

passing  Dirichlet 0.1, 32 examples a merge by every rule: all rows but the first send the same bytes
noise    iid, a tenth of the labels wrong, without and with quarantine: share found, precision
spread   the same in unequal shards: what passing examples on does with wrong labels
retire   iid, without and with retirement: visits, accuracy, and how much of what was retired models had right
trade    Dirichlet 0.1, the same bytes to a few per cent: merging, trading models, passing on examples
"""
import statistics

import reference_pool

SKEWED = "--split dirichlet:0.1"
NOISY = "--split iid+noise:10%"
QUARANTINE = " --quarantine hard:every=1"

SPREAD = "--split dirichlet:0.1+noise:10%"

TABLES = {
    "passing": {
        "none": SKEWED,
        "random": SKEWED + " --share hard:32,by=random",
        "sender's lowest": SKEWED + " --share hard:32,by=sender",
        "receiver's lowest": SKEWED + " --share hard:32,by=receiver",
        "by class": SKEWED + " --share hard:32,by=classes",
        "novel": SKEWED + " --share hard:32,by=novel",
        "reducible loss": SKEWED + " --share hard:32,by=rho",
        "signed, +1": SKEWED + " --cluster agglo:cut=count=1 --share hard:32,by=signed,sign=1",
        "signed, 0": SKEWED + " --cluster agglo:cut=count=1 --share hard:32,by=signed,sign=0",
        "signed, -1": SKEWED + " --cluster agglo:cut=count=1 --share hard:32,by=signed,sign=-1",
        "random, copies": SKEWED + " --share hard:32,by=random,mode=copy",
    },
    "noise": {
        "labels right": "--split iid",
        "a tenth wrong": NOISY,
        "quarantine": NOISY + QUARANTINE,
        "quarantine, wide": NOISY + QUARANTINE + ",confidence=0.2,spread=0.2",
        "quarantine, labels right": "--split iid" + QUARANTINE,
    },
    "spread": {
        "kept": SPREAD,
        "random": SPREAD + " --share hard:32,by=random",
        "sender's lowest": SPREAD + " --share hard:32,by=sender",
        "sender's lowest, quarantine": SPREAD + " --share hard:32,by=sender" + QUARANTINE,
        "random, quarantine": SPREAD + " --share hard:32,by=random" + QUARANTINE,
    },
    "retire": {
        "all": "--split iid",
        "unlike models": "--split iid --retire agreed",
        "any models": "--split iid --retire agreed:alike=1,every=2",
        "any, early": "--split iid --retire agreed:alike=1,every=1,retire=25%",
        "hard sampling": "--split iid --sampling hard",
    },
    "trade": {
        "merging": SKEWED,
        "merging, 10 % of models traded": SKEWED + " --trade models:10%",
        "models traded, never merged": SKEWED + " --trade models:100%,horizon=1",
        "merging, 32 examples": SKEWED + " --share hard:32,by=random --merge-every 1.026",
        "merging, 64 examples, rarer": SKEWED + " --share hard:64,by=random --merge-every 1.055",
        "examples alone": SKEWED + " --share hard:64,by=random --merge ema:0 --codec randk:0.001"
                                   " --merge-every 0.0356",
    },
}

HEAD = ["acc %", "±", "worst %", "averaged %", "MB sent", "of examples", "M visits", "found / right %",
        "retired, right %"]


def found_and_right(results):
    """Shares: of the wrong labels those in quarantine; of what is in quarantine the wrong labels."""
    if "wrong_labels" not in results[0]:
        return "-"
    wrong, hit, held = (sum(result[key] for result in results)
                        for key in ("wrong_labels", "wrong_quarantined", "examples_quarantined"))
    return f"{100 * hit / wrong:.1f} / {100 * hit / held:.1f}" if held else "-"


def cells_of(folders):
    results = [reference_pool.result_of(folder) for folder in folders]
    mean = reference_pool.mean_of
    known = [result["retired_acc"] for result in results if result.get("retired_acc") is not None]
    return [f"{mean(results, 'test_acc_mean', 100):.2f}",
            reference_pool.spread_of(results, "test_acc_mean", 100),
            f"{100 * min(result['test_acc_min'] for result in results):.2f}",
            f"{mean(results, 'test_acc_averaged_model', 100):.2f}",
            f"{mean(results, 'wire_bytes', 1e-6):.0f}",
            f"{mean(results, 'example_bytes', 1e-6):.0f}",
            f"{mean(results, 'samples', 1e-6):.3f}",
            found_and_right(results),
            f"{100 * statistics.fmean(known):.2f}" if known else "-"]


def main():
    options = reference_pool.flags(__doc__, TABLES)
    reference_pool.print_tables(options, TABLES, HEAD, cells_of)


if __name__ == "__main__":
    main()

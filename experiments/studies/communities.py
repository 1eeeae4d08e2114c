#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Communities found, told and ignored.

    experiments/studies/communities.py --binary build/ci/hearsay --out runs/communities [--seeds 0,1,2]
                                       [--tables two,four,iid,skewed] [--jobs 2]

The reference pool (reference_pool.py) with populations that contradict each other, or none.

two     the labels of half of the peers rotated by 5: ignored, told, found, and the order of mixing
four    the labels rotated by 0, 2, 4, 6
iid     equal data: nothing to find
skewed  Dirichlet 0.1: the order of mixing

'groups' is how many most peers see at the end, 'agreed' how many peers see the same, 'Rand' the index of
that view with the truth. 'right from': the epoch from which on no peer groups anybody wrongly whom it
knows; 'all known': from which on every peer's view is the whole truth. 'turned': views that were right and
became wrong.
"""
import json
import statistics

import reference_pool

TWO = "--split iid+rotate:groups=2,by=5"
FOUR = "--split iid+rotate:groups=4,by=2"
SKEWED = "--split dirichlet:0.1"
FOUND = " --cluster agglo:average,every=1,e=0"
SCHEDULES = {"a twentieth outside, always": ",e=0.05",
             "early communities, then mixing": ",e=0.05,schedule=early",
             "mixing first, then communities": ",e=0.05,schedule=warm-up",
             "mixing first, then nothing outside": ",e=0,schedule=warm-up"}


def ordered(split):
    return {text: f"{split} --cluster agglo:average,every=1{words}" for text, words in SCHEDULES.items()}


TABLES = {
    "two": {"no merging": TWO + " --protocol local", "anybody": TWO,
            "told": TWO + " --cluster given:groups=2,e=0", "found": TWO + FOUND, **ordered(TWO)},
    "four": {"anybody": FOUR, "told": FOUR + " --cluster given:groups=4,e=0", "found": FOUR + FOUND},
    "iid": {"anybody": "--split iid", "found": "--split iid" + FOUND},
    "skewed": {"anybody": SKEWED, "found": SKEWED + FOUND, **ordered(SKEWED)},
}
HEAD = ["acc %", "±", "worst %", "averaged %", "groups", "agreed", "Rand", "right from", "all known",
        "turned", "MB sent"]


def truth_of(folder):
    """[peer] its population, or None where there are none."""
    split = str(json.loads((folder / "run.json").read_text())["config"]["split"]["value"])
    if "groups=" not in split:
        return None
    groups = int(split.split("groups=")[1].split(",")[0])
    return [peer * groups // 16 for peer in range(16)]


def views_over_time(folder):
    """(epoch, peer, labels, known) of every round of a peer's clustering, in order."""
    result = json.loads((folder / "result.json").read_text())
    epochs = float(json.loads((folder / "run.json").read_text())["config"]["epochs"]["value"])
    with (folder / "events.jsonl").open() as lines:
        for line in lines:
            if '"cluster.updated"' in line:
                event = json.loads(line)
                yield (event["t_ns"] / 1e9 / result["virtual_s"] * epochs, int(event["peer"][1:]),
                       event["labels"], event["known"])


def is_whole(labels, truth):
    return all((labels[a] == labels[b]) == (truth[a] == truth[b])
               for a in range(16) for b in range(a))


def may_be_right(labels, peer, truth):
    """Wrong is: two of different populations together, outside of the own group, which also holds the
    unknown; or two of one population apart."""
    for a in range(16):
        for b in range(a):
            together, alike = labels[a] == labels[b], truth[a] == truth[b]
            if together and not alike and labels[a] != labels[peer]:
                return False
            if alike and not together and labels[peer] not in (labels[a], labels[b]):
                return False
            if alike and not together and truth[a] == truth[peer]:
                return False
    return True


def history_of(folder):
    """Epochs from which on views are right, and whole; number of views that turned from whole to not."""
    truth = truth_of(folder)
    if truth is None:
        return None
    wrong, partial, turned, whole = 0.0, 0.0, 0, [False] * 16
    seen = False
    for epoch, peer, labels, _ in views_over_time(folder):
        seen = True
        if not may_be_right(labels, peer, truth):
            wrong = epoch
        now = is_whole(labels, truth)
        if not now:
            partial = epoch
        turned += whole[peer] and not now
        whole[peer] = now
    return (wrong, partial, turned) if seen else None


def cells_of(folders):
    results = [reference_pool.result_of(folder) for folder in folders]
    mean = reference_pool.mean_of
    cells = [f"{mean(results, 'test_acc_mean', 100):.2f}",
             reference_pool.spread_of(results, "test_acc_mean", 100),
             f"{100 * min(result['test_acc_min'] for result in results):.2f}",
             f"{mean(results, 'test_acc_averaged_model', 100):.2f}"]
    for key in ("communities", "communities_agreed"):
        cells.append(" ".join(str(result.get(key, "-")) for result in results))
    rand = [result["rand_index"] for result in results if result.get("rand_index") is not None]
    cells.append(f"{statistics.fmean(rand):.3f}" if rand else "-")
    histories = [history_of(folder) for folder in folders]
    if all(histories):
        cells += [f"{max(h[0] for h in histories):.1f}", f"{max(h[1] for h in histories):.1f}",
                  str(sum(h[2] for h in histories))]
    else:
        cells += ["-"] * 3
    return cells + [f"{mean(results, 'wire_bytes', 1e-6):.0f}"]


def main():
    options = reference_pool.flags(__doc__, TABLES)
    reference_pool.print_tables(options, TABLES, HEAD, cells_of)


if __name__ == "__main__":
    main()

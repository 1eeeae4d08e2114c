#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hearsay report: what it writes where, what it refuses, and what it makes of damaged and unfinished runs."""

import html.parser
import json
import re

import harness

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Strict(html.parser.HTMLParser):
    """Every element is closed, in order; collects what elements name as their source."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.wrong, self.ids = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.note(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.note(tag, attributes)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")

    def note(self, tag, attributes):
        names = [name for name, _ in attributes]
        if len(names) != len(set(names)):
            self.wrong.append(f"<{tag}> names an attribute twice at {self.getpos()}")
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values[name] for name in ("src", "href", "action", "data") if name in values]


class ReportTest(harness.CliTest):
    def simulate(self, run, *args):
        self.sim("--peers", "4", "--epochs", "3", "--quiet", "--run", run, *args)

    def report(self, *args, code=0):
        out = self.hearsay("report", *args)
        self.assertEqual(out.returncode, code, out.stdout + out.stderr)
        return out

    def page(self, path):
        text = (self.folder / path).read_text()
        parser = Strict()
        parser.feed(text)
        parser.close()
        self.assertEqual((parser.wrong, parser.open), ([], []))
        self.assertEqual(len(parser.ids), len(set(parser.ids)))
        outside = [link for link in parser.links if not link.startswith("#")]
        self.assertEqual(outside, [])
        for link in parser.links:
            self.assertIn(link[1:], parser.ids)
        self.assertNotIn("://", re.sub(r"<code>.*?</code>", "", text))
        return text

    def test_a_page_and_a_summary_stand_in_the_run(self):
        self.simulate("runs/one", "--chaos", "kill=p02@50%")
        before = {path.name for path in (self.folder / "runs/one").iterdir()}
        lines = self.report("runs/one").stdout.decode().splitlines()
        self.assertEqual(lines[0], "runs/one/report.html")
        self.assertIn("mean test accuracy", lines[1])
        self.assertEqual(len(lines), 2)
        self.assertEqual({path.name for path in (self.folder / "runs/one").iterdir()} - before,
                         {"report.html", "summary.json"})
        text = self.page("runs/one/report.html")
        self.assertIn("Peer p02 died", text)
        self.assertIn("hearsay sim --preset digits", text)
        summary = json.loads((self.folder / "runs/one/summary.json").read_text())
        self.assertEqual(summary["runs"][0]["dead"], ["p02"])
        drawn = {figure["id"] for figure in summary["figures"] if figure["drawn"]}
        self.assertEqual(drawn, {"timeline", "graph", "curves", "mixing", "ancestry", "traffic"})
        result = self.result_of("runs/one")
        self.assertEqual(summary["groups"][0]["test_acc_mean"]["mean"], result["test_acc_mean"])
        self.assertIn(f"{100 * result['test_acc_mean']:.2f}\u00a0%", text)

    def test_the_same_run_makes_the_same_page(self):
        self.simulate("runs/one")
        self.report()  # runs/latest
        first = (self.folder / "runs/one/report.html").read_bytes()
        self.report()
        self.assertEqual((self.folder / "runs/one/report.html").read_bytes(), first)

    def test_a_named_file_is_all_that_is_written(self):
        self.simulate("runs/one")
        before = harness.tree(self.folder / "runs")
        summary = json.loads(self.report("runs/one", "-o", "page.html", "--json").stdout)
        self.assertEqual(summary["page"], "page.html")
        self.assertEqual(harness.tree(self.folder / "runs"), before)
        self.assertIn("-o page.html", self.page("page.html"))
        self.report("runs/one", "-opage.html")  # a page may be replaced

    def test_what_is_no_page_is_not_overwritten(self):
        self.simulate("runs/one")
        log = (self.folder / "runs/one/events.jsonl").read_bytes()
        self.refused(("report", "runs/one", "-o", "runs/one/events.jsonl"), "no page")
        self.assertEqual((self.folder / "runs/one/events.jsonl").read_bytes(), log)
        self.refused(("report", "runs/one", "-o", "runs"), "is a folder")
        self.refused(("report", "runs/one", "-o", "nowhere/page.html"), "no folder")
        self.refused(("report", "runs/one", "runs/one"), "twice")
        self.refused(("report", "runs/two"), "runs/two")
        self.refused(("report", "runs"), "no event log")
        self.refused(("report", "runs/one", "--output", "x"), "--out")

    def test_runs_are_compared_over_seeds(self):
        for seed in ("0", "1"):
            self.simulate("runs/push" + seed, "--protocol", "push", "--seed", seed)
        self.simulate("runs/ddp", "--protocol", "ddp")
        self.simulate("runs/local", "--protocol", "local")
        out = self.report("runs/push0", "runs/push1", "runs/ddp", "runs/local", "--json")
        summary = json.loads(out.stdout)
        self.assertEqual([group["runs"] for group in summary["groups"]], [2, 1, 1])
        self.assertEqual(summary["differing"], ["protocol"])
        a, b = (self.result_of("runs/push" + seed)["test_acc_mean"] for seed in "01")
        push = summary["groups"][0]["test_acc_mean"]
        self.assertAlmostEqual(push["mean"], (a + b) / 2)
        self.assertAlmostEqual(push["half_width_95"], 12.7062047 * abs(a - b) / 2, places=6)
        text = self.page("report.html")
        self.assertIn("mean c1 baseline", text)
        self.assertIn("protocol ddp", text)

    def test_measured_merges_are_drawn(self):
        self.simulate("runs/one", "--merge", "ema:0.5+gate", "--merge-every", "0.25")
        summary = json.loads(self.report("runs/one", "--json").stdout)
        benefit = next(figure for figure in summary["figures"] if figure["id"] == "benefit")
        self.assertTrue(benefit["drawn"], benefit)
        self.assertIn('class="point"', self.page("runs/one/report.html"))

    def test_damage_is_named_and_the_rest_is_shown(self):
        self.simulate("runs/one")
        log = self.folder / "runs/one/events.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)
        log.write_bytes(b"".join(lines[:9]) + b"\xff\xfe\n" + b"".join(lines[9:-3]) + lines[-3][:20])
        (self.folder / "runs/one/result.json").write_text("{")
        (self.folder / "runs/one/run.json").unlink()
        out = self.report("runs/one")
        text = self.page("runs/one/report.html")
        for part in ("What is missing", "could not be read", "result.json is damaged",
                     "There is no run.json"):
            self.assertIn(part, text)
        self.assertIn(b"could not be read", out.stderr)
        for size in range(0, len(lines[0]) + len(lines[1]), 37):
            log.write_bytes(b"".join(lines)[:size])
            self.assertIn(self.hearsay("report", "runs/one").returncode, (0, 2, 4))
        log.write_bytes(b"\x00" * 500)
        self.refused(("report", "runs/one", "-o", "x.html"), "events.jsonl", code=4)

    def test_hostile_names_stay_text(self):
        self.simulate("runs/one")
        for name in ("events.jsonl", "result.json"):
            path = self.folder / "runs/one" / name
            path.write_text(path.read_text().replace('"p01"', '"</script><script>alert(1)</script>"'))
        self.report("runs/one")
        text = self.page("runs/one/report.html")
        self.assertNotIn("<script>alert", text)
        self.assertIn("&lt;script&gt;alert", text)

    def test_help_fits_a_screen(self):
        out = self.report("--help").stdout.decode()
        self.assertIn("-o", out)
        self.assertLess(len(out.splitlines()), 25)


if __name__ == "__main__":
    harness.main()

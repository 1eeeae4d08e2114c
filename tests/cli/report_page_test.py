#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of hearsay report in a browser: figures, requests, keys, slider, tabs, both themes."""

import unittest

import browser
import harness

FIGURES = {"timeline": ".act-train", "graph": ".node .dot", "curves": ".mean", "mixing": ".dot-line",
           "ancestry": ".heat", "traffic": ".bytes-sent"}
MARKS = ("[...document.querySelectorAll('#{} svg.drawing {}')]"
         ".filter(m => m.getBBox().width + m.getBBox().height > 0)")


@unittest.skipUnless(browser.find(), "no chromium here")
class ReportPageTest(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.browser = browser.Browser()
        self.addCleanup(self.browser.close)

    def make(self, peers, *args):
        self.sim("--peers", peers, "--epochs", "3", "--quiet", "--run", "run", *args, timeout=100)
        out = self.hearsay("report", "run")
        self.assertEqual(out.returncode, 0, out.stderr)
        return self.folder / "run/report.html"

    def evaluate(self, expression):
        return self.browser.evaluate(expression)

    def check_quiet(self):
        self.assertEqual((self.browser.console, self.browser.errors), ([], []))
        self.assertEqual([url for url in self.browser.requests if not url.startswith("file:")], [])
        self.assertEqual(len(self.browser.requests), 1)

    def check_figures(self, peers):
        for figure, mark in FIGURES.items():
            drawn = self.evaluate(MARKS.format(figure, mark) + ".length")
            self.assertGreater(drawn, 0, figure)
        self.assertEqual(self.evaluate("document.querySelectorAll('#timeline .lane').length"), peers)
        self.assertEqual(self.evaluate("document.querySelectorAll('#graph .node').length"), peers)
        # No sideways scrolling of the page itself, and no label outside of its drawing.
        self.assertTrue(self.evaluate("document.documentElement.scrollWidth <= innerWidth"))
        outside = self.evaluate("""[...document.querySelectorAll('svg.drawing text')].filter(t => {
            const box = t.getBBox(), view = t.ownerSVGElement.viewBox.baseVal;
            return box.width > 0 && (box.x < -1 || box.y < -1 || box.x + box.width > view.width + 1 ||
                                     box.y + box.height > view.height + 1);
        }).map(t => t.textContent)""")
        self.assertEqual(outside, [])

    def check_labels_apart(self, figure):
        """No two texts of a drawing lie on each other."""
        pairs = self.evaluate("""(() => {
            const boxes = [...document.querySelectorAll('#%s svg.drawing text')]
                .map(t => [t.textContent, t.getBBox()]).filter(([, b]) => b.width > 0);
            const found = [];
            for (let i = 0; i < boxes.length; ++i)
                for (let j = 0; j < i; ++j) {
                    const [a, b] = [boxes[i][1], boxes[j][1]];
                    const x = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
                    const y = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
                    if (x > 1 && y > 5) found.push(boxes[i][0] + ' / ' + boxes[j][0]);
                }
            return found;
        })()""" % figure)
        self.assertEqual(pairs, [], figure)

    def test_two_peers_wide_and_narrow_light_and_dark(self):
        page = self.make("2")
        for width, dark in ((1100, False), (400, True)):
            self.browser.open(page, width=width, dark=dark)
            self.check_figures(2)
            self.check_quiet()
            color = self.evaluate("getComputedStyle(document.body).backgroundColor")
            self.assertEqual(color, "rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)")
        for figure in FIGURES:
            self.check_labels_apart(figure)

    def test_sixty_four_peers(self):
        page = self.make("64", "--chaos", "kill=5@40%")
        self.assertLess(page.stat().st_size, 5_000_000)
        times = []
        for _ in range(3):
            self.browser.open(page)
            times.append(self.evaluate("performance.getEntriesByType('navigation')[0].duration"))
        print(f"opens in {min(times):.0f} ms", end=" ", flush=True)
        self.assertLess(min(times), 2000)
        self.browser.open(page)
        self.check_figures(64)
        for figure in FIGURES:
            self.check_labels_apart(figure)
        dead = self.evaluate("document.querySelectorAll('#graph .node .dot.dead').length")
        self.assertEqual(dead, 5)
        self.check_quiet()

    def test_who_is_alike_and_which_examples_travelled(self):
        page = self.make("8", "--data", "synthetic:digits", "--split", "iid+rotate:groups=2,by=5",
                         "--merge-every", "0.2", "--cluster", "agglo:average,every=1",
                         "--share", "sketch:1024+hard:8,by=random", "--log-examples")
        out = self.hearsay("report", "run", "--thumbnails")
        self.assertEqual(out.returncode, 0, out.stderr)
        marks = {"similarity": ".lv7", "communities": "rect[data-m]", "examples": "image"}
        for width, dark in ((1100, False), (400, True)):
            self.browser.open(page, width=width, dark=dark)
            self.assertEqual((self.browser.console, self.browser.errors), ([], []))
            foreign = [u for u in self.browser.requests if not u.startswith(("file:", "data:image/png"))]
            self.assertEqual(foreign, [])
            for figure, mark in marks.items():
                self.assertGreater(self.evaluate(MARKS.format(figure, mark) + ".length"), 0, figure)
                self.check_labels_apart(figure)
            self.assertTrue(self.evaluate("document.documentElement.scrollWidth <= innerWidth"))
        shown = "[...document.querySelectorAll('#examples image')].map(i => i.getBBox().width > 0)"
        self.assertEqual(set(self.evaluate(shown)), {True})
        self.assertEqual(self.hearsay("report", "run").returncode, 0)  # pictures go when not asked for
        self.assertNotIn("data:image", page.read_text())

    def test_the_theme_button_goes_round(self):
        self.browser.open(self.make("2"))
        colors = []
        for _ in range(4):
            colors.append(self.evaluate("getComputedStyle(document.body).backgroundColor"))
            self.evaluate("document.getElementById('theme').click()")
        self.assertEqual(colors[0], colors[1])
        self.assertNotEqual(colors[1], colors[2])
        self.assertEqual(colors[0], colors[3])

    def test_the_slider_moves_the_graph(self):
        self.browser.open(self.make("4", "--chaos", "kill=p01@50%"))
        shown = "[...document.querySelectorAll('#graph .edges .edge:not(.off)')].length"
        dead = "document.querySelectorAll('#graph .node .dot.dead').length"
        at_end, dead_at_end = self.evaluate(shown), self.evaluate(dead)
        self.assertGreater(at_end, 0)
        self.assertEqual(dead_at_end, 1)
        self.evaluate("document.querySelector('#graph input').focus()")
        self.browser.press("Home")
        self.assertLess(self.evaluate(shown), at_end)
        self.assertEqual(self.evaluate(dead), 0)
        time = "document.querySelector('#graph [data-now=time]').textContent"
        first = self.evaluate(time)
        for _ in range(150):
            self.browser.press("ArrowRight")
        self.assertNotEqual(self.evaluate(time), first)
        self.browser.press("End")
        self.assertEqual((self.evaluate(shown), self.evaluate(dead)), (at_end, 1))
        self.evaluate("document.querySelector('#graph .player button').focus()")
        self.browser.press("Enter")
        says = "document.querySelector('#graph .player button').textContent"
        self.assertEqual(self.evaluate(says), "Pause")
        self.browser.press("Enter")
        self.assertEqual(self.evaluate(says), "Play")
        self.check_quiet()

    def test_everything_can_be_reached_by_keyboard(self):
        self.browser.open(self.make("4"))
        reached = set()
        for _ in range(80):
            self.browser.press("Tab")
            reached.add(self.evaluate("""(() => { const e = document.activeElement;
                return e.getAttribute('role') === 'tab' ? 'tab' : e.matches('.lane') ? 'lane' :
                       e.matches('.node') ? 'node' : e.tagName.toLowerCase(); })()"""))
        self.assertGreaterEqual(reached, {"a", "button", "lane", "node", "input", "tab", "summary", "svg"})
        self.evaluate("document.querySelector('#timeline .lane').focus()")
        self.browser.press("ArrowRight")
        self.assertFalse(self.evaluate("document.getElementById('tip').hidden"))
        first = self.evaluate("document.getElementById('tip').textContent")
        self.assertIn('"ev":', first)  # the log line
        self.browser.press("ArrowRight")
        self.assertNotEqual(self.evaluate("document.getElementById('tip').textContent"), first)
        self.browser.press("ArrowDown")
        self.assertEqual(self.evaluate("document.activeElement.dataset.p"), "1")
        self.browser.press("Escape")
        self.assertTrue(self.evaluate("document.getElementById('tip').hidden"))
        visible = "[...document.querySelectorAll('#curves .panel')].map(p => !p.hidden)"
        self.evaluate("document.querySelector('#curves [role=tab]').focus()")
        self.assertEqual(self.evaluate(visible), [True, False, False])
        self.browser.press("ArrowRight")
        self.assertEqual(self.evaluate(visible), [False, True, False])
        self.browser.press("End")
        self.assertEqual(self.evaluate(visible), [False, False, True])
        self.check_quiet()

    def test_pictures_need_no_script_and_nothing_foreign_runs(self):
        page = self.make("2")
        self.browser.open(page, scripts=False)
        self.check_figures(2)
        self.assertEqual(self.evaluate("[...document.querySelectorAll('#curves .panel')].length"), 3)
        page.write_text(page.read_text().replace("</h1>", "</h1><script>document.title = 'foreign'</script>"))
        self.browser.open(page)
        self.assertNotEqual(self.evaluate("document.title"), "foreign")
        self.assertTrue(any("Content Security Policy" in text for text in self.browser.errors))


if __name__ == "__main__":
    harness.main()

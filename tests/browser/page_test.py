#!/usr/bin/env python3
"""The report's page as somebody uses it, in Chromium without a window: leaderboard, task, attempt by mouse and by keys, light and dark,
narrow and printed, with ten thousand made attempts and with runs that were really judged (judged_pages.py). Nothing may be asked of the
network, complained of on the console, or read as markup.
usage: page_test.py --program BUILD/ptxlab --maker BUILD/report_test --shots FOLDER. Ends with 77 where there is no Chromium.
"""

import argparse
import json
import os
import subprocess
import sys
import unittest
import urllib.parse
from pathlib import Path

import browser as chromium
from figures import Figures  # noqa: F401, tests that unittest finds here
from judged_pages import Benched, Judged  # noqa: F401
from shown import CONTRAST, OPTIONS, ROOT, Shown

VIEWS = {
    "overview": "#/",
    "tasks": "#/tasks",
    "task": "#/task/norm%2Frmsnorm_bf16",
    "attempts": "#/attempts",
    "attempt": "#/attempt/3",
    "about": "#/about",
}

# Frames while the list is scrolled from end to end, in milliseconds, and how many rows exist meanwhile.
SCROLL = """(async () => {
  const box = document.querySelector(".vscroll");
  const frame = () => new Promise(requestAnimationFrame);
  const times = [];
  let most = 0, blank = 0;
  await frame();
  let before = performance.now();
  for (let step = 0; step < 150; ++step) {
    box.scrollTop = step < 75 ? step * 130 : (step - 75) * box.scrollHeight / 75;
    await frame();
    const now = performance.now();
    times.push(now - before);
    before = now;
    most = Math.max(most, box.querySelectorAll(".vrow").length);
    if (step % 10 === 9) {
      await frame();
      const sight = box.getBoundingClientRect();
      const inside = document.elementFromPoint(sight.left + 200, sight.top + sight.height / 2);
      blank += !inside || !inside.closest(".vrow");
      before = performance.now();
    }
  }
  times.sort((a, b) => a - b);
  return { median: times[75], p95: times[142], worst: times[149], rows: most, blank };
})()"""


class TenThousand(Shown):
    @classmethod
    def make(cls, folder):
        file = folder / "report.html"
        subprocess.run(
            [str(OPTIONS.maker), "--gtest_filter=*TenThousandAttempts", "--gtest_brief=1"],
            check=True,
            capture_output=True,
            timeout=300,
            cwd=ROOT,
            env={**os.environ, "PTXLAB_MADE_PAGE": str(file), "GTEST_OUTPUT": ""},
        )
        return file

    def test_it_is_there_at_once(self):
        paint = self.page.js("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        ready = self.page.js("performance.getEntriesByName('ready')[0].startTime")
        print(
            f"page of {self.file.stat().st_size / 1e6:.1f} MB: first paint after {paint:.0f} ms, all shown after {ready:.0f} ms"
        )
        self.assertLess(paint, 4000)
        self.assertLess(ready, 8000)
        self.assertEqual(self.page.js("page.run.count"), 10000)

    def test_from_leaderboard_to_task_to_attempt_by_mouse(self):
        self.page.go("#/")
        self.assertIn("A made run <b>of many</b>", self.heading())
        arm = self.page.js(
            "document.querySelector('table[aria-label=Leaderboard] tbody th').innerText.split('\\n')[0].trim()"
        )
        self.page.click("table[aria-label=Leaderboard] tbody tr td:nth-child(3)")
        self.assertEqual(self.heading(), "Tasks of " + arm)
        task = self.page.js("document.querySelector('table[aria-label=Tasks] tbody tr:nth-child(4) a').textContent")
        self.page.click("table[aria-label=Tasks] tbody tr:nth-child(4) a")
        self.assertEqual(self.heading(), task)
        self.page.click(".matrix .sample a")
        self.assertRegex(self.page.js("location.hash"), r"^#/attempt/\d+$")
        for words in ("check", "assemble", "emulate", "execute", "time", "PTX", "Cases", "ptxlab repro"):
            self.assertIn(words, self.text())
        self.page.click("#trail a", 2)
        self.assertEqual(self.heading(), task)
        self.page.js("history.back()")
        self.page.wait("location.hash.startsWith('#/attempt/')")

    def test_by_keys_alone(self):
        self.page.go("#/")
        self.page.press("3")
        self.assertEqual(self.heading(), "Attempts")
        self.page.press("j")
        for key in ("ArrowDown", "ArrowDown", "PageDown", "ArrowUp"):
            self.page.press(key)
        row = self.page.js("document.querySelector('.vrow.current a').textContent")
        self.assertEqual(
            self.page.js(
                "document.getElementById(document.querySelector('.vscroll').getAttribute('aria-activedescendant')).querySelector('a').textContent"
            ),
            row,
        )
        self.page.press("End")
        self.assertEqual(self.page.js("document.querySelector('.vrow.current').getAttribute('aria-rowindex')"), "10001")
        self.page.press("Home")
        self.page.press("Enter")
        first = self.page.js("location.hash")
        self.page.press("]")
        self.assertNotEqual(self.page.js("location.hash"), first)
        self.page.press("[")
        self.assertEqual(self.page.js("location.hash"), first)
        self.page.press("u")
        self.assertRegex(self.page.js("location.hash"), "^#/task/")
        self.page.press("u")
        self.page.press("u")
        self.assertEqual(self.page.js("location.hash"), "#/")
        self.page.press("?")
        self.assertTrue(self.page.js("document.getElementById('keys').open"))
        self.shot("keys")
        self.page.press("Escape")
        self.assertFalse(self.page.js("document.getElementById('keys').open"))
        self.page.press("/")
        self.page.wait("document.activeElement.matches('input[type=search]')")

    def test_leaderboard_rows_are_walked_and_sorted(self):
        self.page.go("#/")
        self.page.js("document.querySelector('table[aria-label=Leaderboard] tbody a').focus()")
        self.page.press("ArrowDown")
        self.assertEqual(
            self.page.js(
                "[...document.querySelectorAll('table[aria-label=Leaderboard] tbody tr')].indexOf(document.activeElement.closest('tr'))"
            ),
            1,
        )
        self.page.press("Enter")
        self.assertIn("Tasks of", self.heading())
        self.page.go("#/")
        self.page.click("table[aria-label=Leaderboard] thead button", 0)
        names = self.page.js(
            "[...document.querySelectorAll('table[aria-label=Leaderboard] tbody th a .arm')].map((one) => one.textContent)"
        )
        self.assertEqual(names, sorted(names))
        self.assertEqual(
            self.page.js("document.querySelector('table[aria-label=Leaderboard] th').getAttribute('aria-sort')"),
            "ascending",
        )

    def test_the_tree_of_failures_opens_by_arrows_and_leads_to_attempts(self):
        self.page.go("#/")
        self.page.js("document.querySelector('[role=tree] [role=treeitem]').focus()")
        for key in ("ArrowDown", "ArrowRight", "ArrowDown", "Enter"):
            self.page.press(key)
        self.assertRegex(self.page.js("location.hash"), "^#/attempts\\?failure=")
        shown = self.page.js("page.run.listed.rows.length")
        self.assertTrue(0 < shown < 10000)
        self.assertIn(f"{shown:,} of 10,000", self.text())

    def test_a_speed_up_says_which_baseline_it_is_against(self):
        self.page.go("#/tasks")
        self.assertRegex(self.text(), r"against triton\.ptx; [0-9.]+× over the first")
        row = self.page.js("page.run.rows.over_first.findIndex((first, row) => first && page.run.rows.id[row])")
        self.page.go("#/attempt/" + self.page.js(f"page.run.key({row})"))
        self.assertRegex(self.text(), r"against triton\.ptx; [0-9.]+× over the first")
        self.assertIn("as fast as baseline.ptx, the task's first baseline", self.text())

    def test_search_filters_and_sorting(self):
        self.page.go("#/attempts")
        self.page.js(
            "(() => { const box = document.querySelector('input[type=search]'); box.value = 'rmsnorm race'; box.dispatchEvent(new Event('input')); })()"
        )
        rows = self.page.js(
            "page.run.listed.rows.map((row) => page.run.tasks[page.run.rows.task[row]].name + page.run.text('reason', row) + page.run.text('code', row) + page.run.text('idea', row))"
        )
        self.assertTrue(all("rmsnorm" in row for row in rows))
        # A name with a character that cannot be seen, and with markup: chosen as any other.
        strange = "small \u200b<i>"
        self.page.go("#/attempts")
        self.page.js(
            f"(() => {{ const box = document.querySelector('select[name=arm]'); box.value = {json.dumps(strange)}; box.dispatchEvent(new Event('change')); }})()"
        )
        arms = self.page.js("[...new Set(page.run.listed.rows.map((row) => page.run.arms[page.run.rows.arm[row]].name))]")
        self.assertEqual(arms, [strange])
        self.page.go("#/tasks?arm=" + urllib.parse.quote(strange))
        self.assertIn("Tasks of small ZWSP<i>", self.heading())
        self.page.go("#/attempts?outcome=faster&arm=medium")
        self.page.js("document.querySelectorAll('.vhead button')[6].click()")
        speeds = self.page.js("page.run.listed.rows.map((row) => page.run.rows.measured[row][0])")
        self.assertEqual(speeds, sorted(speeds, reverse=True))
        self.assertTrue(speeds)

    def test_a_list_is_come_back_to_as_it_was_left(self):
        self.page.go("#/attempts?outcome=faster")
        self.page.click(".vhead button", 6)
        self.page.js("document.querySelector('.vscroll').scrollTop = 3400")
        self.page.js("new Promise((done) => setTimeout(done, 100))")
        self.page.click(".vrow:not([hidden]) a", 20)
        opened = self.page.js("location.hash.split('/')[2]")
        self.page.js("history.back()")
        self.page.wait("location.hash.startsWith('#/attempts')")
        self.page.settle()
        self.assertEqual(self.page.js("location.hash"), "#/attempts?outcome=faster&sort=-measured")
        self.assertEqual(self.page.js("document.querySelector('.vrow.current a').textContent"), opened)
        self.assertGreater(self.page.js("document.querySelector('.vscroll').scrollTop"), 3000)
        # Sent to somebody else, the address says the order too.
        order = self.page.js("page.run.listed.rows.slice(0, 9)")
        self.page.go("#/")
        self.page.go("#/attempts?outcome=faster&sort=measured")
        self.page.go("#/attempts?outcome=faster&sort=-measured&x=1")
        self.assertEqual(self.page.js("page.run.listed.rows.slice(0, 9)"), order)

    def test_sorting_and_searching_take_no_time(self):
        self.page.go("#/attempts")
        timed = "((act) => { const from = performance.now(); act(); return performance.now() - from; })"
        worst = {}
        for i, name in enumerate(self.page.js("[...document.querySelectorAll('.vhead button')].map((one) => one.textContent)")):
            worst["sorted by " + name] = self.page.js(f"{timed}(() => document.querySelectorAll('.vhead button')[{i}].click())")
        for words in ("r", "rms", "rmsnorm race", ""):
            worst["searched for " + repr(words)] = self.page.js(
                f"{timed}(() => {{ const box = document.querySelector('input[type=search]'); box.value = {json.dumps(words)}; box.dispatchEvent(new Event('input')); }})"
            )
        slowest = max(worst, key=worst.get)
        print(f"10,000 rows {slowest}: {worst[slowest]:.0f} ms, the slowest")
        self.assertLess(worst[slowest], 1000, "on a machine that does other things too; alone it is 60")
        self.page.js("document.querySelector('.vhead button').focus()")
        self.page.press("Enter")
        self.assertEqual(self.page.js("document.querySelector('.vhead [role=columnheader]').getAttribute('aria-sort')"), "descending", "by keys")

    def test_scrolling_ten_thousand_rows(self):
        self.page.go("#/attempts")
        found = self.page.js(SCROLL)
        print(
            "scrolling 10,000 rows: frames of {median:.1f} ms (median), {p95:.1f} ms (95 %), {worst:.1f} ms (worst); {rows} rows exist at most".format(
                **found
            )
        )
        self.assertLess(found["rows"], 120)
        self.assertEqual(found["blank"], 0, "rows are missing where one stops")
        self.assertLess(found["median"], 200, "on a machine that does other things too; alone it is 17")

    def test_texts_of_strangers_stay_texts(self):
        scripts = self.page.js("document.scripts.length")
        hostile = self.page.js(
            "[...Array(page.run.count).keys()].filter((row) => page.run.rows.id[row] % 17 === 3).slice(0, 40).filter((row) => page.run.arms[page.run.rows.arm[row]].model)[0]"
        )
        self.page.go("#/attempt/" + str(self.page.js(f"page.run.rows.id[{hostile}]")))
        self.assertIn("<img src=x onerror=", self.text())
        self.assertIn("</script><script>document.title='owned'</script>", self.text())
        self.assertIn("{{details}} {{summary}}", self.text())
        self.assertEqual(
            self.page.js(
                "[...document.querySelectorAll('.ctl')].map((one) => one.textContent).filter((one) => one === 'RLO').length > 0"
            ),
            True,
        )
        self.assertEqual(self.page.js("/[\\u202e\\u001b\\u0007\\u200b]/.test(document.body.innerText)"), False)
        for hash_ in ("#/about", "#/", "#/attempts", "#/tasks"):
            self.page.go(hash_)
            self.assertEqual(
                self.page.js(
                    "document.querySelectorAll('main img, main script, main iframe, main style, main link, main [onerror], main [onload]').length"
                ),
                0,
            )
        self.assertEqual(self.page.js("document.scripts.length"), scripts)
        self.assertEqual(
            self.page.js(
                "[...document.querySelectorAll('a')].filter((one) => !one.getAttribute('href').startsWith('#')).length"
            ),
            0,
        )
        self.page.go("#/attempt/%3Cimg src=x onerror=alert(1)%3E")
        self.assertEqual(self.heading(), "Not here")

    def test_difference_is_right(self):
        self.assertTrue(self.page.js("""(() => {
          let state = 12345;
          const random = (n) => { state = (state * 1103515245 + 12345) % 2147483648; return state % n; };
          for (let round = 0; round < 3000; ++round) {
            const a = Array.from({ length: random(14) }, () => random(5)), b = Array.from({ length: random(14) }, () => random(5));
            const [x, y] = [[], []];
            for (const [kind, i, j] of difference(a, b)) { if (kind <= 0) x.push(a[i]); if (kind >= 0) y.push(b[j]); if (kind === 0 && a[i] !== b[j]) return false; }
            if (String(x) !== String(a) || String(y) !== String(b)) return false;
          }
          // Where more lines differ than are looked for at once, those that stand once part the texts.
          for (const most of [0, 1, 3, 2000]) {
            for (let round = 0; round < 200; ++round) {
              const a = Array.from({ length: random(60) }, () => random(round % 2 ? 40 : 400)), b = a.filter(() => random(4)).flatMap((one) => (random(5) ? [one] : [one, random(400)]));
              const steps = difference(a, b, most);
              const [x, y] = [steps.filter(([kind]) => kind <= 0).map(([, i]) => a[i]), steps.filter(([kind]) => kind >= 0).map(([, , j]) => b[j])];
              if (String(x) !== String(a) || String(y) !== String(b) || steps.some(([kind, i, j]) => kind === 0 && a[i] !== b[j])) return false;
            }
          }
          return true;
        })()"""))
        # Twenty thousand lines of which a third are others: told apart at once, and what stayed is found.
        took, kept = self.page.js("""(() => {
          const a = Array.from({ length: 20000 }, (_, i) => i), b = a.map((i) => (i % 3 ? i : 100000 + i));
          const from = performance.now(), steps = difference(a, b);
          return [performance.now() - from, steps.filter(([kind]) => kind === 0).length];
        })()""")
        print(f"the difference of 20,000 lines: {took:.0f} ms")
        self.assertLess(took, 3000)
        self.assertEqual(kept, 13333)

    def test_light_and_dark_are_readable_everywhere(self):
        for scheme in ("light", "dark"):
            self.page.colours(scheme)
            self.page.wait(f"document.documentElement.dataset.theme === '{scheme}'")
            for name, hash_ in VIEWS.items():
                self.page.go(hash_)
                ratio, words = self.page.js(CONTRAST)
                self.assertGreater(ratio, 4.49, f"{scheme}, {name}: {words}")
                self.shot(f"{name}-{scheme}", whole=name in ("overview", "task", "about"))
        self.page.colours("light")
        self.page.click("#theme")
        self.page.click("#theme")
        self.assertEqual(self.page.js("document.documentElement.dataset.theme"), "dark")
        self.page.press("t")
        self.assertEqual(self.page.js("document.documentElement.dataset.theme"), "light")

    def test_narrow_screens_need_no_scrolling_aside(self):
        self.page.size(390, 800)
        for name, hash_ in VIEWS.items():
            self.page.go(hash_)
            self.assertLessEqual(self.page.js("document.documentElement.scrollWidth"), 390, name)
            self.shot(f"{name}-narrow")

    def test_focus_can_be_seen_and_names_are_said(self):
        for hash_ in VIEWS.values():
            self.page.go(hash_)
            nameless = self.page.js(
                """[...document.querySelectorAll('a, button, input, select, [role=grid], [role=region], svg[role=img]')].filter((one) => one.checkVisibility() && !(one.getAttribute('aria-label')
              || one.textContent.trim() || one.title || one.placeholder || one.querySelector('title, svg'))).map((one) => one.outerHTML.slice(0, 120))"""
            )
            self.assertEqual(nameless, [])
        self.page.go("#/")
        for _ in range(6):
            self.page.press("Tab")
            seen = self.page.js(
                "(() => { const style = getComputedStyle(document.activeElement); return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2; })()"
            )
            self.assertTrue(seen, self.page.js("document.activeElement.outerHTML.slice(0, 200)"))

    def test_it_prints(self):
        self.page.go("#/")
        self.assertTrue(self.page.pdf().startswith(b"%PDF"))
        self.page.go("#/task/norm%2Frmsnorm_bf16")
        (OPTIONS.shots / "task.pdf").write_bytes(self.page.pdf())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=lambda word: Path(word).resolve(), required=True)
    parser.add_argument("--maker", type=lambda word: Path(word).resolve(), required=True)
    parser.add_argument("--shots", type=lambda word: Path(word).resolve(), required=True)
    parser.add_argument("tests", nargs="*")
    parser.parse_args(namespace=OPTIONS)
    OPTIONS.chromium = chromium.find()
    if not OPTIONS.chromium:
        print("skipped: no chromium on this machine (tools/setup --browser installs Debian's)")
        sys.exit(77)
    OPTIONS.shots.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *OPTIONS.tests])

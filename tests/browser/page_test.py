#!/usr/bin/env python3
"""The report's page as somebody uses it, in Chromium without a window: leaderboard, task, attempt by mouse and by keys, light and dark, narrow
and printed, with ten thousand made attempts and with a run that was really judged. Nothing may be asked of the network, complained of on the
console, or read as markup.
usage: page_test.py --program BUILD/ptxlab --maker BUILD/report_test --shots FOLDER. Ends with 77 where there is no Chromium."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import browser as chromium

ROOT = Path(__file__).resolve().parent.parent.parent
OPTIONS = None
VIEWS = {"overview": "#/", "tasks": "#/tasks", "task": "#/task/norm%2Frmsnorm_bf16", "attempts": "#/attempts", "attempt": "#/attempt/3", "about": "#/about"}

# The lowest contrast of any text that is shown, with its words: what WCAG asks of small text is 4.5.
CONTRAST = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (text) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1); const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const known = new Map();
  const colour = (text) => { if (!known.has(text)) known.set(text, rgba(text)); return known.get(text); };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
  const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (node) => { const stack = []; for (; node; node = node.parentElement) { const c = colour(getComputedStyle(node).backgroundColor); if (c[3] > 0) stack.push(c); if (c[3] >= 0.999) break; }
    return stack.reverse().reduce((below, c) => over(c, below), [255, 255, 255]); };
  let worst = [99, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = 0; walker.nextNode() && n < 6000; ++n) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, style, noscript, .unseen, dialog, option, .skip") || !parent.checkVisibility()) continue;
    const style = getComputedStyle(parent);
    if (Number(style.opacity) < 1) continue;
    const text = parent.closest("svg") ? style.fill : style.color;
    const back = ground(parent.closest("svg") ? parent.closest("svg").parentElement : parent);
    const [a, b] = [light(over(colour(text), back)), light(back)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, `${node.data.trim().slice(0, 40)} (${parent.className.baseVal ?? parent.className}) ${text} on ${back.map(Math.round)}`];
  }
  return worst;
})()"""

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


def run(*words, cwd, ok=(0,), **environment):
    done = subprocess.run([str(OPTIONS.program), *words], cwd=cwd, capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "PTXLAB_ROOT": str(ROOT), "PTXLAB_GPU": "none", **environment})
    if done.returncode not in ok:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Shown(unittest.TestCase):
    """One browser and one page for all tests of a class; after each the page must have nothing to complain of."""
    address = None

    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.Browser(OPTIONS.chromium)
        cls.page = cls.browser.page(1400, 950)
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = cls.make(Path(cls.folder.name))
        cls.page.colours("light")
        cls.page.open(cls.file.as_uri())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def tearDown(self):
        self.assertEqual(self.page.complaints(), [])
        outside = [url for url in self.page.requests() if url != self.file.as_uri() and not url.startswith("data:") and url != "about:blank"]
        self.assertEqual(outside, [], "the page asked somebody for something")
        self.assertNotIn("owned", self.page.js("document.title"), "a text of the run was run")
        self.page.size(1400, 950)
        self.page.colours("light")

    def heading(self):
        return self.page.js("document.querySelector('main h1').textContent")

    def text(self):
        return self.page.js("document.getElementById('main').innerText")

    def shot(self, name, whole=False):
        self.page.shot(OPTIONS.shots / f"{name}.png", whole)


class TenThousand(Shown):
    @classmethod
    def make(cls, folder):
        file = folder / "report.html"
        subprocess.run([str(OPTIONS.maker), "--gtest_filter=*TenThousandAttempts", "--gtest_brief=1"], check=True, capture_output=True, timeout=300, cwd=ROOT,
                       env={**os.environ, "PTXLAB_MADE_PAGE": str(file), "GTEST_OUTPUT": ""})
        return file

    def test_it_is_there_at_once(self):
        paint = self.page.js("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        ready = self.page.js("performance.getEntriesByName('ready')[0].startTime")
        print(f"page of {self.file.stat().st_size / 1e6:.1f} MB: first paint after {paint:.0f} ms, all shown after {ready:.0f} ms")
        self.assertLess(paint, 4000)
        self.assertLess(ready, 8000)
        self.assertEqual(self.page.js("page.run.count"), 10000)

    def test_from_leaderboard_to_task_to_attempt_by_mouse(self):
        self.page.go("#/")
        self.assertIn("A made run <b>of many</b>", self.heading())
        arm = self.page.js("document.querySelector('table[aria-label=Leaderboard] tbody th').innerText.split('\\n')[0].trim()")
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
        self.assertEqual(self.page.js("document.getElementById(document.querySelector('.vscroll').getAttribute('aria-activedescendant')).querySelector('a').textContent"), row)
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
        self.assertEqual(self.page.js("[...document.querySelectorAll('table[aria-label=Leaderboard] tbody tr')].indexOf(document.activeElement.closest('tr'))"), 1)
        self.page.press("Enter")
        self.assertIn("Tasks of", self.heading())
        self.page.go("#/")
        self.page.click("table[aria-label=Leaderboard] thead button", 0)
        names = self.page.js("[...document.querySelectorAll('table[aria-label=Leaderboard] tbody th a .arm')].map((one) => one.textContent)")
        self.assertEqual(names, sorted(names))
        self.assertEqual(self.page.js("document.querySelector('table[aria-label=Leaderboard] th').getAttribute('aria-sort')"), "ascending")

    def test_the_tree_of_failures_opens_by_arrows_and_leads_to_attempts(self):
        self.page.go("#/")
        self.page.js("document.querySelector('[role=tree] [role=treeitem]').focus()")
        for key in ("ArrowDown", "ArrowRight", "ArrowDown", "Enter"):
            self.page.press(key)
        self.assertRegex(self.page.js("location.hash"), "^#/attempts\\?failure=")
        shown = self.page.js("page.run.listed.rows.length")
        self.assertTrue(0 < shown < 10000)
        self.assertIn(f"{shown:,} of 10,000", self.text())

    def test_search_filters_and_sorting(self):
        self.page.go("#/attempts")
        self.page.js("(() => { const box = document.querySelector('input[type=search]'); box.value = 'rmsnorm race'; box.dispatchEvent(new Event('input')); })()")
        rows = self.page.js("page.run.listed.rows.map((row) => page.run.tasks[page.run.rows.task[row]].name + page.run.text('reason', row) + page.run.text('code', row) + page.run.text('idea', row))")
        self.assertTrue(all("rmsnorm" in row for row in rows))
        self.page.go("#/attempts?outcome=faster&arm=medium")
        self.page.js("document.querySelectorAll('.vhead button')[6].click()")
        speeds = self.page.js("page.run.listed.rows.map((row) => page.run.rows.measured[row][0])")
        self.assertEqual(speeds, sorted(speeds, reverse=True))
        self.assertTrue(speeds)

    def test_scrolling_ten_thousand_rows(self):
        self.page.go("#/attempts")
        found = self.page.js(SCROLL)
        print("scrolling 10,000 rows: frames of {median:.1f} ms (median), {p95:.1f} ms (95 %), {worst:.1f} ms (worst); {rows} rows exist at most".format(**found))
        self.assertLess(found["rows"], 120)
        self.assertEqual(found["blank"], 0, "rows are missing where one stops")
        self.assertLess(found["median"], 60)

    def test_texts_of_strangers_stay_texts(self):
        scripts = self.page.js("document.scripts.length")
        hostile = self.page.js("[...Array(page.run.count).keys()].filter((row) => page.run.rows.id[row] % 17 === 3).slice(0, 40).filter((row) => page.run.arms[page.run.rows.arm[row]].model)[0]")
        self.page.go("#/attempt/" + str(self.page.js(f"page.run.rows.id[{hostile}]")))
        self.assertIn("<img src=x onerror=", self.text())
        self.assertIn("</script><script>document.title='owned'</script>", self.text())
        self.assertIn("{{details}} {{summary}}", self.text())
        self.assertEqual(self.page.js("[...document.querySelectorAll('.ctl')].map((one) => one.textContent).filter((one) => one === 'RLO').length > 0"), True)
        self.assertEqual(self.page.js("/[\\u202e\\u001b\\u0007\\u200b]/.test(document.body.innerText)"), False)
        for hash_ in ("#/about", "#/", "#/attempts", "#/tasks"):
            self.page.go(hash_)
            self.assertEqual(self.page.js("document.querySelectorAll('main img, main script, main iframe, main style, main link, main [onerror], main [onload]').length"), 0)
        self.assertEqual(self.page.js("document.scripts.length"), scripts)
        self.assertEqual(self.page.js("[...document.querySelectorAll('a')].filter((one) => !one.getAttribute('href').startsWith('#')).length"), 0)
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
          return true;
        })()"""))

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
            nameless = self.page.js("""[...document.querySelectorAll('a, button, input, select, [role=grid], [role=region], svg[role=img]')].filter((one) => one.checkVisibility() && !(one.getAttribute('aria-label')
              || one.textContent.trim() || one.title || one.placeholder || one.querySelector('title, svg'))).map((one) => one.outerHTML.slice(0, 120))""")
            self.assertEqual(nameless, [])
        self.page.go("#/")
        for _ in range(6):
            self.page.press("Tab")
            seen = self.page.js("(() => { const style = getComputedStyle(document.activeElement); return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2; })()")
            self.assertTrue(seen, self.page.js("document.activeElement.outerHTML.slice(0, 200)"))

    def test_it_prints(self):
        self.page.go("#/")
        self.assertTrue(self.page.pdf().startswith(b"%PDF"))
        self.page.go("#/task/norm%2Frmsnorm_bf16")
        (OPTIONS.shots / "task.pdf").write_bytes(self.page.pdf())


FAULTY = """.version 7.8
.target sm_80
.address_size 64
.visible .entry {entry}(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{{
\t.reg .f32 %f<4>;
\t.reg .b64 %rd<8>;
\tld.param.u64 %rd1, [c];
\tcvta.to.global.u64 %rd2, %rd1;
\tadd.s64 %rd3, %rd2, 1073741824;
\tmov.f32 %f1, 0f00000000;
\tst.global.f32 [%rd3], %f1;  // </script><b>beyond</b> the end
\tret;
}}
"""


class Judged(Shown):
    """A run of rules and files on a real task, judged in this test."""
    @classmethod
    def make(cls, folder):
        for name in ("vector_add.task.toml", "vector_add.plan.toml"):
            shutil.copy(ROOT / "examples" / name, folder)
        ptx = (ROOT / "tasks/elementwise/vector_add_f32/baseline.ptx").read_text()
        (folder / "vector_add.ptx").write_text(ptx)
        entry = re.search(r"\.entry (\w+)", ptx).group(1)
        (folder / "mine").mkdir()
        (folder / "mine/beyond.ptx").write_text(FAULTY.format(entry=entry))
        (folder / "mine/noise.ptx").write_text("</script> is no PTX \x1b[31m\n")
        run("optimize", "vector_add.ptx", "--archive", "a.db", "--proposer", "rules,files:mine", "--candidates", "6", cwd=folder)
        cls.cwd = folder
        said = run("report", "--archive", "a.db", "--html", "report.html", cwd=folder)
        assert "wrote report.html" in said, said
        return folder / "report.html"

    def attempts(self):
        return json.loads(run("archive", "list", "--archive", "a.db", "--json", cwd=self.cwd))["attempts"]

    def whole(self, name):
        number = next(one["id"] for one in self.attempts() if one["name"] == name)
        return number, json.loads(run("archive", "show", str(number), "--archive", "a.db", "--json", cwd=self.cwd))

    def test_attempts_stand_by_their_speed_and_say_that_it_is_estimated(self):
        self.page.go("#/")
        self.assertEqual(self.heading(), "vector_add")
        rows = self.page.js("document.querySelectorAll('table[aria-label=Attempts] tbody tr').length")
        self.assertEqual(rows, len(self.attempts()))
        self.assertIn("nothing was measured", self.text())
        self.assertEqual(self.page.js("document.querySelectorAll('main .source.measured').length"), 0)
        self.assertGreater(self.page.js("document.querySelectorAll('main .source.estimated').length"), 0)
        self.shot("judged", whole=True)

    def test_a_fault_stands_at_its_line(self):
        number, attempt = self.whole("beyond")
        finding = next(one for gate in attempt["verdict"]["gates"] for one in gate["findings"] if one["severity"] == "error" and one["line"])
        self.page.go(f"#/attempt/{number}")
        places = []
        for _ in attempt["verdict"]["gates"][0]["findings"] + attempt["verdict"]["gates"][2]["findings"]:
            self.page.press("n")
            places.append(self.page.js("document.activeElement.matches('.inplace') && document.activeElement.innerText"))
        place = next(one for one in places if finding["code"] in one)
        self.assertIn(finding["message"][:60], place)
        marked = self.page.js("[...document.querySelectorAll('.cl.marked')].map((one) => one.dataset.line)")
        self.assertIn(str(finding["line"]), marked)
        self.assertIn("</script><b>beyond</b> the end", self.text())
        self.shot("fault")

    def test_what_lines_cost_is_what_the_verdict_says(self):
        name = next(one["name"] for one in self.attempts() if one["proposer"] == "rules")
        number, attempt = self.whole(name)
        profile = {line[0]: line for line in attempt["verdict"]["profile"]["lines"]}
        self.assertTrue(any(line[3] for line in profile.values()))
        self.page.go(f"#/attempt/{number}")
        self.page.press("d")
        shown = self.page.js("""[...document.querySelectorAll('#s-ptx .cl')].map((one) => [Number(one.dataset.line), one.querySelectorAll('.f')[0].title, one.querySelector('.t').textContent])""")
        text = attempt["candidate"]["ptx"].split("\n")
        self.assertEqual([row[2] for row in shown], text[:-1] if not text[-1] else text)
        for line, title, _ in shown:
            if line in profile:
                self.assertEqual(title, f"{profile[line][1]:,} warp instructions")
        self.page.press("d")
        self.page.press("d")
        self.assertGreater(self.page.js("document.querySelectorAll('#s-ptx .cl.add').length"), 0)
        self.shot("difference", whole=True)

    def test_one_attempt_has_a_page_of_its_own(self):
        number, attempt = self.whole("beyond")
        run("report", "--archive", "a.db", "--attempt", str(number), "--html", "one.html", cwd=self.cwd)
        page = self.browser.page(1200, 900)
        self.addCleanup(lambda: self.page.call("Page.bringToFront"))
        self.addCleanup(lambda: page.call("Page.close"))
        page.open((self.cwd / "one.html").as_uri())
        self.assertIn(attempt["verdict"]["reason"][:40], page.js("document.getElementById('main').innerText"))
        self.assertEqual(page.js("[...document.querySelectorAll('#views a')].map((one) => one.textContent)"), ["Attempt", "How it was made"])
        self.assertEqual(page.complaints(), [])


SPEC = """schema = "ptxlab.spec/1"
name = "a small </title> bench"
tasks = ["elementwise/vector_add_f32", "softmax/softmax_f32"]
k = 2
turns = 2
seed = 1
until = "emulate"

[[arm]]
name = "rules"
proposer = "rules"

[[arm]]
name = "pretender"
proposer = "agent:python3 {folder}/pretender.py"
"""


class Benched(Shown):
    """A run of bench: rules and a program that stands for a model, really judged; and the two compared."""
    @classmethod
    def make(cls, folder):
        (folder / "spec.toml").write_text(SPEC.format(folder=Path(__file__).resolve().parent))
        run("bench", "spec.toml", "--archive", "a.db", "--lock", "lock.json", cwd=folder)
        run("report", "--archive", "a.db", "--html", "report.html", cwd=folder)
        cls.cwd = folder
        return folder / "report.html"

    def test_figures_are_those_of_the_json(self):
        figures = json.loads(run("report", "--archive", "a.db", "--json", cwd=self.cwd))
        self.page.go("#/")
        self.assertEqual(self.heading(), "a small </title> bench")
        text = self.text()
        for arm in figures["arms"]:
            self.assertIn(arm["name"], text)
        shown = self.page.js("page.run.metrics.arms.map((arm) => arm.right.map((one) => [one.k, one.value, one.low, one.high]))")
        told = json.dumps(figures)
        for arm in shown:
            for k, value, low, high in arm:
                self.assertLessEqual(low, value + 1e-9)
                self.assertGreaterEqual(high, value - 1e-9)
        self.assertIn("pass_at_k", told)
        self.shot("bench", whole=True)

    def test_the_samples_of_a_task_lead_to_what_was_said(self):
        self.page.go("#/task/softmax%2Fsoftmax_f32?arm=pretender")
        signs = self.page.js("document.querySelectorAll('.matrix .sample a').length")
        self.assertGreaterEqual(signs, 2)
        self.page.click(".matrix .sample a")
        self.assertIn("Answer", self.text())
        self.assertIn("Brief", self.text())
        self.assertIn("900 asked, 400 answered", self.text())
        self.shot("answer")

    def test_two_arms_compared(self):
        run("compare", "last", "last", "--arm", "rules", "--arm", "pretender", "--archive", "a.db", "--html", "compare.html", cwd=self.cwd)
        page = self.browser.page(1400, 950)
        self.addCleanup(lambda: self.page.call("Page.bringToFront"))
        self.addCleanup(lambda: page.call("Page.close"))
        page.colours("light")
        page.open((self.cwd / "compare.html").as_uri())
        self.assertEqual(page.js("document.querySelector('h1').textContent"), "pretender against rules")
        self.assertEqual(page.js("document.querySelectorAll('table[aria-label=Tasks] tbody tr').length"), 2)
        self.assertIn("not resolved", page.js("document.body.innerText"))
        for scheme in ("light", "dark"):
            page.colours(scheme)
            page.wait(f"document.documentElement.dataset.theme === '{scheme}'")
            ratio, words = page.js(CONTRAST)
            self.assertGreater(ratio, 4.49, words)
            page.shot(OPTIONS.shots / f"compare-{scheme}.png", True)
        page.press("1")
        page.press("?")
        self.assertEqual(page.complaints(), [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=lambda word: Path(word).resolve(), required=True)
    parser.add_argument("--maker", type=lambda word: Path(word).resolve(), required=True)
    parser.add_argument("--shots", type=lambda word: Path(word).resolve(), required=True)
    parser.add_argument("tests", nargs="*")
    OPTIONS = parser.parse_args()
    OPTIONS.chromium = chromium.find()
    if not OPTIONS.chromium:
        print("skipped: no chromium on this machine (tools/setup --browser installs Debian's)")
        sys.exit(77)
    OPTIONS.shots.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *OPTIONS.tests])

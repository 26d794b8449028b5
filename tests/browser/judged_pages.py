"""Pages of runs that are really judged: of optimize on files and rules, of bench with a program that stands for a model, of two arms compared."""

import json
import re
import shutil
from pathlib import Path

from reading import Reading
from shown import CONTRAST, OPTIONS, ROOT, Shown, run

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


class Judged(Reading, Shown):
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
        run(
            "optimize",
            "vector_add.ptx",
            "--archive",
            "a.db",
            "--proposer",
            "rules,files:mine",
            "--candidates",
            "6",
            cwd=folder,
        )
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
        finding = next(
            one
            for gate in attempt["verdict"]["gates"]
            for one in gate["findings"]
            if one["severity"] == "error" and one["line"]
        )
        self.page.go(f"#/attempt/{number}")
        places = []
        for _ in attempt["verdict"]["gates"][0]["findings"] + attempt["verdict"]["gates"][2]["findings"]:
            self.page.press("n")
            places.append(
                self.page.js("document.activeElement.matches('.inplace') && document.activeElement.innerText")
            )
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
        shown = self.page.js(
            """[...document.querySelectorAll('#s-ptx .cl')].map((one) => [Number(one.dataset.line), one.querySelectorAll('.f')[0].title, one.querySelector('.t').textContent])"""
        )
        text = attempt["candidate"]["ptx"].split("\n")
        self.assertEqual([row[2] for row in shown], text[:-1] if not text[-1] else text)
        for line, title, _ in shown:
            if line in profile:
                self.assertEqual(title, f"{profile[line][1]:,} warp instructions")
        self.page.press("d")
        self.page.press("d")
        self.assertGreater(self.page.js("document.querySelectorAll('#s-ptx .cl.add').length"), 0)
        self.shot("difference", whole=True)

    def test_a_kernel_of_sixty_thousand_lines(self):
        ptx = (self.cwd / "vector_add.ptx").read_text()
        head, tail = ptx.split("add.f32", 1)
        (self.cwd / "long.ptx").write_text(
            head + "".join(f"add.f32 %f1, %f1, %f2;  // {i}\n" for i in range(60000)) + "add.f32" + tail
        )
        words = ["judge", "long.ptx", "--task", "vector_add.task.toml", "--until", "check", "--html", "long.html"]
        run(*words, cwd=self.cwd)
        page = self.browser.page(1200, 900)
        self.addCleanup(lambda: self.page.call("Page.bringToFront"))
        self.addCleanup(lambda: page.call("Page.close"))
        page.open((self.cwd / "long.html").as_uri())
        ready = page.js("performance.getEntriesByName('ready')[0].startTime")
        print(f"an attempt of 60,000 lines: shown after {ready:.0f} ms")
        self.assertLess(ready, 8000)
        self.assertLess(page.js("document.querySelectorAll('.cl').length"), 2000)
        page.press("d")
        page.js("page.run.keep.code.toLine(20000)")
        page.wait("document.querySelectorAll('[data-line=\"20000\"]').length")
        page.js("document.querySelector('.codebox').scrollTop = 1e9")
        page.wait("document.querySelector('.codebox').innerText.includes('cut here:')")
        self.assertEqual(page.complaints(), [])

    def test_one_attempt_has_a_page_of_its_own(self):
        number, attempt = self.whole("beyond")
        run("report", "--archive", "a.db", "--attempt", str(number), "--html", "one.html", cwd=self.cwd)
        page = self.browser.page(1200, 900)
        self.addCleanup(lambda: self.page.call("Page.bringToFront"))
        self.addCleanup(lambda: page.call("Page.close"))
        page.open((self.cwd / "one.html").as_uri())
        self.assertIn(attempt["verdict"]["reason"][:40], page.js("document.getElementById('main').innerText"))
        self.assertEqual(
            page.js("[...document.querySelectorAll('#views a')].map((one) => one.textContent)"),
            ["Attempt", "How it was made"],
        )
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
        return cls.bench(folder, SPEC)

    def test_figures_are_those_of_the_json(self):
        figures = json.loads(run("report", "--archive", "a.db", "--json", cwd=self.cwd))
        self.page.go("#/")
        self.assertEqual(self.heading(), "a small </title> bench")
        text = self.text()
        for arm in figures["arms"]:
            self.assertIn(arm["name"], text)
        shown = self.page.js(
            "page.run.metrics.arms.map((arm) => arm.right.map((one) => [one.k, one.value, one.low, one.high]))"
        )
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
        run(
            "compare",
            "last",
            "last",
            "--arm",
            "rules",
            "--arm",
            "pretender",
            "--archive",
            "a.db",
            "--html",
            "compare.html",
            cwd=self.cwd,
        )
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

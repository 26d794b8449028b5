"""Whether the page shows the figures of `ptxlab report --json`: each number is read off the page as a person reads it, and must be the JSON's within
half a unit of its last digit. What stands nowhere in the JSON is held against the attempts of the archive."""

import json
import re

from shown import Shown, run

SPEC = """schema = "ptxlab.spec/1"
name = "figures"
tasks = ["elementwise/vector_add_f32", "softmax/softmax_f32"]
k = 3
turns = 2
seed = 3

[[arm]]
name = "rules"
proposer = "rules"

[[arm]]
name = "pretender"
proposer = "agent:python3 {folder}/pretender.py"

[[arm]]
name = "another pretender, with a name that is longer than any column likes to be"
proposer = "agent:python3 {folder}/pretender.py"
"""

SCALES = {"%": 0.01, "k": 1e3, "M": 1e6, "G": 1e9, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "B": 1, "kB": 1e3, "MB": 1e6}


def numbers(text, unit=""):
    """Each number of a text, with half a unit of its last digit. A unit counts for all numbers before it that have none: "17 to 75 %"."""
    found = re.findall(r"([<>]?)\s?([+−±]?)\$?(\d[\d,]*(?:\.\d+)?(?:e[−-]?\d+)?|∞)\s?(%|×|µs|ns|ms|min|kB|MB|[sBkMGh])?(?![\w@])", text)
    values, scale = [], SCALES.get(unit, 1)
    for bound, sign, digits, own in reversed(found):
        scale = SCALES.get(own, 1) if own else scale
        if digits == "∞":
            values.append((None, 0))
            continue
        plain = digits.replace(",", "").replace("−", "-")
        mantissa, _, power = plain.partition("e")
        step = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
        value = float(plain) * scale * (-1 if sign == "−" else 1)
        values.append((value, step * scale * (1 if bound else 0.5)))
    return values[::-1]


# The texts of a table's rows, its first cell being their name; what stands small apart.
TABLE = """(label) => [...document.querySelectorAll('main table')].find((one) => one.getAttribute('aria-label') === label)"""
ROWS = f"""(label) => [...({TABLE})(label).tBodies[0].rows].map((row) => [...row.cells].map((cell) => {{
  const whole = cell.cloneNode(true);
  const small = [...whole.querySelectorAll('small')].map((one) => (one.remove(), one.textContent));
  return [whole.textContent.trim(), ...small];
}}))"""


class Figures(Shown):
    """A run of bench with rules and two programs that stand for models: every table of every view, number for number."""

    @classmethod
    def make(cls, folder):
        page = cls.bench(folder, SPEC)
        cls.told = json.loads(run("report", "--archive", "a.db", "--json", cwd=folder))
        cls.arms = {arm["name"]: arm for arm in cls.told["arms"]}
        return page

    def setUp(self):
        self.page.go("#/")

    def rows(self, label):
        return self.page.js(f"({ROWS})({json.dumps(label)})")

    def assertShown(self, text, *wanted, unit=""):
        shown = numbers(text, unit)
        self.assertEqual(len(shown), len(wanted), f"{text!r}: {wanted}")
        for (value, within), want in zip(shown, wanted):
            if want is None:
                self.assertIsNone(value, f"{text!r}: an end that is infinite")
                continue
            self.assertIsNotNone(value, text)
            self.assertLessEqual(abs(value - want), within * 1.0001 + 1e-12, f"{text!r}: {want}")

    def assertFigure(self, cell, figure, unit=""):
        if figure is None:
            self.assertEqual(cell[0], "–")
            return
        self.assertShown(cell[0], figure["value"], unit=unit)
        # Of one task whose list is the same every time there is none.
        if cell[1].startswith("no draws"):
            self.assertEqual(*figure["interval"])
            self.assertEqual(figure["tasks"], 1)
            return
        self.assertShown(cell[1].split(" · ")[0], *figure["interval"], unit=unit)

    def by_name(self, label):
        found = {row[0][0]: row[1:] for row in self.rows(label)}
        self.assertEqual(set(found), set(self.arms), label)
        return found

    def test_the_leaderboard(self):
        k = self.told["k"]
        for name, cells in self.by_name("Leaderboard").items():
            arm = self.arms[name]
            first, last = (next(one for one in arm["pass_at_k"] if one["k"] == n) for n in (1, k))
            speed = arm["speed"].get("estimated")
            self.assertFigure(cells[0], first["right"])
            self.assertFigure(cells[1], last["right"])
            self.assertFigure(cells[2], first["assembled"])
            self.assertEqual(len(cells), 6, "nothing was measured, so that no column says so")
            if speed:
                fast = next(one for one in speed["fast_p_at_k"] if (one["p"], one["k"]) == (1, k))
                self.assertFigure(cells[3], fast["figure"])
                self.assertFigure(cells[4], next(one for one in speed["best_of_k"] if one["k"] == k)["figure"])
            if arm["cost"]["requests"]:
                self.assertFigure(cells[5], arm["cost"]["dollars_a_success"])
                tokens = arm["cost"]["tokens_a_success"]
                self.assertShown(cells[5][2].split(" tokens")[0], tokens["value"] if tokens else None)
            else:
                self.assertEqual(cells[5][0], "no model")
        ns = self.page.js("[...document.querySelectorAll('table[aria-label=Leaderboard] tbody th > a > small')].map((one) => one.textContent)")
        self.assertEqual(len(ns), 3)
        for words in ns:
            self.assertIn("2 tasks × 3", words)

    def test_right_by_samples_and_turns(self):
        for label, listed, at, of in (
            ("pass@k by k", "pass_at_k", "k", "samples"),
            ("Share right by turn", "right_by_turn", "turn", "turns"),
        ):
            rows = self.rows(label)
            self.assertEqual(len(rows), sum(len(arm[listed]) for arm in self.arms.values()), of)
            for name, number, value, interval, tasks, samples in rows:
                figure = next(one for one in self.arms[name[0]][listed] if str(one[at]) == number[0])["right"]
                self.assertFigure([value[0], interval[0]], figure)
                self.assertShown(tasks[0], figure["tasks"])
                self.assertShown(samples[0], figure["samples"])

    def test_speeds(self):
        k = self.told["k"]
        label = "Share of tasks known to be more than p times as fast, estimated"
        heads = self.page.js(f"[...({TABLE})({json.dumps(label)}).tHead.rows[0].cells].map((one) => one.textContent)")
        for row in self.rows(label):
            listed = [one for one in self.arms[row[0][0]]["speed"]["estimated"]["fast_p_at_k"] if one["k"] == k]
            self.assertEqual(heads[1:-1], [f"p = {one['p']:g}" if one["p"] else "right" for one in listed])
            for cell, one in zip(row[1:-1], listed):
                self.assertFigure(cell, one["figure"])
            self.assertShown(row[-1][0], listed[0]["figure"]["tasks"])
        # The curve beside it says the same: what is left of it at each p.
        curves = self.page.js("page.run.metrics.arms.map((arm) => arm.speed.map((speed) => speed.best.map((one) => one.known)))")
        for arm, (best,) in zip(self.told["arms"], curves):
            for one in arm["speed"]["estimated"]["fast_p_at_k"]:
                if one["k"] == k and one["p"] >= 1:
                    self.assertAlmostEqual(one["figure"]["value"], sum(known > one["p"] for known in best) / len(best))
        for row in self.rows("Best speed-ups, estimated"):
            best = sorted(one["value"] for one in self.arms[row[0][0]]["speed"]["estimated"]["best_by_task"].values() if one)
            self.assertShown(row[1][0].split(" ")[0], len(best))
            self.assertShown(row[2][0], best[0])
            self.assertShown(row[6][0], best[-1])

    def test_parts_of_the_task_set(self):
        keys = self.page.js("[...document.querySelectorAll('[aria-label=\"Group by\"] button')].map((one) => one.textContent)")
        self.assertIn("family", keys)
        names = [arm["name"] for arm in self.told["arms"]]
        for i, key in enumerate(keys):
            self.page.click('[aria-label="Group by"] button', i)
            rows = self.rows("Right by " + key)
            values = {group["value"] for arm in self.arms.values() for group in arm["groups"] if group["by"] == key}
            self.assertEqual({row[0][0] for row in rows}, values)
            for row in rows:
                for name, cell in zip(names, row[1:]):
                    group = next(one for one in self.arms[name]["groups"] if (one["by"], one["value"]) == (key, row[0][0]))
                    self.assertFigure(cell, group["right"])
                    self.assertShown(cell[1].split("n ")[1], group["right"]["samples"])

    def test_cost_and_claims(self):
        for name, cells in self.by_name("Cost").items():
            cost = self.arms[name]["cost"]
            self.assertShown(cells[0][0], cost["requests"])
            self.assertShown(cells[1][0].replace("≈", ""), cost["tokens_asked"])
            self.assertShown(cells[2][0], cost["tokens_answered"])
            self.assertShown(cells[3][0], cost["tokens_reasoning"])
            if cost["requests"]:
                self.assertShown(cells[4][0], cost["dollars"])
                self.assertFigure(cells[5], cost["dollars_a_success"])
            self.assertFigure(cells[6], cost["seconds_a_success"], unit="s")
        for row in self.rows("Comments and code"):
            claims = self.arms[row[0][0]]["claims"]
            self.assertShown(row[1][0], claims["hold"], claims["claims"])

    def test_how_turns_ended(self):
        shown = self.page.js(
            "[...document.querySelectorAll('[role=treeitem].kind')].map((one) => [one.querySelector('.label a').title, one.getAttribute('aria-label'), [...one.querySelectorAll('.code')].map((code) => code.getAttribute('aria-label'))])"
        )
        turns, codes = {}, {}
        for arm in self.arms.values():
            for one in arm["failures"]:
                turns[one["kind"]] = turns.get(one["kind"], 0) + one["turns"]
                for code, n in one["codes"].items():
                    codes[(one["kind"], code or "(no code)")] = codes.get((one["kind"], code or "(no code)"), 0) + n
        self.assertEqual({kind for kind, _, _ in shown}, set(turns))
        total = sum(turns.values())
        for kind, label, listed in shown:
            self.assertShown(re.search(r": ([\d,]+) turn", label)[1], turns[kind])
            self.assertShown(label.rsplit(", ", 1)[1], turns[kind] / total)
            for label in listed:
                code, n = re.match(r"(.*): ([\d,]+) turn", label).groups()
                self.assertShown(n, codes[(kind, code)])
        self.assertEqual(sum(len(listed) for _, _, listed in shown), len(codes))

    def test_tasks(self):
        self.page.go("#/tasks")
        samples = self.told["samples"]
        names = [arm["name"] for arm in self.told["arms"]]
        rows = self.rows("Tasks")
        self.assertEqual({row[0][0] for row in rows}, {task["name"] for task in self.told["tasks"]})
        for row in rows:
            task = next(one for one in self.told["tasks"] if one["name"] == row[0][0])
            self.assertShown(row[1][0], task["level"])
            for name, cell in zip(names, row[3:]):
                own = [one for one in samples if (one["arm"], one["task"]) == (name, task["name"]) and one["turns"]]
                self.assertEqual(cell[0], f"{sum(one['right'] for one in own)}/{len(own)}")
            best = max((one["estimated"] for one in samples if one["task"] == task["name"] and one["right"] and "estimated" in one), key=lambda one: one["value"])
            self.assertFigure(row[3 + len(names)], best)

    def test_every_attempt(self):
        listed = json.loads(run("archive", "list", "--archive", "a.db", "--json", cwd=self.cwd))["attempts"]
        self.assertEqual(self.page.js("page.run.rows.id.filter((id) => id !== null).length"), len(listed))
        for one in listed:
            attempt = json.loads(run("archive", "show", str(one["id"]), "--archive", "a.db", "--json", cwd=self.cwd))
            verdict = attempt["verdict"]
            self.page.go(f"#/attempt/{one['id']}")
            self.assertEqual(self.page.js("document.querySelector('.head .badge').textContent"), verdict["outcome"])
            self.assertIn(verdict["reason"][:50], self.text())
            tiles = self.page.js(
                "Object.fromEntries([...document.querySelectorAll('.tile')].map((one) => [one.querySelector('dt').textContent, [...one.querySelectorAll('dd')].map((dd) => dd.textContent)]))"
            )
            if verdict.get("cases"):
                right = sum(case["right"] for case in verdict["cases"])
                self.assertShown(tiles["cases right"][0], right, len(verdict["cases"]))
            if verdict.get("estimated_speedup"):
                self.assertShown(tiles["times as fast, estimated"][0], verdict["estimated_speedup"])
            if verdict.get("resources"):
                self.assertShown(tiles["registers a thread"][0], max(entry["registers"] for entry in verdict["resources"]))
            gates = self.page.js("[...document.querySelectorAll('.gates li')].map((one) => one.querySelector('.unseen').textContent)")
            self.assertEqual(gates, [gate["status"] for gate in verdict["gates"]])

    def test_a_comparison(self):
        words = ["compare", "last", "last", "--arm", "rules", "--arm", "pretender", "--archive", "a.db"]
        one = json.loads(run(*words, "--json", cwd=self.cwd))["comparisons"][0]
        run(*words, "--html", "compare.html", cwd=self.cwd)
        page = self.browser.page(1400, 950)
        self.addCleanup(lambda: self.page.call("Page.bringToFront"))
        self.addCleanup(lambda: page.call("Page.close"))
        page.open((self.cwd / "compare.html").as_uri())
        rows = page.js(f"({ROWS})('What differs')")
        self.assertEqual([row[0][0] for row in rows], [difference["what"] for difference in one["differences"]])
        for row, told in zip(rows, one["differences"]):
            self.assertShown(row[1][0], told["a"])
            self.assertShown(row[2][0], told["b"])
            self.assertShown(row[3][0], told.get("ratio", told.get("difference")))
            self.assertShown(row[4][0], *told["interval"])
            self.assertShown(row[6][0], told["tasks"])
            self.assertEqual("not resolved" in row[7][0], not told["resolved"])
        for row in page.js(f"({ROWS})('Tasks')"):
            told = next(task for task in one["tasks"] if task["task"] == row[0][0])
            self.assertShown(row[1][0], told["right_a"])
            self.assertShown(row[2][0], told["right_b"])
            if "best_a" in told:
                self.assertShown(row[4][0], told["best_a"])
        self.assertEqual(page.complaints(), [])

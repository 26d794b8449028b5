#!/usr/bin/env python3
"""Kernels that cheat, and honest ones beside them, through the real `ptxlab judge`: each adversary must be caught with the reason
that its case names, and no honest kernel may be flagged. README.md says what a case looks like.

usage: adversaries.py --program BUILD/ptxlab [--gpu] [--jobs N] [--limit SECONDS] [--seconds N] [--table] [--json FILE] [--results FILE.xml] [NAME...]
NAME: part of a case's path; all where none is given. Without --gpu everything runs on the CPU (PTXLAB_GPU=none). With it each case is
judged twice: as it would be, and with `--skip emulate`, so that the GPU shows what it catches alone; cheats go first. --seconds: what has not begun by then is
skipped. Needs nothing but Python 3.11 and the built program."""
import argparse
import concurrent.futures
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import xml.sax.saxutils as xml
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HACKS = range(1, 43)
RIGHT = {"unverified", "same", "slower", "faster"}
UNDECIDED = {"unstable"}  # a time that proves nothing flags nobody; only a GPU can say so
CAUGHT = {"check", "assemble", "emulate", "execute", "time", "lint", "harness", "uncaught"}
KEYS = {"hack", "title", "task", "caught", "impossible", "expect", "gpu", "until", "target", "options", "repeat", "lint",
        "test", "why", "warnings", "control"}
LIMITS = {"seconds": 60}  # for one judgement or test; --limit says otherwise


class Malformed(Exception):
    pass


class Case:
    """A folder with case.toml; its candidate is candidate.ptx, its plan candidate.plan.toml where there is one."""

    def __init__(self, folder, base=HERE):
        self.folder = folder
        self.name = str(folder.relative_to(base))
        self.honest = self.name.startswith("honest/")
        with open(folder / "case.toml", "rb") as file:
            self.data = tomllib.load(file)
        strange = set(self.data) - KEYS
        if strange:
            raise Malformed(f"keys that no case has: {', '.join(sorted(strange))}")
        self.hack = self.data.get("hack", 0)
        if self.honest == bool(self.hack):
            raise Malformed("an adversary states `hack`, its number in the catalogue; an honest kernel has none")
        if not self.honest and self.data.get("caught") not in CAUGHT:
            raise Malformed(f"`caught` is one of {', '.join(sorted(CAUGHT))}")
        if not self.honest and not ({"expect", "test", "control"} & set(self.data)):
            raise Malformed("neither `expect`, `test` nor `control`: nothing is asked of ptxlab")

    def task(self):
        name = self.data["task"]
        own = HERE / "tasks" / name
        return str(own) if own.exists() else name

    def candidate(self, folder):
        """Its text; where `repeat` says so, with the lines between `// repeat` and `// end` many times ({i}: which)."""
        path = self.folder / "candidate.ptx"
        count = self.data.get("repeat")
        if not count:
            return path
        text = path.read_text(encoding="utf-8")
        before, rest = text.split("// repeat\n", 1)
        block, after = rest.split("// end\n", 1)
        made = folder / "candidate.ptx"
        made.write_text(before + "".join(block.replace("{i}", str(i)) for i in range(count)) + after, encoding="utf-8")
        plan = self.folder / "candidate.plan.toml"
        if plan.exists():
            shutil.copy(plan, folder)
        return made


def environment(gpu, folder, cache):
    made = {k: v for k, v in os.environ.items() if not k.startswith("GTEST_")}
    made.update(XDG_CACHE_HOME=str(cache), PTXLAB_ROOT=str(ROOT), NO_COLOR="1")
    if gpu:  # the GPU's calibration lies in the user's data folder
        return made
    made.pop("XDG_DATA_HOME", None)
    made.update(HOME=str(folder), PTXLAB_GPU="none")
    return made


def run(command, gpu, folder, cache, cases=1):
    return subprocess.run(command, cwd=folder, env=environment(gpu, folder, cache), capture_output=True, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, timeout=LIMITS["seconds"] * cases, check=False)


def words_of(case, gpu):
    """What follows the candidate in `ptxlab judge`."""
    words = ["--task", case.task(), "--json"]
    if not gpu:
        words += ["--until", case.data.get("until", "emulate")]
    if "target" in case.data:
        words += ["--target", case.data["target"]]
    return words + case.data.get("options", [])


# Verdicts by the candidate's path, of cases that were judged together.
judged_before = {}


def judge_together(program, cases, cache, gpu):
    """Cases of one task in one process, which prepares the task once. Whatever does not come out as one verdict each is judged
    alone afterwards."""
    paths = [str(case.folder / "candidate.ptx") for case in cases]
    with tempfile.TemporaryDirectory(prefix="ptxlab-adversary.") as folder:
        start = time.monotonic()
        try:
            done = run([str(program), "judge", *paths, *words_of(cases[0], gpu)], gpu, folder, cache, len(paths))
            verdicts = [json.loads(line) for line in done.stdout.splitlines()]
        except (subprocess.TimeoutExpired, ValueError):
            return
        seconds = (time.monotonic() - start) / len(paths)
    if len(verdicts) == len(paths) > 1:
        judged_before.update(zip(paths, [(verdict, seconds) for verdict in verdicts]))


def hack_of(folder, base):
    """The number in the catalogue; 0: honest. What cannot be read counts as a cheat: its turn says why."""
    try:
        return Case(folder, base).hack
    except (Malformed, OSError, ValueError):
        return -1


def groups_of(work, gpu, size=8):
    """Lists of cases that differ in their candidates alone; on a GPU only honest ones: a cheat has a process of its own there."""
    groups = {}
    for folder, base in work:
        try:
            case = Case(folder, base)
        except (Malformed, OSError, ValueError):
            continue  # said when its turn comes
        if {"test", "lint", "control", "repeat"} & set(case.data) or (gpu and not case.honest):
            continue
        groups.setdefault(tuple(words_of(case, gpu)), []).append(case)
    return [group[i:i + size] for group in groups.values() for i in range(0, len(group), size)]


def judge(program, case, folder, cache, gpu, options=()):
    """The verdict; None, and what was printed, where it is not one JSON object."""
    path = str(case.candidate(folder))
    if not options and path in judged_before:
        return judged_before[path][0], ""
    done = run([str(program), "judge", path, *words_of(case, gpu), *options], gpu, folder, cache)
    try:
        return json.loads(done.stdout), ""
    except ValueError:
        return None, f"exit {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"


def findings_of(verdict):
    return [(gate["name"], finding) for gate in verdict["gates"] for finding in gate["findings"]]


def failed_gate(verdict):
    return next((gate["name"] for gate in verdict["gates"] if gate["status"] == "failed"), "")


def unlike(expect, verdict):
    """What of `expect` the verdict does not say."""
    said = []
    outcomes = expect["outcome"] if isinstance(expect["outcome"], list) else [expect["outcome"]]
    if verdict["outcome"] not in outcomes:
        said.append(f"outcome {verdict['outcome']}, not {' or '.join(outcomes)} ({verdict['reason']})")
    codes = {finding["code"] for _, finding in findings_of(verdict)}
    for code in expect.get("codes", []):
        if code not in codes:
            said.append(f"{code} was not found, only {', '.join(sorted(codes)) or 'nothing'}")
    spoken = " ".join([verdict["reason"]] + [finding["message"] for _, finding in findings_of(verdict)])
    for words in expect.get("words", []):
        if words not in spoken:
            said.append(f"'{words}' is not said: {spoken[:600]}")
    return said


def flagged(case, verdict, gpu):
    """What is held against an honest kernel."""
    said = []
    if verdict["outcome"] not in RIGHT | (UNDECIDED if gpu else set()):
        said.append(f"{verdict['outcome']}: {verdict['reason']}")
    excused = set(case.data.get("warnings", []))
    for gate, finding in findings_of(verdict):
        of_the_machine = gpu and gate == "time" and finding["severity"] == "warning"  # throttling, clocks, no calibration
        if finding["severity"] != "note" and finding["code"] not in excused and not of_the_machine:
            said.append(f"{gate}: {finding['severity']} {finding['code']}: {finding['message']}")
    emulate = next(gate for gate in verdict["gates"] if gate["name"] == "emulate")
    if verdict["outcome"] != "same" and emulate["status"] != "passed":
        said.append(f"the emulate gate is {emulate['status']}: {emulate['reason']}")
    return said


class Result:
    def __init__(self, case_name, hack):
        self.name, self.hack = case_name, hack
        self.problems, self.caught, self.outcome, self.reason, self.skipped = [], "", "", "", ""
        self.seconds = 0.0

    def status(self):
        return "failed" if self.problems else "skipped" if self.skipped else "passed"

    def data(self):
        return {"number": self.hack, "name": self.name, "status": self.status(), "caught_by": self.caught,
                "outcome": self.outcome, "reason": self.reason, "problems": self.problems, "skipped": self.skipped,
                "seconds": round(self.seconds, 3)}


def note_verdict(result, verdict):
    result.outcome, result.reason = verdict["outcome"], verdict["reason"]
    result.caught = failed_gate(verdict)


def built(program, name):
    """Another program of the same build, or one that lies beside ptxlab; None where there is none."""
    build = program.parents[2] if len(program.parents) > 2 else program.parent
    places = [program.parent / name, *build.glob(f"src/*/{name}"), *build.glob(f"tests/*/{name}")]
    return next((place for place in places if place.is_file() and os.access(place, os.X_OK)), None)


def run_test(case, program, folder, cache, result):
    """A fault planted in the harness itself: a test of ours must run, and pass."""
    wanted = case.data["test"]
    found = built(program, wanted["program"])
    if found is None:
        result.skipped = f"{wanted['program']} is not built here"
        return
    done = subprocess.run([str(found), f"--gtest_filter={wanted['filter']}"], cwd=ROOT, capture_output=True, text=True,
                          env=environment(False, folder, cache), timeout=LIMITS["seconds"], check=False)
    if "[  PASSED  ] 0 tests" in done.stdout or "[  SKIPPED ]" in done.stdout:
        result.skipped = "the test did not run here"
        if "Running 0 tests" in done.stdout:
            result.problems.append(f"no test is called {wanted['filter']}")
    if done.returncode != 0:
        result.problems.append(done.stdout[-1500:] + done.stderr[-500:])
    result.outcome, result.caught = "test", "harness"


def run_lint(case, program, folder, cache, result):
    """A task that cannot say no."""
    done = run([str(program), "tasks", "lint", case.task()], False, folder, cache)
    result.outcome, result.caught = f"lint exits with {done.returncode}", "lint"
    expect = case.data["expect"]
    if done.returncode != 1:
        result.problems.append(f"lint exits with {done.returncode}: {done.stdout[-800:]}{done.stderr[-500:]}")
    for words in expect.get("codes", []) + expect.get("words", []):
        if words not in done.stdout + done.stderr:
            result.problems.append(f"'{words}' is not said: {done.stdout[-1500:]}")


def run_control(case, program, folder, cache, result):
    """A checker that cannot fail: these cases must fail where an honest kernel stands in for the cheat, and a cheat must be
    flagged where it calls itself honest."""
    result.caught, result.outcome = "harness", "control"
    for name in case.data["control"]:
        other = Case(HERE / name)
        honest = Path(tempfile.mkdtemp(dir=folder))
        task = Path(other.task()) if Path(other.task()).is_absolute() else ROOT / "tasks" / other.data["task"]
        shutil.copy(task / "baseline.ptx", honest / "candidate.ptx")
        shutil.copy(task / "baseline.plan.toml", honest / "candidate.plan.toml")
        other.folder = honest
        verdict, trouble = judge(program, other, honest, cache, False)
        if verdict is None or not unlike(other.data["expect"], verdict):
            result.problems.append(f"{name} passes with an honest kernel in the cheat's place {trouble}")
        cheat = Case(HERE / name)
        verdict, trouble = judge(program, cheat, honest, cache, False)
        if verdict is None or not flagged(cheat, verdict, False):
            result.problems.append(f"{name} would pass as an honest kernel {trouble}")


def run_adversary(case, program, folder, cache, gpu, result):
    verdict, trouble = judge(program, case, folder, cache, gpu)
    if verdict is None:
        result.problems.append(trouble)
        return
    note_verdict(result, verdict)
    uncaught = case.data["caught"] == "uncaught"
    late = case.data["caught"] in ("execute", "time")  # the engine lets it pass; a GPU must not
    expect = case.data["gpu"] if gpu and late else case.data["expect"]
    result.problems += unlike(expect, verdict)
    if not late and not uncaught and result.caught not in (case.data["caught"], ""):
        result.problems.append(f"caught by {result.caught}, not by {case.data['caught']}")
    if not gpu or "gpu" not in case.data or late:
        return
    alone, trouble = judge(program, case, folder, cache, gpu, ["--skip", "emulate"])
    if alone is None:
        result.problems.append(f"on the GPU alone: {trouble}")
        return
    result.caught += f", alone {failed_gate(alone) or 'not'}"
    result.problems += [f"on the GPU alone: {problem}" for problem in unlike(case.data["gpu"], alone)]


def run_case(folder, base, program, cache, gpu):
    start = time.monotonic()
    result = Result(str(folder.relative_to(base)), 0)
    place = Path(tempfile.mkdtemp(prefix="ptxlab-adversary."))
    try:
        case = Case(folder, base)
        result.hack = case.hack
        if "control" in case.data:
            run_control(case, program, place, cache, result)
        elif "test" in case.data:
            run_test(case, program, place, cache, result)
        elif case.data.get("lint"):
            run_lint(case, program, place, cache, result)
        elif case.honest:
            verdict, trouble = judge(program, case, place, cache, gpu)
            if verdict is None:
                result.problems.append(trouble)
            else:
                note_verdict(result, verdict)
                result.problems += flagged(case, verdict, gpu)
        else:
            run_adversary(case, program, place, cache, gpu, result)
    except Malformed as error:
        result.problems.append(f"malformed case: {error}")
    except subprocess.TimeoutExpired as error:
        result.problems.append(f"ran longer than {error.timeout} s")
    except Exception as error:  # one case must not stop the rest
        result.problems.append(f"{type(error).__name__}: {error}")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    together = judged_before.get(str(folder / "candidate.ptx"))
    result.seconds = time.monotonic() - start + (together[1] if together else 0)
    return result


def write_variants(program, folder):
    """What the rewriting rules make of the tasks' baselines: honest kernels, written anew each time. Nothing where the program
    that writes them is not built."""
    found = built(program, "adversary_variants")
    if found is None:
        return []
    subprocess.run([str(found), str(ROOT), str(folder / "honest" / "rules")], check=True, timeout=LIMITS["seconds"],
                   stdout=subprocess.DEVNULL)
    made = sorted(path.parent for path in folder.rglob("candidate.ptx"))
    for variant in made:
        task = str(variant.parent.relative_to(folder / "honest" / "rules"))
        (variant / "case.toml").write_text(f'title = "the rule {variant.name}"\ntask = "{task}"\n', encoding="utf-8")
    return made


def write_results(path, results):
    lines = ['<?xml version="1.0"?>', '<testsuites><testsuite name="adversaries">']
    for result in results:
        lines.append(f'<testcase classname="adversaries" name={xml.quoteattr(result.name)} time="{result.seconds:.3f}">')
        if result.status() != "passed":
            said = " ".join(result.problems) or result.skipped
            message = "".join(c if c.isprintable() else " " for c in said[:2000])
            tag = "failure" if result.problems else "skipped"
            lines.append(f"<{tag} message={xml.quoteattr(message)}/>")
        lines.append("</testcase>")
    lines.append("</testsuite></testsuites>")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def print_table(results):
    for result in results:
        number = f"{result.hack:2}" if result.hack else "  "
        print(f"{result.status():7} {number} {result.name:44} {result.outcome:14} {result.caught:16} {result.seconds:6.2f} s")


def print_problems(results):
    for result in results:
        if result.problems:
            print("\n    ".join([f"FAILED {result.name}"] + result.problems))
        if result.skipped:
            print(f"skipped {result.name}: {result.skipped}")


def lacking(results, names):
    """The catalogue is whole, and its page names every case."""
    if names:
        return []
    have = {result.hack for result in results}
    page = (ROOT / "docs" / "adversaries.md").read_text(encoding="utf-8")
    later = {int(line.split("|")[1]) for line in page.splitlines() if line.endswith("| not yet |")}
    wrong = [f"hack {number} has no case" for number in HACKS if number not in have and number not in later]
    wrong += [f"docs/adversaries.md does not name {result.name}" for result in results
              if result.hack and result.name not in page]
    return wrong


def main(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--limit", type=int, default=LIMITS["seconds"], help="seconds a case")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no case begins later: what is left is skipped")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(words)
    LIMITS["seconds"] = options.limit
    program = options.program.resolve()
    jobs = options.jobs or (1 if options.gpu else os.cpu_count() or 1)
    folders = sorted(path.parent for path in HERE.rglob("case.toml"))
    folders = [f for f in folders if not options.names or any(n in str(f.relative_to(HERE)) for n in options.names)]
    cache = program.parent / "adversary-cache"
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ptxlab-variants.") as place:
        variants = write_variants(program, Path(place))
        variants = [v for v in variants if not options.names or any(n in str(v.relative_to(place)) for n in options.names)]
        work = [(f, HERE) for f in folders] + [(v, Path(place)) for v in variants]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            def late():
                return time.monotonic() - start > options.seconds

            def together(group):
                if not late():
                    judge_together(program, group, cache, options.gpu)

            def one(folder, base):
                if late() and str(folder / "candidate.ptx") not in judged_before:
                    result = Result(str(folder.relative_to(base)), hack_of(folder, base))
                    result.skipped = f"not begun within {options.seconds:.0f} s"
                    return result
                return run_case(folder, base, program, cache, options.gpu)

            # On a GPU cheats go first: they are what its time is for.
            cheats = [w for w in work if options.gpu and hack_of(*w)]
            results = list(pool.map(lambda w: one(*w), cheats))
            list(pool.map(together, groups_of(work, options.gpu)))
            results += list(pool.map(lambda w: one(*w), [w for w in work if w not in cheats]))
    seconds = time.monotonic() - start
    if options.gpu or options.table:
        print_table(results)
    print_problems(results)
    whole = lacking(results, options.names)
    for line in whole:
        print(f"FAILED {line}")
    if options.json:
        options.json.write_text(json.dumps({"schema": "ptxlab.adversaries/1", "gpu": options.gpu,
                                            "seconds": round(seconds, 2), "incomplete": whole,
                                            "cases": [result.data() for result in results]}, indent=1) + "\n")
    if options.results:
        write_results(options.results, results)
    count = {s: sum(r.status() == s for r in results) for s in ("passed", "failed", "skipped")}
    count["failed"] += len(whole)
    adversaries = sum(1 for r in results if r.hack)
    print(f"adversaries: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped "
          f"({adversaries} adversaries, {len(results) - adversaries} honest, {seconds:.1f} s)")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

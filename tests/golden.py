#!/usr/bin/env python3
"""Runs the golden cases: one file = command, input, expected output (format: docs/contributing.md, "A golden case").

usage: golden.py --program BUILD/ptxlab [--bless] [--jobs N] [--results FILE.xml] [NAME...]
NAME: part of a case's path; all cases where none is given. --bless rewrites what cases expect; a case named bad-... must
still find the code that it names and fail, any other must still succeed, so that blessing cannot hide a fault.
"""
import argparse
import base64
import concurrent.futures
import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import xml.sax.saxutils as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECTION = re.compile(r"^--- (.+)$")
RUN = re.compile(r"\b\d{8}T\d{6}-[0-9a-f]{8}\b")  # the id of a run in the archive
TIME = re.compile(r"(?: +|\b)\d+(?:\.\d+)? ?(?:ns|us|ms|s|min)\b")
TIMEOUT = 120


class Malformed(Exception):
    pass


class Case:
    """A case file, kept as text so that blessing changes nothing but the expectations."""

    def __init__(self, path):
        self.path = path
        self.name = str(path.relative_to(path_of_cases(path)).with_suffix(""))
        self.bad = path.name.startswith("bad-")
        self.command = None
        self.needs, self.must_find, self.normalise = [], [], []
        self.exit = 0
        self.head, self.inputs, self.expected = [], [], {}
        self.read(path.read_text(encoding="utf-8"))

    def read(self, text):
        section = None
        bodies = []
        for line in text.splitlines(keepends=True):
            match = SECTION.match(line.rstrip("\n"))
            if match:
                section = match.group(1)
                bodies.append((section, []))
            elif section is None:
                self.head.append(line)
            else:
                bodies[-1][1].append(line)
        for number, line in enumerate(self.head, 1):
            self.read_head(number, line.rstrip("\n"))
        for title, lines in bodies:
            body = "".join(lines)
            if title in ("stdout", "stderr") or title.startswith("> "):
                self.expected[title] = body
            else:
                self.inputs.append((title, body))
        if not self.command:
            raise Malformed("no command: a line '$ ptxlab ...' is missing")
        if self.bad and (not self.must_find or self.exit == 0):
            raise Malformed("a case named bad-... states 'must-find: CODE' and an 'exit:' that is not 0")
        if not self.bad and self.exit != 0:
            raise Malformed("a case that is not named bad-... exits with 0")

    def read_head(self, number, line):
        if not line or line.startswith("#"):
            return
        if line.startswith("$ "):
            if self.command:
                raise Malformed(f"line {number}: a second command")
            self.command = shlex.split(line[2:])
            if self.command[0] != "ptxlab":
                raise Malformed(f"line {number}: the command is 'ptxlab ...'")
            return
        key, colon, value = line.partition(":")
        words = value.replace(",", " ").split()
        if colon and key == "needs":
            self.needs = words
        elif colon and key == "must-find":
            self.must_find = words
        elif colon and key == "normalise" and set(words) <= {"time"}:
            self.normalise = words
        elif colon and key == "exit" and value.strip().isdigit():
            self.exit = int(value)
        else:
            raise Malformed(f"line {number}: neither '$ ptxlab ...', '# ...', 'needs:', 'must-find:', 'exit:' nor 'normalise: time'")

    def lay_out(self, folder):
        for title, body in self.inputs:
            name, _, how = title.partition(" ")
            data = body.encode()
            if how == "base64":
                data = base64.b64decode(body)
            elif how.startswith("repeat "):
                data = data * int(how.split()[1])
            elif how:
                raise Malformed(f"section '--- {title}': 'base64' or 'repeat N' may follow the name")
            place = (folder / name).resolve()
            if folder.resolve() not in place.parents:
                raise Malformed(f"section '--- {title}' leaves the case's folder")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)

    def text_with(self, exit_code, got):
        """The case file's text with other expectations. Input sections stay, expectations follow them."""
        head = [l for l in self.head if not l.startswith("exit:")]
        if exit_code:
            at = next(i for i, l in enumerate(head) if l.startswith("$ ")) + 1
            head.insert(at, f"exit: {exit_code}\n")
        text = "".join(head)
        for title, body in self.inputs:
            text += f"--- {title}\n{body}"
        for title, body in got.items():
            if body or title.startswith("> "):
                text += f"--- {title}\n{body}"
        return text


def path_of_cases(path):
    for parent in path.parents:
        if parent.name == "cases":
            return parent
    return path.parent


class Result:
    def __init__(self, case_name, status, text="", seconds=0.0, blessed=False):
        self.name, self.status, self.text, self.seconds, self.blessed = case_name, status, text, seconds, blessed


def normalised(data, case, folder):
    text = data.decode("utf-8", errors="replace")
    text = text.replace(str(folder.resolve()), "{tmp}").replace(str(ROOT), "{root}")
    text = RUN.sub("{run}", text)
    if "time" in case.normalise:
        text = TIME.sub(lambda m: (" " if m.group().startswith(" ") else "") + "{time}", text)
    if text and not text.endswith("\n"):
        text += "\n"
    # A line of output that looks like a section's title would end the section when it is read back.
    return re.sub(r"^---", " ---", text, flags=re.M)


def execute(case, program, folder, cache):
    """Runs the command in `folder`; returns the exit code and what it printed and wrote, normalised."""
    case.lay_out(folder)
    command = [word.replace("{root}", str(ROOT)) for word in case.command[1:]]
    stdin = folder / "stdin"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GTEST_", "XDG_")) and not k.endswith("_API_KEY")}
    environment.update(HOME=str(folder / ".home"), XDG_CACHE_HOME=str(cache), PTXLAB_ROOT=str(ROOT), NO_COLOR="1",
                           PTXLAB_GPU="none")
    with open(stdin if stdin.exists() else os.devnull, "rb") as source:
        done = subprocess.run([str(program), *command], stdin=source, capture_output=True, cwd=folder,
                              env=environment, timeout=TIMEOUT)
    got = {"stdout": normalised(done.stdout, case, folder), "stderr": normalised(done.stderr, case, folder)}
    for title in case.expected:
        if title.startswith("> "):
            written = folder / title[2:]
            got[title] = normalised(written.read_bytes(), case, folder) if written.exists() else "(no such file)\n"
    return done.returncode, got


def fault_of(case, exit_code, got):
    """What no blessing may hide; None where all is well."""
    said = got["stdout"] + got["stderr"]
    if exit_code < 0:
        return f"the program died of signal {-exit_code}"
    if case.bad:
        if exit_code == 0:
            return "a bad case must not exit with 0"
        for code in case.must_find:
            if not re.search(rf"\b{re.escape(code)}\b", said):
                return f"{code} was not found"
        return None
    if exit_code != 0:
        return f"it exited with {exit_code}; only cases named bad-... may fail"
    if re.search(r"\berror\[[A-Z]+\d+\]|\"severity\": *\"error\"", said):
        return "it prints an error; only cases named bad-... may"
    return None


def difference(case, exit_code, got):
    lines = []
    if exit_code != case.exit:
        lines.append(f"exit: expected {case.exit}, got {exit_code}\n")
    for title, body in got.items():
        expected = case.expected.get(title, "")
        if body != expected:
            lines += difflib.unified_diff(expected.splitlines(True), body.splitlines(True),
                                          f"expected {title}", f"actual {title}", n=3)
    return "".join(lines)


def run_case(path, program, have, cache, bless):
    start = time.monotonic()
    name = str(path.relative_to(path_of_cases(path)).with_suffix(""))
    folder = Path(tempfile.mkdtemp(prefix="ptxlab-case."))
    try:
        case = Case(path)
        lacking = [tool for tool in case.needs if not have(tool)]
        if lacking:
            return Result(name, "skipped", f"needs {', '.join(lacking)}")
        exit_code, got = execute(case, program, folder, cache)
        fault = fault_of(case, exit_code, got)
        unlike = difference(case, exit_code, got)
        seconds = time.monotonic() - start
        if fault:
            return Result(name, "failed", f"{fault}\n{unlike}", seconds)
        if unlike and bless:
            path.write_text(case.text_with(exit_code, got), encoding="utf-8")
            return Result(name, "passed", "", seconds, blessed=True)
        return Result(name, "failed" if unlike else "passed", unlike, seconds)
    except Malformed as error:
        return Result(name, "failed", f"malformed case: {error}")
    except subprocess.TimeoutExpired:
        return Result(name, "failed", f"it ran longer than {TIMEOUT} s", TIMEOUT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tools_of(program):
    """Which tools the program itself finds: asked once, and only if a case needs one."""
    found = {}

    def have(tool):
        if not found:
            done = subprocess.run([str(program), "doctor", "--json"], capture_output=True, check=True, timeout=TIMEOUT,
                                  env={**os.environ, "PTXLAB_ROOT": str(ROOT)})
            found.update({name: row["found"] for name, row in json.loads(done.stdout)["tools"].items()})
        if tool not in found:
            raise Malformed(f"needs: {tool}: 'ptxlab doctor' knows {', '.join(sorted(found))}")
        return found[tool]
    return have


def write_results(path, results):
    lines = ['<?xml version="1.0"?>', '<testsuites><testsuite name="golden">']
    for result in results:
        lines.append(f'<testcase classname="golden" name={xml.quoteattr(result.name)} time="{result.seconds:.3f}">')
        if result.status != "passed":
            tag = "failure" if result.status == "failed" else "skipped"
            message = "".join(c if c.isprintable() else " " for c in result.text[:2000])
            lines.append(f"<{tag} message={xml.quoteattr(message)}/>")
        lines.append("</testcase>")
    lines.append("</testsuite></testsuites>")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--cases", type=Path, default=ROOT / "tests" / "cases")
    parser.add_argument("--bless", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--results", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(words)
    if options.bless and os.environ.get("CI"):
        print("golden: --bless is refused where CI is set", file=sys.stderr)
        return 2
    program = options.program.resolve()
    paths = sorted(options.cases.rglob("*.case"))
    paths = [p for p in paths if not options.names or any(n in str(p.relative_to(options.cases)) for n in options.names)]
    strangers = [p for p in options.cases.rglob("*") if p.is_file() and p.suffix not in (".case", ".md")]
    cache = program.parent / "golden-cache"
    have = tools_of(program)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda p: run_case(p, program, have, cache, options.bless), paths))
    results += [Result(str(p), "failed", "not a .case file: it would never be run") for p in strangers]
    for result in results:
        if result.status == "failed":
            print(f"FAILED {result.name}\n{result.text}")
        elif result.status == "skipped":
            print(f"skipped {result.name}: {result.text}")
        elif result.blessed:
            print(f"blessed {result.name}")
    if options.results:
        write_results(options.results, results)
    count = {s: sum(r.status == s for r in results) for s in ("passed", "failed", "skipped")}
    print(f"golden: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""The last line of ./test: 'N passed, N failed, N skipped', counting every test of every program, and the names of those
that failed. usage: summary.py CTEST.xml FOLDER: ctest's report (JUnit), and the folder of the programs' own (NAME.xml).
A program that died wrote no report of its own, or one that stops short: ctest's word that it failed then counts as one."""
import sys
import xml.etree.ElementTree as tree
from pathlib import Path


def count(ctest_report, folder):
    passed, skipped, failed = 0, 0, []
    for program in tree.parse(ctest_report).getroot().iter("testcase"):
        name, ok = program.get("name"), program.get("status") == "run"
        failed_before = len(failed)
        own = folder / f"{name}.xml"
        try:
            tests = list(tree.parse(own).getroot().iter("testcase")) if own.exists() else []
        except tree.ParseError:
            tests = []
        for test in tests:
            if test.find("failure") is not None:
                failed.append(f"{name}: {test.get('classname')}.{test.get('name')}")
            elif test.find("skipped") is not None:
                skipped += 1
            else:
                passed += 1
        excuse = program.find("skipped")  # ctest's word too for what could not be started
        if excuse is not None and excuse.get("message", "").startswith("SKIP_RETURN_CODE"):
            skipped += 1
        elif not ok and len(failed) == failed_before:
            failed.append(name)
        elif ok and not tests:
            passed += 1
    return passed, failed, skipped


def main(ctest_report, folder):
    passed, failed, skipped = count(Path(ctest_report), Path(folder))
    for name in failed:
        print(f"FAILED {name}")
    print(f"{passed} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

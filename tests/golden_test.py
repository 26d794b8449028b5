"""The golden runner itself, on a stand-in for ptxlab: what must fail fails, and --bless hides nothing."""
import os
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUNNER = Path(__file__).parent / "golden.py"

# Prints its arguments, a finding where one is named, and copies files on request.
STAND_IN = """#!/bin/sh
case "$1" in
  doctor) echo '{"tools": {"ptxas": {"found": false}, "g++": {"found": true}}}' ;;
  echo) shift; echo "$@"; cat ;;
  cat) cat "$2" ;;
  find) echo "a.ptx:1:1: error[$2]: wrong"; exit 1 ;;
  copy) cp "$2" "$3" ;;
  size) wc -c <"$2" ;;
  pwd) pwd -P ;;
  crash) kill -SEGV $$ ;;
esac
"""


class Golden(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cases = Path(self.folder.name) / "cases"
        self.cases.mkdir()
        self.program = Path(self.folder.name) / "ptxlab"
        self.program.write_text(STAND_IN)
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def case(self, name, text):
        path = self.cases / f"{name}.case"
        path.write_text(text)
        return path

    def run_it(self, *words, ci=False):
        environment = {k: v for k, v in os.environ.items() if k != "CI"}
        if ci:
            environment["CI"] = "true"
        done = subprocess.run([sys.executable, str(RUNNER), "--program", str(self.program), "--cases", str(self.cases),
                               *words], capture_output=True, text=True, env=environment, check=False)
        self.said = done.stdout + done.stderr
        return done.returncode

    def test_passes_what_is_as_expected(self):
        self.case("a", "# Says hello.\n$ ptxlab echo hello 'big world'\n--- stdout\nhello big world\n")
        self.case("b", "$ ptxlab cat in.txt\n--- in.txt\none\ntwo\n--- stdout\none\ntwo\n")
        self.case("c", "$ ptxlab echo\n--- stdin\nfed\n--- stdout\n\nfed\n")
        self.assertEqual(self.run_it(), 0, self.said)
        self.assertIn("3 passed, 0 failed, 0 skipped", self.said)

    def test_fails_what_differs(self):
        self.case("a", "$ ptxlab echo hello\n--- stdout\nhullo\n")
        self.assertEqual(self.run_it(), 1)
        self.assertIn("-hullo\n+hello\n", self.said)

    def test_output_that_nobody_expects_fails(self):
        self.case("a", "$ ptxlab echo hello\n")
        self.assertEqual(self.run_it(), 1)

    def test_bless_writes_what_is_there(self):
        path = self.case("a", "# About.\n$ ptxlab copy in.txt out.txt\n--- in.txt\nx\n--- stdout\nold\n--- > out.txt\n")
        self.assertEqual(self.run_it(), 1)
        self.assertEqual(self.run_it("--bless"), 0, self.said)
        self.assertEqual(path.read_text(), "# About.\n$ ptxlab copy in.txt out.txt\n--- in.txt\nx\n--- > out.txt\nx\n")
        self.assertEqual(self.run_it(), 0)

    def test_bless_is_refused_in_ci(self):
        path = self.case("a", "$ ptxlab echo hello\n--- stdout\nhullo\n")
        before = path.read_text()
        self.assertEqual(self.run_it("--bless", ci=True), 2)
        self.assertEqual(path.read_text(), before)

    def test_bad_case_must_find_its_code_even_when_blessed(self):
        text = "$ ptxlab find CHK0001\nexit: 1\nmust-find: CHK0002\n--- stdout\na.ptx:1:1: error[CHK0001]: wrong\n"
        path = self.case("bad-a", text)
        self.assertEqual(self.run_it("--bless"), 1)
        self.assertIn("CHK0002 was not found", self.said)
        self.assertEqual(path.read_text(), text)
        path.write_text(text.replace("CHK0002", "CHK0001"))
        self.assertEqual(self.run_it(), 0, self.said)

    def test_bad_case_that_succeeds_fails(self):
        self.case("bad-a", "$ ptxlab echo CHK0001\nexit: 1\nmust-find: CHK0001\n--- stdout\nCHK0001\n")
        self.assertEqual(self.run_it("--bless"), 1)
        self.assertIn("must not exit with 0", self.said)

    def test_bad_case_without_a_code_is_malformed(self):
        self.case("bad-a", "$ ptxlab find CHK0001\nexit: 1\n--- stdout\na.ptx:1:1: error[CHK0001]: wrong\n")
        self.assertEqual(self.run_it(), 1)
        self.assertIn("malformed case", self.said)

    def test_honest_case_with_an_error_cannot_be_blessed(self):
        path = self.case("a", "$ ptxlab find CHK0001\n")
        self.assertEqual(self.run_it("--bless"), 1)
        self.assertEqual(path.read_text(), "$ ptxlab find CHK0001\n")
        self.case("a", "$ ptxlab find CHK0001\nexit: 1\n")
        self.assertEqual(self.run_it(), 1)
        self.assertIn("malformed case", self.said)

    def test_honest_case_with_an_error_in_json_cannot_be_blessed(self):
        self.case("a", "$ ptxlab echo '{\"severity\": \"error\"}'\n")
        self.assertEqual(self.run_it("--bless"), 1)
        self.assertIn("it prints an error", self.said)

    def test_crash_fails(self):
        self.case("bad-a", "$ ptxlab crash\nexit: 139\nmust-find: X0001\n")
        self.assertEqual(self.run_it("--bless"), 1)
        self.assertIn("died of signal 11", self.said)

    def test_skips_with_the_reason_where_a_tool_is_absent(self):
        self.case("a", "$ ptxlab echo\nneeds: ptxas\n--- stdout\n\n")
        self.case("b", "$ ptxlab echo\nneeds: g++\n--- stdout\n\n")
        self.assertEqual(self.run_it(), 0, self.said)
        self.assertIn("skipped a: needs ptxas", self.said)
        self.assertIn("1 passed, 0 failed, 1 skipped", self.said)

    def test_misspelt_key_or_tool_fails(self):
        self.case("a", "$ ptxlab echo\nneed: ptxas\n--- stdout\n\n")
        self.assertEqual(self.run_it(), 1)
        self.case("a", "$ ptxlab echo\nneeds: ptxsa\n--- stdout\n\n")
        self.assertEqual(self.run_it(), 1)
        self.assertIn("ptxsa", self.said)

    def test_paths_and_times_are_normalised(self):
        self.case("a", "$ ptxlab pwd\n--- stdout\n{tmp}\n")
        self.case("b", "$ ptxlab echo {root}/x took 1.25 ms\nnormalise: time\n--- stdout\n{root}/x took {time}\n")
        self.assertEqual(self.run_it(), 0, self.said)

    def test_large_and_binary_inputs(self):
        self.case("a", "$ ptxlab size in\n--- in repeat 1000000\nab\n--- stdout\n3000000\n")
        self.case("b", "$ ptxlab size in\n--- in base64\nAAECAwQ=\n--- stdout\n5\n")
        self.assertEqual(self.run_it(), 0, self.said)

    def test_a_stranger_among_the_cases_fails(self):
        (self.cases / "forgotten.ptx").write_text("")
        self.assertEqual(self.run_it(), 1)
        self.assertIn("never be run", self.said)

    def test_names_choose(self):
        self.case("a-one", "$ ptxlab echo\n--- stdout\n\n")
        self.case("b-two", "$ ptxlab echo wrong\n")
        self.assertEqual(self.run_it("one"), 0, self.said)
        self.assertIn("1 passed, 0 failed", self.said)


if __name__ == "__main__":
    unittest.main()

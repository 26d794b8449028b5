#!/usr/bin/env python3
"""What `ptxlab grammar --format lark` prints, read by the package `lark`; llama.cpp reads the other form in model_serve_test.py."""
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("PTXLAB_PROGRAM", ROOT / "build/release/src/cli/ptxlab")
WHEELS = ROOT / ".private/mcp"

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x]; // a comment
    cp.async.wait_all;
    ret;
}
"""


class Options(unittest.TestCase):
    def test_what_there_is_not_is_said(self):
        for words in (["--target", "sm_1"], ["--format", "ebnf"], ["--root", "kernel"], ["--ptx", "new"]):
            run = subprocess.run([PROGRAM, "grammar", *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(run.returncode, 2, words)
            self.assertRegex(run.stderr, r"error\[[A-Z]+\d+\]", words)

    def test_an_older_version_has_fewer_instructions(self):
        def instructions(*words):
            return subprocess.run([PROGRAM, "grammar", "--target", "sm_90a", *words], capture_output=True, text=True,
                                  timeout=60).stdout
        self.assertIn("op-wgmma", instructions())
        self.assertNotIn("op-wgmma", instructions("--ptx", "7.0"))


@unittest.skipUnless((WHEELS / "lark").exists() or os.environ.get("CI"),
                     "lark is not there: tools/setup --mcp-client could not fetch it")
class Lark(unittest.TestCase):
    def test_is_read_and_tells_right_from_wrong(self):
        sys.path.insert(0, str(WHEELS))
        import lark
        run = subprocess.run([PROGRAM, "grammar", "--target", "sm_80", "--format", "lark"], capture_output=True, text=True,
                             timeout=60)
        parser = lark.Lark(run.stdout, parser="earley", lexer="dynamic")
        parser.parse(KERNEL)
        for word, other in ((".u64 %rd1", ".u63 %rd1"), ("ret;", "ret"), ("cp.async.wait_all", "cp.async.wait_some"),
                            ("cp.async.wait_all", "wgmma.fence.sync.aligned"), (", [x]", ""), (".entry", ".kernel")):
            with self.assertRaises(lark.exceptions.LarkError, msg=other):
                parser.parse(KERNEL.replace(word, other))


if __name__ == "__main__":
    unittest.main(verbosity=0)

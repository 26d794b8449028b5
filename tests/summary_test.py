#!/usr/bin/env python3
"""What the last line of ./test counts."""
import pathlib
import tempfile
import unittest

import summary

CTEST = """<?xml version="1.0"?>
<testsuite>
  <testcase name="whole" status="run"/>
  <testcase name="script" status="run"/>
  <testcase name="no_gpu" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
  <testcase name="absent" status="notrun"><skipped message="Unable to find executable"/></testcase>
  <testcase name="died" status="fail"><failure message="SEGFAULT"/></testcase>
</testsuite>
"""
WHOLE = """<?xml version="1.0"?>
<testsuites><testsuite>
  <testcase classname="A" name="one"/>
  <testcase classname="A" name="two"><skipped/></testcase>
</testsuite></testsuites>
"""


class Summary(unittest.TestCase):
    def test_what_is_skipped_is_no_failure_and_what_is_absent_is_one(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "ctest.xml").write_text(CTEST)
            (folder / "whole.xml").write_text(WHOLE)
            passed, failed, skipped = summary.count(folder / "ctest.xml", folder)
        self.assertEqual((passed, failed, skipped), (2, ["absent", "died"], 2))


if __name__ == "__main__":
    unittest.main()

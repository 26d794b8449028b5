#!/usr/bin/env python3
"""bench/gpu without a GPU: what its scripts share with the program (tasks, launches, JSON) still fits, and a figure that was not
measured on a GPU says so."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("PTXLAB_PROGRAM", ROOT / "build/release/src/cli/ptxlab")).resolve()
sys.path.insert(0, str(ROOT / "bench/gpu"))
sys.dont_write_bytecode = True
import workloads


class Scripts(unittest.TestCase):
    def test_every_task_has_its_workload(self):
        text = subprocess.run([PROGRAM, "tasks", "list", "--json"], capture_output=True, text=True, check=True,
                              env={**os.environ, "PTXLAB_ROOT": str(ROOT)}).stdout
        tasks = {task["name"]: task for task in json.loads(text)["tasks"]}
        self.assertEqual(set(tasks), {work.task for work in workloads.ALL})
        for work in workloads.ALL:
            task = tasks[work.task]
            self.assertEqual([t["sizes"] for t in task["time"]], work.timed, work.name)
            self.assertIn(work.check, task["emulate"], work.name)
            # The binding passes the tensors and scalars that the launch names, and the launch calls a kernel of kernel.cu.
            kernel = work.binding.split("<<<")[0].split()[-1]
            self.assertIn(f"{kernel}(", work.cuda_source().replace(f" {kernel}(", f"{kernel}("), work.name)
            names = [parameter.split()[-1] for parameter in work.signature.split(", ")]
            self.assertEqual(names[-len(work.scalars(work.check)):], list(work.scalars(work.check)), work.name)

    def test_throughput_without_a_gpu_says_that_nothing_was_executed(self):
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run([sys.executable, ROOT / "bench/gpu/throughput.py", "--program", PROGRAM, "--no-timing", "--count",
                                   "3", "vector_add"], capture_output=True, text=True,
                                  env={**os.environ, "OUT": out, "PTXLAB_GPU": "none", "PYTHONDONTWRITEBYTECODE": "1"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("NOT EXECUTED", done.stdout)
            result = json.loads((pathlib.Path(out) / "throughput.json").read_text())
        row, = result["check_assemble_execute"]["tasks"]
        self.assertEqual(row["candidates"], 3)
        self.assertFalse(row["executed"])
        self.assertEqual(row["outcomes"], {"unverified": 3})


if __name__ == "__main__":
    unittest.main()

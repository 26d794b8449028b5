"""What nvcc makes for a debugger (-G) runs on the engine like any other code: local depots, calls with parameters in memory,
.loc and debug sections. The kernels of two tasks, judged under all checkers against their references."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TASKS = ["elementwise/vector_add_f32", "norm/rmsnorm_bf16"]


PROGRAM = os.environ.get("PTXLAB_PROGRAM", str(ROOT / "build/release/src/cli/ptxlab"))


@unittest.skipUnless(shutil.which("nvcc"), "no nvcc in PATH")
class DebugCode(unittest.TestCase):
    def test_kernels_compiled_for_a_debugger_are_right(self):
        for task in TASKS:
            with self.subTest(task), tempfile.TemporaryDirectory() as folder:
                source, candidate = ROOT / "tasks" / task, Path(folder) / "k.ptx"
                compile_it = ["nvcc", "-G", "-arch=sm_90", "-ptx", str(source / "kernel.cu"), "-o", str(candidate)]
                subprocess.run(compile_it, check=True, capture_output=True)
                text = candidate.read_text()
                self.assertRegex(text, r"\.section\s+\.debug_info")
                # ptxas refuses to optimise a module that says ", debug".
                candidate.write_text(text.replace(", debug", "", 1))
                shutil.copy(source / "baseline.plan.toml", Path(folder) / "k.plan.toml")
                judged = subprocess.run([PROGRAM, "judge", str(candidate), "--task", task, "--until", "emulate",
                                         "--target", "sm_90"], cwd=ROOT, capture_output=True, text=True)
                self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)
                self.assertRegex(judged.stdout, r"emulate +passed")


if __name__ == "__main__":
    unittest.main()

"""A program of this project, run by a test: without a GPU, on the tasks of this tree."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(program, words, cwd, ok=(0,), **environment):
    done = subprocess.run(
        [str(program), *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PTXLAB_ROOT": str(ROOT), "PTXLAB_GPU": "none", **environment},
    )
    if done.returncode not in ok:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done

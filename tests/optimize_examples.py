#!/usr/bin/env python3
"""`ptxlab optimize` on every example, as a user brings it: from the .cu (where there is nvcc) and, where PTX lies ready, from PTX. What
the rules propose has to be right, the user's kernel has to stay the answer, and where nothing is better the reason is said.
usage: optimize_examples.py --program BUILD/ptxlab"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted(file.name.removesuffix(".task.toml") for file in (ROOT / "examples").glob("*.task.toml"))
# Examples whose kernels are tasks too: their PTX lies ready.
PTX_OF = {
    "vector_add": "elementwise/vector_add_f32",
    "rmsnorm": "norm/rmsnorm_bf16",
    "softmax": "softmax/softmax_f32",
    "bias_gelu_dropout": "activation/bias_gelu_dropout_bf16",
    "rope": "attention/rope_bf16",
    "dequantise": "quant/dequant_int8_f16",
    "histogram": "histogram/histogram_u8",
    "sgemm": "gemm/sgemm_f32",
    "wave": "stencil/wave3d_r4_f32",
}
# Estimates of these at their real sizes take seconds: from PTX they are made at smaller ones.
SMALLER = {
    "sgemm": ("{ m = 4096, n = 4096, k = 4096 }", "{ m = 512, n = 512, k = 256 }"),
    "wave": ("{ nx = 512, ny = 512, nz = 512 }", "{ nx = 256, ny = 256, nz = 32 }"),
}
RIGHT = {"unverified", "same", "slower", "faster", "unstable"}


def optimize(program, kernel, folder, candidates):
    """What is wrong with the answer; nothing where it is right."""
    command = [str(program), "optimize", kernel, "--archive", f"{kernel}.db", "--candidates", str(candidates), "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "PTXLAB_ROOT": str(ROOT)})
    if done.returncode != 0:
        return [f"exit {done.returncode}: {done.stdout}{done.stderr}"]
    answer = json.loads(done.stdout)
    problems = []
    for attempt in answer["attempts"]:
        verdict = attempt["verdict"]
        if verdict["outcome"] not in RIGHT:
            problems.append(f"{attempt['name']}: {verdict['outcome']}: {verdict['reason']}")
        emulate = [gate for gate in verdict["gates"] if gate["name"] == "emulate"]
        if verdict["outcome"] != "same" and [gate["status"] for gate in emulate] != ["passed"]:
            problems.append(f"{attempt['name']}: the emulate gate did not pass: {emulate}")
    if not answer["original_kept"]:
        problems.append("the original was not kept, although nothing was measured")
    if len(answer["attempts"]) < candidates and not any(note.startswith("rules:") for note in answer["notes"]):
        problems.append("fewer candidates than asked for, and no word why")
    if not answer["reason"]:
        problems.append("no reason for the answer")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=Path, required=True)
    program = parser.parse_args().program.resolve()
    tools = json.loads(subprocess.run([str(program), "doctor", "--json"], capture_output=True, check=False,
                                      env={**os.environ, "PTXLAB_ROOT": str(ROOT)}).stdout)
    nvcc = tools["tools"]["nvcc"]["found"]
    failed, jobs = 0, []
    with tempfile.TemporaryDirectory() as from_cu, tempfile.TemporaryDirectory() as from_ptx:
        for name in EXAMPLES:
            ready = ROOT / "tasks" / PTX_OF[name] / "baseline.ptx" if name in PTX_OF else None
            for file in (ROOT / "examples").glob(f"{name}.*"):
                shutil.copy(file, from_cu)
                if file.suffix != ".cu":
                    shutil.copy(file, from_ptx)
            if nvcc:
                jobs.append((f"{name}.cu", from_cu, 1 if ready else 2))
            if not ready:
                continue
            shutil.copy(ready, Path(from_ptx) / f"{name}.ptx")
            if name in SMALLER:
                real, small = SMALLER[name]
                copy = Path(from_ptx) / f"{name}.task.toml"
                assert real in copy.read_text(), f"{copy.name} is no longer timed at {real}"
                copy.write_text(copy.read_text().replace(real, small))
            jobs.append((f"{name}.ptx", from_ptx, 2))
        missing = [name for name in PTX_OF if name not in EXAMPLES]
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda job: optimize(program, *job), jobs))
        for (kernel, _, _), problems in zip(jobs, results):
            failed += bool(problems)
            for problem in problems:
                print(f"{kernel}: {problem}")
        for name in missing:
            failed += 1
            print(f"{name}: the example is gone")
    print(f"optimize_examples: {len(jobs) - failed} right, {failed} wrong" + ("" if nvcc else "; no nvcc: .cu left out"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What the rules make of each task, against nvcc -O3 and against Triton, timed side by side by ptxlab: `optimize` looks for the best
candidate, then `judge` times it twice, once against the task's own baseline and once against the task whose baseline is Triton's export. And
nvcc's own code against Triton's, so that the three stand in one row.

usage: compare.py --triton DIR [--program FILE] [--gpu LIST] [--candidates N] [NAME...]
  --triton DIR   what `triton_kernels.py export --to DIR` wrote
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import workloads

ROOT = workloads.ROOT


def run(program, words, environment):
    done = subprocess.run([program, *map(str, words), "--json"], capture_output=True, text=True, env=environment)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"outcome": "infrastructure", "reason": (done.stderr or done.stdout).strip()[-400:]}


def figures(verdict):
    """What a verdict says of time; an estimate is called one."""
    found = {"outcome": verdict["outcome"], "reason": verdict.get("reason", "")}
    if verdict.get("timing") is not None:
        found["timing"] = verdict["timing"]
    if verdict.get("estimated_speedup") is not None:
        found["estimated_speedup"] = verdict["estimated_speedup"]
    return found


def short(found):
    timing = found.get("timing")
    if timing:
        ends = ["?" if timing.get(end) is None else f"{timing[end]:.3f}" for end in ("low", "high")]
        return f"{found['outcome']} {timing['speedup']:.3f} [{ends[0]}, {ends[1]}]"
    return found["outcome"] + (f" (estimated {found['estimated_speedup']:.2f})" if "estimated_speedup" in found else "")


def first_of_ranking(program, found, folder, environment):
    """The candidate that optimize ranks first, whether or not it was sure enough to prefer it to the original."""
    if not found.get("ranking"):
        return None
    number = next(a["id"] for a in found["attempts"] if a["name"] == found["ranking"][0])
    return run(program, ["archive", "show", number, "--archive", folder / "archive.db"], environment)["candidate"]


def compare(work, arguments, environment, folder):
    task = ROOT / "tasks" / work.task
    own = folder / "own"
    shutil.copytree(task, own)
    gpu = ["--gpu", arguments.gpu] if arguments.gpu else []
    # optimize takes the PTX that nvcc made, so that nvcc itself is not needed.
    found = run(arguments.program, ["optimize", own / "baseline.ptx", "--task", own / "task.toml", "--candidates", arguments.candidates,
                                    "--archive", folder / "archive.db", *gpu], environment)
    row = {"task": work.task, "best": found.get("best"), "original_kept": found.get("original_kept"), "why": found.get("reason")}
    triton = arguments.triton / "tasks" / work.task
    nvcc = ["--plan", task / "baseline.plan.toml"]
    row["nvcc_against_triton"] = figures(run(arguments.program, ["judge", task / "baseline.ptx", *nvcc, "--task", triton, *gpu], environment))
    best = first_of_ranking(arguments.program, found, folder, environment)
    if best:
        row["compared"] = best["name"]
        file, plan = folder / "best.ptx", folder / "best.plan.toml"
        file.write_text(best["ptx"])
        plan.write_text(best["plan"] or (task / "baseline.plan.toml").read_text())
        for key, against in (("rules_against_nvcc", task), ("rules_against_triton", triton)):
            row[key] = figures(run(arguments.program, ["judge", file, "--plan", plan, "--task", against, *gpu], environment))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--triton", type=lambda p: pathlib.Path(p).resolve(), required=True)
    parser.add_argument("--program", default=str(ROOT / "build/release/src/cli/ptxlab"))
    parser.add_argument("--gpu")
    parser.add_argument("--candidates", type=int, default=24)
    arguments = parser.parse_intermixed_args()
    environment = {**os.environ, "PTXLAB_ROOT": str(ROOT)}
    rows = []
    print(f"{'task':<24} {'best':<28} {'rules : nvcc':<26} {'rules : Triton':<26} {'nvcc : Triton':<26}")
    for work in workloads.chosen(arguments.names):
        with tempfile.TemporaryDirectory(prefix="compare-") as folder:
            row = compare(work, arguments, environment, pathlib.Path(folder))
        rows.append(row)
        cells = [short(row[k]) if k in row else "-" for k in ("rules_against_nvcc", "rules_against_triton", "nvcc_against_triton")]
        print(f"{work.name:<24} {str(row.get('compared')):<28} {cells[0]:<26} {cells[1]:<26} {cells[2]:<26}", flush=True)
    workloads.write_json("compare", {"schema": "ptxlab.compare/1", "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""How many candidates a second ptxlab takes through check, assemble and execute on the tasks' check sizes, and what a full judgement with
timing of a 20 us kernel takes. Candidates are a task's baseline with another .maxnreg each: distinct code, so that nothing is `same` and
nothing comes from a cache.

usage: throughput.py [--program FILE] [--count N] [--gpu LIST] [--timing-only | --no-timing] [NAME...]
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import workloads

ROOT = workloads.ROOT
# 18 to 20 us on an H200: 76 MB at the copy's rate.
TWENTY_MICROSECONDS = 6291456


def with_registers(ptx, registers):
    """The entry's limit on registers: 65 to 254 are as many distinct kernels."""
    header, brace, body = ptx.partition("\n{")
    header = re.sub(r"^\.minnctapersm.*$", "", header, flags=re.M)  # the two limits exclude each other
    return f"{header}\n.maxnreg {registers}{brace}{body}"


def candidates(task, count, folder):
    """Files of `count` distinct candidates; where more are asked for than there are limits, in further rounds with a label of their own."""
    source = (ROOT / "tasks" / task / "baseline.ptx").read_text()
    plan = (ROOT / "tasks" / task / "baseline.plan.toml").read_text()
    files = []
    for i in range(count):
        ptx = with_registers(source, 254 - i % 190)
        if i >= 190:
            ptx = f"// round {i // 190}\n{ptx}"
        file = folder / f"c{i:04}.ptx"
        file.write_text(ptx)
        file.with_suffix(".plan.toml").write_text(plan)
        files.append(file)
    return files


def judge(program, files, task, options, folder):
    """Seconds from start to end, and the verdicts."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PTXLAB_ROOT": str(ROOT)}
    command = [program, "judge", *map(str, files), "--task", str(task), "--json", "--no-sass", *options]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    seconds = time.perf_counter() - start
    verdicts = []
    lines = [done.stdout] if len(files) == 1 else done.stdout.splitlines()
    for line in lines:
        try:
            verdicts.append(json.loads(line))
        except json.JSONDecodeError:
            break
    if len(verdicts) != len(files):
        raise SystemExit(f"{task}: {len(verdicts)} of {len(files)} verdicts\n{done.stderr[-2000:]}{done.stdout[-500:]}")
    return seconds, verdicts


def outcomes(verdicts):
    counts = {}
    for verdict in verdicts:
        counts[verdict["outcome"]] = counts.get(verdict["outcome"], 0) + 1
    return counts


def gate_times(verdicts):
    """Mean milliseconds of each gate that ran."""
    sums = {}
    for verdict in verdicts:
        for gate in verdict["gates"]:
            if gate["status"] in ("passed", "failed"):
                sums.setdefault(gate["name"], []).append(gate["milliseconds"])
    return {name: sum(values) / len(values) for name, values in sums.items()}


def execute_gate_ran(verdicts):
    return all(g["status"] == "passed" for v in verdicts for g in v["gates"] if g["name"] == "execute")


def check_sizes(arguments, names):
    rows = []
    print(f"{'task':<24} {'candidates':>10} {'seconds':>8} {'a second':>9}   gates, ms each (several run at once)")
    for work in workloads.chosen(names):
        with tempfile.TemporaryDirectory(prefix="throughput-") as name:
            folder = pathlib.Path(name)
            options = ["--skip", "emulate", "--until", "execute", *(["--gpu", arguments.gpu] if arguments.gpu else [])]
            warm = candidates(work.task, 1, folder)
            judge(arguments.program, warm, work.task, options, folder)  # references compiled, files in memory
            files = candidates(work.task, arguments.count, folder)
            seconds, verdicts = judge(arguments.program, files, work.task, options, folder)
        row = {"task": work.task, "candidates": len(files), "seconds": seconds, "a_second": len(files) / seconds,
               "outcomes": outcomes(verdicts), "gate_ms": gate_times(verdicts), "executed": execute_gate_ran(verdicts)}
        rows.append(row)
        gates = ", ".join(f"{gate} {ms:.0f}" for gate, ms in row["gate_ms"].items())
        note = "" if row["executed"] else "   NOT EXECUTED on a GPU: not the figure that is asked for"
        print(f"{work.name:<24} {len(files):>10} {seconds:>7.1f}s {row['a_second']:>9.1f}   {gates}{note}", flush=True)
    total = sum(r["candidates"] for r in rows) / sum(r["seconds"] for r in rows)
    print(f"all: {total:.1f} candidates a second, {60 * total:.0f} a minute")
    return {"a_second": total, "tasks": rows}


def full_judgement(arguments):
    """Vector add at the size that takes 20 us, all gates; several candidates in one process share what belongs to the task."""
    with tempfile.TemporaryDirectory(prefix="throughput-") as name:
        folder = pathlib.Path(name)
        task = folder / "vector_add_20us"
        task.mkdir()
        source = ROOT / "tasks/elementwise/vector_add_f32"
        for file in source.iterdir():
            (task / file.name).write_bytes(file.read_bytes())
        text = (task / "task.toml").read_text()
        text, changed = re.subn(r"^time = .*$", f"time = [{{ n = {TWENTY_MICROSECONDS}, weight = 1 }}]", text, flags=re.M)
        assert changed == 1
        (task / "task.toml").write_text(text)
        options = ["--gpu", arguments.gpu] if arguments.gpu else []
        files = candidates("elementwise/vector_add_f32", 12, folder)
        alone, _ = judge(arguments.program, files[:1], task, options, folder)
        seconds, verdicts = judge(arguments.program, files[1:], task, options, folder)
    each = seconds / len(verdicts)
    gates = gate_times(verdicts)
    print(f"\na 20 us kernel, all gates: {alone:.2f} s for one with the program's start, {each:.2f} s each of {len(verdicts)} in one process "
          f"({', '.join(f'{gate} {ms:.0f} ms' for gate, ms in gates.items())}): {outcomes(verdicts)}")
    return {"alone_s": alone, "each_s": each, "gate_ms": gates, "outcomes": outcomes(verdicts), "timed": "time" in gates}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--program", default=str(ROOT / "build/release/src/cli/ptxlab"))
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--gpu")
    parser.add_argument("--timing-only", action="store_true")
    parser.add_argument("--no-timing", action="store_true")
    arguments = parser.parse_intermixed_args()
    result = {"schema": "ptxlab.throughput/1"}
    if not arguments.timing_only:
        result["check_assemble_execute"] = check_sizes(arguments, arguments.names)
    if not arguments.no_timing:
        result["full_judgement"] = full_judgement(arguments)
    workloads.write_json("throughput", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())

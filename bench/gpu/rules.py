#!/usr/bin/env python3
"""The rules' candidates for the nine tasks, estimated on a CPU and measured on a GPU: against nvcc -O3, against Triton, and estimate against
measurement.

usage: rules.py make --to DIR [--count N] [NAME...]              candidates and estimates; needs nvcc, no GPU
       rules.py time --from DIR [--triton DIR] [--count N] [NAME...]   judges them on this GPU; DIR of triton_kernels.py export
       rules.py table FILE.json                                  what `time` wrote, once more
  --program FILE   ptxlab (build/release/src/cli/ptxlab)
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Example and task: the same kernel, as a user brings it and as the project keeps it.
TASKS = {
    "rmsnorm": "norm/rmsnorm_bf16", "softmax": "softmax/softmax_f32",
    "bias_gelu_dropout": "activation/bias_gelu_dropout_bf16", "rope": "attention/rope_bf16", "dequantise": "quant/dequant_int8_f16",
    "histogram": "histogram/histogram_u8", "sgemm": "gemm/sgemm_f32", "wave": "stencil/wave3d_r4_f32",
    "vector_add": "elementwise/vector_add_f32",
}
FAR = 0.05  # pairs that are further apart than this say whether the estimate's sign is right


def ptxlab(program, *words, **more):
    return subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, **more)


def make(options):
    to = pathlib.Path(options.to)
    to.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names:
            for file in (ROOT / "examples").glob(f"{name}.*"):
                (pathlib.Path(scratch) / file.name).write_bytes(file.read_bytes())
            archive = pathlib.Path(scratch) / f"{name}.db"
            done = ptxlab(options.program, "optimize", pathlib.Path(scratch) / f"{name}.cu", "--candidates", options.count, "--target", "sm_90",
                          "--gpu", "none", "--archive", archive)
            if not archive.exists():
                sys.exit(f"{name}: {done.stdout}{done.stderr}")
            listed = json.loads(ptxlab(options.program, "archive", "list", "--archive", archive, "--json").stdout)["attempts"]
            for one in sorted(listed, key=lambda attempt: attempt["id"]):
                if one["outcome"] != "unverified":
                    print(f"{name} {one['name']}: {one['outcome']}: {one['reason']}")
                    continue
                shown = json.loads(ptxlab(options.program, "archive", "show", one["id"], "--archive", archive, "--json").stdout)
                stem = f"{name}.{one['name']}"
                (to / f"{stem}.ptx").write_text(shown["candidate"]["ptx"])
                # Without a plan it is the original's, whatever it is compared with.
                plan = shown["candidate"]["plan"] or (ROOT / "tasks" / TASKS[name] / "baseline.plan.toml").read_text()
                (to / f"{stem}.plan.toml").write_text(plan)
                rows.append({"example": name, "task": TASKS[name], "name": one["name"], "file": f"{stem}.ptx", "idea": one["idea"],
                             "estimated": one["estimated_speedup"]})
            print(f"{name:<20} {sum(row['example'] == name for row in rows)} candidates", flush=True)
    (to / "candidates.json").write_text(json.dumps({"schema": "ptxlab.rules/1", "candidates": rows}, indent=1) + "\n")
    return 0


def judge(options, files, task):
    """Verdicts by file's name. Several files are one call: the task's inputs are made once."""
    environment = {**os.environ, "PTXLAB_ROOT": str(ROOT)}
    # The engine has passed them where they were made.
    done = ptxlab(options.program, "judge", *files, "--task", task, "--json", "--skip", "emulate", "--no-sass", env=environment)
    lines = [done.stdout] if len(files) == 1 else done.stdout.splitlines()
    verdicts = [json.loads(line) for line in lines if line.strip()]
    if len(verdicts) != len(files):
        sys.exit(f"{task}: {len(verdicts)} verdicts for {len(files)} candidates: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return dict(zip([file.name for file in files], verdicts))


def time_all(options):
    source = pathlib.Path(options.source)
    rows = [row for row in json.loads((source / "candidates.json").read_text())["candidates"] if row["example"] in options.names]
    result = {"schema": "ptxlab.rules_timed/1", "candidates": [], "triton": []}
    for name in options.names:
        mine = [row for row in rows if row["example"] == name][:options.count]
        start = time.perf_counter()
        verdicts = judge(options, [source / row["file"] for row in mine], TASKS[name])
        for row in mine:
            verdict = verdicts[row["file"]]
            result["candidates"].append({**row, "outcome": verdict["outcome"], "reason": verdict["reason"], "timing": verdict.get("timing"),
                                         "seconds": sum(gate["milliseconds"] for gate in verdict["gates"]) / 1000})
        if options.triton:
            triton = pathlib.Path(options.triton)
            exported = triton / f"{TASKS[name].split('/')[1]}.ptx"
            if exported.exists():
                verdict = judge(options, [exported], TASKS[name])[exported.name]
                result["triton"].append({"example": name, "against": "nvcc", "outcome": verdict["outcome"], "reason": verdict["reason"],
                                         "timing": verdict.get("timing")})
            best = best_of([row for row in result["candidates"] if row["example"] == name])
            if best and (triton / "tasks" / TASKS[name]).exists():
                verdict = judge(options, [source / best["file"]], triton / "tasks" / TASKS[name])[best["file"]]
                result["triton"].append({"example": name, "against": "triton", "name": best["name"], "outcome": verdict["outcome"],
                                         "reason": verdict["reason"], "timing": verdict.get("timing")})
        print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
        if os.environ.get("OUT"):  # what there is, should time run out
            (pathlib.Path(os.environ["OUT"]) / "rules.json").write_text(json.dumps(result, indent=1) + "\n")
    return table(result)


def best_of(rows):
    timed = [row for row in rows if row["timing"]]
    return max(timed, key=lambda row: row["timing"]["speedup"], default=None)


def shown(timing):
    return f"{timing['speedup']:.3f} [{timing['low']:.3f}, {timing['high']:.3f}]" if timing else "-"


def pairs_right(rows):
    """Of pairs of one kernel's versions (the original among them) that differ by more than FAR in measurement: how many the estimate orders
    right, and which it does not."""
    right, wrong = 0, []
    for name in {row["example"] for row in rows}:
        points = [("original", 0.0, 0.0)] + [(row["name"], math.log(row["estimated"]), math.log(row["timing"]["speedup"]))
                                             for row in rows if row["example"] == name and row["timing"] and row["estimated"]]
        for i, (one, estimate_one, time_one) in enumerate(points):
            for other, estimate_other, time_other in points[:i]:
                if abs(time_one - time_other) <= math.log1p(FAR):
                    continue
                if (estimate_one - estimate_other) * (time_one - time_other) > 0:
                    right += 1
                else:
                    wrong.append((name, one, other, estimate_one - estimate_other, time_one - time_other))
    return right, wrong


def table(result):
    for row in result["candidates"]:
        estimated = f"{row['estimated']:.2f}" if row["estimated"] else "-"
        print(f"{row['example']:<18} {row['name']:<28} {row['outcome']:<10} measured {shown(row['timing']):<24} estimated {estimated}"
              + ("" if row["timing"] else f"  {row['reason'][:90]}"))
    for row in result["triton"]:
        sizes = "; ".join(f"{one['size']}: {one['baseline_us']:.1f} -> {one['candidate_us']:.1f} us" for one in (row["timing"] or {}).get("sizes", []))
        what = "Triton against nvcc" if row["against"] == "nvcc" else f"{row['name']} against Triton"
        print(f"{row['example']:<18} {what:<40} {row['outcome']:<10} {shown(row['timing']):<24} {sizes or row['reason'][:90]}")
    right, wrong = pairs_right(result["candidates"])
    if right or wrong:
        print(f"estimate: {right} of {right + len(wrong)} pairs that differ by more than {100 * FAR:.0f} % are ordered right "
              f"({100 * right / (right + len(wrong)):.0f} %)")
    for name, one, other, estimated, measured in wrong:
        print(f"  wrong: {name}: {one} against {other}: estimated {math.exp(estimated):.2f}, measured {math.exp(measured):.2f}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["make", "time", "table"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--program", default=ROOT / "build/release/src/cli/ptxlab")
    parser.add_argument("--to")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--triton")
    parser.add_argument("--count", type=int, default=6)
    options = parser.parse_args()
    if options.verb == "table":
        return table(json.loads(pathlib.Path(options.names[0]).read_text()))
    options.names = options.names or list(TASKS)
    return make(options) if options.verb == "make" else time_all(options)


if __name__ == "__main__":
    sys.exit(main())

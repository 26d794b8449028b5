#!/usr/bin/env python3
"""A judgement in the manner of KernelBench, of our own making: for each candidate a fresh Python process imports PyTorch, builds the CUDA
source as an inline extension, compares five random inputs with PyTorch's answer, and times 100 launches by CUDA events. Prints what
that costs: candidates a minute, with the build and without it.

usage: kernelbench_manner.py [--timed] [--repeat N] [NAME...]
  --timed     the first timed size of each task instead of a check size
  --repeat N  so many candidates of each task (1); each builds anew, as each candidate's text would be another
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CHECKS, WARM_UP, TIMED = 5, 3, 100


def child(name, timed, folder):
    """One candidate, in a process of its own: prints the phases' seconds as one JSON line."""
    phases = {}
    start = time.perf_counter()
    import torch
    from torch.utils.cpp_extension import load_inline
    import workloads
    torch.cuda.init()
    phases["import"] = time.perf_counter() - start
    work, = [w for w in workloads.ALL if w.name == name]
    size = work.timed[0] if timed else work.check

    start = time.perf_counter()
    source = (f"#include <algorithm>\n{work.cuda_source()}\n"
              f"void launch({work.signature}) {{\n  {work.binding}\n}}\n")
    module = load_inline(name=f"candidate_{os.getpid()}", cpp_sources=f"void launch({work.signature});", cuda_sources=source,
                         functions=["launch"], build_directory=folder, extra_cuda_cflags=["-O3"], verbose=False)
    phases["build"] = time.perf_counter() - start

    def launch(tensors):
        module.launch(*tensors.values(), *work.scalars(size).values())

    start = time.perf_counter()
    wrong = []
    for seed in range(CHECKS):
        tensors = work.inputs(torch, size, seed)
        right = work.right(torch, size, tensors)
        launch(tensors)
        torch.cuda.synchronize()
        for output, expected in right.items():
            # KernelBench's own measure; ptxlab's is in docs/tolerance.md.
            if not torch.allclose(tensors[output].double(), expected.double(), rtol=1e-2, atol=1e-2):
                wrong.append(f"{output}, seed {seed}")
    phases["check"] = time.perf_counter() - start

    start = time.perf_counter()
    tensors = work.inputs(torch, size, 0)
    for _ in range(WARM_UP):
        launch(tensors)
    torch.cuda.synchronize()
    times = []
    for _ in range(TIMED):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        launch(tensors)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    phases["time"] = time.perf_counter() - start
    print(json.dumps({"phases": phases, "wrong": wrong, "median_us": sorted(times)[len(times) // 2]}))


def judge(name, timed):
    """Starts the child, and clocks it from start to end."""
    with tempfile.TemporaryDirectory(prefix="kernelbench-") as folder:
        command = [sys.executable, str(pathlib.Path(__file__).resolve()), "--child", name, "--folder", folder]
        if timed:
            command.append("--timed")
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
        seconds = time.perf_counter() - start
    if done.returncode != 0:
        return {"task": name, "failed": (done.stderr or done.stdout)[-2000:], "seconds": seconds}
    result = json.loads(done.stdout.strip().splitlines()[-1])
    return {"task": name, "seconds": seconds, "without_build": seconds - result["phases"]["build"], **result}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--timed", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_intermixed_args()
    if arguments.child:
        return child(arguments.child, arguments.timed, arguments.folder)
    import workloads
    results = []
    print(f"{'task':<24} {'all':>7} {'import':>7} {'build':>7} {'check':>7} {'time':>7}  {'kernel':>10}")
    for work in workloads.chosen(arguments.names):
        for _ in range(arguments.repeat):
            result = judge(work.name, arguments.timed)
            results.append(result)
            if "failed" in result:
                print(f"{work.name:<24} {result['seconds']:>6.1f}s  failed: {result['failed'].strip().splitlines()[-1]}")
                continue
            p = result["phases"]
            print(f"{work.name:<24} {result['seconds']:>6.1f}s {p['import']:>6.1f}s {p['build']:>6.1f}s {p['check']:>6.2f}s "
                  f"{p['time']:>6.2f}s  {result['median_us']:>7.1f} us  {'wrong: ' + result['wrong'][0] if result['wrong'] else ''}")
    good = [r for r in results if "failed" not in r]
    summary = {}
    if good:
        mean = sum(r["seconds"] for r in good) / len(good)
        without = sum(r["without_build"] for r in good) / len(good)
        summary = {"candidates": len(good), "a_minute": 60 / mean, "a_minute_without_build": 60 / without}
        print(f"{summary['a_minute']:.2f} candidates a minute, {summary['a_minute_without_build']:.1f} without the build")
    try:
        import torch
        machine = workloads.machine(torch)
    except ImportError:
        machine = {}
    workloads.write_json("kernelbench_manner", {"schema": "ptxlab.kernelbench_manner/1", "machine": machine,
                                                "size": "timed" if arguments.timed else "check", "summary": summary,
                                                "results": results})
    return 0 if good and not any(r["wrong"] for r in good) and len(good) == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())

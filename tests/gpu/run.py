#!/usr/bin/env python3
"""Everything that a launch plan can say, on a GPU: kernels with answers that are known, and faults that must be said.

    python3 tests/gpu/run.py build/release/src/cli/ptxlab [--json FILE] [--gpu PLACE] [--engine simt] [NAME...]

Each case is one `ptxlab run` or `ptxlab judge` in a process of its own, with a limit on its time. Prints a table; --json writes
it too. NAME: only the cases whose name contains one of them. --engine simt: the cases that the CPU engine can execute, there.
Ends with 0 where all is right, 1 where something is not, 77 where there is no GPU and nothing was run.
"""
import argparse
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_SECONDS = 120
NO_GPU = {"GPU0001", "GPU0002", "GPU0003", "GPU0020"}
NOT_EXECUTED = "RUN0001"
NAN = "nan"


class Problem(Exception):
    """What is wrong with a case."""


class Skipped(Exception):
    """Why a case was not run."""


# --- answers ------------------------------------------------------------------------------------------------------------


def draw(count, below, seed=1):
    """Numbers below `below`, the same each time."""
    state, values = seed, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        values.append((state >> 33) % below)
    return values


def words(values):
    return struct.pack(f"<{len(values)}I", *(v % 2**32 for v in values))


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def filled(count, cta, threads=1024):
    """Of shared.ptx: thread t sums the words count - 1 - t, count - 1 - t - threads, ..."""
    sums = []
    for t in range(threads):
        total = 0
        for i in range(t, count, threads):
            total += (count - 1 - i) * 2654435761 + cta
        sums.append(total % 2**32)
    return sums


SWIZZLE_BITS = {0: 0, 32: 0x10, 64: 0x30, 128: 0x70}


def box_in_shared(x, pitch, n, m, column, row, width, height, swizzle=0, start=0, outside=0, every=1):
    """The words of a box as they lie in shared memory: 16-byte pieces of a row change places by the row's address."""
    lines = (height + every - 1) // every
    put = [None] * (width * lines)
    for r in range(lines):
        for c in range(width):
            i, j = row + r * every, column + c
            value = bits(x[start + i * pitch + j]) if 0 <= i < m and 0 <= j < n else outside
            address = 4 * (r * width + c)
            address ^= (address >> 3) & SWIZZLE_BITS[swizzle]
            put[address // 4] = value
    return put


# --- running ------------------------------------------------------------------------------------------------------------


class Bench:
    def __init__(self, program, engine, gpu, folder):
        self.program, self.engine, self.gpu, self.folder = program, engine, gpu, folder
        self.device, self.sm = "", 0

    def call(self, words_, env=None, seconds=MOST_SECONDS):
        """Exit status, stdout, stderr of ptxlab; a process that takes too long is ended with all that it started."""
        environment = dict(os.environ, **(env or {}))
        child = subprocess.Popen([self.program] + words_, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 errors="replace", start_new_session=True, env=environment, cwd=self.folder)
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise Problem(f"still running after {seconds} s")
        return child.returncode, out, err

    def run(self, ptx, args=(), plan=None, options=(), outs=(), env=None):
        """One `ptxlab run`: its status, what it said as JSON (or {}), all that it printed, the contents of `outs`."""
        command = ["run", os.path.join(HERE, ptx), "--engine", self.engine, "--json"]
        if self.gpu and self.engine == "gpu":
            command += ["--gpu", self.gpu]
        if plan:
            command += ["--plan", os.path.join(HERE, plan)]
        for i, (name, spec) in enumerate(args):
            if isinstance(spec, bytes):
                raise ValueError("bytes need in: or inout:")
            if isinstance(spec, tuple):
                kind, content = spec
                path = os.path.join(self.folder, f"argument{i}.bin")
                with open(path, "wb") as file:
                    file.write(content)
                spec = f"{kind}:@{path}"
            command += ["--arg", f"{name}={spec}"]
        paths = {}
        for number in outs:
            paths[number] = os.path.join(self.folder, f"out{number}.bin")
            if os.path.exists(paths[number]):
                os.remove(paths[number])
            command += ["--out", f"{number}:{paths[number]}"]
        status, out, err = self.call(command + list(options), env)
        said = {}
        try:
            said = json.loads(out)
        except ValueError:
            pass
        contents = {}
        for number, path in paths.items():
            if os.path.exists(path):
                with open(path, "rb") as file:
                    contents[number] = file.read()
        return status, said, out + err, contents


def codes_of(said, text):
    found = [finding.get("code", "") for finding in said.get("findings", [])]
    if not found:
        found = [word[:-1] for word in text.replace("error[", " ").replace("]", "] ").split() if word.endswith("]")]
    return found


def short(text, most=160):
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 3] + "..."


def told(said, text, most=400):
    """What was found, in words."""
    found = [f"{f.get('code')}: {f.get('message')}" for f in said.get("findings", [])]
    return short("; ".join(found) if found else text, most)


def compare(number, content, expected):
    got = struct.unpack(f"<{len(content) // 4}I", content)
    if len(got) != len(expected):
        raise Problem(f"argument {number} has {len(got)} words, not {len(expected)}")
    wrong = []
    for i, (is_, should) in enumerate(zip(got, expected)):
        if should is None:
            continue
        if should == NAN:
            good = math.isnan(struct.unpack("<f", struct.pack("<I", is_))[0])
        else:
            good = is_ == should % 2**32
        if not good:
            wrong.append((i, is_, should))
    if wrong:
        i, is_, should = wrong[0]
        raise Problem(f"{len(wrong)} of {len(got)} words wrong, the first is word {i}: {is_:#x}, not "
                      f"{should if should == NAN else hex(should % 2**32)}")


class Case:
    """A plan whose outputs are known."""

    gpu_only = False

    def __init__(self, name, ptx, args, expected, plan=None, needs=80, options=(), env=None):
        self.name, self.ptx, self.args, self.expected = name, ptx, args, expected
        self.plan = plan or ptx.replace(".ptx", ".plan.toml")
        self.needs, self.options, self.env = needs, options, env

    def run(self, bench):
        if bench.sm and bench.sm < self.needs:
            raise Skipped(f"needs sm_{self.needs}, this is sm_{bench.sm}")
        status, said, text, contents = bench.run(self.ptx, self.args, self.plan, self.options, sorted(self.expected),
                                                 self.env)
        if bench.engine == "simt" and NOT_EXECUTED in codes_of(said, text):
            raise Skipped("the engine does not execute it: " + short(said["findings"][0]["message"], 80))
        if status != 0:
            raise Problem(f"exit {status}: {told(said, text)}")
        for number, expected in self.expected.items():
            if number not in contents:
                raise Problem(f"argument {number} was not written")
            compare(number, contents[number], expected)
        took = f"{said['milliseconds']:.3f} ms, code by {said['code_by']}" if "milliseconds" in said else ""
        return took


class Refused:
    """A plan or a launch that must be refused or stopped, and how that is said; the GPU must be well afterwards."""

    def __init__(self, name, code, says, ptx, args=(), plan=None, needs=80, options=(), gpu_only=True, env=None, status=1):
        self.name, self.code, self.says, self.ptx, self.args, self.plan = name, code, says, ptx, args, plan
        self.needs, self.options, self.gpu_only, self.env, self.status = needs, options, gpu_only, env, status

    def run(self, bench):
        if bench.sm and bench.sm < self.needs:
            raise Skipped(f"needs sm_{self.needs}, this is sm_{bench.sm}")
        options = list(self.options)
        env = self.env(bench) if callable(self.env) else self.env
        status, said, text, _ = bench.run(self.ptx, self.args, self.plan, options, (), env)
        message = short(next((f["message"] for f in said.get("findings", []) if f["code"] == self.code), text), 200)
        if self.code not in text:
            raise Problem(f"exit {status}, no {self.code}: {told(said, text)}")
        for word in self.says:
            if word.lower() not in text.lower():
                raise Problem(f"{self.code} does not say '{word}': {message}")
        if status != self.status:
            raise Problem(f"{self.code} as it should, but exit {status}, not {self.status}")
        if bench.engine == "gpu":
            sane(bench)
        return message


class Judged:
    """A candidate through the judge, whose gate `execute` is what is looked at."""

    gpu_only = True

    def __init__(self, name, ptx, plan, outcome, gate, says=(), needs=80):
        self.name, self.ptx, self.plan, self.outcome, self.gate, self.says = name, ptx, plan, outcome, gate, says
        self.needs = needs

    def run(self, bench):
        if bench.sm and bench.sm < self.needs:
            raise Skipped(f"needs sm_{self.needs}, this is sm_{bench.sm}")
        command = ["judge", os.path.join(HERE, self.ptx), "--task", os.path.join(HERE, "struct_task"), "--plan",
                   os.path.join(HERE, self.plan), "--until", "execute", "--json"]
        if bench.gpu:
            command += ["--gpu", bench.gpu]
        status, out, err = bench.call(command)
        try:
            verdict = json.loads(out)
        except ValueError:
            raise Problem(f"exit {status}: {short(out + err, 400)}")
        gates = {gate["name"]: gate for gate in verdict["gates"]}
        execute = gates.get("execute", {"status": "absent"})
        said = f"execute {execute['status']}: {execute.get('reason', '')}"
        if execute["status"] != self.gate:
            raise Problem(f"{said}; not {self.gate}; outcome {verdict['outcome']}")
        if verdict["outcome"] not in self.outcome:
            raise Problem(f"outcome {verdict['outcome']}: {verdict['reason']}")
        for word in self.says:
            if word.lower() not in out.lower():
                raise Problem(f"the verdict does not say '{word}': {short(said)}")
        sane(bench)
        return short(said)


def sane(bench):
    """The GPU does as it should, in a fresh worker."""
    values = draw(32, 1000, 9)
    status, said, text, contents = bench.run("add.ptx", [("x", ("in", words(values))), ("y", "out:128")], None,
                                          ["--block", "32"], [1])
    if status != 0:
        raise Problem(f"afterwards the GPU is not well: exit {status}: {told(said, text)}")
    compare(1, contents[1], [v + 1 for v in values])


def other_architecture(bench):
    """A ptxas that assembles for another GPU than it is asked for: what it makes does not load."""
    real = shutil.which("ptxas")
    for root in (os.environ.get("PTXLAB_CUDA"), os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if not real and root and os.path.exists(os.path.join(root, "bin", "ptxas")):
            real = os.path.join(root, "bin", "ptxas")
    if not real:
        raise Skipped("no ptxas here")
    wrong = "sm_100" if bench.sm != 100 else "sm_90"
    folder = os.path.join(bench.folder, "wrong", "bin")
    os.makedirs(folder, exist_ok=True)
    tool = os.path.join(folder, "ptxas")
    with open(tool, "w", encoding="utf-8") as file:
        file.write('#!/bin/bash\nargs=()\nfor a in "$@"; do case $a in -arch=*) args+=("-arch=%s");; *) args+=("$a");; esac; '
                   'done\nexec "%s" "${args[@]}"\n' % (wrong, real))
    os.chmod(tool, 0o755)
    return {"PTXLAB_CUDA": os.path.dirname(folder), "XDG_CACHE_HOME": os.path.join(bench.folder, "cache")}


# --- the cases ----------------------------------------------------------------------------------------------------------


def plain_cases():
    x = draw(100000, 1000)
    yield Case("two launches with scratch", "sums.ptx",
               [("x", ("in", words(x))), ("y", "out:4"), ("n", "u32:100000")], {1: [sum(x)]})
    yield Case("compiled by the driver", "sums.ptx",
               [("x", ("in", words(x))), ("y", "out:4"), ("n", "u32:100000")], {1: [sum(x)]}, env={"PTXLAB_CUDA": "none"})
    y = draw(5000, 2**31, 3)
    counts = [sum(1 for v in y if v % 16 == b) for b in range(16)]
    yield Case("zeroed scratch, plan launched three times", "histogram.ptx",
               [("x", ("in", words(y))), ("y", "out:64"), ("n", "u32:5000")], {1: counts}, options=["--launches", "3"])
    for steps in (4, 5):
        values = start = draw(64, 50, 4)
        for t in range(steps):
            values = [3 * v + t for v in values]
        if steps % 2:
            values = [3 * v for v in values]
        yield Case(f"for, pick and when, {steps} steps", "steps.ptx",
                   [("x", ("inout", words(start))), ("steps", f"u32:{steps}")], {0: values})
    v, w = draw(36, 2**30, 5), draw(4, 99, 6)
    yield Case("symbols: an array, a number, a pointer", "symbols.ptx",
               [("x", ("in", words(v))), ("w", ("in", words(w))), ("y", "out:128"), ("n", "u32:32")],
               {2: [v[i + 4] * w[i % 4] + 325 for i in range(32)]})
    yield Case("a null pointer", "null.ptx", [("x", ("in", words(v))), ("y", "out:128")],
               {1: [a + 100 for a in v[:32]]})
    yield Case("a place with an offset", "null.ptx", [("x", ("in", words(v))), ("y", "out:128")],
               {1: [v[i] + v[i + 2] for i in range(32)]}, plan="bias.plan.toml")


def shared_cases():
    for kib in (48, 64, 200, 227):
        count = kib * 256
        yield Case(f"{kib} KiB of dynamic shared memory", "shared.ptx",
                   [("y", "out:8192"), ("words", f"u32:{count}")], {0: filled(count, 0) + filled(count, 1)}, needs=90)
    yield Case("40 KiB of the code's own and 20 of the plan's", "shared_both.ptx", [("y", "out:1024"), ("more", "u32:20480")],
               {0: [(t ^ 31) * 17 for t in range(256)]})
    yield Refused("shared memory beyond what any GPU has", "PLAN0026", ["240000"], "shared.ptx",
                  [("y", "out:8192"), ("words", "u32:60000")], "shared.plan.toml", gpu_only=False, status=2)
    yield Refused("shared memory beyond this GPU's, with the code's own", "GPU0013", ["204800", "40960", "at most"],
                  "shared_both.ptx", [("y", "out:1024"), ("more", "u32:204800")], "shared_both.plan.toml")


def cluster_cases():
    def neighbours(ctas, size):
        return [(c // size * size + (c % size + 1) % size) * 1000 + 7 for c in range(ctas)]

    for size in (2, 8, 16):
        yield Case(f"clusters of {size}", "cluster.ptx",
                   [("y", f"out:{4 * 4 * size}"), ("ctas", f"u32:{4 * size}"), ("size", f"u32:{size}")],
                   {0: neighbours(4 * size, size)}, needs=90)
    yield Case("clusters as the code declares them", "cluster_declared.ptx", [("y", "out:96"), ("ctas", "u32:24")],
               {0: neighbours(24, 4)}, needs=90)
    yield Refused("a cluster that no GPU has", "PLAN0024", ["cluster.x is 32"], "cluster.ptx",
                  [("y", "out:256"), ("ctas", "u32:64"), ("size", "u32:32")], "cluster.plan.toml", gpu_only=False, status=2)
    for ctas, threads in ((64, 128), (108, 1024)):
        yield Case(f"a cooperative grid of {ctas} x {threads} meets", "grid_barrier.ptx",
                   [("y", f"out:{4 * ctas}"), ("ctas", f"u32:{ctas}"), ("threads", f"u32:{threads}")],
                   {0: [ctas * (ctas + 1) // 2 + c for c in range(ctas)]})
    yield Refused("a cooperative grid that does not fit", "GPU0013", ["COOPERATIVE", "100000", "at a time"], "grid_barrier.ptx",
                  [("y", "out:400000"), ("ctas", "u32:100000"), ("threads", "u32:1024")], "grid_barrier.plan.toml")


def tensor_map_cases():
    pitch, n, m = 48, 40, 12
    x = [0.5 * v for v in draw(pitch * m, 100000, 7)]

    def load(name, plan, column, row, box, swizzle=0, rows=m, ptx="tma_load.ptx", **how):
        width, height = box
        count = width * height // how.get("every", 1)
        args = [("x", ("in", floats(x))), ("y", f"out:{4 * count}"), ("n", f"u32:{n}"), ("m", f"u32:{rows}"),
                ("pitch", f"u32:{pitch}"), ("column", f"s32:{column}"), ("row", f"s32:{row}")]
        return Case(f"TMA load, {name}", ptx, args,
                    {1: box_in_shared(x, pitch, n, rows, column, row, width, height, swizzle, **how)}, plan, needs=90)

    yield load("a box inside", "tma_plain.plan.toml", 4, 2, (32, 8))
    yield load("zeros beyond the end", "tma_plain.plan.toml", 16, 7, (32, 8))
    # An innermost coordinate that is no multiple of 16 bytes is an illegal instruction to an H200.
    yield load("zeros before the start", "tma_plain.plan.toml", -8, -3, (32, 8))
    yield load("NaN outside", "tma_nan.plan.toml", 16, -2, (32, 8), outside=NAN)
    for swizzle, box in ((128, (32, 8)), (64, (16, 16)), (32, (8, 32))):
        yield load(f"swizzle {swizzle}B", f"tma_swizzle{swizzle}.plan.toml", 4, 1, box, swizzle)
        yield load(f"swizzle {swizzle}B and zeros", f"tma_swizzle{swizzle}.plan.toml", 28, -2, box, swizzle)
    yield load("from an offset", "tma_offset.plan.toml", 4, 1, (32, 8), rows=m - 1, start=16)
    yield load("every other row", "tma_every_other.plan.toml", 4, 1, (32, 8), every=2)
    yield load("the map in constant memory", "tma_constant.plan.toml", 4, 2, (32, 8), ptx="tma_constant.ptx")
    # A store that begins before the matrix, which a load may do, is an illegal instruction to an H200.
    blank = 0xFFFFFFFF
    stored = [blank] * (pitch * m)
    for r in range(8):
        for c in range(32):
            i, j = 8 + r, 28 + c
            if i < m and j < n:
                stored[i * pitch + j] = r * 32 + c + 5000
    yield Case("TMA store, clipped", "tma_store.ptx",
               [("y", ("inout", words([blank] * (pitch * m)))), ("n", f"u32:{n}"), ("m", f"u32:{m}"),
                ("pitch", f"u32:{pitch}"), ("column", "s32:28"), ("row", "s32:8")], {0: stored}, needs=90)
    args = [("x", ("in", floats(x))), ("y", "out:1024"), ("n", "u32:40"), ("m", "u32:13"), ("pitch", "u32:48"),
            ("column", "s32:0"), ("row", "s32:0")]
    yield Refused("a tensor map beyond its buffer", "PLAN0034", ["2464", "2304"], "tma_load.ptx", args,
                  "tma_plain.plan.toml", gpu_only=False, status=2)
    odd = [arg if arg[0] != "pitch" else ("pitch", "u32:41") for arg in args]
    yield Refused("a stride that TMA does not take", "PLAN0033", ["164", "multiple of 16"], "tma_load.ptx", odd,
                  "tma_plain.plan.toml", gpu_only=False, status=2)


def fault_cases():
    y = [("y", "out:128")]
    for name, entry, code, says, options in (
            ("an illegal address", "illegal", "GPU0010", ["CUDA_ERROR_ILLEGAL_ADDRESS"], []),
            ("a misaligned address", "misaligned", "GPU0010", ["CUDA_ERROR_MISALIGNED_ADDRESS"], []),
            ("a trap", "trapped", "GPU0010", ["CUDA_ERROR_"], []),
            ("an endless loop", "endless", "GPU0004", ["still running"], ["--limit", "3"]),
            ("written beyond a buffer", "beyond", "GPU0011", ["4 bytes beyond 'y'"], [])):
        yield Refused(name, code, says, "faults.ptx", y, options=["--entry", entry, "--block", "1"] + options)
    yield Refused("code for another GPU", "GPU0012", ["CUDA_ERROR_"], "faults.ptx", y,
                  options=["--entry", "trapped", "--block", "1"], env=other_architecture)


def judged_cases():
    yield Judged("judged: a struct by value", "struct.ptx", "struct_task/baseline.plan.toml",
                 ("faster", "slower", "same", "unverified", "unstable"), "passed")
    yield Judged("judged: the same in clusters, which only the GPU executes", "struct.ptx", "struct_cluster.plan.toml",
                 ("faster", "slower", "same", "unverified", "unstable"), "passed", needs=90)
    yield Judged("judged: a fault in one case of three", "struct_fault.ptx", "struct_cluster.plan.toml", ("faulted",), "failed",
                 ["CUDA_ERROR_ILLEGAL_ADDRESS"], needs=90)


def all_cases():
    for family in (plain_cases, shared_cases, cluster_cases, tensor_map_cases, fault_cases, judged_cases):
        yield from family()


def there(bench):
    """Looks for the GPU; a reason why there is none, or None."""
    values = draw(32, 1000, 9)
    status, said, text, _ = bench.run("add.ptx", [("x", ("in", words(values))), ("y", "out:128")], None, ["--block", "32"])
    missing = NO_GPU.intersection(codes_of(said, text))
    if missing:
        return short(next((f["message"] for f in said.get("findings", []) if f["code"] in missing), text), 300)
    bench.device = said.get("device", "")
    bench.sm = int(said.get("sm", 0))
    if status != 0:
        print(f"the simplest kernel fails: exit {status}: {told(said, text)}", flush=True)
    return None


def main():
    parser = argparse.ArgumentParser(description="Launch plans on a GPU, with known answers.")
    parser.add_argument("program", help="the ptxlab executable")
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--gpu", default="", help="as ptxlab's --gpu")
    parser.add_argument("--engine", default="gpu", choices=["gpu", "simt"])
    given = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(given.program), given.engine, given.gpu, folder)
        if given.engine == "gpu":
            reason = there(bench)
            if reason:
                print(f"skipped: {reason}")
                return 77
            print(f"{bench.device}, sm_{bench.sm}")
        for case in all_cases():
            if given.names and not any(name in case.name for name in given.names):
                continue
            if given.engine == "simt" and case.gpu_only:
                continue
            start = time.time()
            try:
                status, said = "right", case.run(bench)
            except Skipped as why:
                status, said = "skipped", str(why)
            except Problem as why:
                status, said = "WRONG", str(why)
            except Exception as why:  # a fault of this script ends its case, not all of them
                status, said = "WRONG", f"{type(why).__name__}: {why}"
            results.append({"case": case.name, "status": status, "said": said, "seconds": round(time.time() - start, 3)})
            print(f"{status:8}{case.name:58} {results[-1]['seconds']:6.2f} s  {said}", flush=True)
    counts = {status: sum(1 for r in results if r["status"] == status) for status in ("right", "WRONG", "skipped")}
    print(f"{counts['right']} right, {counts['WRONG']} wrong, {counts['skipped']} skipped")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"schema": "ptxlab.gpu_plans/1", "engine": given.engine, "device": bench.device, "cases": results}, file,
                      indent=1)
            file.write("\n")
    return 1 if counts["WRONG"] or not results else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Our own Triton sources of the nine tasks. A kernel has variants, as Triton's launcher would pick them: by size, and by whether integers
divide by 16 (which lets it load 16 bytes at a time). Exported, the variants of a task are one PTX module with one plan that picks by
`when`, so that ptxlab judges and times what Triton would have run.

usage: triton_kernels.py check [--cpu] [NAME...]    against PyTorch, on this GPU; --cpu: by Triton's interpreter, at the check sizes
       triton_kernels.py time [NAME...]             medians at the timed sizes, on this GPU
       triton_kernels.py export --to DIR [NAME...]  PTX, plan and cubins by variant; needs neither GPU nor PyTorch
       triton_kernels.py baselines [NAME...]        triton.ptx and triton.plan.toml of each task: its second baseline; likewise
  --target 90  the compute capability to export for (90: sm_90a)
"""
import argparse
import dataclasses
import os
import pathlib
import re
import sys

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")
if "--cpu" in sys.argv:
    os.environ["TRITON_INTERPRET"] = "1"
import triton
import triton.language as tl

import workloads


# --- kernels ---------------------------------------------------------------------------------------------------------------
@triton.jit
def vector_add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(c + i, tl.load(a + i, inside) + tl.load(b + i, inside), inside)


@triton.jit
def rmsnorm(x, w, y, n, eps, BLOCK: tl.constexpr):
    """The whole row at once: n <= BLOCK."""
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    inside = i < n
    v = tl.load(x + row + i, inside, 0.0).to(tl.float32)
    scale = tl.math.rsqrt(tl.sum(v * v, 0) / n + eps)
    out = v * scale * tl.load(w + i, inside, 0.0).to(tl.float32)
    tl.store(y + row + i, out.to(tl.bfloat16), inside)


@triton.jit
def rmsnorm_long(x, w, y, n, eps, BLOCK: tl.constexpr):
    """Rows of any length in two passes; the second finds the row in L1 or L2."""
    row = tl.program_id(0).to(tl.int64) * n
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, n, BLOCK):
        i = first + tl.arange(0, BLOCK)
        v = tl.load(x + row + i, i < n, 0.0).to(tl.float32)
        total += v * v
    scale = tl.math.rsqrt(tl.sum(total, 0) / n + eps)
    for first in range(0, n, BLOCK):
        i = first + tl.arange(0, BLOCK)
        v = tl.load(x + row + i, i < n, 0.0).to(tl.float32)
        out = v * scale * tl.load(w + i, i < n, 0.0).to(tl.float32)
        tl.store(y + row + i, out.to(tl.bfloat16), i < n)


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    """The whole row at once: n <= BLOCK."""
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    inside = i < n
    v = tl.load(x + row + i, inside, -float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row + i, e / tl.sum(e, 0), inside)


@triton.jit
def softmax_long(x, y, n, BLOCK: tl.constexpr):
    """Maximum and sum in one pass, each element with a running pair of its own; the result in a second."""
    row = tl.program_id(0).to(tl.int64) * n
    highest = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, n, BLOCK):
        i = first + tl.arange(0, BLOCK)
        v = tl.load(x + row + i, i < n, -float("inf"))
        now = tl.maximum(highest, v)
        # Nothing but -inf so far: there is nothing to scale.
        base = tl.where(now == -float("inf"), 0.0, now)
        total = total * tl.exp(highest - base) + tl.exp(v - base)
        highest = now
    top = tl.max(highest, 0)
    base = tl.where(top == -float("inf"), 0.0, top)
    sum_of_all = tl.sum(total * tl.exp(highest - base), 0)
    for first in range(0, n, BLOCK):
        i = first + tl.arange(0, BLOCK)
        v = tl.load(x + row + i, i < n, -float("inf"))
        tl.store(y + row + i, tl.exp(v - top) / sum_of_all, i < n)


@triton.jit
def bias_gelu_dropout(x, bias, y, n, seed, offset, drop, scale, GROUPS: tl.constexpr):
    """Four neighbouring columns share one block of four random words (Philox 4x32-10)."""
    row = tl.program_id(0)
    group = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    low = (offset & 0xFFFFFFFF).to(tl.uint32)
    high = (offset >> 32).to(tl.uint32)
    counter = group.to(tl.uint32)
    nothing = counter * 0
    w0, w1, w2, w3 = tl.philox(seed, counter, nothing + row.to(tl.uint32), nothing + low, nothing + high)
    word = tl.reshape(tl.join(tl.join(w0, w2), tl.join(w1, w3)), [4 * GROUPS])
    column = tl.program_id(1) * (4 * GROUPS) + tl.arange(0, 4 * GROUPS)
    inside = column < n
    at = row.to(tl.int64) * n + column
    v = tl.load(x + at, inside, 0.0).to(tl.float32) + tl.load(bias + column, inside, 0.0).to(tl.float32)
    z = 0.7978845608 * (v + 0.044715 * v * v * v)
    # tanh(z) = 1 - 2 / (exp(2 z) + 1)
    gelu = v * (1.0 - 1.0 / (tl.exp(2.0 * z) + 1.0))
    tl.store(y + at, tl.where(word < drop, 0.0, gelu * scale).to(tl.bfloat16), inside)


@triton.jit
def turn(base, table, position, token, head, heads, half, BLOCK_H: tl.constexpr, BLOCK_J: tl.constexpr):
    h = head + tl.arange(0, BLOCK_H)
    for first in range(0, half, BLOCK_J):
        j = first + tl.arange(0, BLOCK_J)
        c = tl.load(table + position + j, j < half, 0.0)[None, :]
        s = tl.load(table + position + half + j, j < half, 0.0)[None, :]
        at = (token * heads + h)[:, None] * (2 * half) + j[None, :]
        inside = (h < heads)[:, None] & (j < half)[None, :]
        a = tl.load(base + at, inside, 0.0).to(tl.float32)
        b = tl.load(base + at + half, inside, 0.0).to(tl.float32)
        tl.store(base + at, (a * c - b * s).to(tl.bfloat16), inside)
        tl.store(base + at + half, (b * c + a * s).to(tl.bfloat16), inside)


@triton.jit
def rope(q, k, table, positions, hq, hk, half, BLOCK_H: tl.constexpr, BLOCK_J: tl.constexpr):
    """A program a token and BLOCK_H heads, those of q first."""
    token = tl.program_id(0).to(tl.int64)
    position = tl.load(positions + token).to(tl.int64) * (2 * half)
    block = tl.program_id(1)
    blocks_q = tl.cdiv(hq, BLOCK_H)
    if block < blocks_q:
        turn(q, table, position, token, block * BLOCK_H, hq, half, BLOCK_H, BLOCK_J)
    else:
        turn(k, table, position, token, (block - blocks_q) * BLOCK_H, hk, half, BLOCK_H, BLOCK_J)


@triton.jit
def dequantise(q, scale, y, k, group, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = i < k
    factor = tl.load(scale + row * tl.cdiv(k, group) + i // group, inside, 0.0).to(tl.float32)
    v = tl.load(q + row * k + i, inside, 0).to(tl.float32) * factor
    tl.store(y + row * k + i, v.to(tl.float16), inside)


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr):
    total = tl.zeros([256], tl.int32)
    for first in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = first + tl.arange(0, BLOCK)
        inside = i < n
        total += tl.histogram(tl.load(x + i, inside, 0).to(tl.int32), 256, mask=inside)
    tl.atomic_add(bins + tl.arange(0, 256), total, mask=total > 0, sem="relaxed")


@triton.jit
def sgemm(a, b, c, m, n, k, alpha, beta, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """IEEE products in fp32; programs in groups of GROUP rows of tiles, for L2."""
    tiles_m, tiles_n = tl.cdiv(m, BM), tl.cdiv(n, BN)
    id = tl.program_id(0)
    first = id // (GROUP * tiles_n) * GROUP
    rows = min(tiles_m - first, GROUP)
    tile_m = first + id % (GROUP * tiles_n) % rows
    tile_n = id % (GROUP * tiles_n) // rows
    im = tile_m * BM + tl.arange(0, BM)
    in_ = tile_n * BN + tl.arange(0, BN)
    ik = tl.arange(0, BK)
    sum = tl.zeros([BM, BN], tl.float32)
    for step in range(0, k, BK):
        left = tl.load(a + im[:, None].to(tl.int64) * k + (step + ik)[None, :], (im < m)[:, None] & (step + ik < k)[None, :], 0.0)
        right = tl.load(b + (step + ik)[:, None].to(tl.int64) * n + in_[None, :], (step + ik < k)[:, None] & (in_ < n)[None, :], 0.0)
        sum = tl.dot(left, right, sum, input_precision="ieee")
    at = c + im[:, None].to(tl.int64) * n + in_[None, :]
    inside = (im < m)[:, None] & (in_ < n)[None, :]
    out = alpha * sum
    if beta != 0.0:  # as in BLAS: else C is not read
        out += beta * tl.load(at, inside, 0.0)
    tl.store(at, out, inside)


@triton.jit
def wave_step(u, v, p, coefficients, nx, ny, nz, BX: tl.constexpr, BY: tl.constexpr, BZ: tl.constexpr):
    """A column of BZ levels; neighbours along z from a queue in registers, those in the plane through L1."""
    x = tl.program_id(0) * BX + tl.arange(0, BX)
    y = tl.program_id(1) * BY + tl.arange(0, BY)
    inside = (y < ny)[:, None] & (x < nx)[None, :]
    pitch = nx + 8
    slice_ = pitch.to(tl.int64) * (ny + 8)
    first = tl.program_id(2) * BZ
    at = first * slice_ + (y + 4)[:, None] * pitch + (x + 4)[None, :]
    c0, c1, c2 = tl.load(coefficients), tl.load(coefficients + 1), tl.load(coefficients + 2)
    c3, c4 = tl.load(coefficients + 3), tl.load(coefficients + 4)
    q0 = tl.load(u + at, inside, 0.0)
    q1 = tl.load(u + at + slice_, inside, 0.0)
    q2 = tl.load(u + at + 2 * slice_, inside, 0.0)
    q3 = tl.load(u + at + 3 * slice_, inside, 0.0)
    q4 = tl.load(u + at + 4 * slice_, inside, 0.0)
    q5 = tl.load(u + at + 5 * slice_, inside, 0.0)
    q6 = tl.load(u + at + 6 * slice_, inside, 0.0)
    q7 = tl.load(u + at + 7 * slice_, inside, 0.0)
    for z in range(first, min(first + BZ, nz)):
        q8 = tl.load(u + at + 8 * slice_, inside, 0.0)
        here = u + at + 4 * slice_
        s1 = q3 + q5
        s2 = q2 + q6
        s3 = q1 + q7
        s4 = q0 + q8
        s1 += tl.load(here - 1, inside, 0.0) + tl.load(here + 1, inside, 0.0)
        s2 += tl.load(here - 2, inside, 0.0) + tl.load(here + 2, inside, 0.0)
        s3 += tl.load(here - 3, inside, 0.0) + tl.load(here + 3, inside, 0.0)
        s4 += tl.load(here - 4, inside, 0.0) + tl.load(here + 4, inside, 0.0)
        s1 += tl.load(here - pitch, inside, 0.0) + tl.load(here + pitch, inside, 0.0)
        s2 += tl.load(here - 2 * pitch, inside, 0.0) + tl.load(here + 2 * pitch, inside, 0.0)
        s3 += tl.load(here - 3 * pitch, inside, 0.0) + tl.load(here + 3 * pitch, inside, 0.0)
        s4 += tl.load(here - 4 * pitch, inside, 0.0) + tl.load(here + 4 * pitch, inside, 0.0)
        total = c0 * q4 + c1 * s1 + c2 * s2 + c3 * s3 + c4 * s4
        now = p + at + 4 * slice_
        tl.store(now, 2.0 * q4 - tl.load(now, inside, 0.0) + tl.load(v + at + 4 * slice_, inside, 0.0) * total, inside)
        q0 = q1
        q1 = q2
        q2 = q3
        q3 = q4
        q4 = q5
        q5 = q6
        q6 = q7
        q7 = q8
        at += slice_


# --- variants --------------------------------------------------------------------------------------------------------------
@dataclasses.dataclass
class Variant:
    """What Triton's launcher would choose at some sizes. `when`, `grid` and arguments are expressions of a plan: Python reads them too."""
    kernel: object
    when: str               # "" : always
    grid: list
    constants: dict
    warps: int = 4
    stages: int = 3
    sixteen: tuple = ()     # integers that divide by 16


@dataclasses.dataclass
class Kernel:
    work: workloads.Workload
    arguments: dict  # name -> Triton's type
    variants: list

    def variant_at(self, size):
        names = {**size, **{k: v for k, v in self.work.scalars(size).items() if k not in size}}
        for variant in self.variants:
            if not variant.when or evaluated(variant.when, names):
                return variant
        raise AssertionError(f"{self.work.name}: no variant at {size}")


def evaluated(text, names):
    """An expression of a plan, as far as these use it."""
    python = text.replace("&&", " and ").replace("||", " or ").replace("/", "//")
    return eval(python, {"__builtins__": {}}, {"ceildiv": workloads.ceildiv, "min": min, "max": max, **names})


BY_NAME = {w.name: w for w in workloads.ALL}
KERNELS = [
    Kernel(BY_NAME["vector_add_f32"], {"a": "*fp32", "b": "*fp32", "c": "*fp32", "n": "i32"}, [
        Variant(vector_add, "n % 16 == 0", ["ceildiv(n, 1024)"], {"BLOCK": 1024}, sixteen=("n",)),
        Variant(vector_add, "", ["ceildiv(n, 1024)"], {"BLOCK": 1024})]),
    Kernel(BY_NAME["rmsnorm_bf16"], {"x": "*bf16", "w": "*bf16", "y": "*bf16", "n": "i32", "eps": "fp32"}, [
        Variant(rmsnorm, "n % 16 == 0 && n > 2048 && n <= 4096", ["m"], {"BLOCK": 4096}, 8, sixteen=("n",)),
        Variant(rmsnorm, "n % 16 == 0 && n > 4096 && n <= 8192", ["m"], {"BLOCK": 8192}, 16, sixteen=("n",)),
        Variant(rmsnorm, "n <= 1024", ["m"], {"BLOCK": 1024}, 4),
        Variant(rmsnorm_long, "", ["m"], {"BLOCK": 2048}, 8)]),
    Kernel(BY_NAME["softmax_f32"], {"x": "*fp32", "y": "*fp32", "n": "i32"}, [
        Variant(softmax, "n % 16 == 0 && n > 2048 && n <= 4096", ["m"], {"BLOCK": 4096}, 8, sixteen=("n",)),
        Variant(softmax, "n <= 1024", ["m"], {"BLOCK": 1024}, 4),
        Variant(softmax_long, "n % 16 == 0", ["m"], {"BLOCK": 4096}, 16, sixteen=("n",)),
        Variant(softmax_long, "", ["m"], {"BLOCK": 2048}, 8)]),
    Kernel(BY_NAME["bias_gelu_dropout_bf16"],
           {"x": "*bf16", "bias": "*bf16", "y": "*bf16", "n": "i32", "seed": "u64", "offset": "u64", "drop": "u32", "scale": "fp32"}, [
        Variant(bias_gelu_dropout, "n % 16 == 0", ["m", "ceildiv(n, 1024)"], {"GROUPS": 256}, 4, sixteen=("n",)),
        Variant(bias_gelu_dropout, "", ["m", "ceildiv(n, 1024)"], {"GROUPS": 256}, 4)]),
    Kernel(BY_NAME["rope_bf16"],
           {"q": "*bf16", "k": "*bf16", "table": "*fp32", "positions": "*i32", "hq": "i32", "hk": "i32", "half": "i32"}, [
        Variant(rope, "half % 16 == 0", ["t", "ceildiv(hq, 8) + ceildiv(hk, 8)"], {"BLOCK_H": 8, "BLOCK_J": 64}, 2, sixteen=("half",)),
        Variant(rope, "", ["t", "ceildiv(hq, 4) + ceildiv(hk, 4)"], {"BLOCK_H": 4, "BLOCK_J": 64}, 2)]),
    Kernel(BY_NAME["dequant_int8_f16"], {"q": "*i8", "scale": "*fp16", "y": "*fp16", "k": "i32", "group": "i32"}, [
        Variant(dequantise, "k % 16 == 0 && group % 16 == 0", ["n", "ceildiv(k, 2048)"], {"BLOCK": 2048}, 4, sixteen=("k", "group")),
        Variant(dequantise, "", ["n", "ceildiv(k, 1024)"], {"BLOCK": 1024}, 4)]),
    Kernel(BY_NAME["histogram_u8"], {"x": "*u8", "bins": "*i32", "n": "i32"}, [
        Variant(histogram, "n % 16 == 0", ["min(ceildiv(n, 16384), 1056)"], {"BLOCK": 4096}, 8, sixteen=("n",)),
        Variant(histogram, "", ["min(ceildiv(n, 16384), 1056)"], {"BLOCK": 4096}, 8)]),
    Kernel(BY_NAME["sgemm_f32"],
           {"a": "*fp32", "b": "*fp32", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32", "alpha": "fp32", "beta": "fp32"}, [
        Variant(sgemm, "n % 16 == 0 && k % 16 == 0", ["ceildiv(m, 128) * ceildiv(n, 128)"],
                {"BM": 128, "BN": 128, "BK": 16, "GROUP": 8}, 8, 3, sixteen=("n", "k")),
        Variant(sgemm, "", ["ceildiv(m, 64) * ceildiv(n, 64)"], {"BM": 64, "BN": 64, "BK": 16, "GROUP": 8}, 4, 3)]),
    Kernel(BY_NAME["wave3d_r4_f32"],
           {"u": "*fp32", "v": "*fp32", "p": "*fp32", "coefficients": "*fp32", "nx": "i32", "ny": "i32", "nz": "i32"}, [
        Variant(wave_step, "", ["ceildiv(nx, 64)", "ceildiv(ny, 8)", "ceildiv(nz, 64)"], {"BX": 64, "BY": 8, "BZ": 64}, 4)]),
]


def chosen(names):
    wanted = workloads.chosen(names)
    return [k for k in KERNELS if k.work in wanted]


# --- export ----------------------------------------------------------------------------------------------------------------
def compiled(kernel, variant, target):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    signature = {**kernel.arguments, **{name: "constexpr" for name in variant.constants}}
    order = list(signature)
    attributes = {(order.index(name),): [["tt.divisibility", 16]]
                  for name, type_ in kernel.arguments.items() if type_[0] == "*" or name in variant.sixteen}
    source = ASTSource(fn=variant.kernel, signature=signature, constexprs=dict(variant.constants), attrs=attributes)
    return triton.compile(source, target=GPUTarget("cuda", target, 32),
                          options={"num_warps": variant.warps, "num_stages": variant.stages})


def function_of(ptx, name, new):
    """The entry of a module under another name: its text from .visible on, without what debuggers read."""
    start = ptx.index(".visible .entry")
    end = ptx.index("\n}", start) + 3
    body = ptx[start:end]
    body = re.sub(rf"\b{re.escape(name)}(?=\(|_param_)", new, body)
    return "\n".join(line for line in body.splitlines() if not re.match(r"\s*(\.loc|\.file|//)", line)) + "\n"


def merged(kernel, target):
    """One module of all variants, and the plan that picks among them."""
    header = shared = None
    functions, launches, cubins, before = [], [], {}, []
    for i, variant in enumerate(kernel.variants):
        made = compiled(kernel, variant, target)
        ptx = made.asm["ptx"]
        name, entry = made.metadata.name, f"{kernel.work.name}_{i}"
        cubins[entry] = made.asm["cubin"]
        found = re.search(r"\.version \S+\n\.target \S+\n\.address_size 64\n", ptx)
        header = max(header or "", found.group())
        if ".extern .shared" in ptx:
            shared = re.search(r"^\.extern \.shared.*$", ptx, re.M).group()
        functions.append(f"// {variant.kernel.__name__} {variant.constants}, {variant.warps} warps"
                         f"{', where ' + variant.when if variant.when else ''}\n" + function_of(ptx, name, entry))
        # Exclusive conditions: the first that holds, as Kernel.variant_at takes it.
        conditions = [f"!({c})" for c in before] + ([f"({variant.when})"] if variant.when else [])
        if variant.when:
            before.append(variant.when)
        parameters = len(re.findall(r"\.param ", functions[-1].split(")")[0]))
        hidden = parameters - len(kernel.arguments)  # Triton's own scratch pointers, which these kernels do not use
        arguments = list(kernel.arguments) + ["null"] * hidden
        lines = ["[[launch]]", f'entry = "{entry}"']
        if conditions:
            lines.append(f'when = "{" && ".join(conditions)}"')
        lines.append(f"grid = [{', '.join(repr_(g) for g in variant.grid)}]")
        lines.append(f'block = ["{32 * variant.warps}"]')
        if made.metadata.shared:
            lines.append(f'shared = "{made.metadata.shared}"')
        lines.append(f"args = [{', '.join(repr_(a) for a in arguments)}]")
        launches.append("\n".join(lines) + "\n")
    module = f"// Made by bench/gpu/triton_kernels.py with Triton {triton.__version__}.\n{header}"
    if shared:
        module += shared + "\n"
    return module + "\n" + "\n".join(functions), 'schema = "ptxlab.plan/1"\n\n' + "\n".join(launches), cubins


def baselines(kernels, target):
    for kernel in kernels:
        ptx, plan, _ = merged(kernel, target)
        folder = workloads.ROOT / "tasks" / kernel.work.task
        (folder / "triton.ptx").write_text(ptx)
        (folder / "triton.plan.toml").write_text(plan)
        print(f"{kernel.work.task}/triton.ptx: {len(ptx.splitlines())} lines")
    return 0


def repr_(text):
    return f'"{text}"'


def export(kernels, to, target):
    to.mkdir(parents=True, exist_ok=True)
    rows = []
    for kernel in kernels:
        name = kernel.work.name
        ptx, plan, cubins = merged(kernel, target)
        (to / f"{name}.ptx").write_text(ptx)
        (to / f"{name}.plan.toml").write_text(plan)
        for entry, cubin in cubins.items():
            (to / f"{entry}.cubin").write_bytes(cubin)
        # A task whose baseline it is: what else is judged for it is compared with Triton.
        task = workloads.ROOT / "tasks" / kernel.work.task
        folder = to / "tasks" / kernel.work.task
        folder.mkdir(parents=True, exist_ok=True)
        for file in ("task.toml", "reference.cc", "kernel.cu", "prompt.md"):
            if (task / file).exists():
                (folder / file).write_text((task / file).read_text())
        (folder / "baseline.ptx").write_text(ptx)
        (folder / "baseline.plan.toml").write_text(plan)
        rows.append({"task": kernel.work.task, "ptx": str(to / f"{name}.ptx"), "plan": str(to / f"{name}.plan.toml"),
                     "variants": len(kernel.variants), "triton": triton.__version__})
        print(f"{name:<24} {len(kernel.variants)} variants, {len(ptx.splitlines())} lines of PTX")
    workloads.write_json("triton_export", {"schema": "ptxlab.triton_export/1", "kernels": rows})
    print(f"judge one:        ptxlab judge {to}/rmsnorm_bf16.ptx --task norm/rmsnorm_bf16")
    print(f"compare with it:  ptxlab judge mine.ptx --task {to}/tasks/norm/rmsnorm_bf16")
    return 0


# --- on a GPU --------------------------------------------------------------------------------------------------------------
def launch(kernel, size, tensors):
    variant = kernel.variant_at(size)
    names = {**size, **kernel.work.scalars(size)}
    grid = tuple(evaluated(text, names) for text in variant.grid)
    arguments = {name: tensors[name] if type_[0] == "*" else names[name] for name, type_ in kernel.arguments.items()}
    return lambda: variant.kernel[grid](**arguments, **variant.constants, num_warps=variant.warps, num_stages=variant.stages)


def check(kernels, cpu):
    import torch
    bad = 0
    for kernel in kernels:
        work = kernel.work
        for size in [work.check] if cpu else [work.check, work.timed[-1]]:
            tensors = work.inputs(torch, size, 1, "cpu" if cpu else "cuda")
            right = work.right(torch, size, tensors)
            launch(kernel, size, tensors)()
            if not cpu:
                torch.cuda.synchronize()
            worst = []
            for output, expected in right.items():
                rtol, atol = workloads.tolerance(torch, expected.dtype)
                if work.name == "sgemm_f32":
                    atol = 1e-3 * size["k"] ** 0.5
                got = tensors[output]
                ok = torch.allclose(got.double(), expected.double(), rtol=rtol, atol=atol)
                worst.append(f"{output} {'right' if ok else 'WRONG'} (largest difference {(got.double() - expected.double()).abs().max():.2g})")
                bad += not ok
            print(f"{work.name:<24} {size}: {', '.join(worst)}", flush=True)
    return 1 if bad else 0


def times(kernels):
    import torch
    rows = []
    print(f"{'task':<24} {'size':<44} {'Triton':>10}")
    for kernel in kernels:
        for size in kernel.work.timed:
            tensors = kernel.work.inputs(torch, size, 1)
            milliseconds = triton.testing.do_bench(launch(kernel, size, tensors), warmup=50, rep=300, return_mode="median")
            rows.append({"task": kernel.work.task, "size": size, "us": milliseconds * 1e3})
            print(f"{kernel.work.name:<24} {str(size):<44} {milliseconds * 1e3:>7.1f} us", flush=True)
            del tensors
            torch.cuda.empty_cache()
    workloads.write_json("triton_times", {"schema": "ptxlab.triton_times/1", "machine": workloads.machine(torch),
                                          "triton": triton.__version__, "times": rows})
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "time", "export", "baselines"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--to", type=pathlib.Path)
    parser.add_argument("--target", type=int, default=90)
    parser.add_argument("--cpu", action="store_true")
    arguments = parser.parse_intermixed_args()
    kernels = chosen(arguments.names)
    if arguments.what == "export":
        if not arguments.to:
            parser.error("export wants --to DIR")
        return export(kernels, arguments.to, arguments.target)
    if arguments.what == "baselines":
        return baselines(kernels, arguments.target)
    return check(kernels, arguments.cpu) if arguments.what == "check" else times(kernels)


if __name__ == "__main__":
    sys.exit(main())

"""Kernels as Triton users write them, compiled to PTX without a GPU: `python3 kernels.py FOLDER` writes NAME.sm_90.ptx.

Triton is not among the project's dependencies; its PTX is committed beside this file, with the version that made it in the name.
"""
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + at, mask=at < n, other=-float("inf"))
    weight = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride + at, weight / tl.sum(weight, axis=0), mask=at < n)


@triton.jit
def matmul(a, b, c, m, n, k, TILE: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    sums = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, k, DEPTH):
        depth = start + tl.arange(0, DEPTH)
        left = tl.load(a + rows[:, None] * k + depth[None, :], mask=(rows[:, None] < m) & (depth[None, :] < k), other=0.0)
        right = tl.load(b + depth[:, None] * n + columns[None, :], mask=(depth[:, None] < k) & (columns[None, :] < n), other=0.0)
        sums = tl.dot(left, right, sums)
    tl.store(c + rows[:, None] * n + columns[None, :], sums.to(tl.float16), mask=(rows[:, None] < m) & (columns[None, :] < n))


KERNELS = [
    (vector_add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 1024}),
    (softmax, {"x": "*fp32", "out": "*fp32", "stride": "i32", "n": "i32"}, {"BLOCK": 4096}),
    (matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m": "i32", "n": "i32", "k": "i32"}, {"TILE": 64, "DEPTH": 32}),
]

if __name__ == "__main__":
    version = ".".join(triton.__version__.split(".")[:2])
    for function, signature, constants in KERNELS:
        signature = {**signature, **{name: "constexpr" for name in constants}}
        for capability in (80, 90):
            source = ASTSource(function, signature, constants)
            compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32))
            name = f"{sys.argv[1]}/{function.__name__}.triton_{version}.sm_{capability}.ptx"
            with open(name, "w") as out:
                out.write(compiled.asm["ptx"])
            print(name, compiled.asm["ptx"].split(".version")[1].split()[0])

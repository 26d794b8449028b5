"""The nine tasks as PyTorch sees them: sizes, inputs, what is right, and how the CUDA baseline (kernel.cu) is launched from C++."""
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def ceildiv(a, b):
    return -(-a // b)


def philox_words(torch, rows, groups, seed, offset, device):
    """Philox 4x32-10 of the counters (group, row, offset) and the key `seed`: four words for each of `groups` groups of a row."""
    mask = 0xFFFFFFFF
    group = torch.arange(groups, device=device, dtype=torch.int64)[None, :].expand(rows, groups)
    row = torch.arange(rows, device=device, dtype=torch.int64)[:, None].expand(rows, groups)
    c = [group, row, torch.full_like(group, offset & mask), torch.full_like(group, offset >> 32)]
    key = [seed & mask, seed >> 32]

    def product(a, constant):
        # 32 x 32 bits in two halves, so that nothing leaves 63 bits.
        low = a * (constant & 0xFFFF)
        high = a * (constant >> 16) + (low >> 16)
        return high >> 16, ((high & 0xFFFF) << 16) | (low & 0xFFFF)

    for i in range(10):
        k0, k1 = (key[0] + i * 0x9E3779B9) & mask, (key[1] + i * 0xBB67AE85) & mask
        h0, l0 = product(c[0], 0xD2511F53)
        h1, l1 = product(c[2], 0xCD9E8D57)
        c = [h1 ^ c[1] ^ k0, l1, h0 ^ c[3] ^ k1, l0]
    return torch.stack(c, dim=-1).reshape(rows, groups * 4)


class Workload:
    """`sizes` is the size that a KernelBench-like harness would take, `timed` those of the task's `time`."""
    name = task = ""
    check = {}
    timed = []
    binding = ""   # C++: void launch(tensors ..., scalars ...)
    in_place = ()  # names of tensors that are written

    def inputs(self, torch, size, seed, device="cuda"):
        raise NotImplementedError

    def right(self, torch, size, t):
        raise NotImplementedError

    def scalars(self, size):
        return {}

    def cuda_source(self):
        return (ROOT / "tasks" / self.task / "kernel.cu").read_text()


def generator(torch, seed, device):
    return torch.Generator(device=device).manual_seed(seed)


class VectorAdd(Workload):
    name, task = "vector_add_f32", "elementwise/vector_add_f32"
    check, timed = {"n": 100003}, [{"n": 1 << 20}, {"n": 1 << 28}]
    outputs = ("c",)
    signature = "torch::Tensor a, torch::Tensor b, torch::Tensor c, int64_t n"
    binding = "vector_add<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), (int)n);"

    def inputs(self, torch, s, seed, device="cuda"):
        g = generator(torch, seed, device)
        a, b = (torch.randn(s["n"], generator=g, device=device) for _ in range(2))
        return {"a": a, "b": b, "c": torch.empty_like(a)}

    def scalars(self, s):
        return {"n": s["n"]}

    def right(self, torch, s, t):
        return {"c": t["a"] + t["b"]}


class Rmsnorm(Workload):
    name, task = "rmsnorm_bf16", "norm/rmsnorm_bf16"
    check, timed = {"m": 4, "n": 4096}, [{"m": 16384, "n": 4096}, {"m": 2048, "n": 8192}]
    outputs = ("y",)
    signature = "torch::Tensor x, torch::Tensor w, torch::Tensor y, int64_t n, double eps"
    binding = ("rmsnorm<<<x.size(0), 256>>>((const __nv_bfloat16*)x.data_ptr(), (const __nv_bfloat16*)w.data_ptr(), "
               "(__nv_bfloat16*)y.data_ptr(), (unsigned)n, (float)eps);")

    def inputs(self, torch, s, seed, device="cuda"):
        g = generator(torch, seed, device)
        x = torch.randn(s["m"], s["n"], generator=g, device=device).bfloat16()
        w = torch.rand(s["n"], generator=g, device=device).bfloat16()
        return {"x": x, "w": w, "y": torch.empty_like(x)}

    def scalars(self, s):
        return {"n": s["n"], "eps": 1e-6}

    def right(self, torch, s, t):
        x = t["x"].float()
        return {"y": (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * t["w"].float()).bfloat16()}


class Softmax(Workload):
    name, task = "softmax_f32", "softmax/softmax_f32"
    check, timed = {"m": 3, "n": 4099}, [{"m": 16384, "n": 4096}, {"m": 512, "n": 131072}]
    outputs = ("y",)
    signature = "torch::Tensor x, torch::Tensor y, int64_t n"
    binding = "softmax<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)n);"

    def inputs(self, torch, s, seed, device="cuda"):
        x = torch.randn(s["m"], s["n"], generator=generator(torch, seed, device), device=device)
        return {"x": x, "y": torch.empty_like(x)}

    def scalars(self, s):
        return {"n": s["n"]}

    def right(self, torch, s, t):
        return {"y": torch.softmax(t["x"], -1)}


class BiasGeluDropout(Workload):
    name, task = "bias_gelu_dropout_bf16", "activation/bias_gelu_dropout_bf16"
    check = {"m": 2, "n": 4096, "percent": 10}
    timed = [{"m": 16384, "n": 4096, "percent": 10}, {"m": 8192, "n": 1024, "percent": 10}]
    outputs = ("y",)
    signature = ("torch::Tensor x, torch::Tensor bias, torch::Tensor y, int64_t n, int64_t seed, int64_t offset, "
                 "int64_t drop, double scale")
    binding = ("bias_gelu_dropout<<<x.size(0), 256>>>((const __nv_bfloat16*)x.data_ptr(), (const "
               "__nv_bfloat16*)bias.data_ptr(), (__nv_bfloat16*)y.data_ptr(), (unsigned)n, (unsigned long long)seed, "
               "(unsigned long long)offset, (unsigned)drop, (float)scale);")

    def inputs(self, torch, s, seed, device="cuda"):
        g = generator(torch, seed, device)
        x = torch.randn(s["m"], s["n"], generator=g, device=device).bfloat16()
        bias = torch.randn(s["n"], generator=g, device=device).bfloat16()
        return {"x": x, "bias": bias, "y": torch.empty_like(x)}

    def scalars(self, s):
        m, n, percent = s["m"], s["n"], s["percent"]
        return {"n": n, "seed": (n << 34) + 2654435 * m + 77, "offset": (m << 33) + 4 * n, "drop": (percent << 32) // 100,
                "scale": 100 / (100 - percent)}

    def right(self, torch, s, t):
        k = self.scalars(s)
        words = philox_words(torch, s["m"], ceildiv(s["n"], 4), k["seed"], k["offset"], t["x"].device)[:, :s["n"]]
        v = t["x"].float() + t["bias"].float()
        y = torch.nn.functional.gelu(v, approximate="tanh") * k["scale"]
        return {"y": torch.where(words < k["drop"], torch.zeros_like(y), y).bfloat16()}


class Rope(Workload):
    name, task = "rope_bf16", "attention/rope_bf16"
    check = {"t": 4, "hq": 32, "hk": 8, "half": 64, "p": 513}
    timed = [{"t": 8192, "hq": 32, "hk": 8, "half": 64, "p": 131072}, {"t": 64, "hq": 32, "hk": 8, "half": 64, "p": 131072}]
    outputs = in_place = ("q", "k")
    signature = "torch::Tensor q, torch::Tensor k, torch::Tensor table, torch::Tensor positions, int64_t hq, int64_t hk, int64_t half"
    binding = ("rope<<<q.size(0), 256>>>((__nv_bfloat16*)q.data_ptr(), (__nv_bfloat16*)k.data_ptr(), table.data_ptr<float>(), "
               "positions.data_ptr<int>(), (int)hq, (int)hk, (int)half);")

    def inputs(self, torch, s, seed, device="cuda"):
        g = generator(torch, seed, device)
        q = torch.randn(s["t"], s["hq"], 2 * s["half"], generator=g, device=device).bfloat16()
        k = torch.randn(s["t"], s["hk"], 2 * s["half"], generator=g, device=device).bfloat16()
        table = torch.rand(s["p"], 2 * s["half"], generator=g, device=device) * 2 - 1
        positions = torch.randint(0, s["p"], (s["t"],), generator=g, device=device, dtype=torch.int32)
        return {"q": q, "k": k, "table": table, "positions": positions}

    def scalars(self, s):
        return {"hq": s["hq"], "hk": s["hk"], "half": s["half"]}

    def right(self, torch, s, t):
        rows = t["table"][t["positions"].long()]
        c, sine = rows[:, None, :s["half"]], rows[:, None, s["half"]:]

        def turned(x):
            a, b = x[..., :s["half"]].float(), x[..., s["half"]:].float()
            return torch.cat([a * c - b * sine, b * c + a * sine], -1).bfloat16()
        return {"q": turned(t["q"]), "k": turned(t["k"])}


class Dequantise(Workload):
    name, task = "dequant_int8_f16", "quant/dequant_int8_f16"
    check = {"n": 3, "k": 4099, "group": 128}
    timed = [{"n": 11008, "k": 4096, "group": 128}, {"n": 4096, "k": 11008, "group": 64}]
    outputs = ("y",)
    signature = "torch::Tensor q, torch::Tensor scale, torch::Tensor y, int64_t k, int64_t group"
    binding = ("dequantise<<<q.size(0), 256>>>((const signed char*)q.data_ptr(), (const __half*)scale.data_ptr(), "
               "(__half*)y.data_ptr(), (unsigned)k, (unsigned)group);")

    def inputs(self, torch, s, seed, device="cuda"):
        g = generator(torch, seed, device)
        q = torch.randint(-128, 128, (s["n"], s["k"]), generator=g, device=device, dtype=torch.int8)
        scale = torch.randn(s["n"], ceildiv(s["k"], s["group"]), generator=g, device=device).half()
        return {"q": q, "scale": scale, "y": torch.empty(s["n"], s["k"], device=device, dtype=torch.float16)}

    def scalars(self, s):
        return {"k": s["k"], "group": s["group"]}

    def right(self, torch, s, t):
        wide = t["scale"].float().repeat_interleave(s["group"], dim=1)[:, :s["k"]]
        return {"y": (t["q"].float() * wide).half()}


class Histogram(Workload):
    name, task = "histogram_u8", "histogram/histogram_u8"
    check, timed = {"n": 100003}, [{"n": 8294400}, {"n": 1 << 28}]
    outputs = ("bins",)
    zeroed = ("bins",)
    signature = "torch::Tensor x, torch::Tensor bins, int64_t n"
    binding = ("int64_t blocks = std::min<int64_t>((n + 16383) / 16384, 1056); cudaMemsetAsync(bins.data_ptr(), 0, 1024); "
               "histogram<<<blocks, 256>>>((const unsigned char*)x.data_ptr(), (unsigned*)bins.data_ptr(), (unsigned)n);")

    def inputs(self, torch, s, seed, device="cuda"):
        x = torch.randint(0, 256, (s["n"],), generator=generator(torch, seed, device), device=device, dtype=torch.uint8)
        return {"x": x, "bins": torch.zeros(256, device=device, dtype=torch.int32)}

    def scalars(self, s):
        return {"n": s["n"]}

    def right(self, torch, s, t):
        return {"bins": torch.bincount(t["x"], minlength=256).to(torch.int32)}


class Sgemm(Workload):
    name, task = "sgemm_f32", "gemm/sgemm_f32"
    check = {"m": 129, "n": 127, "k": 17}
    timed = [{"m": 4096, "n": 4096, "k": 4096}, {"m": 2047, "n": 2049, "k": 2053}]
    outputs = in_place = ("c",)
    signature = ("torch::Tensor a, torch::Tensor b, torch::Tensor c, int64_t m, int64_t n, int64_t k, double alpha, double beta")
    binding = ("sgemm<<<dim3((n + 127) / 128, (m + 127) / 128), 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), "
               "c.data_ptr<float>(), (int)m, (int)n, (int)k, (float)alpha, (float)beta);")

    def inputs(self, torch, s, seed, device="cuda"):
        g = generator(torch, seed, device)
        return {"a": torch.randn(s["m"], s["k"], generator=g, device=device),
                "b": torch.randn(s["k"], s["n"], generator=g, device=device),
                "c": torch.randn(s["m"], s["n"], generator=g, device=device)}

    def scalars(self, s):
        return {"m": s["m"], "n": s["n"], "k": s["k"], "alpha": 1.25, "beta": 0 - min(0.5, max(0, s["k"] - 8))}

    def right(self, torch, s, t):
        k = self.scalars(s)
        torch.backends.cuda.matmul.allow_tf32 = False
        product = (t["a"].double() @ t["b"].double()) if s["m"] * s["n"] < 1 << 22 else t["a"] @ t["b"]
        return {"c": (k["alpha"] * product + k["beta"] * t["c"]).float()}


class Wave(Workload):
    name, task = "wave3d_r4_f32", "stencil/wave3d_r4_f32"
    check = {"nx": 48, "ny": 40, "nz": 12}
    timed = [{"nx": 512, "ny": 512, "nz": 512}, {"nx": 339, "ny": 257, "nz": 201}]
    outputs = in_place = ("p",)
    signature = "torch::Tensor u, torch::Tensor v, torch::Tensor p, torch::Tensor coefficients, int64_t nx, int64_t ny, int64_t nz"
    binding = ("cudaMemcpyToSymbolAsync(c_star, coefficients.data_ptr(), 20, 0, cudaMemcpyDeviceToDevice); "
               "wave_step<<<dim3((nx + 31) / 32, (ny + 7) / 8), dim3(32, 8)>>>(u.data_ptr<float>(), v.data_ptr<float>(), "
               "p.data_ptr<float>(), (int)nx, (int)ny, (int)nz);")

    def inputs(self, torch, s, seed, device="cuda"):
        g = generator(torch, seed, device)
        shape = (s["nz"] + 8, s["ny"] + 8, s["nx"] + 8)
        u, p = (torch.randn(shape, generator=g, device=device) for _ in range(2))
        return {"u": u, "v": torch.rand(shape, generator=g, device=device), "p": p,
                "coefficients": torch.rand(5, generator=g, device=device) - 0.5}

    def scalars(self, s):
        return {"nx": s["nx"], "ny": s["ny"], "nz": s["nz"]}

    def right(self, torch, s, t):
        u, c = t["u"], t["coefficients"]
        inner = tuple(slice(4, 4 + s[d]) for d in ("nz", "ny", "nx"))
        total = c[0] * u[inner]
        for r in range(1, 5):
            for axis in range(3):
                for side in (-r, r):
                    shifted = list(inner)
                    shifted[axis] = slice(inner[axis].start + side, inner[axis].stop + side)
                    total = total + c[r] * u[tuple(shifted)]
        p = t["p"].clone()
        p[inner] = 2 * u[inner] - p[inner] + t["v"][inner] * total
        return {"p": p}


ALL = [VectorAdd(), Rmsnorm(), Softmax(), BiasGeluDropout(), Rope(), Dequantise(), Histogram(), Sgemm(), Wave()]


def chosen(names):
    """Workloads whose name contains one of `names`; all where none is given."""
    found = [w for w in ALL if not names or any(name in w.name or name in w.task for name in names)]
    if not found:
        raise SystemExit(f"no task is called like {names}: {', '.join(w.name for w in ALL)}")
    return found


def tolerance(torch, dtype):
    """Of comparisons with PyTorch here: the dtype's own rounding with some room; ptxlab's judge is stricter."""
    return {torch.float32: (2e-4, 2e-4), torch.bfloat16: (2e-2, 1e-2), torch.float16: (1e-3, 1e-3)}.get(dtype, (0, 0))


def write_json(name, value):
    import json
    import os
    out = os.environ.get("OUT")
    if not out:
        return
    path = pathlib.Path(out) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")
    print(f"wrote {path}")


def machine(torch):
    if not torch.cuda.is_available():
        return {"gpu": None}
    return {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda}

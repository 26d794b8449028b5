#!/usr/bin/env python3
"""What a GPU answers, form by form: the measure that the engine's arithmetic is held against.

  make.py ptx           writes forms.ptx (an entry for each form: out[i] = form(a[i], b[i], c[i])) and inputs.bin
  make.py gpu CUBIN     runs every entry of forms.ptx, assembled as CUBIN, on the first GPU and writes results.bin

The inputs are drawn by a fixed seed, special values first. A form that ptxas refuses is left out by adding it to REFUSED.
"""
import ctypes
import pathlib
import random
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROWS = 64  # inputs a form
BITS = {"pred": 1, "u8": 8, "s8": 8, "u16": 16, "s16": 16, "b16": 16, "f16": 16, "bf16": 16, "e4m3x2": 16, "e5m2x2": 16,
        "u32": 32, "s32": 32, "b32": 32, "f32": 32, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "u64": 64, "s64": 64, "b64": 64, "f64": 64}
INTEGERS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
WIDE = INTEGERS[2:]
ROUNDINGS = ["rn", "rz", "rm", "rp"]
TO_INTEGER = ["rni", "rzi", "rmi", "rpi"]
ORDERED = ["eq", "ne", "lt", "le", "gt", "ge"]
UNORDERED = ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]
REFUSED = {f"cvt.{r}.{d}.{s}" for r in ROUNDINGS + TO_INTEGER for d, s in
           [("bf16", "u8"), ("bf16", "s8"), ("u8", "bf16"), ("s8", "bf16")]}


def integer_forms():
    for t in WIDE:
        for op in ["add", "sub", "min", "max", "mul.lo", "mul.hi", "div", "rem"]:
            yield f"{op}.{t}", t, t, t
        yield f"mad.lo.{t}", t, t, t, t
        yield f"mad.hi.{t}", t, t, t, t
        yield f"sad.{t}", t, t, t, t
        yield f"shr.{t}", t, t, "u32"
    for t, wide in [("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")]:
        yield f"mul.wide.{t}", wide, t, t
        yield f"mad.wide.{t}", wide, t, t, wide
    for t in ["s16", "s32", "s64"]:
        yield f"abs.{t}", t, t
        yield f"neg.{t}", t, t
    for op in ["add.sat", "sub.sat"]:
        yield f"{op}.s32", "s32", "s32", "s32"
    yield "mad.hi.sat.s32", "s32", "s32", "s32", "s32"
    for t in ["b16", "b32", "b64"]:
        for op in ["and", "or", "xor"]:
            yield f"{op}.{t}", t, t, t
        for op in ["not", "cnot"]:
            yield f"{op}.{t}", t, t
        yield f"shl.{t}", t, t, "u32"
    for mode in ["l.clamp", "l.wrap", "r.clamp", "r.wrap"]:
        yield f"shf.{mode}.b32", "b32", "b32", "b32", "u32"
    for t in ["b32", "b64"]:
        yield f"popc.{t}", "u32", t
        yield f"clz.{t}", "u32", t
        yield f"brev.{t}", t, t
    for t in ["u32", "s32", "u64", "s64"]:
        yield f"bfind.{t}", "u32", t
        yield f"bfind.shiftamt.{t}", "u32", t
        yield f"bfe.{t}", t, t, "u32", "u32"
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"]:
        yield f"prmt.b32{mode}", "b32", "b32", "b32", "b32"
    for table in [0x80, 0xE8, 0x96, 0x1B, 0xCA]:
        yield f"lop3.b32|{table}", "b32", "b32", "b32", "b32"
    for a in ["u32", "s32"]:
        for b in ["u32", "s32"]:
            d = "s32" if "s32" in (a, b) else "u32"
            yield f"dp4a.{a}.{b}", d, a, b, d
            for half in ["lo", "hi"]:
                yield f"dp2a.{half}.{a}.{b}", d, a, b, d
    for half in ["lo", "hi"]:
        for t in ["u32", "s32"]:
            yield f"mul24.{half}.{t}", t, t, t
            yield f"mad24.{half}.{t}", t, t, t, t
    for mode in ["clamp", "wrap"]:
        yield f"bmsk.{mode}.b32", "b32", "b32", "b32"
        for t in ["u32", "s32"]:
            yield f"szext.{mode}.{t}", t, t, "u32"
    yield "fns.b32", "b32", "b32", "b32", "s32"


def float_forms():
    for ftz in ["", ".ftz"]:
        for r in ROUNDINGS:
            for op in ["add", "sub", "mul", "div"]:
                yield f"{op}.{r}{ftz}.f32", "f32", "f32", "f32"
            for op in ["rcp", "sqrt"]:
                yield f"{op}.{r}{ftz}.f32", "f32", "f32"
            yield f"fma.{r}{ftz}.f32", "f32", "f32", "f32", "f32"
        for op in ["add", "sub", "mul"]:
            yield f"{op}.rn{ftz}.sat.f32", "f32", "f32", "f32"
        yield f"fma.rn{ftz}.sat.f32", "f32", "f32", "f32", "f32"
        for op in ["min", "max"]:
            for how in ["", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"]:
                yield f"{op}{ftz}{how}.f32", "f32", "f32", "f32"
        for op in ["abs", "neg"]:
            yield f"{op}{ftz}.f32", "f32", "f32"
        for op in ["rcp", "rsqrt", "sqrt", "sin", "cos", "lg2", "ex2"]:
            yield f"{op}.approx{ftz}.f32", "f32", "f32"
        for op in ["div.approx", "div.full"]:
            yield f"{op}{ftz}.f32", "f32", "f32", "f32"
    yield "tanh.approx.f32", "f32", "f32"
    for t in ["f32", "f64"]:
        yield f"copysign.{t}", t, t, t
        for kind in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"]:
            yield f"testp.{kind}.{t}", "pred", t
    for r in ROUNDINGS:
        for op in ["add", "sub", "mul", "div"]:
            yield f"{op}.{r}.f64", "f64", "f64", "f64"
        for op in ["rcp", "sqrt"]:
            yield f"{op}.{r}.f64", "f64", "f64"
        yield f"fma.{r}.f64", "f64", "f64", "f64", "f64"
    for op in ["min", "max"]:
        yield f"{op}.f64", "f64", "f64", "f64"
    for op in ["abs", "neg"]:
        yield f"{op}.f64", "f64", "f64"
    yield from half_forms()


def half_forms():
    for t in ["f16", "f16x2", "bf16", "bf16x2"]:
        half = t.startswith("f16")
        for ftz in ["", ".ftz"] if half else [""]:
            for op in ["add", "sub", "mul"]:
                yield f"{op}.rn{ftz}.{t}", t, t, t
                if half:
                    yield f"{op}.rn{ftz}.sat.{t}", t, t, t
            for how in ["", ".relu"] + ([".sat"] if half else []):
                yield f"fma.rn{ftz}{how}.{t}", t, t, t, t
            for op in ["min", "max"]:
                for how in ["", ".NaN", ".NaN.xorsign.abs"]:
                    yield f"{op}{ftz}{how}.{t}", t, t, t
            for op in ["abs", "neg"]:
                yield f"{op}{ftz}.{t}", t, t
        yield f"ex2.approx{'' if half else '.ftz'}.{t}", t, t
        yield f"tanh.approx.{t}", t, t


def conversion_forms():
    for d in INTEGERS:
        for s in INTEGERS:
            if d != s:
                yield f"cvt.{d}.{s}", d, s
            if d != s and BITS[d] <= BITS[s]:
                yield f"cvt.sat.{d}.{s}", d, s
        for s in ["f16", "bf16", "f32", "f64"]:
            for r in TO_INTEGER:
                yield f"cvt.{r}.{d}.{s}", d, s
                if s == "f32":
                    yield f"cvt.{r}.ftz.{d}.{s}", d, s
                    yield f"cvt.{r}.sat.{d}.{s}", d, s
            for r in ROUNDINGS:
                yield f"cvt.{r}.{s}.{d}", s, d
    for d, s in [("f32", "f64"), ("f16", "f32"), ("f16", "f64"), ("f16", "bf16"), ("bf16", "f32"), ("bf16", "f64"), ("bf16", "f16")]:
        for r in ROUNDINGS[:2] if d == "bf16" else ROUNDINGS:
            yield f"cvt.{r}.{d}.{s}", d, s
    for d, s in [("f32", "f16"), ("f64", "f16"), ("f64", "f32"), ("f32", "bf16"), ("f64", "bf16")]:
        yield f"cvt.{d}.{s}", d, s
    for t in ["f16", "f32", "f64"]:
        for r in TO_INTEGER:
            yield f"cvt.{r}.{t}.{t}", t, t
    for form in ["cvt.sat.f32.f32", "cvt.ftz.f32.f32", "cvt.rn.ftz.f32.f64", "cvt.ftz.f64.f32", "cvt.rn.ftz.f16.f32",
                 "cvt.rn.sat.f16.f32"]:
        yield form, form.split(".")[-2], form.split(".")[-1]
    for how in ["rna", "rn", "rz", "rn.relu"]:
        yield f"cvt.{how}.tf32.f32", "b32", "f32"
    for d in ["f16x2", "bf16x2"]:
        for r in ["rn", "rz"]:
            for relu in ["", ".relu"]:
                yield f"cvt.{r}{relu}.{d}.f32", d, "f32", "f32"
    for d in ["e4m3x2", "e5m2x2"]:
        for relu in ["", ".relu"]:
            yield f"cvt.rn.satfinite{relu}.{d}.f32", d, "f32", "f32"
            yield f"cvt.rn.satfinite{relu}.{d}.f16x2", d, "f16x2"
            yield f"cvt.rn{relu}.f16x2.{d}", "f16x2", d


def comparison_forms():
    for t in WIDE:
        for op in ORDERED + (["lo", "ls", "hi", "hs"] if t[0] == "u" else []):
            yield f"setp.{op}.{t}", "pred", t, t
    for op in ORDERED + UNORDERED:
        for t in ["f16", "bf16", "f32", "f64"]:
            yield f"setp.{op}.{t}", "pred", t, t
        yield f"setp.{op}.ftz.f32", "pred", "f32", "f32"
        for d in ["u32", "f32"]:
            yield f"set.{op}.{d}.f32", d, "f32", "f32"
    for op in ORDERED:
        yield f"set.{op}.u32.s32", "u32", "s32", "s32"
        yield f"set.{op}.f32.u32", "f32", "u32", "u32"
    for op in ["eq", "lt", "gtu"]:
        yield f"set.{op}.f16x2.f16x2", "f16x2", "f16x2", "f16x2"
    for t in ["b16", "u32", "s32", "f32", "b64", "f64"]:
        for selector in ["s32", "f32"]:
            yield f"slct.{t}.{selector}", t, t, t, selector


def later_forms():
    """Added after the first recording; new ones go to the end, so that the answers before them stay good."""
    for t in ["f16x2", "bf16x2"]:
        for op in ORDERED + UNORDERED:
            yield f"set.{op}.{t}.{t}", t, t, t
            yield f"set.{op}.u32.{t}", "u32", t, t
    for op in ORDERED:
        for d, s in [("f16", "f16"), ("f16", "s32"), ("f16", "f32"), ("u16", "f16"), ("s32", "f16"), ("bf16", "bf16"), ("u16", "bf16"),
                     ("bf16", "f32"), ("bf16", "u32")]:
            yield f"set.{op}.{d}.{s}", d, s, s
        yield f"setp.{op}.ftz.f16", "pred", "f16", "f16"
    for t in ["f16", "f16x2", "bf16", "bf16x2"]:
        for how in ["", ".relu"]:
            yield f"fma.rn.oob{how}.{t}", t, t, t, t
        for op in ["min", "max"]:
            for how in [".xorsign.abs"]:
                yield f"{op}{how}.{t}", t, t, t
    for op in ["min", "max"]:
        for t in ["u16x2", "s16x2", "s16x2.relu"]:
            kind, _, relu = t.partition(".")
            yield f"{op}{'.' + relu if relu else ''}.{kind}", kind, kind, kind
        yield f"{op}.relu.s32", "s32", "s32", "s32"
    for t in ["u16x2", "s16x2"]:
        yield f"add.{t}", t, t, t
    for t in ["u16", "s16"]:
        yield f"cvt.pack.sat.{t}.s32", "b32", "s32", "s32"
    for t in ["u8", "s8", "u4", "s4", "u2", "s2"]:
        yield f"cvt.pack.sat.{t}.s32.b32", "b32", "s32", "s32", "b32"
    for d in ["f16", "bf16", "f16x2", "bf16x2"]:
        for how in [".rn.relu", ".rz.relu", ".rn.satfinite", ".rz.relu.satfinite"]:
            yield f"cvt{how}.{d}.f32", d, "f32", *(["f32"] if d.endswith("x2") else [])
    yield "cvt.rna.satfinite.tf32.f32", "b32", "f32"
    for r in ROUNDINGS:
        for d, s in [("f16", "f64"), ("bf16", "f64"), ("f16", "bf16"), ("bf16", "f16"), ("bf16", "f32")]:
            yield f"cvt.{r}.{d}.{s}", d, s
    for t in ["f16x2", "bf16x2"]:
        yield f"ex2.approx{'' if t[0] == 'f' else '.ftz'}.{t}", t, t
        yield f"tanh.approx.{t}", t, t
    for form in ["rcp.approx.ftz.f64", "rsqrt.approx.f64", "rsqrt.approx.ftz.f64"]:
        yield form, "f64", "f64"


# A carry passes from the first line to the second; the result is both halves.
CARRIES = {
    "add.cc.u32": (["u32", "u32"], "add.cc.u32 %lo, {0}, {1}; addc.u32 %hi, {0}, 0;"),
    "sub.cc.u32": (["u32", "u32"], "sub.cc.u32 %lo, {0}, {1}; subc.u32 %hi, {1}, {0};"),
    "mad.lo.cc.u32": (["u32", "u32", "u32"], "mad.lo.cc.u32 %lo, {0}, {1}, {2}; madc.hi.u32 %hi, {0}, {1}, {2};"),
    "mad.hi.cc.s32": (["s32", "s32", "s32"], "mad.hi.cc.s32 %lo, {0}, {1}, {2}; addc.u32 %hi, {0}, {1};"),
}


def all_forms():
    """(text, destination, sources) of every form, in the order of the entries k0, k1, ..."""
    forms = []
    for part in [integer_forms(), float_forms(), conversion_forms(), comparison_forms()]:
        forms += [(text, d, list(sources)) for text, d, *sources in part if text not in REFUSED]
    forms += [(text, "b64", sources) for text, (sources, _) in CARRIES.items()]
    known = {text for text, *_ in forms}
    return forms + [(text, d, list(sources)) for text, d, *sources in later_forms() if text not in known]


# --- inputs ---------------------------------------------------------------------------------------------------------------
def bits32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def bits64(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.5, 127.5, 128.0, 255.5, 256.0, -128.5, -129.0, 32767.5, 65504.0,
          65520.0, 65535.5, 2147483648.0, -2147483904.0, 4294967296.0, 9.3e18, -9.3e18, 1.9e19, 1e30, 3e38, 1.17549435e-38, 1e-40,
          -1e-40, 1.4e-45, 0.1, -0.3, 3.14159274, 100.0, -88.0, 88.8, -126.5, 448.0, 464.0, 480.0, 57344.0, 61440.0, 1e-3, 6e-8]
SPECIAL = {
    "f32": [bits32(x) for x in VALUES] + [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001, 1, 0x807FFFFF, 0x3F7FFFFF,
                                          0x7F7FFFFF],
    "f64": [bits64(x) for x in VALUES] + [0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8000000000001, 1,
                                          0x000FFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF]
    + [bits64(x) for x in [1 + 2**-24, 1 + 3 * 2**-24, 1e-320, 1e300, 2**-149, 1.5 * 2**-150, 2**128 - 2**103]],
    16: [0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0x3FF, 0x400, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF, 0x3C00, 0xBC00, 0x4248, 0x7C00,
         0xFC00, 0x7E00, 0x3F80, 0x7F80, 0xFF80, 0x7FC0],
    32: [0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000,
         0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x01020304, 0x00FF00FF],
    64: [0, 1, 2, 31, 32, 33, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2,
         2**64 - 1],
}


def draw(rng, t):
    bits = max(16, BITS[t])
    if t in ("f16x2", "bf16x2"):
        return draw(rng, "b16") | draw(rng, "b16") << 16
    special = SPECIAL.get(t) or SPECIAL[bits]
    kind = rng.random()
    if kind < 0.6:
        value = rng.choice(special)
    elif kind < 0.75 or t not in ("f32", "f64", "u32"):
        value = rng.getrandbits(bits)
    elif t == "u32":
        value = rng.randrange(70)  # shift amounts and positions around the width
    else:
        x = rng.gauss(0, 1) * 10 ** rng.randint(-4, 6)
        value = bits32(x) if t == "f32" else bits64(x)
    return value & ((1 << BITS[t]) - 1)


def input_sets(forms):
    """Source types to (number, rows): forms with the same source types share their inputs."""
    rng = random.Random(20261129)
    sets = {}
    for _, _, sources in forms:
        key = tuple(sources)
        if key not in sets:
            rows = [[draw(rng, t) for t in sources] + [0] * (3 - len(sources)) for _ in range(ROWS)]
            sets[key] = (len(sets), rows)
    return sets


# --- PTX ------------------------------------------------------------------------------------------------------------------
def register(t, number):
    letter = {"f32": "f", "f64": "d"}.get(t) or {8: "s", 16: "s", 32: "r", 64: "l"}[BITS[t]]
    return f"%{letter}{number}"


def entry(number, form, d, sources, input_number):
    code = []
    operands = []
    for i, t in enumerate(sources):
        load = t if t in ("f32", "f64") else {8: "u8", 16: "b16", 32: "b32", 64: "b64"}[BITS[t]]
        operands.append(register(t, i + 1))
        code.append(f"ld.global.{load} {operands[-1]}, [%p+{8 * i}];")
    if form.startswith(("div.u", "div.s", "rem.")):  # a divisor of zero is unspecified
        code.append(f"or.b{BITS[sources[1]]} {operands[1]}, {operands[1]}, 1;")
    text, _, table = form.partition("|")
    if form in CARRIES:
        code += [CARRIES[form][1].format(*operands), "mov.b64 %o, {%lo, %hi};"]
    elif d == "pred":
        code += [f"{text} %c, {', '.join(operands)};", "selp.b64 %o, 1, 0, %c;"]
    else:
        result = register(d, 9)
        code.append(f"{text} {', '.join([result] + operands + ([table] if table else []))};")
        width = max(16, BITS[d])
        if width == 64:
            code.append(f"mov.b64 %o, {result};")
        elif width == 32:
            code += [f"mov.b32 %lo, {result};", "cvt.u64.u32 %o, %lo;"]
        else:
            code.append(f"cvt.u64.u16 %o, {result};")
    body = "\n".join(code)
    return f"""// {form} : {d} <- {' '.join(sources)} : input {input_number}
.visible .entry k{number}(.param .u64 in, .param .u64 out)
{{
.reg .pred %c; .reg .b16 %s<10>; .reg .b32 %r<10>, %i, %lo, %hi; .reg .f32 %f<10>; .reg .b64 %l<10>, %p, %q, %o; .reg .f64 %d<10>;
mov.u32 %i, %tid.x;
ld.param.u64 %p, [in];
mad.wide.u32 %p, %i, 24, %p;
{body}
ld.param.u64 %q, [out];
mad.wide.u32 %q, %i, 8, %q;
st.global.b64 [%q], %o;
ret;
}}
"""


def write_ptx():
    forms = all_forms()
    sets = input_sets(forms)
    text = "// Made by make.py: one form an entry.\n.version 8.6\n.target sm_90\n.address_size 64\n\n"
    for number, (form, d, sources) in enumerate(forms):
        text += entry(number, form, d, sources, sets[tuple(sources)][0]) + "\n"
    (HERE / "forms.ptx").write_text(text)
    data = b"".join(struct.pack("<3Q", *row) for _, rows in sets.values() for row in rows)
    (HERE / "inputs.bin").write_bytes(data)
    print(f"{len(forms)} forms, {len(sets)} sets of inputs")


# --- GPU ------------------------------------------------------------------------------------------------------------------
def run_on_gpu(cubin):
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        code = getattr(cuda, name)(*arguments)
        if code:
            sys.exit(f"{name}: error {code} of the driver")

    forms = all_forms()
    sets = input_sets(forms)
    device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), pathlib.Path(cubin).read_bytes())
    inputs, outputs = ctypes.c_uint64(), ctypes.c_uint64()
    data = (HERE / "inputs.bin").read_bytes()
    call("cuMemAlloc_v2", ctypes.byref(inputs), ctypes.c_size_t(len(data)))
    call("cuMemcpyHtoD_v2", inputs, data, ctypes.c_size_t(len(data)))
    size = ctypes.c_size_t(8 * ROWS)
    call("cuMemAlloc_v2", ctypes.byref(outputs), size)
    results = b""
    for number, (_, _, sources) in enumerate(forms):
        function = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(function), module, f"k{number}".encode())
        own = ctypes.c_uint64(inputs.value + sets[tuple(sources)][0] * ROWS * 24)
        arguments = (ctypes.c_void_p * 2)(ctypes.addressof(own), ctypes.addressof(outputs))
        call("cuMemsetD8_v2", outputs, ctypes.c_ubyte(0xA5), size)
        call("cuLaunchKernel", function, 1, 1, 1, ROWS, 1, 1, 0, None, arguments, None)
        call("cuCtxSynchronize")
        block = ctypes.create_string_buffer(8 * ROWS)
        call("cuMemcpyDtoH_v2", block, outputs, size)
        results += block.raw
    (HERE / "results.bin").write_bytes(results)
    print(f"{len(forms)} forms run")


if __name__ == "__main__":
    if sys.argv[1:] == ["ptx"]:
        write_ptx()
    elif len(sys.argv) == 3 and sys.argv[1] == "gpu":
        run_on_gpu(sys.argv[2])
    else:
        sys.exit(__doc__)

"""A proposer that stands for a model (docs/models.md, agent:CMD): answers in turn with no PTX, an undeclared register, a wrong sum and a right kernel
whose comments try to be markup."""

import json
import re
import sys

ask = json.load(sys.stdin)
ptx = ask["brief"]["baseline_ptx"]
kind = ["prose", "undeclared", "wrong", "right"][
    (ask["turn"] + len(ask["brief"]["task"]["name"]) + ask["brief"]["seed"]) % 4
]
if kind == "undeclared":
    ptx = ptx.replace("mov.u32", "mov.u32 \t%nobody, 1;\n\tmov.u32", 1)
if kind == "wrong":
    ptx = ptx.replace("add.f32", "sub.f32", 1)
if kind == "right":
    ptx = "// 128-bit loads </script><b>bold</b>\n" + re.sub(r"add\.f32", "add.rn.f32", ptx)
text = (
    "I cannot do that \u202e, sorry <img src=x>."
    if kind == "prose"
    else f"Faster by far: {kind}.\n\n```ptx\n{ptx}```\n"
)
json.dump(
    {
        "schema": "ptxlab.answer/1",
        "candidates": [{"answer": text}],
        "usage": {"requests": 1, "tokens_asked": 900, "tokens_answered": 400, "dollars": 0.01},
    },
    sys.stdout,
)

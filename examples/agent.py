#!/usr/bin/env python3
"""The smallest agent (docs/models.md): hands the baseline back, as one candidate. Put an idea of your own in its place."""
import json
import sys

ask = json.load(sys.stdin)
candidate = {"ptx": ask["brief"]["baseline_ptx"], "idea": "the baseline itself", "name": "baseline"}
json.dump({"schema": "ptxlab.answer/1", "candidates": [candidate]}, sys.stdout)

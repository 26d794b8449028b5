#!/usr/bin/env python3
"""A real model in the loop: `ptxlab model serve` with SmolLM2, asked by `ptxlab optimize` in two dialects."""
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("PTXLAB_PROGRAM", ROOT / "build/release/src/cli/ptxlab")
STAMP = ROOT / ".private/model/wheels.stamp"


def serve(*options):
    """The server's process, once it says that it answers, and the two lines that it says."""
    process = subprocess.Popen([PROGRAM, "model", "serve", "--port", "0", "--threads", "1", *options],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True)
    ready, _, _ = select.select([process.stdout], [], [], 60)
    lines = [process.stdout.readline().strip(), process.stdout.readline().strip()] if ready else []
    return process, lines


class Refusals(unittest.TestCase):
    def refused(self, *options, environment=None):
        run = subprocess.run([PROGRAM, "model", "serve", *options], capture_output=True, text=True, timeout=60,
                             stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        return run.returncode, run.stderr

    def test_what_is_no_model_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder) / "broken.gguf"
            broken.write_bytes(b"no model at all")
            code, said = self.refused("--model", str(broken))
            self.assertEqual((code, "LLM0051" in said), (2, True), said)
            code, said = self.refused("--model", "missing.gguf")
            self.assertEqual((code, "LLM0051" in said), (2, True), said)
            code, said = self.refused("--port", "70000")
            self.assertEqual((code, "CLI0055" in said), (2, True), said)

    def test_nothing_is_fetched_without_a_yes(self):
        with tempfile.TemporaryDirectory() as folder:
            # A project of its own, where nothing has been fetched yet.
            for name in ("tools", "tasks", "prompts", "models"):
                (pathlib.Path(folder) / name).symlink_to(ROOT / name)
            code, said = self.refused(environment={"PTXLAB_ROOT": folder, "PTXLAB_YES": ""})
            self.assertEqual(code, 2, said)
            self.assertIn("LLM0050", said)


@unittest.skipUnless(STAMP.exists() or os.environ.get("CI"), "the model is not there: tools/setup --model could not fetch it")
class ServerRefusals(unittest.TestCase):
    refused = Refusals.refused

    def test_what_the_server_cannot_do_is_a_finding_too(self):
        with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as other:
            junk = pathlib.Path(folder) / "junk.gguf"
            junk.write_bytes(b"GGUF and nothing that belongs behind it")
            code, said = self.refused("--model", str(junk), "--port", "0")
            self.assertEqual((code, "error[LLM0051]" in said), (2, True), said)
            code, said = self.refused("--port", str(other.getsockname()[1]))
            self.assertEqual((code, "error[LLM0050]" in said), (3, True), said)


@unittest.skipUnless(STAMP.exists() or os.environ.get("CI"), "the model is not there: tools/setup --model could not fetch it")
class RealModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.lines = serve()

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGTERM)
        cls.server.wait(timeout=20)
        cls.server.stdout.close()

    def test_says_how_it_is_asked(self):
        self.assertEqual(len(self.lines), 2)
        self.assertRegex(self.lines[0], r"^smollm2 answers at http://127\.0\.0\.1:\d+/v1")
        self.assertRegex(self.lines[1], r"^ptxlab optimize kernel\.cu --proposer openai:smollm2@http://127\.0\.0\.1:")

    @staticmethod
    def short_prompt(folder):
        prompt = pathlib.Path(folder, "prompt")
        prompt.mkdir()
        (prompt / "system.mustache").write_text("You write PTX.")
        (prompt / "user.mustache").write_text("Write {{task}} for {{target}}.")
        return prompt

    def optimize(self, dialect, folder, settings, *more):
        address = self.lines[0].split()[3]
        add = ROOT / "tests/model/add"
        command = [PROGRAM, "optimize", add / "add.ptx", "--proposer", f"{dialect}:smollm2@{address}", "--candidates",
                   "1", "--turns", "1", "--model-settings", settings, "--archive", f"{folder}/a.db", "--record",
                   f"{folder}/kept", "--json", *more]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return json.loads(run.stdout)

    def test_takes_part_in_an_optimize(self):
        for dialect in ("openai", "anthropic"):
            with self.subTest(dialect), tempfile.TemporaryDirectory() as folder:
                # The first question is the real one; the second a short one, for reading takes a small machine its time.
                more = () if dialect == "openai" else ("--prompt", self.short_prompt(folder))
                result = self.optimize(dialect, folder, "answer_tokens=24,temperature=0.2,timeout=280", *more)
                self.assertEqual(len(result["attempts"]), 1)
                self.assertTrue(result["original_kept"])
                attempt = result["attempts"][0]
                # What it says in 24 tokens is no kernel, and is judged and told as what it is.
                self.assertEqual(attempt["verdict"]["outcome"], "malformed")
                codes = [finding["code"] for gate in attempt["verdict"]["gates"] for finding in gate["findings"]]
                self.assertTrue(codes and all(code.startswith("LLM00") for code in codes), codes)
                usage = result["usage"][0]
                self.assertEqual(usage["proposer"], f"{dialect}:smollm2")
                self.assertGreater(usage["tokens_asked"], 10 if more else 1000)
                self.assertTrue(0 < usage["tokens_answered"] <= 24, usage)
                self.assertFalse(usage["estimated"])
                self.assertIsNone(usage["dollars"])
                kept = json.loads(next(pathlib.Path(folder, "kept").iterdir()).read_text())
                self.assertEqual(len(kept["exchanges"]), 1)
                self.assertEqual(kept["exchanges"][0]["usage"]["tokens_answered"], usage["tokens_answered"])

    def test_keeps_to_a_grammar(self):
        address = self.lines[0].split()[3]

        def ask(grammar, tokens):
            body = {"model": "smollm2", "max_tokens": tokens, "seed": 1, "temperature": 0.5, "grammar": grammar,
                    "messages": [{"role": "user", "content": "Write PTX."}]}
            request = urllib.request.Request(f"{address}/chat/completions", json.dumps(body).encode(),
                                             {"Content-Type": "application/json"})
            return json.load(urllib.request.urlopen(request, timeout=120))["choices"][0]["message"]["content"]

        for target in ("sm_80", "sm_90a", "sm_100a"):
            run = subprocess.run([PROGRAM, "grammar", "--target", target], capture_output=True, text=True, timeout=60)
            self.assertEqual(run.returncode, 0)
            grammar = run.stdout
            # llama.cpp's own reader takes it whole, and holds the model to it: with the instruction as root it writes one of them.
            one = grammar.replace("root ::= module", 'root ::= "ret;" | "mov" ".u32" sp ident ws "," ws number ws ";"')
            self.assertRegex(ask(one, 24), r"^(ret;|mov\.u32\s)")
            ask(grammar, 4)
        with self.assertRaises(urllib.error.HTTPError):
            ask(grammar.replace("root ::=", "root :="), 4)

    def test_is_handed_the_grammar_by_optimize(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.optimize("openai", folder, "answer_tokens=24,grammar=llama,timeout=280", "--prompt",
                                   self.short_prompt(folder))
            self.assertEqual(result["findings"], [])  # the server did not refuse it
            kept = json.loads(next(pathlib.Path(folder, "kept").iterdir()).read_text())
            self.assertIn("instruction ::=", json.loads(kept["exchanges"][0]["request"])["grammar"])

    def test_a_question_too_long_for_it_is_said(self):
        server, lines = serve("--context", "512", "--parallel", "1")
        try:
            address = lines[0].split()[3]
            run = subprocess.run([PROGRAM, "optimize", ROOT / "tests/model/add/add.ptx", "--proposer",
                                  f"openai:smollm2@{address}", "--candidates", "1", "--turns", "1", "--archive",
                                  tempfile.mkdtemp() + "/a.db", "--json"],
                                 capture_output=True, text=True, timeout=120)
            self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
            findings = json.loads(run.stdout)["findings"]
            self.assertEqual(findings[0]["code"], "LLM0017", findings)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=20)
            server.stdout.close()


if __name__ == "__main__":
    unittest.main(verbosity=0)

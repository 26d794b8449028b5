#!/usr/bin/env python3
"""Ctrl-C while a model is asked: `ptxlab optimize` ends with what it has."""
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(os.environ.get("PTXLAB_PROGRAM", ROOT / "build/release/src/cli/ptxlab")).resolve())
GOOD = (ROOT / "tests/model/answers/good.md").read_text()


class Model(http.server.ThreadingHTTPServer):
    """Answers so many questions well, and then never again."""

    daemon_threads = True

    def __init__(self, answers):
        self.answers, self.asked, self.silent = answers, 0, threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        if self.server.asked > self.server.answers:
            self.server.silent.set()
            time.sleep(600)
        body = json.dumps({"choices": [{"message": {"content": GOOD}, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def as_at_a_terminal():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a test that runs in the background has it ignored


class Interrupts(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ptxlab-interrupt"))
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("add.ptx", "add.task.toml", "add.plan.toml"):
            shutil.copy(ROOT / "tests/model/add" / name, self.folder)

    def optimize(self, *words):
        return subprocess.Popen([PROGRAM, "optimize", "add.ptx", "--archive", "a.db", "--json", *words], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=as_at_a_terminal)

    def asking(self, answers):
        model = Model(answers)
        self.addCleanup(model.server_close)
        self.addCleanup(model.shutdown)
        words = ["--proposer", f"openai:m@http://127.0.0.1:{model.server_port}/v1", "--candidates", "2", "--turns", "2"]
        program = self.optimize(*words)
        self.assertTrue(model.silent.wait(timeout=120))
        return program

    def test_the_run_ends_with_what_it_has(self):
        program = self.asking(answers=1)
        began = time.monotonic()
        program.send_signal(signal.SIGINT)
        output, errors = program.communicate(timeout=60)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(program.returncode, -signal.SIGINT, errors)
        self.assertIn("interrupted", errors)
        result = json.loads(output)
        self.assertEqual([attempt["verdict"]["outcome"] for attempt in result["attempts"]], ["unverified"])
        self.assertIn("interrupted in turn 2 of 2", result["notes"])
        self.assertIn("LLM0010", [finding["code"] for finding in result["findings"]])
        self.assertTrue((self.folder / "a.db").exists())

    def test_before_any_answer_there_is_none(self):
        program = self.asking(answers=0)
        program.send_signal(signal.SIGINT)
        output, _ = program.communicate(timeout=60)
        self.assertEqual(program.returncode, -signal.SIGINT)
        result = json.loads(output)
        self.assertEqual((result["attempts"], result["original_kept"]), ([], True))

    def test_an_agent_is_given_up_too(self):
        (self.folder / "slow.sh").write_text("echo $$ >pid.new; mv pid.new pid; sleep 600; true\n")
        program = self.optimize("--proposer", f"agent:sh {self.folder}/slow.sh; true")
        for _ in range(1200):
            if (self.folder / "pid").exists():
                break
            time.sleep(0.1)
        program.send_signal(signal.SIGINT)
        output, _ = program.communicate(timeout=60)
        self.assertEqual(program.returncode, -signal.SIGINT)
        self.assertIn("was stopped", output)


if __name__ == "__main__":
    unittest.main(verbosity=0)

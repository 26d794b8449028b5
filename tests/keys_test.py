#!/usr/bin/env python3
"""Models' keys: whatever the command, no compiler, assembler or oracle that it starts inherits one, or can read it off its parent."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(os.environ.get("PTXLAB_PROGRAM", ROOT / "build/release/src/cli/ptxlab")).resolve())
VARIABLES = ("PTXLAB_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
SECRET = "sk-inherited-0123456789"
TASK = "elementwise/vector_add_f32"


def cuda_home():
    named = os.environ.get("PTXLAB_CUDA") or (ROOT / ".private/cuda-home").read_text().strip()
    return pathlib.Path(named)


class Children(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ptxlab-keys"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.seen = self.folder / "seen"
        self.seen.mkdir()
        self.environment = os.environ | {name: SECRET for name in VARIABLES} | {
            "XDG_DATA_HOME": str(self.folder / "data"), "XDG_CACHE_HOME": str(self.folder / "cache"),
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        self.stand_in(self.folder / "bin/g++", shutil.which("g++"))

    def stand_in(self, place, real):
        """A program that notes down what it is given and what it can see of its parent, and then is the real one."""
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text('#!/bin/sh\n'
                         f'{{ env; tr "\\0" "\\n" </proc/$PPID/environ; tr "\\0" " " </proc/$PPID/cmdline; }} >"{self.seen}/{place.name}.$$"\n'
                         f'exec "{real}" "$@"\n')
        place.chmod(place.stat().st_mode | stat.S_IXUSR)

    def toolkit(self):
        """A CUDA folder whose programs are such stand-ins."""
        real, home = cuda_home(), self.folder / "cuda"
        home.mkdir()
        for entry in real.iterdir():
            if entry.name != "bin":
                (home / entry.name).symlink_to(entry)
        for entry in (real / "bin").iterdir():
            if entry.name in ("ptxas", "nvcc", "nvdisasm"):
                self.stand_in(home / "bin" / entry.name, entry)
            else:
                (home / "bin").mkdir(exist_ok=True)
                (home / "bin" / entry.name).symlink_to(entry)
        self.environment["PTXLAB_CUDA"] = str(home)

    def check_seen(self, *names):
        notes = {note.name: note.read_text() for note in self.seen.iterdir()}
        for name in names:
            self.assertTrue(any(note.startswith(name + ".") for note in notes), f"{name} was not started: {sorted(notes)}")
        for name, text in notes.items():
            self.assertNotIn(SECRET, text, name)

    def run_program(self, *words, **more):
        run = subprocess.run([PROGRAM, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                             timeout=300, **more)
        self.assertNotIn(SECRET, run.stdout + run.stderr)
        return run

    @unittest.skipUnless((ROOT / ".private/cuda-home").exists() or os.environ.get("PTXLAB_CUDA"), "no CUDA toolkit")
    def test_no_tool_gets_one_whatever_the_command(self):
        self.toolkit()
        baseline = str(ROOT / "tasks" / TASK / "baseline.ptx")
        for words, tools in ((("structure", baseline), ["ptxas"]),
                             (("judge", baseline, "--task", TASK, "--until", "emulate"), ["ptxas", "g++"]),
                             (("brief", TASK), ["ptxas"]),
                             (("optimize", str(ROOT / "tests/model/add/add.ptx"), "--candidates", "1"), ["ptxas"])):
            for note in self.seen.iterdir():
                note.unlink()
            shutil.rmtree(self.folder / "cache", ignore_errors=True)
            run = self.run_program(*words)
            self.assertIn(run.returncode, (0, 1), run.stderr)
            self.check_seen(*tools)

    def test_a_server_of_tools_shows_none_and_passes_none_on(self):
        with subprocess.Popen([PROGRAM, "mcp"], cwd=self.folder, env=self.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as server:
            def ask(number, method, params):
                server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
                server.stdin.flush()
                return json.loads(server.stdout.readline())
            ask(1, "initialize", {"protocolVersion": "2025-11-25"})
            shown = pathlib.Path(f"/proc/{server.pid}/environ").read_bytes().decode()
            self.assertIn("PTXLAB_API_KEY=", shown)
            self.assertNotIn(SECRET, shown)
            answer = ask(2, "tools/call", {"name": "judge", "arguments": {
                "ptx": (ROOT / "tasks" / TASK / "baseline.ptx").read_text(), "task": TASK, "until": "emulate"}})
            self.assertFalse(answer["result"]["isError"], answer)
            self.assertNotIn(SECRET, json.dumps(answer))
            server.stdin.close()
        self.check_seen("g++")

    def test_a_command_that_holds_one_is_refused_before_it_is_kept(self):
        for command in (f"OPENAI_API_KEY={SECRET} ./ask", f"./ask {SECRET}", "HF_TOKEN=hunter22222 ./ask"):
            run = self.run_program("optimize", str(ROOT / "tests/model/add/add.ptx"), "--proposer", "agent:" + command)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn("LLM0043", run.stderr)
            self.assertNotIn("hunter", run.stderr)
        self.assertFalse((self.folder / "data").exists(), "an archive was begun")

    def test_an_agents_processes_end_with_the_program(self):
        script = self.folder / "slow.sh"
        script.write_text(f"sleep 300 & echo $! >{self.folder}/pid.new; mv {self.folder}/pid.new {self.folder}/pid; wait\n")
        kernel = str(ROOT / "tests/model/add/add.ptx")
        with subprocess.Popen([PROGRAM, "optimize", kernel, "--proposer", f"agent:sh {script}; true"], cwd=self.folder,
                              env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as program:
            for _ in range(600):
                if (self.folder / "pid").exists():
                    break
                time.sleep(0.1)
            sleeper = int((self.folder / "pid").read_text())
            program.terminate()
            program.wait(timeout=30)
        for _ in range(100):
            status = pathlib.Path(f"/proc/{sleeper}/stat")
            if not status.exists() or ") Z " in status.read_text():
                return
            time.sleep(0.05)
        os.kill(sleeper, 9)
        self.fail("what the agent had started goes on")


if __name__ == "__main__":
    unittest.main(verbosity=0)

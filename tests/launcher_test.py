"""The launcher in a small tree of its own, with stand-ins for setup, cmake and ninja: it asks before the first use, builds once,
builds again only after a change, and hands words and exit code through."""
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETUP = """#!/bin/sh
echo "setup $*" >>"$LOG"
env >>"$LOG.env"
[ "$1" = --dry-run ] && { echo "setup: to install: everything" >&2; exit 0; }
cd "$(dirname "$0")/.." && mkdir -p .private && touch .private/setup.stamp
"""
CMAKE = """#!/bin/sh
echo "cmake $*" >>"$LOG"
env >>"$LOG.env"
mkdir -p build/release && touch build/release/build.ninja
"""
NINJA = """#!/bin/sh
echo ninja >>"$LOG"
env >>"$LOG.env"
[ -e "$2/../../broken" ] && { echo "error: broken source"; exit 1; }
mkdir -p "$2/src/cli"
printf '#!/bin/sh\\necho "words: $*, root: $PTXLAB_ROOT"; exit 7\\n' >"$2/src/cli/ptxlab"
chmod +x "$2/src/cli/ptxlab"
"""


class Launcher(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve() / "tree"
        for name in ("src", "cmake", "docs", "tools", "bin"):
            (self.root / name).mkdir(parents=True)
        for name in ("CMakeLists.txt", "CMakePresets.json", "docs/architecture.md", "src/a.cc"):
            (self.root / name).write_text("")
        self.log = self.root.parent / "log"
        shutil.copy(ROOT / "ptxlab", self.root / "ptxlab")
        for name, text in (("tools/setup", SETUP), ("bin/cmake", CMAKE), ("bin/ninja", NINJA)):
            path = self.root / name
            path.write_text(text)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run_it(self, *words, **environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith("PTXLAB_")}
        env.update(PATH=f"{self.root}/bin:{os.environ['PATH']}", LOG=str(self.log), **environment)
        self.log.write_text("")
        # Called from elsewhere: it finds its tree by itself.
        self.done = subprocess.run([str(self.root / "ptxlab"), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                   env=env, cwd=self.root.parent, check=False)
        return self.done.returncode

    def calls(self):
        return [line.split()[0] for line in self.log.read_text().splitlines()]

    def test_without_a_terminal_nothing_is_done(self):
        self.assertEqual(self.run_it("doctor"), 2)
        self.assertEqual(self.log.read_text(), "setup --dry-run\n")
        self.assertIn("to install: everything", self.done.stderr)
        self.assertIn("--yes", self.done.stderr)
        self.assertEqual(self.done.stdout, "")
        self.assertFalse((self.root / "build").exists())

    def test_yes_sets_up_builds_and_runs(self):
        self.assertEqual(self.run_it("--yes", "run", "a b", "--yes"), 7, self.done.stderr)
        self.assertEqual(self.calls(), ["setup", "cmake", "ninja"])
        self.assertEqual(self.done.stdout, f"words: run a b --yes, root: {self.root}\n")
        self.assertEqual(self.run_it("check"), 7)
        self.assertEqual(self.calls(), [])
        self.assertEqual(self.done.stderr, "")

    def test_keys_reach_the_program_and_nothing_that_builds_it(self):
        text = (ROOT / "src/llm/key.cc").read_text()
        listed = text[text.index("kVariables[] = {"):].split("};", 1)[0]
        names = re.findall(r'"([A-Z_]+)"', listed) + re.findall(r'kOwn = "([A-Z_]+)"', text)
        self.assertEqual(len(names), 5)
        self.run_it("--yes", "doctor", **{name: "sk-builds-0123456789" for name in names})
        self.assertEqual(self.calls(), ["setup", "cmake", "ninja"])
        self.assertNotIn("sk-builds", Path(f"{self.log}.env").read_text())
        program = self.root / "build/release/src/cli/ptxlab"
        program.write_text("#!/bin/sh\nenv\n")
        self.run_it("doctor", **{name: "sk-builds-0123456789" for name in names})
        self.assertEqual(self.done.stdout.count("sk-builds"), 5)

    def test_the_environment_agrees_too(self):
        self.assertEqual(self.run_it("doctor", PTXLAB_YES="1"), 7, self.done.stderr)

    def test_a_changed_source_is_built(self):
        self.run_it("--yes")
        time.sleep(0.02)
        (self.root / "src/a.cc").write_text("changed")
        self.assertEqual(self.run_it(), 7)
        self.assertEqual(self.calls(), ["setup", "ninja"])
        (self.root / "src/b.cc").write_text("")
        (self.root / "src/b.cc").unlink()  # only the folder shows it
        self.assertEqual(self.run_it(), 7)
        self.assertEqual(self.calls(), ["setup", "ninja"])

    def test_a_failed_build_is_shown_and_tried_again(self):
        (self.root / "broken").write_text("")
        self.assertEqual(self.run_it("--yes"), 3)
        self.assertIn("broken source", self.done.stderr)
        self.assertEqual(self.done.stdout, "")
        self.assertEqual(self.run_it(), 3)
        (self.root / "broken").unlink()
        self.assertEqual(self.run_it(), 7)


if __name__ == "__main__":
    unittest.main()

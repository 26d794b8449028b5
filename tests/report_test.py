"""ptxlab report and repro: the commands of docs/report.md do what it says, an attempt's folder comes out the same where it is judged again, and
nothing of the machine that made it stands in it."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import running

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ["PTXLAB_PROGRAM"]).resolve()


def run(words, cwd, ok=(0,), program=PROGRAM, **environment):
    return running.run(program, words, cwd, ok, **environment)


def has_nvcc():
    tools = json.loads(
        subprocess.run(
            [str(PROGRAM), "doctor", "--json"],
            capture_output=True,
            check=False,
            env={**os.environ, "PTXLAB_ROOT": str(ROOT)},
        ).stdout
    )
    return tools["tools"]["nvcc"]["found"]


class Report(unittest.TestCase):
    def setUp(self):
        # A name of its own, so that a path that stays somewhere is found.
        self.folder = tempfile.TemporaryDirectory(prefix="secret-place-")
        self.addCleanup(self.folder.cleanup)
        self.cwd = Path(self.folder.name)

    def archive_of_files(self, kernel="vector_add", task="elementwise/vector_add_f32", **candidates):
        """A user's kernel in PTX, and what files propose for it; the archive's attempts by name."""
        for ending in (".task.toml", ".plan.toml"):
            shutil.copy(ROOT / "examples" / (kernel + ending), self.cwd)
        shutil.copy(ROOT / "tasks" / task / "baseline.ptx", self.cwd / (kernel + ".ptx"))
        (self.cwd / "mine").mkdir()
        for name, text in candidates.items():
            (self.cwd / "mine" / (name + ".ptx")).write_text(text)
        run(
            [
                "optimize",
                kernel + ".ptx",
                "--archive",
                "a.db",
                "--proposer",
                "files:mine",
                "--candidates",
                "9",
                "--max-registers",
                "40",
            ],
            self.cwd,
        )
        listed = json.loads(run(["archive", "list", "--archive", "a.db", "--json"], self.cwd).stdout)["attempts"]
        return {one["name"]: one for one in listed}

    def test_an_attempt_judged_again_comes_out_the_same(self):
        baseline = (ROOT / "tasks/softmax/softmax_f32/baseline.ptx").read_text()
        wrong = baseline.replace("0f00000000", "0f3F800000")
        self.assertNotEqual(wrong, baseline)
        attempts = self.archive_of_files(
            "softmax",
            "softmax/softmax_f32",
            wrong=wrong,
            noise="no PTX at all",
            other="// another comment\n" + baseline,
            race=baseline.replace("bar.sync", "// bar.sync"),
        )
        outcomes = {name: one["outcome"] for name, one in attempts.items()}
        self.assertEqual(outcomes["noise"], "malformed")
        self.assertEqual(outcomes["race"], "faulted")
        self.assertIn(outcomes["wrong"], ("wrong", "faulted"))
        self.assertIn(outcomes["other"], ("same", "unverified"))
        for name, one in attempts.items():
            made = run(["repro", str(one["id"]), "away/" + name, "--archive", "a.db"], self.cwd)
            self.assertIn("judges it again", made.stdout)
        # Somewhere else, and without what it was made from.
        with tempfile.TemporaryDirectory() as elsewhere:
            shutil.move(self.cwd / "away", elsewhere)
            for file in self.cwd.iterdir():
                shutil.rmtree(file) if file.is_dir() else file.unlink()
            for name, one in attempts.items():
                folder = Path(elsewhere) / "away" / name
                done = run([], elsewhere, program=folder / "rerun", PTXLAB=str(PROGRAM))
                self.assertEqual(done.stdout, f"the same outcome: {one['outcome']}\n")
                then, now = (json.loads((folder / file).read_text()) for file in ("verdict.json", "outcome.json"))
                self.assertEqual([gate["status"] for gate in then["gates"]], [gate["status"] for gate in now["gates"]])
                for file in folder.rglob("*"):
                    if file.is_file():
                        text = file.read_text()
                        for private in ("secret-place-", str(ROOT), str(Path.home()) + "/", elsewhere):
                            self.assertNotIn(
                                private, text if file.name != "outcome.json" else "", f"{name}/{file.name}"
                            )

    def test_an_attempt_of_bench_is_judged_as_its_run_did(self):
        (self.cwd / "spec.toml").write_text(
            'schema = "ptxlab.spec/1"\nname = "one"\ntasks = ["elementwise/vector_add_f32"]\nk = 1\nseed = 77\nuntil = "emulate"\n'
            '[[arm]]\nname = "rules"\nproposer = "rules"\n'
        )
        run(["bench", "spec.toml", "--archive", "a.db", "--lock", "lock.json"], self.cwd)
        run(["repro", "1", "it", "--archive", "a.db"], self.cwd)
        self.assertIn("--seed 77 --until emulate", (self.cwd / "it/rerun").read_text())
        self.assertEqual(
            run([], self.cwd, program=self.cwd / "it/rerun", PTXLAB=str(PROGRAM)).stdout, "the same outcome: unverified\n"
        )

    def test_another_outcome_is_told(self):
        baseline = (ROOT / "tasks/elementwise/vector_add_f32/baseline.ptx").read_text()
        attempts = self.archive_of_files(right="// as it is\n" + baseline)
        run(["repro", str(attempts["right"]["id"]), "it", "--archive", "a.db"], self.cwd)
        (self.cwd / "it/candidate.ptx").write_text("broken")
        done = run([], self.cwd, ok=(1,), program=self.cwd / "it/rerun", PTXLAB=str(PROGRAM))
        self.assertRegex(done.stdout, "another outcome: (same|unverified) then, malformed now")
        script = (self.cwd / "it/rerun").read_text()
        self.assertIn("--max-registers 40", script)
        # A speed that was measured cannot be told here.
        (self.cwd / "it/candidate.ptx").write_text(baseline.replace("add.f32", "add.rn.f32"))
        (self.cwd / "it/rerun").write_text(re.sub("^then=.*", "then=slower", script, flags=re.M))
        done = run([], self.cwd, ok=(0, 1, 3), program=self.cwd / "it/rerun", PTXLAB=str(PROGRAM))
        self.assertIn(done.returncode, (1, 3) if "same now" in done.stdout else (3,), done.stdout)

    def test_what_is_asked_for_wrongly_is_said(self):
        baseline = (ROOT / "tasks/elementwise/vector_add_f32/baseline.ptx").read_text()
        self.archive_of_files(right="// as it is\n" + baseline)
        for words, code in (
            (["repro", "99"], "ARC0005"),
            (["repro", "one"], "CLI0100"),
            (["report", "nothing"], "ARC0007"),
            (["report", "--attempt", "x"], "CLI0100"),
            (["report", "--html", "r.html", "--ceilings", "a.db"], "CLI0101"),
            (["repro", "1", "mine"], "REP0001"),
        ):
            done = run([*words, "--archive", "a.db"], self.cwd, ok=(2,))
            self.assertIn(code, done.stderr)
        self.assertIn("ARC0006", run(["report", "--archive", "none.db"], self.cwd, ok=(2,)).stderr)
        self.assertFalse((self.cwd / "r.html").exists())
        self.assertEqual(sorted(file.name for file in (self.cwd / "mine").iterdir()), ["right.ptx"])
        self.assertIn(
            "FILE0003", run(["report", "--archive", "a.db", "--html", "no/such/folder.html"], self.cwd, ok=(2,)).stderr
        )

    def test_ceilings_that_were_measured_are_taken(self):
        baseline = (ROOT / "tasks/elementwise/vector_add_f32/baseline.ptx").read_text()
        self.archive_of_files(right="// as it is\n" + baseline)
        (self.cwd / "gpu.json").write_text(
            json.dumps(
                {
                    "schema": "ptxlab.gpu/1",
                    "gpus": [
                        {
                            "device": "NVIDIA H200",
                            "ok": True,
                            "ceilings": [
                                {"name": "copy", "unit": "B/s", "rate": 4.3e12},
                                {"name": "fp32 FFMA", "unit": "FLOP/s", "rate": 5.9e13},
                            ],
                        }
                    ],
                }
            )
        )
        run(["report", "--archive", "a.db", "--html", "r.html", "--ceilings", "gpu.json"], self.cwd)
        self.assertTrue((self.cwd / "r.html").read_text().startswith("<!DOCTYPE html>"))

    def test_the_commands_of_the_document_work(self):
        shutil.copytree(ROOT / "examples", self.cwd / "examples")
        kernel = "examples/vector_add.cu"
        if not has_nvcc():
            (self.cwd / kernel).unlink()
            shutil.copy(ROOT / "tasks/elementwise/vector_add_f32/baseline.ptx", self.cwd / "examples/vector_add.ptx")
        blocks = re.findall(r"^```\n(.*?)^```", (ROOT / "docs/report.md").read_text(), re.M | re.S)
        lines = [line for block in blocks for line in block.splitlines()]
        self.assertGreaterEqual(len(lines), 5)
        here = {
            **os.environ,
            "PTXLAB_ROOT": str(ROOT),
            "PTXLAB_GPU": "none",
            "XDG_DATA_HOME": str(self.cwd / "data"),
            "PATH": f"{self.cwd}:{os.environ['PATH']}",
        }
        (self.cwd / "ptxlab").symlink_to(PROGRAM)
        for line in lines:
            done = subprocess.run(
                ["bash", "-c", line if has_nvcc() else line.replace(kernel, "examples/vector_add.ptx")],
                cwd=self.cwd,
                env=here,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
        self.assertTrue((self.cwd / "report.html").is_file())
        self.assertTrue((self.cwd / "again/outcome.json").is_file())

    def test_its_keys_are_those_of_the_page(self):
        document = (ROOT / "docs/report.md").read_text()
        page = (ROOT / "src/report/page/keys.js").read_text()
        for keys, what in re.findall(r'^  \["(.+?)", "(.+?)"\]', page, re.M):
            for key in keys.split():
                if key not in ("or", "Esc"):
                    self.assertIn(f"`{key}`", document, what)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""The bundle (tools/bundle) on a machine that has nothing: unpacked elsewhere, with an empty PATH, it checks and judges; what it
needs of the system is the C library, no newer than Debian 12's; an oracle made for another text serves nobody."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("PTXLAB_PROGRAM", ROOT / "build/release/src/cli/ptxlab")).resolve()
OF_GLIBC = re.compile(r"(linux-vdso|ld-linux-x86-64|libc|libm|libdl|libpthread|librt)\.so")


def have(tool):
    return subprocess.run(["sh", "-c", f"command -v {tool}"], capture_output=True).returncode == 0


def is_debian_12():
    text = pathlib.Path("/etc/os-release").read_text() if os.path.exists("/etc/os-release") else ""
    return "VERSION_CODENAME=bookworm" in text


def sanitized():
    return "libasan" in subprocess.run(["ldd", str(PROGRAM)], capture_output=True, text=True).stdout


@unittest.skipUnless(have("g++") and have("objdump") and have("xz"), "a bundle is made with g++, objdump and xz")
@unittest.skipIf(sanitized(), "a build with sanitizers is no bundle")
class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        where = pathlib.Path(cls.folder.name)
        archive = where / "ptxlab.tar.xz"
        made = subprocess.run([ROOT / "tools/bundle", "--quick", "--build", PROGRAM.parents[2], "--out", archive],
                              capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        cls.said = made.stderr
        cls.size = archive.stat().st_size
        # A name with a space: nothing may depend on where it is unpacked.
        place = where / "some where"
        place.mkdir()
        subprocess.run(["tar", "xf", archive, "-C", place], check=True)
        cls.home, = place.iterdir()
        (where / "empty").mkdir()
        cls.bare = {"PATH": str(where / "empty"), "HOME": str(where / "home"), "NO_COLOR": "1", "PTXLAB_GPU": "none"}

    def ptxlab(self, *words, cwd="/", **more):
        return subprocess.run([self.home / "ptxlab", *map(str, words)], capture_output=True, text=True, cwd=cwd,
                              env={**self.bare, **more})

    def test_it_is_small(self):
        self.assertLess(self.size, 30 << 20)

    def test_needs_the_c_library_alone(self):
        files = [self.home / "ptxlab", self.home / "ptxlab-gpu", *self.home.glob("lib/*.so*"), *self.home.glob("oracles/*")]
        self.assertGreater(len(files), 15)
        for file in files:
            text = subprocess.run(["objdump", "-p", file], capture_output=True, text=True, check=True).stdout
            for library in re.findall(r"NEEDED\s+(\S+)", text):
                self.assertTrue(OF_GLIBC.match(library) or (self.home / "lib" / library).exists(), f"{file}: {library}")
        loaded = subprocess.run(["ldd", self.home / "ptxlab"], capture_output=True, text=True, check=True).stdout
        for line in loaded.splitlines():
            name = line.split()[0]
            self.assertTrue(OF_GLIBC.search(name) or str(self.home) in line, line)

    @unittest.skipUnless(is_debian_12(), "made here it needs this system's C library")
    def test_no_newer_c_library_than_debian_12s(self):
        self.assertNotIn("warning", self.said)
        for file in [self.home / "ptxlab", self.home / "ptxlab-gpu", *self.home.glob("lib/*.so*"), *self.home.glob("oracles/*")]:
            text = subprocess.run(["objdump", "-T", file], capture_output=True, text=True, check=True).stdout
            for version in re.findall(r"GLIBC_(\d+)\.(\d+)", text):
                self.assertLessEqual(tuple(map(int, version)), (2, 36), file)

    def test_whose_libraries_they_are(self):
        if have("dpkg-query"):
            self.assertNotIn("no copyright file", self.said)

    def test_doctor_knows_where_it_is(self):
        found = json.loads(self.ptxlab("doctor", "--json").stdout)
        self.assertEqual(found["root"], str(self.home))
        self.assertFalse(found["tools"]["g++"]["found"])
        self.assertIn("are here as programs", found["tools"]["g++"]["follows"])
        self.assertNotIn("tools/setup", self.ptxlab("doctor", PTXLAB_CUDA="none").stdout)

    def test_check_and_explain(self):
        self.assertEqual(self.ptxlab("check", self.home / "tasks/norm/rmsnorm_bf16/baseline.ptx").returncode, 0)
        self.assertIn("PTX0300", self.ptxlab("explain", "PTX0300").stdout)

    def test_judges_every_task_without_a_compiler(self):
        names = [task["name"] for task in json.loads(self.ptxlab("tasks", "list", "--json").stdout)["tasks"]]
        self.assertGreaterEqual(len(names), 9)
        for name in ["elementwise/vector_add_f32", "softmax/softmax_f32"]:
            verdict = self.ptxlab("judge", self.home / "tasks" / name / "baseline.ptx", "--plan",
                                  self.home / "tasks" / name / "baseline.plan.toml", "--task", name, "--until", "emulate",
                                  "--json", PTXLAB_CUDA="none")
            self.assertEqual(verdict.returncode, 0, verdict.stdout + verdict.stderr)
            verdict = json.loads(verdict.stdout)
            self.assertEqual(verdict["outcome"], "unverified")
            self.assertTrue(verdict["oracle"].startswith("reference.cc"))
        # Every reference has its program: found by content, so asking for one case of each would only repeat this.
        made = {path.name for path in self.home.glob("oracles/*")}
        again = pathlib.Path(self.folder.name) / "again"
        text = subprocess.run([PROGRAM, "tasks", "oracles", "--json", "--to", again], capture_output=True, text=True,
                              env={**os.environ, "PTXLAB_ROOT": str(self.home)}, check=True).stdout
        oracles = json.loads(text)["oracles"]
        self.assertEqual(len(oracles), len(names))
        for oracle in oracles:
            self.assertIn(pathlib.Path(oracle["program"]).name, made, oracle["task"])

    def test_a_wrong_candidate_is_found_wrong(self):
        case = ROOT / "tasks/elementwise/vector_add_f32"
        ptx = (case / "baseline.ptx").read_text()
        self.assertIn("add.f32", ptx.replace("add.rn.f32", "add.f32"))
        bad = pathlib.Path(self.folder.name) / "bad.ptx"
        bad.write_text(re.sub(r"add(\.rn)?\.f32", "sub.f32", ptx))
        verdict = self.ptxlab("judge", bad, "--task", "elementwise/vector_add_f32", "--json", PTXLAB_CUDA="none")
        self.assertEqual(verdict.returncode, 1, verdict.stdout + verdict.stderr)
        self.assertEqual(json.loads(verdict.stdout)["outcome"], "wrong")

    def test_a_changed_reference_is_not_served_by_an_old_oracle(self):
        task = pathlib.Path(self.folder.name) / "changed"
        subprocess.run(["cp", "-r", self.home / "tasks/elementwise/vector_add_f32", task], check=True)
        reference = task / "reference.cc"
        reference.write_text(reference.read_text() + "// a comment is a change\n")
        verdict = self.ptxlab("judge", task / "baseline.ptx", "--plan", task / "baseline.plan.toml", "--task", task,
                              "--json", PTXLAB_CUDA="none")
        self.assertIn("ORA0001", verdict.stdout + verdict.stderr)
        # With a program made elsewhere it works.
        subprocess.run([PROGRAM, "tasks", "oracles", "--to", self.home / "oracles", task], check=True, capture_output=True)
        verdict = self.ptxlab("judge", task / "baseline.ptx", "--plan", task / "baseline.plan.toml", "--task", task,
                              "--until", "emulate", "--json", PTXLAB_CUDA="none")
        self.assertEqual(json.loads(verdict.stdout)["outcome"], "unverified", verdict.stdout)

    def test_the_worker_greets(self):
        run = subprocess.run([self.home / "ptxlab-gpu"], capture_output=True, stdin=subprocess.DEVNULL, env=self.bare)
        self.assertGreater(len(run.stdout), 16)


if __name__ == "__main__":
    unittest.main()

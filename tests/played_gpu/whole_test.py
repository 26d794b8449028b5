#!/usr/bin/env python3
"""The commands with a GPU that is played by the CPU engine: what becomes of candidates that are faster, slower, the same, or lie.

usage: whole_test.py PTXLAB PTXLAB-GPU-PLAYED
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PTXLAB, PLAYED = (str(pathlib.Path(name).resolve()) for name in sys.argv[1:3])

HEAD = """.version 7.8
.target sm_80
.address_size 64
"""
REGISTERS = """  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .f32 %f<16>;
  .reg .b64 %rd<16>;
"""


def scale(middle="", head="", after_load="", end=""):
    """y[i] = 1.5 x[i], an element a thread."""
    return HEAD + head + """.visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 n)
{
""" + REGISTERS + """  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [n];
  setp.ge.u32 %p1, %r4, %r5;
  @%p1 bra END;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mul.wide.u32 %rd3, %r4, 4;
  add.u64 %rd4, %rd1, %rd3;
  add.u64 %rd5, %rd2, %rd3;
""" + middle + """  ld.global.f32 %f1, [%rd4];
""" + after_load + """  mul.rn.f32 %f1, %f1, 0f3fc00000;
  st.global.f32 [%rd5], %f1;
END:
""" + end + """  ret;
}
"""


# Four elements a thread; sizes are multiples of four.
WIDE = HEAD + """.visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 n)
{
""" + REGISTERS + """  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  shl.b32 %r6, %r4, 2;
  ld.param.u32 %r5, [n];
  setp.ge.u32 %p1, %r6, %r5;
  @%p1 bra END;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mul.wide.u32 %rd3, %r6, 4;
  add.u64 %rd4, %rd1, %rd3;
  add.u64 %rd5, %rd2, %rd3;
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];
  mul.rn.f32 %f1, %f1, 0f3fc00000;
  mul.rn.f32 %f2, %f2, 0f3fc00000;
  mul.rn.f32 %f3, %f3, 0f3fc00000;
  mul.rn.f32 %f4, %f4, 0f3fc00000;
  st.global.v4.f32 [%rd5], {%f1, %f2, %f3, %f4};
END:
  ret;
}
"""


def plan(per_thread=1):
    return f"""schema = "ptxlab.plan/1"
[[launch]]
entry = "scale"
grid = ["ceildiv(n, {128 * per_thread})"]
block = ["128"]
args = ["x", "y", "n"]
"""


TASK = """schema = "ptxlab.task/1"
name = "scale"
targets = ["sm_80"]
allow = [ALLOW]
params = ["n"]
where = ["n % 4 == 0"]
arg = [
  { name = "x", kind = "in", type = "f32", shape = ["n"], fill = ["normal"] },
  { name = "y", kind = "out", type = "f32", shape = ["n"] },
  { name = "n", kind = "scalar", type = "u32", value = "n" },
]
[sizes]
emulate = [{ n = 4 }, { n = 516 }]
time = [{ n = 4096 }]
[tolerance.y]
kind = "float"
accumulate = "f32"
terms = "1"
"""


def calibration():
    """As ptxlab calibrate writes it: identical kernels look up to 0.2 % apart."""
    even = [[(i * 37) % 2001 - 1000, 1500] for i in range(400)]
    run = {"label": "hot", "kernel": "stream", "made": "2026-11-29T12:00:00Z", "driver": "13.0", "us": 8, "pairs": 12, "batch": 12,
           "event_overhead_us": 0, "epochs": 4800, "dropped": 0, "seconds": 100, "even": even, "planted": []}
    return {"schema": "ptxlab.calibration/1", "gpu": "played GPU", "driver": "13.0", "unit": 1e-6,
            "classes": [{"size_us": 5, "runs": [run]}, {"size_us": 20, "runs": [run]}]}


class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="ptxlab-played-")
        cls.home = pathlib.Path(cls.folder.name)
        (cls.home / "bin").mkdir()
        # The far side's line is run here.
        ssh = cls.home / "bin" / "ssh"
        ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
        ssh.chmod(0o755)
        data = cls.home / "data" / "ptxlab"
        data.mkdir(parents=True)
        (data / "calibration-played-gpu.json").write_text(json.dumps(calibration()))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_ptxlab(self, *words, manners="", env=None):
        environment = dict(os.environ, PTXLAB_CUDA="none", PLAYED_GPU=manners, XDG_DATA_HOME=str(self.home / "data"),
                           XDG_CACHE_HOME=str(self.home / "cache"), PATH=f"{self.home}/bin:{os.environ['PATH']}")
        environment.update(env or {})
        return subprocess.run([PTXLAB, *words], capture_output=True, text=True, env=environment, timeout=300)

    def judge(self, candidate, manners="", per_thread=1, allow="", baseline=None):
        here = pathlib.Path(tempfile.mkdtemp(dir=self.home))
        (here / "scale.task.toml").write_text(TASK.replace("ALLOW", allow))
        (here / "scale.ptx").write_text(baseline or scale())
        (here / "scale.plan.toml").write_text(plan())
        (here / "mine.ptx").write_text(candidate)
        (here / "mine.plan.toml").write_text(plan(per_thread))
        done = self.run_ptxlab("judge", str(here / "mine.ptx"), "--task", str(here / "scale.task.toml"), "--json", "--gpu",
                               f"ssh:here:{PLAYED}", manners=manners)
        self.assertTrue(done.stdout, done.stderr)
        return json.loads(done.stdout)

    def test_faster_is_faster(self):
        for manners in ("", "drift", "spikes"):
            verdict = self.judge(WIDE, manners, per_thread=4)
            self.assertEqual(verdict["outcome"], "faster", verdict["reason"])
            self.assertGreater(verdict["timing"]["low"], 1.1)
            self.assertLess(verdict["timing"]["low"], verdict["timing"]["speedup"])

    def test_more_work_is_slower(self):
        verdict = self.judge(scale(middle="".join(f"  add.u32 %r{6 + i}, %r{5 + i}, {i};\n" for i in range(8))))
        self.assertEqual(verdict["outcome"], "slower", verdict["reason"])

    def test_another_register_is_the_same(self):
        verdict = self.judge(scale().replace("%f1", "%f7"), "drift")
        self.assertEqual(verdict["outcome"], "same", verdict["reason"])

    def test_a_hot_gpu_says_nothing(self):
        verdict = self.judge(WIDE, "throttle", per_thread=4)
        self.assertEqual(verdict["outcome"], "unstable", verdict["reason"])
        self.assertIn("throttl", json.dumps(verdict))

    # Adds to what it finds in its own memory: the first launch of a module is right.
    def test_right_only_at_the_first_launch_is_wrong(self):
        verdict = self.judge(
            scale(head=".global .u32 before;\n",
                  after_load="  mov.u64 %rd6, before;\n  ld.global.u32 %r6, [%rd6];\n  cvt.rn.f32.u32 %f2, %r6;\n"
                             "  add.rn.f32 %f1, %f1, %f2;\n",
                  end="  mov.u64 %rd7, before;\n  st.global.u32 [%rd7], 1;\n"))
        self.assertIn(verdict["outcome"], ("rejected", "wrong", "faulted"), verdict["reason"])

    # Wrong at the timed size alone, where no case of the emulate gate looks.
    def test_sloppy_at_the_timed_size_is_wrong(self):
        verdict = self.judge(
            scale(after_load="  setp.gt.u32 %p2, %r5, 4000;\n  @%p2 mul.rn.f32 %f1, %f1, 0f3f800347;\n"))
        self.assertEqual(verdict["outcome"], "wrong", verdict["reason"])
        self.assertIn("4096", verdict["reason"])

    # Leaves out its last element at the timed size: another arm's right answer must not lie there.
    def test_what_is_left_out_at_the_timed_size_is_seen(self):
        verdict = self.judge(scale(middle="  setp.eq.u32 %p2, %r4, 4095;\n  @%p2 bra END;\n"))
        self.assertEqual(verdict["outcome"], "wrong", verdict["reason"])

    def test_a_fault_on_the_gpu_is_said(self):
        verdict = self.judge(scale(middle="  setp.gt.u32 %p2, %r5, 4000;\n  @%p2 add.u64 %rd5, %rd5, 0x10000000;\n"))
        self.assertEqual(verdict["outcome"], "faulted", verdict["reason"])

    def test_calibrate_selftest(self):
        done = self.run_ptxlab("calibrate", "--selftest", "--classes", "5", "--gpu", f"ssh:here:{PLAYED}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

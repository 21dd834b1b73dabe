"""C, C++ and Python programs over the fake kernels, with and without a recording, and what their captures replay to."""
import os
import pathlib
import re
import struct
import subprocess
import unittest

from harness import BINARY, CliTest, conv_model, np, sys

PROGRAMS = pathlib.Path(os.environ["PERAXIS_CAPTURE_PROGRAMS"])
ROCKET = str(PROGRAMS / "capture_rocket_program")
RUN = str(PROGRAMS / "capture_npu_run")
TEST_WORDS = ("--executor", "test-words")


class CaptureTest(CliTest):
    def run_under(self, *options, command, code=0):
        done = subprocess.run([BINARY, "capture", *options, "--", *command], cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300, check=False)
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode(errors="replace"))
        return done.stdout.decode(), done.stderr.decode()

    def executable(self, **shape):
        self.write("m.tflite", conv_model(**shape))
        self.succeeds("compile", "m.tflite", "-o", "m.pxe")
        return "m.pxe"

    def captures(self, folder):
        return sorted((self.dir / folder).glob("submit-*.pxc"))

    def replays(self, folder, *options):
        captures = self.captures(folder)
        self.assertGreater(len(captures), 0)
        compared = 0
        for capture in captures:
            report = self.succeeds("replay", str(capture), "--json", *options).json()
            self.assertTrue(report["ok"], report)
            compared += len(report["buffers"])
        self.assertGreater(compared, 0)
        return len(captures)


class Direct(CaptureTest):
    def test_c_program(self):
        out, _ = self.run_under("--fake", "rocket", *TEST_WORDS, command=[ROCKET])
        self.assertNotIn("FAILED", out)
        self.assertGreater(out.count("ok "), 20)

    def test_c_program_while_recorded(self):
        out, _ = self.run_under("--fake", "rocket", *TEST_WORDS, "-o", "rec", command=[ROCKET])
        self.assertNotIn("FAILED", out)
        summary = self.succeeds("capture", "--summary", "rec").out.decode()
        self.assertRegex(summary, r"\d+ SUBMIT")
        self.assertRegex(summary, r"\d+ PRIME_HANDLE_TO_FD")
        self.assertEqual(len({*re.findall(r"whole|cut off", summary)}), 1)
        # 13 sessions in two processes, and one job with the export
        self.assertEqual(len(self.captures("rec")), 13)

    def test_threads_and_forks(self):
        for options in ((), ("-o", "rec")):
            out, _ = self.run_under("--fake", "rocket", *TEST_WORDS, *options, command=[ROCKET, "stress"])
            self.assertIn("ok every session", out)
        self.assertEqual(len(self.captures("rec")), 4 * 22)

    def test_what_was_submitted_before_a_crash_is_there(self):
        self.run_under("--fake", "rocket", *TEST_WORDS, "-o", "rec", command=[ROCKET, "crash", "7"], code=128 + 9)
        self.assertEqual(len(self.captures("rec")), 7)

    def test_overhead_is_printed(self):
        times = {}
        for name, options in (("fake", ()), ("recorded", ("-o", "rec"))):
            out, _ = self.run_under("--fake", "rocket", *TEST_WORDS, *options, command=[ROCKET, "time", "200"])
            times[name] = float(out)
        print(f"microseconds a submit: fake kernel {times['fake']:.0f}, recorded {times['recorded']:.0f}", file=sys.stderr)
        self.assertLess(times["recorded"], 100_000)

    def test_python_program(self):
        code = """
import fcntl, mmap, os, struct
fd = os.open("/dev/accel/accel0", os.O_RDWR)
assert os.listdir("/dev/accel") == ["accel0"]
def make():
    size, handle, dma, offset = struct.unpack("<IIQQ", fcntl.ioctl(fd, 0xC0186440, struct.pack("<IIQQ", 4096, 0, 0, 0)))
    return handle, dma, mmap.mmap(fd, 4096, offset=offset)
commands, out = make(), make()
words = [0xFFFF << 48 | 64 << 16 | 8, 0xFFFF << 48 | 5 << 16 | 16, 0x1001 << 48 | out[1] << 16 | 0x4020, 0x81 << 48 | 0x1D << 16 | 8]
commands[2][:32] = struct.pack("<4Q", *words)
import ctypes
task = ctypes.create_string_buffer(struct.pack("<II", commands[1], 4))
handles = ctypes.create_string_buffer(struct.pack("<II", commands[0], out[0]))
job = ctypes.create_string_buffer(struct.pack("<QQQIIII", ctypes.addressof(task), ctypes.addressof(handles), ctypes.addressof(handles) + 4, 1, 8, 1, 1))
fcntl.ioctl(fd, 0x40086443, struct.pack("<II", commands[0], 0))
fcntl.ioctl(fd, 0x40186441, struct.pack("<QIIQ", ctypes.addressof(job), 1, 40, 0))
fcntl.ioctl(fd, 0x40106442, struct.pack("<IIq", out[0], 0, 2**63 - 1))
print(struct.unpack("<16I", out[2][:64])[15])
"""
        out, _ = self.run_under("--fake", "rocket", *TEST_WORDS, "-o", "rec", command=[sys.executable, "-c", code])
        self.assertEqual(out.strip(), "20")
        self.assertEqual(len(self.captures("rec")), 1)


class RocketNetwork(CaptureTest):
    driver = "rocket"

    def test_a_network_gives_the_models_bytes(self):
        executable = self.executable()
        out, notes = self.run_under("--fake", self.driver, "-o", "rec", command=[RUN, self.driver, executable])
        self.assertEqual(out, "equal\n", notes)
        self.replays("rec")
        table = self.succeeds("decode", str(self.captures("rec")[0]), "--summary").out.decode()
        self.assertIn("convolution", table)

    def test_threads_and_a_fork(self):
        executable = self.executable()
        out, notes = self.run_under("--fake", self.driver, "-o", "rec",
                                    command=[RUN, self.driver, executable, "--threads", "3", "--fork"])
        self.assertEqual(out, "equal\n", notes)
        self.replays("rec")

    def test_crash_keeps_earlier_submits(self):
        executable = self.executable()
        self.run_under("--fake", self.driver, "-o", "rec", command=[RUN, self.driver, executable, "--crash-after", "2"],
                       code=128 + 11)
        self.assertEqual(self.replays("rec"), 2)

    def test_commands_only(self):
        executable = self.executable()
        self.run_under("--fake", self.driver, "-o", "all", command=[RUN, self.driver, executable])
        self.run_under("--fake", self.driver, "-o", "few", "--regcmd-only", command=[RUN, self.driver, executable])
        size = [sum(p.stat().st_size for p in (self.dir / f).rglob("*.plog")) for f in ("all", "few")]
        self.assertLess(size[1], size[0])
        words = [self.succeeds("decode", str(self.captures(f)[0]), "--no-comments").out for f in ("all", "few")]
        self.assertEqual(*(re.sub(rb"process \d+", b"", text) for text in words))
        self.assertGreater(len(words[0]), 1000)


class RknpuNetwork(RocketNetwork):
    driver = "rknpu"


class Faults(CaptureTest):
    def test_a_network_over_broken_kernels(self):
        executable = self.executable()
        for driver in ("rocket", "rknpu"):
            for fault, says in (("create@2=ENOMEM", "CREATE"), ("submit@1=EIO", "SUBMIT: -5"), ("lost@9", "ENODEV"),
                                ("map@2=EAGAIN", "mmap"), ("space=8K", "CREATE")):
                out, notes = self.run_under("--fake", driver, "--fault", fault, command=[RUN, driver, executable], code=1)
                self.assertEqual(out, "NOT EQUAL\n")
                self.assertIn(says, notes, f"{driver} {fault}")

    def test_a_hang_is_silent_on_rocket_and_an_error_on_rknpu(self):
        executable = self.executable()
        _, notes = self.run_under("--fake", "rocket", "--fault", "hang@2", command=[RUN, "rocket", executable])
        self.assertIn("hangs", notes)  # the second run of the network overwrites what the first left out
        _, notes = self.run_under("--fake", "rocket", "--fault", "hang@2", "--fault", "hang@3", "--fault", "hang@4",
                                  command=[RUN, "rocket", executable], code=1)
        self.assertIn("the outputs differ", notes)
        self.assertNotIn("SUBMIT", notes)

    def test_cores_and_speed_change_nothing(self):
        executable = self.executable()
        for driver in ("rocket", "rknpu"):
            self.run_under("--fake", driver, "--fault", "cores=201", "--fault", "slow=30",
                           command=[RUN, driver, executable, "--threads", "2"])


class Usage(CaptureTest):
    def test_what_does_not_go_together(self):
        self.fails(2, "capture", says="give one of")
        self.fails(2, "capture", "--", "true", says="nothing to do")
        self.fails(2, "capture", "-o", "d", "--strict", "--", "true", says="fake kernels")
        self.fails(2, "capture", "--fake", "rocket", "--fault", "boil@1", "--", "true", says=["boil@1", "hang@N"])
        self.fails(2, "capture", "--fake", "rocket", "--regcmd-only", "--", "true", says="-o DIR")
        self.fails(2, "capture", "--pack", "d.json", says="-o FILE")
        self.fails(1, "capture", "--fake", "rocket", "--", "no-such-program", says="no-such-program")
        self.fails(1, "capture", "--summary", "nowhere", says="nowhere")
        self.succeeds("capture", "--fake", "rocket", "--", "true")
        self.run_under("--fake", "rocket", command=["sh", "-c", "exit 7"], code=7)
        self.run_under("--fake", "rocket", *TEST_WORDS, "-o", "d", command=[ROCKET, "time", "1"])
        self.fails(1, "capture", "--fake", "rocket", "-o", "d", "--", "true", says="holds a recording already")

    def test_strict(self):
        bad = "import os; f = os.open('/dev/accel/accel0', 2); import fcntl, struct; " \
              "fcntl.ioctl(f, 0x40186441, struct.pack('<QIIQ', 0, 0, 40, 0))"
        self.run_under("--fake", "rocket", "--strict", command=[sys.executable, "-c", bad])
        out, notes = self.run_under("--fake", "rocket", "--strict", *TEST_WORDS, command=[ROCKET, "crash", "1"], code=137)
        self.assertNotIn("FINI_BO", notes)


if __name__ == "__main__":
    unittest.main()

"""C, C++ and Python programs over the fake kernels, with and without a recording, and what their captures replay to."""
import os
import pathlib
import re
import struct
import subprocess
import unittest

from harness import BINARY, CliTest, conv_model, litert, np, sys

PROGRAMS = pathlib.Path(os.environ["PERAXIS_CAPTURE_PROGRAMS"])
ROCKET = str(PROGRAMS / "capture_rocket_program")
RKNPU = str(PROGRAMS / "capture_rknpu_program")
RUN = str(PROGRAMS / "capture_npu_run")
DELEGATE = str(PROGRAMS / "libcapture_delegate.so")
TEST_WORDS = ("--executor", "test-words")
DELEGATE_PROGRAM = """
import os, sys, threading
import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate
library, driver, executable = sys.argv[1:]
x, want = np.load("x.npy"), np.load("want.npy")

def run(times):
    delegate = load_delegate(library, {"driver": driver, "executable": executable})
    interpreter = Interpreter(model_path="m.tflite", experimental_delegates=[delegate])
    interpreter.allocate_tensors()
    for _ in range(times):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        got = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        os.write(1, b"equal " if np.array_equal(got, want) else b"DIFFERENT ")

threads = [threading.Thread(target=run, args=(2,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
child = os.fork()
if child == 0:
    run(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


class CaptureTest(CliTest):
    def run_under(self, *options, command, code=0):
        done = subprocess.run([BINARY, "capture", *options, "--", *command], cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300, check=False)
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode(errors="replace"))
        return done.stdout.decode(), done.stderr.decode()

    def executable(self, strategy="hw-multiply", **shape):
        self.write("m.tflite", conv_model(**shape))
        self.succeeds("compile", "m.tflite", "--strategy", strategy, "-o", "m.pxe")
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

    def test_c_program_of_the_other_interface(self):
        for options in ((), ("-o", "one")):
            out, notes = self.run_under("--fake", "rknpu", *TEST_WORDS, *options, command=[RKNPU])
            self.assertNotIn("the machine stopped", notes)
            self.assertNotIn("FAILED", out)
            self.assertEqual(out.count("ok "), 8)
        self.assertEqual(len(self.captures("one")), 4)
        summary = self.succeeds("capture", "--summary", "one").out.decode()
        for call in ("4 SUBMIT", "1 ACTION", "6 MEM_DESTROY"):
            self.assertIn(call, summary)
        out, _ = self.run_under("--fake", "rknpu", *TEST_WORDS, "-o", "many", command=[RKNPU, "stress"])
        self.assertIn("ok every session", out)
        self.assertEqual(len(self.captures("many")), 4 * 11)

    def test_unknown_calls_pass_through_and_are_counted(self):
        code = """
import fcntl, os
fd = os.open("/dev/accel/accel0", os.O_RDWR)
for _ in range(3):
    try:
        fcntl.ioctl(fd, 0x40086450, bytes(8))
    except OSError as error:
        print(error.errno)
"""
        out, _ = self.run_under("--fake", "rocket", "-o", "rec", command=[sys.executable, "-c", code])
        self.assertEqual(out.split(), ["22"] * 3)  # the kernel's own answer
        self.assertIn("3 unknown call 0x40086450", self.succeeds("capture", "--summary", "rec").out.decode())

    def test_nodes_of_the_other_driver_are_listed(self):
        code = """
import os
print(*sorted(os.listdir("/dev/dri")), os.path.exists("/dev/accel/accel0"))
for node in ("/sys/class/drm/card1", "/sys/dev/char/226:1"):
    print(open(node + "/dev").read().strip(), *sorted(os.listdir(node + "/device/drm")), os.path.realpath(node))
    print("RKNPU" in open(node + "/device/uevent").read(), os.path.basename(os.readlink(node + "/device/subsystem")))
"""
        out, _ = self.run_under("--fake", "rknpu", command=[sys.executable, "-c", code])
        node = "226:1 card1 renderD129 /sys/devices/platform/fdab0000.npu/drm/card1\nTrue platform\n"
        self.assertEqual(out, "card1 renderD129 False\n" + 2 * node)

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
        head = re.search(r"^task +operation.*$", table, re.MULTILINE)[0].split()
        for column in ("kernel", "in", "out", "BS", "BN", "BRDMA", "OUT_CVT", "mechanism"):
            self.assertIn(column, head)
        self.assertRegex(table, r"(?m)^ *0 +convolution +3x3 .*\d+>>\d+")

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


    def test_litert_with_a_delegate_in_threads_and_a_fork(self):
        """A Python program: four interpreters in threads, a file of the driver each, then a child with one more."""
        executable = self.executable("exact")  # to LiteRT's bytes
        x = np.random.default_rng(5).integers(-128, 128, (1, 7, 10, 3), dtype=np.int8)
        self.save("x.npy", x)
        self.save("want.npy", litert((self.dir / "m.tflite").read_bytes(), [x])[0])
        out, notes = self.run_under("--fake", self.driver, "-o", "rec",
                                    command=[sys.executable, "-c", DELEGATE_PROGRAM, DELEGATE, self.driver, executable])
        self.assertEqual(out.split(), ["equal"] * 9, notes)
        summary = self.succeeds("capture", "--summary", "rec").out.decode()
        self.assertEqual(len(re.findall(r"^ *\d+  python +\d.*whole$", summary, re.MULTILINE)), 2, summary)
        self.assertEqual(self.replays("rec"), 18)  # two jobs a run

    def test_strict_says_what_nobody_wrote(self):
        executable = self.executable()
        self.run_under("--fake", self.driver, "--strict", command=[RUN, self.driver, executable])
        _, notes = self.run_under("--fake", self.driver, "--strict",
                                  command=[RUN, self.driver, executable, "--forget-inputs"], code=1)
        self.assertIn("never written", notes)
        _, notes = self.run_under("--fake", self.driver, command=[RUN, self.driver, executable, "--forget-inputs"], code=1)
        self.assertNotIn("never written", notes)  # zeros, as on a board, and no word

    def test_cbuf_is_lost_between_jobs_or_kept(self):
        executable = self.executable(channels=(32, 32, 16), size=(120, 120))  # several tiles, weights loaded once
        lost = "no earlier task of the job left any"
        out, notes = self.run_under("--fake", self.driver, "--keep-cbuf",
                                    command=[RUN, self.driver, executable, "--job-a-task"])
        self.assertEqual(out, "equal\n", notes)
        self.assertNotIn(lost, notes)
        out, notes = self.run_under("--fake", self.driver, command=[RUN, self.driver, executable, "--job-a-task"], code=1)
        self.assertEqual(out, "NOT EQUAL\n")
        self.assertIn(lost, notes)


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

    def test_another_reading_of_the_chip_gives_other_bytes(self):
        run = [RUN, "rocket", self.executable()]
        _, notes = self.run_under("--fake", "rocket", "--switch", "out_cvt_ties=even", command=run, code=1)
        self.assertIn("the outputs differ", notes)
        self.run_under("--fake", "rocket", "--switch", "out_cvt_ties=register", command=run)

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
        self.fails(2, "capture", "--fake", "rocket", "--switch", "boil=on", "--", "true", says="boil")
        self.fails(2, "capture", "-o", "d", "--switch", "bs_ties=up", "--", "true", says="fake kernels")
        self.fails(1, "capture", "--fake", "rocket", "--switch", "read_unwritten=off", "--", "true", says="--keep-cbuf")
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

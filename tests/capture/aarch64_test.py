"""The library as AArch64 programs have it: built by the cross compiler, preloaded into a C program that qemu runs
as a process, over the fake kernel of this computer. What compiles there asserts the sizes and numbers of the calls."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

for needed, package in (("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu"), ("qemu-aarch64-static", "qemu-user-static")):
    if shutil.which(needed) is None:
        print(f"skipped: {needed} is not installed (Debian: {package})")
        sys.exit(77)

import library_test  # noqa: E402

BINARY = os.environ["PERAXIS_BINARY"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["PERAXIS_CAPTURE_PROGRAMS"]) / "aarch64"
LIBRARY = BUILD / "libperaxis_capture.so"


def setUpModule():
    for command in (["cmake", "--preset", "aarch64-capture", "-B", str(BUILD)], ["cmake", "--build", str(BUILD)]):
        done = subprocess.run(command, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        assert done.returncode == 0, done.stdout.decode(errors="replace")
    library_test.LIBRARY = LIBRARY


class Library(unittest.TestCase):
    test_needs_libc_only = library_test.Library.test_needs_libc_only
    test_exports_the_hooks = library_test.Library.test_exports_the_hooks
    test_uses_no_cpp_run_time = library_test.Library.test_uses_no_cpp_run_time

    def test_is_for_aarch64(self):
        self.assertRegex(library_test.readelf("-h"), r"Machine: +AArch64")


class Programs(unittest.TestCase):
    def run_under(self, *arguments, driver="rocket", options=(), code=0):
        command = [BINARY, "capture", "--fake", driver, "--executor", "test-words", "--library", str(LIBRARY), *options, "--",
                   "qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu", str(BUILD / f"capture_{driver}_program"), *arguments]
        done = subprocess.run(command, env={**os.environ, "UNDER_QEMU_USER": "1"}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300, check=False)
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode(errors="replace"))
        return done.stdout.decode()

    def test_calls(self):
        for driver, checks in (("rocket", 19), ("rknpu", 8)):
            out = self.run_under(driver=driver)
            self.assertNotIn("FAILED", out)
            self.assertGreaterEqual(out.count("ok "), checks)

    def test_threads_forks_and_a_crash_while_recorded(self):
        for arguments, code, submits in ((("stress",), 0, 4 * 22), (("crash", "7"), 128 + 9, 7)):
            with tempfile.TemporaryDirectory() as folder:
                record = pathlib.Path(folder) / "rec"
                self.run_under(*arguments, options=("-o", str(record)), code=code)
                self.assertEqual(len(list(record.glob("submit-*.pxc"))), submits)


if __name__ == "__main__":
    unittest.main()

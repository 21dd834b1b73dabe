"""The program that measured the real rocket kernel, run over the fake one: its lines must be those it printed on
Linux 7.2.13, up to times. Times that are the kernel's (the job time, delays in the commands) are compared within limits."""
import os
import re
import subprocess
import sys
import unittest

PROBE, MEASURED = os.environ.get("PERAXIS_ROCKET_PROBE"), os.environ.get("PERAXIS_ROCKET_MEASURED", "")
BINARY = os.environ.get("PERAXIS_BINARY")
if not PROBE or not os.path.exists(MEASURED) or not BINARY:
    print("skipped: the program and its measurements are not there")
    sys.exit(77)

TIME = re.compile(r"(?<=ms=)[\d.]+|(?<=after )[\d.]+(?= ms)|(?<=done at )[\d. ]+(?= ms)")
# Where the order of two events depends on how fast the computer is.
FREE = {
    # On the emulated board jobs took so long that all cores were taken when the fourth file came.
    "R hang on fd0, others": (500, 700),
}


def lines(text):
    return [line.rstrip() for line in text.splitlines() if line.startswith("R ")]


def times(line):
    return [float(t) for found in TIME.findall(line) for t in found.split()]


class RocketLines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run([BINARY, "capture", "--fake", "rocket", "--executor", "test-words", "--", PROBE],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        cls.fake = lines(done.stdout.decode())
        with open(MEASURED, encoding="utf-8") as f:
            cls.real = lines(f.read())

    def test_lines_are_equal(self):
        self.assertGreater(len(self.real), 100)
        self.assertEqual([TIME.sub("T", line) for line in self.real], [TIME.sub("T", line) for line in self.fake])

    def test_times_of_hangs_and_delays(self):
        slack = 150  # of a computer that does other things as well
        for real, fake in zip(self.real, self.fake):
            key = real[:36].strip()
            if key.startswith(("R latency", "R 3 fds", "R SIGKILL", "R cores", "R 2000", "R one fd", "R close", "R 64")):
                continue  # times of the emulated processor, or of how files meet on cores
            if key in FREE:
                self.assertTrue(all(t < FREE[key][1] for t in times(fake)), fake)
                continue
            for measured, is_here in zip(times(real), times(fake)):
                self.assertLess(is_here, measured + slack, f"{real}\n{fake}")
                if measured > 45:  # something waited
                    self.assertGreater(is_here, 0.8 * measured, f"{real}\n{fake}")


if __name__ == "__main__":
    unittest.main()

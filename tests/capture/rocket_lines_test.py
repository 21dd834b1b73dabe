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


def run_probe():
    done = subprocess.run([BINARY, "capture", "--fake", "rocket", "--executor", "test-words", "--", PROBE],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return lines(done.stdout.decode())


def problems(real, fake):
    """What differs: (text, a busy computer may be the cause) for each."""
    out = []
    if len(real) != len(fake):
        out.append((f"{len(fake)} lines, measured {len(real)}", False))
    slack = 150
    for one, other in zip(real, fake):
        both = f"{one}\n{other}"
        if TIME.sub("T", one) != TIME.sub("T", other):
            out.append((both, True))
            continue
        if one.startswith(("R latency", "R 3 fds", "R SIGKILL", "R cores", "R 2000", "R one fd", "R close", "R 64")):
            continue  # times of the emulated processor, or of how files meet on cores
        if one[:36].strip() in FREE:
            out += [(other, True) for t in times(other) if t >= FREE[one[:36].strip()][1]]
            continue
        for measured, is_here in zip(times(one), times(other)):
            if is_here >= measured + slack:
                out.append((both, True))
            if measured > 45 and is_here <= 0.8 * measured:  # something waited
                out.append((both, False))
    return out


class RocketLines(unittest.TestCase):
    def test_lines_and_times(self):
        """A busy computer makes times longer, and may turn a wait around: one of four runs must be without such a
        difference. No run may be too short."""
        with open(MEASURED, encoding="utf-8") as f:
            real = lines(f.read())
        self.assertGreater(len(real), 100)
        for _ in range(4):
            found = problems(real, run_probe())
            self.assertEqual([text for text, busy in found if not busy], [])
            if not found:
                return
        self.fail("\n".join(text for text, _ in found))

    def test_differences_are_seen(self):
        real = ["R hang                       rc=0 ms=506.0", "R idle rc=0"]
        self.assertEqual(problems(real, ["R hang                       rc=0 ms=520.0", "R idle rc=0"]), [])
        self.assertEqual([busy for _, busy in problems(real, ["R hang                       rc=0 ms=90.0", "R idle rc=0"])], [False])
        self.assertEqual([busy for _, busy in problems(real, ["R hang                       rc=0 ms=900.0", "R idle rc=0"])], [True])
        self.assertEqual([busy for _, busy in problems(real, [real[0], "R idle rc=-16"])], [True])
        self.assertEqual([busy for _, busy in problems(real, real[:1])], [False])


if __name__ == "__main__":
    unittest.main()

"""What the preloaded library is made of: libc and nothing else, only the functions it takes the place of."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ.get("PERAXIS_BINARY", "")
LIBRARY = pathlib.Path(BINARY).parent / "libperaxis_capture.so"
if not LIBRARY.exists():
    print("skipped: no library")
    sys.exit(77)

HOOKS = set("""open open64 openat openat64 __open_2 __open64_2 __openat_2 __openat64_2 ioctl mmap mmap64 close dup dup2
dup3 fcntl fcntl64 lseek lseek64 syscall stat lstat fstat fstatat stat64 lstat64 fstat64 fstatat64 __xstat __lxstat
__fxstat __xstat64 __lxstat64 __fxstat64 statx access readlink realpath opendir scandir scandir64 fopen fopen64""".split())


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments, str(LIBRARY)], stdout=subprocess.PIPE, check=True,
                          timeout=60).stdout.decode()


class Library(unittest.TestCase):
    def test_needs_libc_only(self):
        needed = [line.split("[")[1].rstrip("]") for line in readelf("-d").splitlines() if "(NEEDED)" in line]
        self.assertEqual([n for n in needed if not n.startswith(("libc.so", "ld-linux"))], [])

    def test_exports_the_hooks(self):
        found = set()
        for line in readelf("--dyn-syms").splitlines():
            part = line.split()
            if len(part) >= 8 and part[4] in ("GLOBAL", "WEAK") and part[6] != "UND":
                found.add(part[7].split("@")[0])
        self.assertEqual(found, HOOKS)

    def test_uses_no_cpp_run_time(self):
        undefined = [line.split()[-1] for line in readelf("--dyn-syms").splitlines() if " UND " in line]
        self.assertEqual([u for u in undefined if u.startswith(("_Z", "__cxa_throw", "__gxx", "malloc", "free"))], [])

    def test_programs_run_with_it_as_without(self):
        environment = {**os.environ, "LD_PRELOAD": str(LIBRARY)}
        for command in (["ls", "-l", "/dev"], ["sh", "-c", "echo a | cat; exit 3"],
                        [sys.executable, "-c", "import os, mmap; f = os.open('/proc/self/exe', 0); print(len(mmap.mmap(f, 0, prot=1)) > 0)"]):
            plain = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=60)
            with_it = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=60, env=environment)
            self.assertEqual((plain.returncode, plain.stdout), (with_it.returncode, with_it.stdout), command)

    def test_is_found_where_it_is_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["cmake", "--install", str(LIBRARY.parent), "--prefix", folder], stdout=subprocess.DEVNULL,
                           check=True, timeout=120)
            self.assertTrue((pathlib.Path(folder) / "lib/peraxis/libperaxis_capture.so").exists())
            installed = pathlib.Path(folder) / "bin/peraxis"
            run = [installed, "capture", "--fake", "rocket", "--", "ls", "/dev/accel"]
            self.assertEqual(subprocess.run(run, stdout=subprocess.PIPE, check=True, timeout=60).stdout, b"accel0\n")
            (pathlib.Path(folder) / "lib/peraxis/libperaxis_capture.so").unlink()
            missing = subprocess.run(run, stderr=subprocess.PIPE, check=False, timeout=60)
            self.assertEqual(missing.returncode, 1)
            self.assertIn(b"lib/peraxis; name it with --library", missing.stderr)


if __name__ == "__main__":
    unittest.main()

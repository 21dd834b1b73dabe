"""tests/data/cpu_convolutions.txt names every convolution of the model collection that runs on the CPU."""
import importlib.util
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = pathlib.Path(os.environ.get("PERAXIS_SHARED") or ROOT.parent / "shared") / "models"
BINARY = os.environ.get("PERAXIS_BINARY") or str(ROOT / "build" / "release" / "peraxis")


def load_script():
    spec = importlib.util.spec_from_file_location("cpu_convolutions", ROOT / "scripts" / "cpu_convolutions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class CpuConvolutions(unittest.TestCase):
    def test_list_is_fresh(self):
        if not os.access(BINARY, os.X_OK):
            self.skipTest(f"no binary at {BINARY}")
        if not any((MODELS / folder).is_dir() for folder in ("demo", "real", "synth", "ops")):
            self.skipTest(f"no models in {MODELS}; set PERAXIS_SHARED")
        self.maxDiff = None
        committed = (ROOT / "tests" / "data" / "cpu_convolutions.txt").read_text()
        self.assertEqual(committed.splitlines(), load_script().listing(BINARY, MODELS).splitlines(),
                         "run scripts/cpu_convolutions.py MODELS -o tests/data/cpu_convolutions.txt")


if __name__ == "__main__":
    sys.exit(unittest.main())

"""scripts/replay_fixtures.py: cases of its two forms made here, broken ones, and the shared captures when present."""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("PERAXIS_SHARED", ROOT.parent / "shared"))
BINARY = os.environ.get("PERAXIS_BINARY", str(ROOT / "build/release/peraxis"))
TASK = [0x1001 << 48 | 9 << 16 | 0x4030, 0x1001 << 48 | 0x2000 << 16 | 0x4020, 0, 0x0101 << 48 | 0x14, 0x41 << 48,
        0x81 << 48 | 0x18 << 16 | 8]


def run(folder):
    done = subprocess.run([sys.executable, "-B", str(ROOT / "scripts/replay_fixtures.py"), str(folder), "--json"],
                          capture_output=True, text=True, check=False, env={**os.environ, "PERAXIS_BINARY": BINARY})
    return done.returncode, {c["name"]: c for c in json.loads(done.stdout)["cases"]}


@unittest.skipUnless(os.access(BINARY, os.X_OK), "no binary")
class ReplayFixtures(unittest.TestCase):
    def test_folders_never_seen(self):
        with tempfile.TemporaryDirectory() as work:
            folder = pathlib.Path(work)
            (folder / "deep").mkdir()
            stream = " ".join(f"{w:016x}" for w in TASK)
            (folder / "deep" / "net.json.gz").write_bytes(gzip.compress(json.dumps(
                {"case": "net", "tasks": [{"addr": "0x0", "regcmd": stream}]}).encode()))
            (folder / "words.json").write_text(json.dumps({"tool": "t", "tasks": []}))
            np.savez(folder / "words.npz", task000=np.array(TASK, np.uint64), task001=np.array([2**64 - 1], np.uint64))
            (folder / "run.json").write_text(json.dumps(
                {"tool": "t", "bos": [{"handle": 1, "size": 4096, "dma": 4096, "role": "regcmd"}],
                 "submits": [[{"tasks": [[4096, 6]], "in": [], "out": []}]], "sha256": {}}))
            np.savez(folder / "run.npz", regcmd_task0=np.array(TASK, np.uint64))
            (folder / "broken.json.gz").write_bytes(b"\x1f\x8b rubbish")
            (folder / "notes.json").write_text("[]")
            code, cases = run(folder)
            self.assertEqual(code, 1)
            self.assertEqual(set(cases), {"deep/net", "words", "run", "broken"})
            self.assertTrue(cases["deep/net"]["ok"] and cases["words"]["ok"])
            self.assertIn("not modelled", cases["run"]["note"])
            self.assertIn("unreadable", cases["broken"]["note"])
            self.assertEqual(set(cases["run"]), {"name", "ok", "elements", "equal", "max", "note"})

    @unittest.skipUnless((SHARED / "vendor").is_dir(), "no shared captures")
    def test_shared_vendor_cases(self):
        _, cases = run(SHARED / "vendor")
        compared = [c for c in cases.values() if c["elements"]]
        self.assertGreaterEqual(len(compared), 9)
        for case in compared:
            self.assertTrue(case["ok"] and case["equal"] == case["elements"], case)
        for case in cases.values():
            self.assertNotIn("change words", case["note"])
            self.assertNotIn("unreadable", case["note"])


if __name__ == "__main__":
    unittest.main()

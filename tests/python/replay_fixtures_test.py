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
CAUSES = ("rows and columns exchanged", "signedness", "clamp is", "sorted weights", "one scale for", "wrong scale", "wrong factors",
          "wrapped int16", "operand scale", "foreign weights", "missing weights", "tap rows", "foreign addends", "sorted operands",
          "zero point", "padding: ", "tap padding")
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
            (folder / "deep.json").write_text("[" * 100_000)
            np.savez(folder / "deep.npz", task000=np.array(TASK, np.uint64))
            (folder / "negative.json").write_text(json.dumps({"tool": "t"}))
            np.savez(folder / "negative.npz", task000=np.array([-1, 2], np.int64))
            (folder / "model.json").write_text((folder / "run.json").read_text())
            np.savez(folder / "model.npz", regcmd_task0=np.array(TASK, np.uint64), model_tflite=np.arange(64, dtype=np.uint8),
                     ref_in0=np.zeros((1, 1, 1, 1), np.uint8), ref_out0=np.zeros((1, 1, 1, 1), np.uint8))
            os.mkfifo(folder / "pipe.json.gz")
            (folder / "words.json.gz").write_bytes(gzip.compress(b"{}"))
            (folder / "notes.json").write_text("[]")
            code, cases = run(folder)
            self.assertEqual(code, 1)
            self.assertEqual(set(cases), {"deep/net", "words", "run", "broken", "deep", "negative", "model", "pipe"})
            self.assertTrue(cases["deep/net"]["ok"] and cases["words"]["ok"])
            self.assertIn("refused: from task 0 on", cases["run"]["note"])
            for name in ("broken", "deep", "negative", "model", "pipe"):
                self.assertIn("unreadable", cases[name]["note"], name)
            self.assertEqual(set(cases["run"]), {"name", "ok", "elements", "equal", "max", "note"})

    @unittest.skipUnless((SHARED / "vendor").is_dir(), "no shared captures")
    def test_shared_vendor_cases(self):
        code, cases = run(SHARED / "vendor")
        self.assertEqual((code, len(cases)), (0, 27))
        self.assertEqual(sum(c["elements"] > 0 for c in cases.values()), 24)
        self.assertLessEqual(max(c["max"] for c in cases.values()), 1)
        # Two differ from the recorded register model by its other tie rule alone.
        apart = [name for name, c in cases.items() if "not equal to the recorded register model" in c["note"]]
        self.assertEqual(apart, ["cases/fx_avgpool2", "cases/qdq_chain"])
        for name in ("nets/conv3x3", "nets/residual"):
            self.assertIn("the same on 1 to 3 cores", cases[name]["note"])
            self.assertEqual(cases[name]["equal"], cases[name]["elements"])

    @unittest.skipUnless((SHARED / "mesa").is_dir(), "no shared captures")
    def test_shared_driver_cases(self):
        code, cases = run(SHARED / "mesa")
        self.assertEqual((code, len(cases)), (0, 74))
        self.assertEqual(sum(c["elements"] > 0 for c in cases.values()), 57)
        wrong = {name: c["note"] for name, c in cases.items() if c["max"] > 1}
        # What the collection's README calls wrong, and why; all but the last two are right when they are put right in that.
        shared_scale, unsorted = "one scale for channels of different scales", "its factors in the model's order"
        for start, *found in (("i8_conv3x3_10x10x16_oc16.mesa", "signedness", "the input of task 0 is stored 128 off", "weight zero point"),
                              ("i8_dw3x3_12x12x32.mesa", "signedness", "foreign addends: 32 of 32"),
                              ("i8pa_equalscales_conv3x3_10x10x16_oc16.mesa", "signedness"),
                              ("u8_dw3x3_10x10x16_relu.mesa", "a stated clamp is not programmed"),
                              ("u8_residual_14x14x32_tablescale2.mesa", "read before written"),
                              ("u8_residual_8x8x32_tablescale.mesa", "read before written"),
                              ("i8pa_conv1x1_16x16x32_oc32.lrn-brdma", unsorted, "wrapped int16: 8 of 32 factors of task 0", shared_scale),
                              ("i8pa_conv1x1_7x7x64_oc40.lrn-brdma", unsorted, "wrapped int16: 11 of 40 factors of task 0"),
                              ("i8pa_conv3x3_10x10x16_oc16.lrn-brdma", unsorted, "wrapped int16: 3 of 16 factors of task 0"),
                              ("i8pa_split_conv3x3_112x112x32_oc16.lrn-brdma", unsorted, "wrong factors"),
                              ("i8pa_split_conv3x3_112x112x32_oc16.lrn-brdma1", shared_scale, "foreign addends: 15 of 16 addends of task 1"),
                              ("i8pa_split_conv3x3_112x112x32_oc16.lrn-gs16", shared_scale),
                              ("i8pa_conv1x1_16x16x32_oc32.lrn-gs16", shared_scale), ("i8pa_conv1x1_7x7x64_oc40.lrn-gs16", shared_scale),
                              ("i8pa_conv3x3_10x10x16_oc16.lrn-gs16", shared_scale),
                              ("i8pa_dw3x3_12x12x32.lrn-brdma", "tap rows of a depthwise", "wrapped int16"),
                              ("i8pa_dw3x3s2_14x14x24.lrn-brdma", "tap rows of a depthwise", "wrapped int16"),
                              ("i8pa_dw3x3_12x12x32.lrn-brdma1", "a clamp is programmed"),
                              ("i8pa_dw3x3s2_14x14x24.lrn-brdma1", "tap padding missing", "a clamp is programmed"),
                              ("i8pa_residual_14x14x32.lrn-brdma1", "operand scale", "wrong factors", "a clamp is programmed")):
            note = wrong.pop(start)
            for cause in (*found, "repaired: ", "the bytes are what numpy computes"):
                self.assertIn(cause, note, start)
        for start, *found in (("i8pa_residual_14x14x32.lrn-gs16", "foreign weights: the kernels of task 2", "operand scale"),
                              ("i8pa_dw3x3_12x12x32.lrn-gs16", "tap rows of a depthwise", "missing weights: all 288 bytes of task 1"),
                              ("i8pa_dw3x3s2_14x14x24.lrn-gs16", "tap rows of a depthwise", "missing weights")):
            wrong.pop(start, None)
            for cause in (*found, "the bytes are what numpy computes"):
                self.assertIn(cause, cases[start]["note"], start)
            self.assertNotIn("repaired", cases[start]["note"])
        self.assertEqual(wrong, {})
        self.assertEqual(cases["u8_dw3x3_10x10x16_relu.mesa"]["max"], 126)
        for name, case in cases.items():  # no cause is named where the result is right
            if case["elements"] and case["max"] <= 1:
                self.assertFalse(any(kind in case["note"] for kind in (*CAUSES, "numpy")), (name, case["note"]))

    @unittest.skipUnless((SHARED / "mesa").is_dir(), "no shared captures")
    def test_broken_on_purpose(self):
        """A right case with one thing made wrong: the cause is named."""
        name = "u8_conv3x3_16x16x16_oc32.mesa"
        with np.load(SHARED / "mesa" / f"{name}.npz") as file:
            arrays = dict(file)
        info = json.loads((SHARED / "mesa" / f"{name}.json").read_text())
        key = next(k for k in arrays if k.endswith("_weights"))
        bias = next(k for k in arrays if k.endswith("_bias"))
        stored = arrays[key].view(np.uint8)
        weights = stored[:4608].reshape(1, 1, 3, 3, 32, 16)  # the buffer is larger

        def padded(values):
            return np.concatenate([values.ravel(), stored[4608:]])

        order = np.argsort(np.random.default_rng(1).random(32))

        def words(block, register, change):
            """The stream with another value of one register."""
            out = arrays["regcmd_task0"].copy()
            for i, w in enumerate(map(int, out)):
                if (w >> 48, w & 0xFFFF) == (block, register):
                    out[i] = w & 0xFFFF00000000FFFF | (change(w >> 16 & 0xFFFFFFFF) & 0xFFFFFFFF) << 16
            return {"regcmd_task0": out}

        swapped = np.arange(32)
        swapped[[3, 17]] = 17, 3
        one = weights.copy()
        one[:, :, :, :, 5] = np.random.default_rng(2).integers(0, 256, one[:, :, :, :, 5].shape)
        made = {"offset": (words(0x1001, 0x4080, lambda v: v + 9), "zero point"),
                "five per cent": (words(0x1001, 0x4084, lambda v: v * 95 // 100), "wrong scale"),
                "half": (words(0x1001, 0x4088, lambda v: v + 1), "wrong scale"),
                "double": (words(0x1001, 0x4088, lambda v: v - 1), "wrong scale"),
                "pad": (words(0x0201, 0x1184, lambda v: v ^ 0x55), "padding"),
                "unsigned": ({key: padded(weights ^ 0x80)}, "signedness"),
                "swapped": ({key: padded(weights[:, :, :, :, swapped])}, "sorted weights with unsorted operands"),
                "one kernel": ({key: padded(one)}, "foreign weights: 1 of 32"),
                "addends": ({bias: arrays[bias].view(np.int32)[order]}, "sorted operands with unsorted weights"),
                "bias": ({bias: arrays[bias].view(np.int32) + 30000}, "foreign addends"),
                "plain": ({}, ""), "turned": ({key: padded(weights.transpose(0, 1, 3, 2, 4, 5))}, "rows and columns exchanged"),
                "sorted": ({key: padded(weights[:, :, :, :, order])}, "sorted weights with unsorted operands"),
                "both": ({key: padded(weights[:, :, :, :, order]), bias: arrays[bias].view(np.int32)[order]}, ""),
                "nothing": ({}, "")}
        with tempfile.TemporaryDirectory() as work:
            for case, (changes, _) in made.items():
                changes = {k: np.ascontiguousarray(v).reshape(-1).view(arrays[k].dtype) for k, v in changes.items()}
                np.savez(pathlib.Path(work) / f"{case}.npz", **{**arrays, **changes})
                (pathlib.Path(work) / f"{case}.json").write_text(json.dumps(info))
            code, cases = run(work)
        self.assertEqual(code, 0, [c for c in cases.values() if not c['ok']])
        for case, (_, cause) in made.items():
            self.assertEqual(cases[case]["max"] <= 1, not cause, cases[case])
            self.assertTrue(cause in cases[case]["note"] if cause else not any(k in cases[case]["note"] for k in CAUSES), cases[case])

    def test_every_switch_is_tried(self):
        """The page's list of switches is the command's."""
        sys.path.insert(0, str(ROOT / "scripts"))
        import evidence  # pylint: disable=import-outside-toplevel
        import evidence_page  # pylint: disable=import-outside-toplevel
        done = subprocess.run([BINARY, "replay", "--help"], capture_output=True, text=True, check=True)
        stated = done.stdout.split("another reading of the chip: ")[1].split("\n")[0].split(", ")
        self.assertEqual(sorted(stated), sorted(evidence.SWITCHES))
        self.assertEqual(sorted(stated), sorted(evidence_page.QUESTIONS))
        for switch, values in evidence.SWITCHES.items():
            done = subprocess.run([BINARY, "replay", "x", "--switch", f"{switch}=?"], capture_output=True, text=True, check=False)
            self.assertTrue(all(value in done.stderr for value in values), done.stderr)


if __name__ == "__main__":
    unittest.main()

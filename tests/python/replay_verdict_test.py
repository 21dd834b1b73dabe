"""The verdict of scripts/replay_fixtures.py is none that a wrong machine passes.

The machine is made wrong here, by its switches or by changing what it returns, and every case must be seen to fail; and
streams are made wrong, and the cause must be found and the repair must prove it. Needs the collected captures.
"""
import gzip
import json
import pathlib
import re
import sys
import tempfile
import unittest
from unittest import mock

import peraxis_runs
from peraxis_runs import BINARY, ROOT, np

sys.path.insert(0, str(ROOT / "scripts"))
import replay_fixtures  # noqa: E402  (after the path)
from fixtures import causes, evaluate  # noqa: E402
from fixtures.case import CNA, CORE, DPU, RDMA, with_value  # noqa: E402
from fixtures.model import Model, Table  # noqa: E402

peraxis_runs.need_module("ai_edge_litert")
peraxis_runs.need_binary()
MESA, VENDOR = peraxis_runs.need_shared_captures()


def outcomes(folder, only=None):
    """{name: outcome} of the cases below a folder, in this process."""
    found = {}
    for case in replay_fixtures.cases(folder):
        if only is None or case.name in only:
            with tempfile.TemporaryDirectory() as work:
                found[case.name] = (case, replay_fixtures.examine(BINARY, case, pathlib.Path(work)))
    return found


def with_switch(setting):
    """The command as if the switch had this value always."""
    plain = replay_fixtures.peraxis

    def forced(binary, command, *arguments, data=None):
        more = ("--switch", setting) if command == "replay" else ()
        kept, skip = [], False
        for a, following in zip(arguments, (*arguments[1:], "")):  # a switch may be given once
            if skip:
                skip = False
            elif a == "--switch" and str(following).startswith(setting.split("=")[0] + "="):
                skip = True
            else:
                kept.append(a)
        return plain(binary, command, *kept, *more, data=data)

    return mock.patch.object(replay_fixtures, "peraxis", forced)


def with_outputs(change):
    """Every replay returns other values."""
    plain = replay_fixtures.Run.__init__

    def falsified(run, *arguments, **named):
        plain(run, *arguments, **named)
        run.values = {k: change(run, v.astype(np.int64)).astype(v.dtype) for k, v in run.values.items()}

    return mock.patch.object(replay_fixtures.Run, "__init__", falsified)


class Right(unittest.TestCase):
    """Computed once: what the cases are with the machine as it is."""
    mesa = vendor = None

    @classmethod
    def setUpClass(cls):
        if Right.mesa is None:
            Right.mesa, Right.vendor = outcomes(MESA), outcomes(VENDOR)

    def test_numpy_computes_the_same_bytes(self):
        """In every case that it knows, right or wrong: the two share no code."""
        values, unknown = 0, []
        for name, (case, outcome) in self.mesa.items():
            if outcome.best is None or outcome.best.report["refusal"] or not case.captures:
                continue
            try:
                made = evaluate.evaluate(case, case.captures[0], outcome.best.reading)
            except evaluate.NotEvaluated:
                unknown.append(name)
                continue
            for key, value in made.items():
                self.assertTrue((value == outcome.best.values[key].astype(np.int64)).all(), (name, key))
                values += value.size
        self.assertEqual(unknown, ["u8_conv3x3_ic1_28x28x1_oc8.mesa"])
        self.assertGreater(values, 1_400_000)

    def test_no_rule_fires_on_a_right_case(self):
        for name, (case, outcome) in self.mesa.items():
            if case.model is not None and case.limit is not None and outcome.best is not None and outcome.best.within(case) and case.combine:
                self.assertEqual([str(c) for c in causes.find(case)], [], name)

    def test_five_more_in_every_value(self):
        with with_outputs(lambda _, v: v + 5):
            falsified = {**outcomes(MESA), **outcomes(VENDOR)}
        seen = 0
        for name, (case, outcome) in falsified.items():
            if outcome.best is None or not outcome.best.values or case.compare_cores:
                continue
            self.assertFalse(outcome.row["ok"], (name, outcome.row))
            seen += 1
        self.assertEqual(seen, 81)

    def test_one_value_in_a_hundred(self):
        """One bit of the sign in some values: beyond every limit, and no cause says it."""

        def change(_, v):
            v.reshape(-1)[::97] ^= 0x80
            return v

        with with_outputs(change):
            falsified = {**outcomes(MESA), **outcomes(VENDOR)}
        excused = [name for name, (case, o) in falsified.items() if o.best is not None and o.best.values and not case.compare_cores and o.row["ok"]]
        self.assertEqual(excused, [])

    def test_cores_that_disagree(self):
        plain, count = replay_fixtures.Run.__init__, [0]

        def falsified(run, *arguments, **named):
            plain(run, *arguments, **named)
            count[0] += 1
            run.values = {k: v + (count[0] % 3 == 2) for k, v in run.values.items()}

        with mock.patch.object(replay_fixtures.Run, "__init__", falsified):
            found = outcomes(VENDOR, {"nets/conv3x3", "nets/residual"})
        self.assertEqual([o.row["ok"] for _, o in found.values()], [False, False])

    def test_switches_that_captures_refute(self):
        """With a refuted reading forced on, the cases that refute it fail, and no other one is excused in their place."""
        for setting, folder, least in (("truncate_before_cpend=on", MESA, {"u8_tabletrunc_dw3x3_10x10x32.mesa"}),
                                       ("pad_lanes=two_everywhere", MESA, {"u8_conv3x3_16x16x16_oc32.mesa", "i8_conv3x3_10x10x16_oc16.lrn-gs1"}),
                                       ("stored_kernels=orig", MESA, {"u8_conv1x1_1x1x64_oc33.mesa"}),
                                       ("bn_shift_first=on", VENDOR, {"cases/fx_sigmoid"}), ("lut_after_op=on", VENDOR, {"cases/fx_sigmoid"}),
                                       ("pool_padding_competes=on", VENDOR, {"cases/fx_maxpool5", "cases/fx_sppf"}),
                                       ("deconv_inserts_zero=on", VENDOR, {"cases/fx_deconv4x4"})):
            right = self.mesa if folder == MESA else self.vendor
            with with_switch(setting):
                found = outcomes(folder)
            failed = {name for name, (_, o) in found.items() if not o.row["ok"]}
            self.assertLessEqual(least, failed, setting)
            for name, (case, outcome) in found.items():
                was = right[name][1]
                if was.best is None or was.best.report["refusal"] or case.compare_cores or not was.best.values:
                    continue
                same = all((outcome.best.values[k] == v).all() for k, v in was.best.values.items()) if outcome.best.values else False
                within = case.combine is not None and outcome.best.within(case)
                self.assertTrue(same or within or name in failed, (setting, name))


class Made(unittest.TestCase):
    """Streams changed here."""

    def test_every_kind_of_cause_is_documented(self):
        source = (ROOT / "scripts/fixtures/causes.py").read_text()
        kinds = set(re.findall(r'Cause\("([^"]+)"', source)) | set(re.findall(r'\bkind = "([^"]+)"', source)) | \
            set(re.findall(r', kind = [^,]+, "([^"]+)"', source)) | set(re.findall(r'kind = "([^"]+)" if same else "([^"]+)"', source)[0]) | {replay_fixtures.UNWRITTEN}
        self.assertGreater(len(kinds), 18)
        documented = set(re.findall(r"`([^`]+)`", (ROOT / "docs/capture.md").read_text().split("| Cause |")[1].split("\n\n")[0]))
        self.assertEqual(kinds, documented)

    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.folder = pathlib.Path(work.name)

    def put(self, name, arrays, info):
        np.savez(self.folder / f"{name}.npz", **arrays)
        (self.folder / f"{name}.json").write_text(json.dumps(info))

    @staticmethod
    def taken(name):
        with np.load(MESA / f"{name}.npz") as file:
            return dict(file), json.loads((MESA / f"{name}.json").read_text())

    def test_a_map_that_is_not_square(self):
        """12 rows of 16 columns; then, in the same words, 16 rows of 12, as Mesa 26.2 writes such maps."""
        arrays, info = self.taken("u8_conv3x3_16x16x16_oc32.mesa")
        arrays["model_tflite"] = np.frombuffer(cropped(arrays["model_tflite"].tobytes(), 16, 12), np.uint8)
        arrays["ref_in0"] = arrays["ref_in0"][:, :12]
        key = next(k for k in arrays if k.endswith("_input"))
        cube = evaluate.as_cube(arrays["ref_in0"][0].astype(np.int64) - 128)
        arrays[key] = np.concatenate([cube, np.zeros(arrays[key].size - cube.size, np.uint8)]).view(arrays[key].dtype)
        model = Model(arrays["model_tflite"].tobytes())
        self.assertTrue(model.run([arrays["ref_in0"]]))
        arrays["ref_out0"] = model.values[model.outputs[0]]
        self.assertEqual(arrays["ref_out0"].shape, (1, 12, 16, 32))
        info["sha256"] = {"ref_in0": "", "ref_out0": ""}
        words = arrays["regcmd_task0"]
        for name, h, w, more in (("right", 12, 16, {}), ("exchanged", 16, 12, {}), ("both", 16, 12, {(DPU, 0x4080): 9}),
                                 ("neither", 12, 16, {(CNA, 0x1184): 0x55})):
            size = {(CNA, 0x1020): w << 16 | h, (CNA, 0x1084): w << 16 | h, (CNA, 0x107C): 4 * w, (CNA, 0x1080): 192 - 4 * w,
                    (CNA, 0x1028): w, (CNA, 0x102C): 192, (CNA, 0x1044): w * 16 // 64, (CORE, 0x3014): h - 1 << 16 | w - 1,
                    (DPU, 0x4030): w - 1, (DPU, 0x4034): h - 1, (DPU, 0x405C): h - 1 << 16 | w - 1, (DPU, 0x4024): 192 << 4,
                    (DPU, 0x40C0): 384 << 4, (RDMA, 0x500C): w - 1, (RDMA, 0x5010): h - 1, **more}
            self.put(name, {**arrays, "regcmd_task0": np.array(
                [with_value(v, size.get((v >> 48, v & 0xFFFF), v >> 16 & 0xFFFFFFFF)) for v in map(int, words)], np.uint64)}, info)
        found = {name: outcome.row for name, (_, outcome) in outcomes(self.folder).items()}
        self.assertTrue(all(row["ok"] for row in found.values()), found)
        self.assertLessEqual(found["right"]["max"], 1)
        self.assertNotIn("numpy", found["right"]["note"])
        turned = "rows and columns exchanged: task 0 reads a map of 16 rows and 12 columns, the model's has 12 and 16"
        for name, causes_named in (("exchanged", [turned]), ("both", [turned, "zero point"]), ("neither", ["padding"])):
            self.assertGreater(found[name]["max"], 1)
            self.assertLess(found[name]["equal"], 6100)
            for cause in (*causes_named, "repaired: "):
                self.assertIn(cause, found[name]["note"])
        self.assertNotIn("exchanged", found["neither"]["note"])

    def test_a_cause_that_is_not_all(self):
        """A true cause does not excuse a stream that is wrong in something else as well, which no rule sees."""
        arrays, info = self.taken("u8_conv3x3_16x16x16_oc32.mesa")
        # BS takes its addends with the opposite sign.
        change = {(DPU, 0x4080): 9, (DPU, 0x4040): 0x40150}
        words = [with_value(v, change.get((v >> 48, v & 0xFFFF), v >> 16 & 0xFFFFFFFF)) for v in map(int, arrays["regcmd_task0"])]
        self.put("case", {**arrays, "regcmd_task0": np.array(words, np.uint64)}, info)
        row = outcomes(self.folder)["case"][1].row
        self.assertFalse(row["ok"], row)
        self.assertIn("zero point", row["note"])
        self.assertIn("repaired of these causes does not meet the limit", row["note"])

    def test_a_fused_addition_without_its_model(self):
        """The limit is the sum that words and buffers state; a wrong machine and a wrong operand fail it."""
        arrays, info = self.taken("u8_resda_14x14x32_s0244231.mesa")
        arrays.pop("model_tflite")
        self.put("case", arrays, info)
        words = [with_value(v, 3 if (v >> 48, v & 0xFFFF) == (DPU, 0x4078) else v >> 16 & 0xFFFFFFFF) for v in map(int, arrays["regcmd_task2"])]
        self.put("wrong", {**arrays, "regcmd_task2": np.array(words, np.uint64)}, info)
        found = outcomes(self.folder)
        row = found["case"][1].row
        self.assertEqual((row["ok"], row["elements"], row["equal"], row["max"]), (True, 6272, 6272, 0), row)
        self.assertFalse(found["wrong"][1].row["ok"], found["wrong"][1].row)
        with with_outputs(lambda _, v: v + 5):
            self.assertFalse(outcomes(self.folder, {"case"})["case"][1].row["ok"])

    def test_a_fused_addition_and_what_follows(self):
        """Later layers are computed from what the fused one gives, not from what the reference kernels give."""
        case = replay_fixtures.read_case(MESA / "u8_resda_14x14x32_s0244231.mesa.json", "case")
        model = case.model
        from fixtures import submission  # pylint: disable=import-outside-toplevel
        fused = submission.fused_output(model, case.works)
        apart = np.abs(fused.astype(int) - model.values[model.outputs[0]].astype(int))
        self.assertGreater(apart.max(), 20)
        # The same addition once more behind it: twice the sum, of the fused one.
        add = model.layers[-1]
        tensors = list(model.tensors)
        tensors.append(tensors[add.outputs[0]])
        model.tensors, last = tensors, len(tensors) - 1
        model.layers.append(type(add)(add.code, [add.outputs[0], add.outputs[0]], [last]))
        model.outputs = [last]
        doubled = submission.fused_output(model, case.works)
        zero = int(model.zero_points(last)[0])
        want = np.clip(2 * (fused.astype(int) - zero) + zero, 0, 255)
        self.assertEqual(np.abs(doubled.astype(int) - want).max(), 0)

    def test_a_compilers_blocks_are_never_excused(self):
        """Cases without a model have no causes: beyond their limit they fail."""
        path = VENDOR / "cases" / "fx_conv3x3_pc.json.gz"
        info = json.loads(gzip.decompress(path.read_bytes()))
        first = info["tasks"][0]
        first["regcmd"] = " ".join(f"{with_value(int(w, 16), 9):016x}" if int(w, 16) & 0xFFFF == 0x4080 else w for w in first["regcmd"].split())
        (self.folder / "case.json.gz").write_bytes(gzip.compress(json.dumps(info).encode()))
        row = outcomes(self.folder)["case"][1].row
        self.assertFalse(row["ok"], row)


def cropped(model, old, new):
    """A model file whose maps of `old` x `old` have `new` rows."""
    data = bytearray(model)
    graph = Table(bytes(data), int.from_bytes(data[:4], "little")).children(2)[0]
    for tensor in graph.children(0):
        at = tensor._target(tensor._at(0))  # pylint: disable=protected-access
        shape = np.frombuffer(data, "<i4", int.from_bytes(data[at:at + 4], "little"), at + 4)
        if shape.size == 4 and tuple(shape[1:3]) == (old, old):
            data[at + 8:at + 12] = int(new).to_bytes(4, "little")
    return bytes(data)


if __name__ == "__main__":
    unittest.main()

"""peraxis compile, and run and inspect on its files."""
import unittest

from harness import CliTest, ModelBuilder, conv_model, litert, np, schema

INTEGERS = {np.int8: schema.TensorType.INT8, np.int16: schema.TensorType.INT16, np.int32: schema.TensorType.INT32,
            np.int64: schema.TensorType.INT64}


def sized_model(code, constants, shapes):
    """A convolution, then an operator whose sizes are constants of a given type; its outputs have these shapes."""
    rng = np.random.default_rng(3)
    m = ModelBuilder()
    x = m.tensor("x", (1, 6, 5, 4))
    y = m.conv(x, "y", rng.integers(-127, 128, (12, 3, 3, 4), dtype=np.int8), [0.003] * 12, np.zeros(12, np.int32), (1, 6, 5, 12),
               0.5, 0)
    operands = [y] + [m.tensor("", c.shape, INTEGERS[c.dtype.type], (), (), data=c) if isinstance(c, np.ndarray) else
                      m.tensor("", (1,), data=np.array([c], np.int8)) for c in constants]
    outs = [m.tensor("out", s) for s in shapes]
    options = {"SPLIT_V": "SplitVOptions", "TRANSPOSE": "TransposeOptions"}.get(code)
    made = getattr(schema, options + "T")() if options else None
    if code == "SPLIT_V":
        made.numSplits = len(shapes)
    m.op(getattr(schema.BuiltinOperator, code), operands, outs, getattr(schema.BuiltinOptions, options) if options else 0, made)
    return m.bytes([x], outs)


class Executable(CliTest):
    def setUp(self):
        super().setUp()
        self.data = conv_model(seed=8)
        self.model = self.write("m.tflite", self.data)
        self.x = np.random.default_rng(9).integers(-128, 128, (1, 7, 10, 3), dtype=np.int8)
        self.save("x.npy", self.x)

    def test_compiled_file_runs_like_the_model(self):
        self.succeeds("compile", self.model, "-o", "m.pxe", "--accuracy", "exact", "--target", "rk3588")
        report = self.succeeds("run", "m.pxe", "--input", "0=x.npy", "--output-dir", "o", "--json").json()
        np.testing.assert_array_equal(np.load(self.dir / "o/0.npy"), litert(self.data, [self.x])[0])
        self.assertEqual((report["accuracy"], report["npu"]["mac_share"]), ("exact", 1.0))
        self.assertEqual(report["outputs"][0]["name"], "second")

    def test_sizes_of_every_integer_type(self):
        """What an operator of the NPU takes its sizes from is in the file, whatever its type."""
        amounts = [[0, 0], [1, 2], [0, 3], [0, 0]]
        cases = [("PAD", [np.array(amounts, t)], [(1, 9, 8, 12)]) for t in INTEGERS]
        cases += [("PADV2", [np.array(amounts, t), 9], [(1, 9, 8, 12)]) for t in INTEGERS]
        for t in (np.int32, np.int64):
            cases.append(("SLICE", [np.array([0, 1, 0, 0], t), np.array([1, 4, 5, 12], t)], [(1, 4, 5, 12)]))
            cases.append(("SPLIT_V", [np.array([8, 4], t), np.array(3, np.int32)], [(1, 6, 5, 8), (1, 6, 5, 4)]))
        # Counted from the end, as LiteRT takes them.
        cases.append(("TRANSPOSE", [np.array([0, -2, -3, 3], np.int32)], [(1, 5, 6, 12)]))
        x = np.random.default_rng(4).integers(-128, 128, (1, 6, 5, 4), dtype=np.int8)
        np.save(self.dir / "s.npy", x)
        for code, constants, shapes in cases:
            with self.subTest(code=code, type=constants[0].dtype):
                data = sized_model(code, constants, shapes)
                self.write("s.tflite", data)
                self.succeeds("compile", "s.tflite", "-o", "s.pxe", "--accuracy", "exact")
                self.succeeds("run", "s.pxe", "--input", "0=s.npy", "--output-dir", "s")
                for k, want in enumerate(litert(data, [x])):
                    np.testing.assert_array_equal(np.load(self.dir / f"s/{k}.npy"), want)

    def test_every_strategy_compiles(self):
        for strategy in ("max-scale", "hw-multiply", "exponent-classes", "exact"):
            self.succeeds("compile", self.model, "-o", "s.pxe", "--strategy", strategy)
            report = self.succeeds("inspect", "s.pxe", "--json").json()
            self.assertEqual(report["strategy"], strategy)
            self.assertEqual({layer["strategy"] for layer in report["layers"]}, {strategy})

    def test_choices_of_compilation_are_fixed(self):
        self.succeeds("compile", self.model, "-o", "m.pxe")
        for option in (("--strategy", "exact"), ("--accuracy", "fast"), ("--reference", "litert-ref"),
                       ("--no-fallback",), ("--device", "cpu")):
            self.fails(2, "run", "m.pxe", "--input", "0=x.npy", *option, says="m.pxe")
        self.fails(1, "compile", "m.pxe", "-o", "again", says="already compiled")
        self.fails(1, "compare", "m.pxe", "--input", "0=x.npy", says="already compiled")

    def test_damaged_files_are_refused(self):
        self.succeeds("compile", self.model, "-o", "m.pxe")
        data = (self.dir / "m.pxe").read_bytes()
        for at in range(0, len(data), max(1, len(data) // 40)):
            damaged = bytearray(data)
            damaged[at] ^= 0x10
            self.write("bad.pxe", bytes(damaged))
            outcome = self.peraxis("run", "bad.pxe", "--input", "0=x.npy", "--json")
            # A flipped bit is either noticed or lies in padding that nobody reads.
            if outcome.code == 0:
                self.assertEqual(outcome.json()["npu"]["mac_share"], 1.0, at)
            else:
                self.assertEqual(outcome.code, 1, f"byte {at}: {outcome.err}")
        for size in (10, len(data) // 2, len(data) - 1):
            self.write("short.pxe", data[:size])
            self.fails(1, "run", "short.pxe", "--input", "0=x.npy", says="short.pxe")

    def test_inspect(self):
        self.succeeds("compile", self.model, "-o", "m.pxe", "--accuracy", "exact")
        report = self.succeeds("inspect", "m.pxe", "--json").json()
        self.assertEqual((report["kind"], report["target"]), ("executable", "rk3588"))
        self.assertEqual({b["kind"] for b in report["buffers"]}, {"commands", "constants", "activations"})
        self.assertEqual({t["op"] for t in report["tasks"]}, {0, 1})
        text = self.succeeds("inspect", "m.pxe").out.decode()
        self.assertIn("rk3588", text)


if __name__ == "__main__":
    unittest.main()

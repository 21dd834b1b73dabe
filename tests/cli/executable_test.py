"""peraxis compile, and run and inspect on its files."""
import unittest

from harness import CliTest, conv_model, litert, np


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

"""peraxis compare and inspect: the figures against counts made here."""
import unittest

from harness import CliTest, conv_model, litert, np


class Compare(CliTest):
    def setUp(self):
        super().setUp()
        self.data = conv_model(seed=5)
        self.model = self.write("m.tflite", self.data)
        rng = np.random.default_rng(6)
        self.x = [rng.integers(-128, 128, (1, 7, 10, 3), dtype=np.int8) for _ in range(2)]
        self.save("x.npy", self.x[0])
        self.want = [litert(self.data, [x])[0] for x in self.x]
        np.savez(self.dir / "g.npz", i0_0=self.x[0], o0_0=self.want[0], i1_0=self.x[1], o1_0=self.want[1])

    def test_exact_has_no_differences(self):
        report = self.succeeds("compare", self.model, "--strategy", "exact", "--goldens", "g.npz", "--json").json()
        self.assertEqual([layer["op"] for layer in report["layers"]], [0, 1])
        for layer in report["layers"]:
            for kind in ("isolated", "accumulated"):
                self.assertEqual((layer[kind]["differing"], layer[kind]["max"]), (0, 0))
        self.assertEqual(report["isolated"]["elements"], 7 * 10 * (17 + 9))
        self.assertEqual(report["isolated"]["layers"], 2)
        self.assertEqual([(g["set"], g["output"], g["differing"]) for g in report["goldens"]["sets"]],
                         [(0, 0, 0), (1, 0, 0)])
        self.assertEqual(report["end_to_end"][0]["differing"], 0)

    def test_wrong_goldens_show_as_differences(self):
        """Five values moved by 1, -1, 2, -3 and 7: every figure is known."""
        wrong = np.clip(self.want[0], -100, 100)
        self.assertTrue((wrong == self.want[0]).sum() > 100)
        places = np.flatnonzero(wrong == self.want[0])[:5]
        wrong = self.want[0].copy()
        wrong.ravel()[places] += np.array([1, -1, 2, -3, 7], np.int8)
        np.savez(self.dir / "w.npz", i0_0=self.x[0], o0_0=wrong)
        report = self.succeeds("compare", self.model, "--strategy", "exact", "--goldens", "w.npz", "--json").json()
        (golden,) = report["goldens"]["sets"]
        count = wrong.size
        self.assertEqual((golden["elements"], golden["differing"], golden["max"]), (count, 5, 7))
        self.assertAlmostEqual(golden["mean"], 14 / count)
        self.assertAlmostEqual(golden["percent"], 500 / count)
        self.assertEqual(golden["histogram"], {"-2-": 2, "-1": 1, "0": count - 5, "1": 1, "2+": 1})

    def test_a_dump_replaces_the_run(self):
        self.succeeds("run", self.model, "--device", "cpu", "--input", "0=x.npy", "--dump-tensors", "d.npz")
        dump = dict(np.load(self.dir / "d.npz"))
        dump["t3"].ravel()[:4] ^= 1  # moves each of the four by one
        np.savez(self.dir / "d2.npz", **dump)
        report = self.succeeds("compare", self.model, "--dump", "d2.npz", "--json").json()
        first, second = (layer["accumulated"] for layer in report["layers"])
        self.assertEqual((first["differing"], first["max"]), (4, 1))
        self.assertEqual(second["differing"], 0)
        self.assertIsNone(report["layers"][0]["isolated"])
        np.savez(self.dir / "d3.npz", t0=dump["t0"], t6=dump["t6"])
        self.assertEqual(self.succeeds("compare", self.model, "--dump", "d3.npz", "--json").json()["removed"], [3])

    def test_stored_activations(self):
        self.succeeds("run", self.model, "--device", "cpu", "--input", "0=x.npy", "--dump-tensors", "d.npz")
        report = self.succeeds("compare", self.model, "--strategy", "exact", "--goldens", "d.npz", "--json").json()
        self.assertEqual([(t["tensor"], t["differing"]) for t in report["goldens"]["tensors"]], [(0, 0), (3, 0), (6, 0)])

    def test_activations_without_inputs_take_those_of_another_file(self):
        self.succeeds("run", self.model, "--device", "cpu", "--input", "0=x.npy", "--dump-tensors", "d.npz")
        np.savez(self.dir / "only.npz", t3=np.load(self.dir / "d.npz")["t3"])
        self.fails(2, "compare", self.model, "--goldens", "only.npz", says="no value")
        report = self.succeeds("compare", self.model, "--strategy", "exact", "--goldens", "g.npz", "--goldens", "only.npz",
                               "--json").json()
        self.assertEqual([(t["tensor"], t["differing"]) for t in report["goldens"]["tensors"]], [(3, 0)])
        self.assertEqual(len(report["goldens"]["sets"]), 2)

    def test_fast_stays_within_one(self):
        report = self.succeeds("compare", self.model, "--strategy", "hw-multiply", "--input", "0=x.npy", "--json").json()
        for layer in report["layers"]:
            self.assertEqual((layer["device"], layer["strategy"]), ("npu", "hw-multiply"))
            self.assertLessEqual(layer["isolated"]["max"], 1)
            histogram = layer["isolated"]["histogram"]
            self.assertEqual(sum(histogram.values()), layer["isolated"]["elements"])
            self.assertEqual(histogram["-2-"] + histogram["2+"], 0)

    def test_text(self):
        text = self.succeeds("compare", self.model, "--input", "0=x.npy", "--accuracy", "exact").out.decode()
        for part in ("isolated", "accumulated", "conv_2d", "end to end"):
            self.assertIn(part, text)

    def test_broken_goldens(self):
        np.savez(self.dir / "a.npz", nothing=np.zeros(3))
        self.fails(1, "compare", self.model, "--goldens", "a.npz", says="a.npz")
        np.savez(self.dir / "b.npz", o0_0=self.want[0])
        self.fails(1, "compare", self.model, "--goldens", "b.npz", says="no inputs")
        np.savez(self.dir / "c.npz", i0_0=self.x[0][:, 1:], o0_0=self.want[0])
        self.fails(1, "compare", self.model, "--goldens", "c.npz", says=["i0_0", "[1,6,10,3]"])
        np.savez(self.dir / "d.npz", t99=self.x[0])
        self.fails(1, "compare", self.model, "--goldens", "d.npz", says="t99")
        self.write("e.npz", b"PK\x03\x04 rubbish")
        self.fails(1, "compare", self.model, "--goldens", "e.npz", says="e.npz")
        self.fails(2, "compare", self.model, says="no value")


class Inspect(CliTest):
    def test_model(self):
        data = conv_model(seed=7)
        report = self.succeeds("inspect", self.write("m.tflite", data), "--json").json()
        self.assertEqual(report["macs"], 7 * 10 * (17 * 27 + 9 * 17))
        first, second = report["operators"]
        self.assertEqual((first["kind"], first["name"], first["macs"]), ("conv_2d", "first", 7 * 10 * 17 * 27))
        scales = np.array(first["inputs"][1]["scale"])
        live = np.delete(scales, 2)
        self.assertEqual((first["weight_scales"]["channels"], first["weight_scales"]["all_zero"]), (17, 1))
        self.assertAlmostEqual(first["weight_scales"]["ratio"], live.max() / live.min(), places=4)
        self.assertEqual(second["weight_scales"]["all_zero"], 0)
        text = self.succeeds("inspect", "m.tflite").out.decode()
        for part in ("conv_2d", "1x7x10x17", "17x3x3x3", "per-axis 17"):
            self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()

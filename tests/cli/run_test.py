"""peraxis run: values against LiteRT, the JSON document, files, names that are no UTF-8."""
import json
import unittest

from harness import CliTest, add_model, conv_model, litert, np, png


class Run(CliTest):
    def setUp(self):
        super().setUp()
        self.data = conv_model()
        self.model = self.write("m.tflite", self.data)
        self.x = np.random.default_rng(3).integers(-128, 128, (1, 7, 10, 3), dtype=np.int8)
        self.save("x.npy", self.x)
        self.want = litert(self.data, [self.x])[0]

    def output(self, directory, index=0):
        return np.load(self.dir / directory / f"{index}.npy")

    def test_cpu_equals_litert(self):
        self.succeeds("run", self.model, "--device", "cpu", "--input", "0=x.npy", "--output-dir", "out")
        np.testing.assert_array_equal(self.output("out"), self.want)
        self.assertEqual(self.output("out").dtype, np.int8)

    def test_exact_on_the_machine_model_equals_litert(self):
        self.succeeds("run", self.model, "--accuracy", "exact", "--device", "sim", "--no-fallback", "--input",
                      "x=x.npy", "--output-dir", "out/deep")
        np.testing.assert_array_equal(self.output("out/deep"), self.want)

    def test_both_devices_agree_on_either_reference(self):
        for reference in ("litert-ref", "single-rounding"):
            self.succeeds("run", self.model, "--device", "cpu", "--reference", reference, "--input", "0=x.npy",
                          "--output-dir", reference)
            self.succeeds("run", self.model, "--accuracy", "exact", "--reference", reference, "--input", "0=x.npy",
                          "--output-dir", reference + "-sim")
            np.testing.assert_array_equal(self.output(reference + "-sim"), self.output(reference))
        np.testing.assert_array_equal(self.output("litert-ref"), self.want)
        delta = self.output("single-rounding").astype(int) - self.want
        self.assertLessEqual(np.abs(delta).max(), 3)

    def test_auto_says_that_there_is_no_npu(self):
        outcome = self.succeeds("run", self.model, "--input", "0=x.npy", "--json")
        self.assertEqual(outcome.err.decode(), "peraxis: this version has no NPU driver; using the machine model\n")
        self.assertEqual(outcome.json()["device"], "sim")
        self.assertEqual(self.succeeds("run", self.model, "--device", "sim", "--input", "0=x.npy", "--json").err, b"")

    def test_json(self):
        report = self.succeeds("run", self.model, "--device", "sim", "--accuracy", "exact", "--input", "0=x.npy",
                               "--output-dir", "out", "--json").json()
        self.assertEqual(report["model"], self.model)
        self.assertEqual((report["accuracy"], report["reference"], report["strategy"]), ("exact", "litert-ref", "auto"))
        (output,) = report["outputs"]
        self.assertEqual(list(output), ["name", "file", "shape", "dtype", "scale", "zero_point"])
        self.assertEqual((output["name"], output["shape"], output["dtype"], output["zero_point"]),
                         ("second", [1, 7, 10, 9], "int8", 5))
        self.assertAlmostEqual(output["scale"], 0.4, places=6)
        np.testing.assert_array_equal(np.load(self.dir / output["file"]), self.want)
        macs = 7 * 10 * 17 * 27 + 7 * 10 * 9 * 17
        self.assertEqual(report["npu"]["macs"], macs)
        self.assertEqual(report["npu"]["mac_share"], 1.0)
        self.assertGreaterEqual(report["npu"]["tasks"], 2)
        self.assertEqual([layer["op"] for layer in report["layers"]], [0, 1])
        self.assertEqual({layer["device"] for layer in report["layers"]}, {"npu"})
        self.assertEqual({layer["strategy"] for layer in report["layers"]}, {"exact"})
        for key in ("load", "compile", "run", "npu", "cpu", "total"):
            self.assertGreaterEqual(report["timing_ms"][key], 0)
        self.assertEqual(report["upload"]["bytes"], 7 * 16 * 3)  # 10 columns, rows of 16 pixels
        self.assertGreaterEqual(report["upload"]["ms"], 0)
        self.assertEqual(report["warnings"], [])
        self.assertNotIn("detections", report)
        self.assertNotIn("top", report)

    def test_json_on_the_cpu(self):
        report = self.succeeds("run", self.model, "--device", "cpu", "--input", "0=x.npy", "--json").json()
        self.assertEqual(report["npu"], {"tasks": 0, "macs": 0, "mac_share": 0.0})
        self.assertIsNone(report["outputs"][0]["file"])

    def test_text(self):
        text = self.succeeds("run", self.model, "--input", "0=x.npy").out.decode()
        for part in ("second", "1x7x10x9", "NPU:", "100.00 %", "uploads: 336 bytes in "):
            self.assertIn(part, text)

    def test_inputs_by_name_with_equals_sign(self):
        data = add_model()
        model = self.write("two.tflite", data)
        rng = np.random.default_rng(4)
        a, b = (rng.integers(-128, 128, (1, 2, 3, 4), dtype=np.int8) for _ in range(2))
        self.save("a.npy", a)
        self.save("b=b.npy", b)
        want = litert(data, [a, b])[0]
        for inputs in (("plain=a.npy", "a=b=b=b.npy"), ("1=b=b.npy", "0=a.npy")):
            self.succeeds("run", model, "--input", inputs[0], "--input", inputs[1], "--device", "cpu", "--output-dir",
                          "out")
            np.testing.assert_array_equal(self.output("out"), want)
        self.succeeds("run", "--input", "0=a.npy", "--input", "1=b=b.npy", "--device", "cpu", model)

    def test_dump_holds_every_activation(self):
        for device in ("cpu", "sim"):
            self.succeeds("run", self.model, "--device", device, "--accuracy", "exact", "--input", "0=x.npy",
                          "--dump-tensors", "d.npz")
            dump = np.load(self.dir / "d.npz")
            self.assertEqual(sorted(dump.files), ["removed", "t0", "t3", "t6"])
            self.assertEqual(dump["removed"].size, 0)
            np.testing.assert_array_equal(dump["t0"], self.x)
            np.testing.assert_array_equal(dump["t6"], self.want)
            self.assertEqual(dump["t3"].shape, (1, 7, 10, 17))
            first = dump["t3"] if device == "cpu" else first  # noqa: F821 (set by the first turn)
            np.testing.assert_array_equal(dump["t3"], first)

    def test_names_that_are_no_utf8(self):
        data = self.data.replace(b"second", b"s\xff\x80\x1b\"\\")
        self.write("odd.tflite", data)
        report = self.succeeds("run", "odd.tflite", "--device", "cpu", "--input", "0=x.npy", "--json").json()
        self.assertIn("\N{REPLACEMENT CHARACTER}", report["outputs"][0]["name"])
        self.assertNotIn(b"\x1b", self.succeeds("run", "odd.tflite", "--device", "cpu", "--input", "0=x.npy").out)
        name = b"caf\xe9.tflite"
        with open(bytes(self.dir) + b"/" + name, "wb") as file:
            file.write(self.data)
        json.loads(self.succeeds("inspect", name, "--json").out)


class Picture(CliTest):
    def test_top_classes_and_picture(self):
        """[1,1,1,9] is a classifier; the picture has the model's size, so only quantization is in between."""
        data = conv_model(size=(1, 1))
        model = self.write("c.tflite", data)
        pixel = np.array([[[200, 30, 90]]], np.uint8)
        self.write("p.png", png(pixel))
        self.write("l.txt", "\n".join(f"label {i}" for i in range(9)).encode())
        out = self.succeeds("run", model, "--device", "cpu", "--image", "p.png", "--labels", "l.txt", "--output-dir", "o",
                            "--json").json()
        want = litert(data, [(pixel.astype(int) - 128).astype(np.int8)[None]])[0].ravel().astype(int)
        np.testing.assert_array_equal(np.load(self.dir / "o" / "0.npy").ravel(), want)
        order = np.argsort(-want, kind="stable")[:5]
        self.assertEqual([t["class"] for t in out["top"]], order.tolist())
        self.assertEqual([t["label"] for t in out["top"]], [f"label {i}" for i in order])
        self.assertTrue((self.dir / "o" / "annotated.png").read_bytes().startswith(b"\x89PNG"))
        self.assertEqual(out["head"], {"name": "classification", "chosen_by": "shapes"})
        text = self.succeeds("run", model, "--device", "cpu", "--image", "p.png", "--head", "classification").out.decode()
        self.assertIn("head classification (by name)", text)
        # --head goes before the task and head of a model info.
        self.write("i.json", b'{"task": "detect", "head": "yolov5"}')
        again = self.succeeds("run", model, "--device", "cpu", "--image", "p.png", "--model-info", "i.json", "--head",
                              "classification", "--json").json()
        self.assertEqual([t["class"] for t in again["top"]], order.tolist())

    def test_a_foreign_json_beside_the_model_is_only_a_warning(self):
        self.write("c.tflite", conv_model(size=(1, 1)))
        self.write("c.json", b'{"somebody": "else"}')
        self.write("p.png", png(np.zeros((3, 4, 3))))
        report = self.succeeds("run", "c.tflite", "--device", "cpu", "--image", "p.png", "--head", "classification",
                               "--json").json()
        self.assertEqual(len(report["warnings"]), 1)
        self.assertIn("c.json", report["warnings"][0])


if __name__ == "__main__":
    unittest.main()

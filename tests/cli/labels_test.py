"""peraxis run --image: which labels are used and from where, what is assumed about outputs, what is refused."""
import io
import json
import unittest
import zipfile

from flatbuffers import flexbuffers

from harness import CliTest, ModelBuilder, conv_model, np, png, schema

NAMES = ["ant", "bee fly", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis"]


def appended(model, members, absolute=True):
    """The model with a zip archive behind it: as Python's zipfile appends to a file, or an archive of its own."""
    if absolute:
        file = io.BytesIO(model)
        with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        return file.getvalue()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return model + file.getvalue()


def three_maps(channels):
    """Maps of the strides 8, 16 and 32 of a 32 x 32 picture."""
    m = ModelBuilder()
    x = m.tensor("x", (1, 32, 32, 3), scale=[1 / 255], zero_point=[-128])
    rng = np.random.default_rng(5)
    outputs = []
    for stride in (8, 16, 32):
        weights = rng.integers(-127, 128, (channels, 1, 1, 3), dtype=np.int8)
        outputs.append(m.conv(x, f"map{stride}", weights, [0.01] * channels, np.zeros(channels, np.int32),
                              (1, 32 // stride, 32 // stride, channels), 0.1, 0, stride))
    return m.bytes([x], outputs)


def detection_model():
    """A picture that nothing reads beside the codes and scores of one anchor, which fills the picture, for
    TFLite_Detection_PostProcess of two classes and a background; its outputs in an order of their own."""
    m = ModelBuilder()
    real = schema.TensorType.FLOAT32
    picture, codes, scores = (m.tensor(name, shape, real, scale=[], zero_point=[])
                              for name, shape in (("x", (1, 4, 4, 3)), ("codes", (1, 1, 4)), ("scores", (1, 1, 3))))
    anchor = m.tensor("anchor", (1, 4), real, scale=[], zero_point=[], data=np.array([[0.5, 0.5, 1, 1]], np.float32))
    boxes, classes, best, count = (m.tensor(f"out{i}", shape, real, scale=[], zero_point=[])
                                   for i, shape in enumerate(((1, 1, 4), (1, 1), (1, 1), (1,))))
    m.op(schema.BuiltinOperator.CUSTOM, [codes, scores, anchor], [boxes, classes, best, count], 0, None)
    m.model.operatorCodes[-1].customCode = "TFLite_Detection_PostProcess"
    m.graph.operators[-1].customOptions = np.frombuffer(bytes(flexbuffers.Dumps(
        {"max_detections": 1, "max_classes_per_detection": 1, "num_classes": 2, "nms_score_threshold": 0.0,
         "nms_iou_threshold": 0.5, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0})), np.uint8)
    return m.bytes([picture, codes, scores], [best, boxes, count, classes])


class Labels(CliTest):
    """[1,1,1,9] is a classifier once something says so; its labels are checked by the classes they stand beside."""

    def setUp(self):
        super().setUp()
        self.data = conv_model(size=(1, 1))
        self.write("m.tflite", self.data)
        self.write("p.png", png(np.array([[[200, 30, 90]]], np.uint8)))

    def report(self, *options, model="m.tflite"):
        return self.succeeds("run", model, "--device", "cpu", "--image", "p.png", "--json", *options).json()

    def check(self, report, names=NAMES):
        self.assertEqual(len(report["top"]), 5)
        for entry in report["top"]:
            self.assertEqual(entry["label"], names[entry["class"]])

    def test_every_form_of_a_file_gives_every_class_its_name(self):
        pairs = list(enumerate(NAMES))
        forms = {
            "plain": "\n".join(NAMES), "crlf": "\r\n".join(NAMES) + "\r\n\r\n", "bom": "\ufeff" + "\n".join(NAMES),
            "numbered": "\n".join(f"{i} {n}" for i, n in pairs), "two blanks": "\n".join(f"{i}  {n}" for i, n in pairs),
            "tabs": "\n".join(f"{i}\t{n}" for i, n in pairs), "colon": "\n".join(f"{i}: {n}" for i, n in pairs),
            "quotes": "\n".join(f"{i}: '{n}'" for i, n in pairs), "json": ",\n".join(f'"{i}": "{n}"' for i, n in pairs),
            "numbered bom crlf": "\ufeff" + "".join(f"{i} {n}\r\n" for i, n in pairs),
            "backwards": "\n".join(f"{i} {n}" for i, n in reversed(pairs)),
            "background": "???\n" + "\n".join(NAMES), "from one": "\n".join(f"{i + 1} {n}" for i, n in pairs),
        }
        for form, text in forms.items():
            with self.subTest(form):
                path = self.write("l.txt", text.encode())
                report = self.report("--labels", path)
                self.check(report)
                self.assertEqual(report["labels_from"], f"--labels {path}")

    def test_gaps_have_their_number(self):
        self.write("l.txt", b"0 ant\n8 ibis\n")
        names = ["ant", *(str(i) for i in range(1, 8)), "ibis"]
        self.check(self.report("--labels", "l.txt"), names)

    def test_names_that_begin_with_digits(self):
        names = ["3d printer", "4k screen", *NAMES[2:]]
        self.write("l.txt", "\n".join(names).encode())
        self.check(self.report("--labels", "l.txt"), names)

    def test_labels_that_cannot_be_the_models_are_not_used(self):
        self.write("l.txt", "\n".join(NAMES[:8]).encode())
        report = self.report("--labels", "l.txt", "--head", "classification")
        self.assertEqual([t["label"] for t in report["top"]], [None] * 5)
        self.assertEqual(len(report["assumed"]), 1)
        self.assertIn("8 labels cannot be those of 9 classes", report["assumed"][0])

    def test_mistakes_name_the_line(self):
        for text, says in ((b"0 a\n0 b\n", ["l.txt", "line 2", "index 0"]),
                           (b"0 a\n100000 b\n", ["line 2", "above 99999"]),
                           (b"0 a\n1 b\nc\n3 d\n", ["line 3", "no number"]), (b"a\0b", ["zero byte"])):
            self.write("l.txt", text)
            self.fails(1, "run", "m.tflite", "--device", "cpu", "--image", "p.png", "--labels", "l.txt", says=says)

    def test_inside_the_model(self):
        for absolute in (True, False):
            self.write("in.tflite", appended(self.data, {"labels.txt": "\n".join(NAMES)}, absolute))
            report = self.report(model="in.tflite")
            self.check(report)
            self.assertEqual(report["labels_from"], "labels.txt inside the model")
            self.assertIsNone(report["model_info_from"])
            text = self.succeeds("run", "in.tflite", "--device", "cpu", "--image", "p.png").out.decode()
            self.assertIn("labels: labels.txt inside the model\n", text)

    def executable(self, model, *options):
        """Its file alone in a folder."""
        self.succeeds("compile", model, "-o", "alone/m.pax", *options)
        return "alone/m.pax"

    def run_executable(self, file, *options):
        return self.succeeds("run", file, "--image", "p.png", "--json", *options).json()

    def test_inside_the_executable(self):
        (self.dir / "alone").mkdir()
        self.write("in.tflite", appended(self.data, {"labels.txt": "\n".join(NAMES)}))
        report = self.run_executable(self.executable("in.tflite"))
        self.check(report)
        self.assertEqual(report["labels_from"], "labels.txt inside the model, inside the executable")
        self.assertIsNone(report["model_info_from"])
        # What a run is given goes before it.
        self.write("l.txt", "\n".join("given " + name for name in NAMES).encode())
        self.check(self.run_executable("alone/m.pax", "--labels", "l.txt"), ["given " + name for name in NAMES])
        # A file beside the executable may leave the labels to it.
        self.write("alone/m.json", b'{"task": "classify"}')
        report = self.run_executable("alone/m.pax")
        self.check(report)
        self.assertEqual(report["model_info_from"], "alone/m.json beside the model")
        (self.dir / "alone/m.json").unlink()
        # Info and labels of the command line are stored, and the model info's head.
        self.write("i.json", json.dumps({"head": "classification", "labels": NAMES}).encode())
        report = self.run_executable(self.executable("m.tflite", "--model-info", "i.json"))
        self.check(report)
        self.assertEqual(report["head"]["chosen_by"], "name")
        self.assertEqual(report["model_info_from"], "--model-info i.json, inside the executable")
        # Left out: the scores are no more than tensors.
        report = self.run_executable(self.executable("in.tflite", "--no-model-info"))
        self.assertNotIn("top", report)
        self.fails(1, "compile", "m.tflite", "-o", "alone/n.pax", "--model-info", "none.json", says=["none.json"])
        self.assertFalse((self.dir / "alone/n.pax").exists())

    def test_a_compile_says_what_it_stores(self):
        self.write("in.tflite", appended(self.data, {"labels.txt": "\n".join(NAMES)}))
        made = self.succeeds("compile", "in.tflite", "-o", "m.pax")
        self.assertIn("labels: 9 of labels.txt inside the model, stored\n", made.out.decode())
        made = self.succeeds("compile", "in.tflite", "-o", "m.pax", "--json").json()
        self.assertEqual((made["model_info_from"], made["labels_from"]), (None, "labels.txt inside the model"))
        made = self.succeeds("compile", "in.tflite", "-o", "m.pax", "--json", "--no-model-info").json()
        self.assertEqual((made["model_info_from"], made["labels_from"]), (None, None))

    def test_metadata_of_the_exporter(self):
        metadata = {"author": "Ultralytics", "task": "classify", "stride": 1, "imgsz": [1, 1],
                    "names": {str(i): name for i, name in enumerate(NAMES)}}
        self.write("in.tflite", appended(self.data, {"metadata.json": json.dumps(metadata)}))
        report = self.report(model="in.tflite")
        self.check(report)
        self.assertEqual(report["labels_from"], "metadata.json inside the model")
        self.assertIn("metadata.json inside the model says task 'classify'", report["assumed"][0])
        metadata["task"] = "obb"
        self.write("in.tflite", appended(self.data, {"metadata.json": json.dumps(metadata)}))
        report = self.report(model="in.tflite")
        self.assertNotIn("top", report)
        self.assertTrue(any("task 'obb'" in warning for warning in report["warnings"]), report["warnings"])
        self.check(self.report("--head", "classification", model="in.tflite"))

    def test_the_user_goes_before_the_file_beside_and_that_before_the_model(self):
        def named(prefix):
            return [prefix + name for name in NAMES]
        self.write("in.tflite", appended(self.data, {"labels.txt": "\n".join(named("inside "))}))
        self.check(self.report(model="in.tflite"), named("inside "))
        # A side file without labels leaves them to the model.
        self.write("in.json", b'{"task": "classify"}')
        report = self.report(model="in.tflite")
        self.check(report, named("inside "))
        self.assertEqual(report["model_info_from"], "in.json beside the model")
        self.write("in.json", json.dumps({"labels": named("beside ")}).encode())
        report = self.report(model="in.tflite")
        self.check(report, named("beside "))
        self.assertEqual(report["labels_from"], "in.json beside the model")
        self.write("given.json", json.dumps({"labels": named("info ")}).encode())
        report = self.report("--model-info", "given.json", model="in.tflite")
        self.check(report, named("info "))
        self.assertEqual((report["labels_from"], report["model_info_from"]), ("--model-info given.json",) * 2)
        self.write("l.txt", "\n".join(named("file ")).encode())
        report = self.report("--model-info", "given.json", "--labels", "l.txt", model="in.tflite")
        self.check(report, named("file "))
        self.assertEqual(report["labels_from"], "--labels l.txt")

    def test_a_broken_archive_is_a_warning(self):
        data = bytearray(appended(self.data, {"labels.txt": "\n".join(NAMES)}, absolute=False))
        data[len(self.data) + 40 + len("labels.txt")] ^= 1
        self.write("in.tflite", bytes(data))
        report = self.report("--head", "classification", model="in.tflite")
        self.assertIsNone(report["labels_from"])
        self.assertEqual(len(report["warnings"]), 1)
        self.assertIn("labels.txt", report["warnings"][0])
        self.assertIn("CRC", report["warnings"][0])


class Heads(CliTest):
    def setUp(self):
        super().setUp()
        self.write("p.png", png(np.random.default_rng(1).integers(0, 256, (32, 32, 3))))

    def run_json(self, channels, *options):
        self.write("m.tflite", three_maps(channels))
        return self.succeeds("run", "m.tflite", "--device", "cpu", "--image", "p.png", "--json", "--output-dir", "o",
                             *options).json()

    def test_the_detection_operator_says_how_many_classes_there_are(self):
        """The second of two classes is best, whatever stands for the background; a compiled model says it too."""
        self.write("m.tflite", detection_model())
        self.save("codes.npy", np.zeros((1, 1, 4), np.float32))
        self.save("scores.npy", np.array([[[0.5, 0.25, 0.75]]], np.float32))
        self.succeeds("compile", "m.tflite", "-o", "m.pax")
        for text in ("a\nb", "???\na\nb", "1 a\n2 b", "0 a\n1 b\n", "background\na\nb"):
            self.write("l.txt", text.encode())
            for model, device in (("m.tflite", "cpu"), ("m.pax", "sim")):
                report = self.succeeds("run", model, "--device", device, "--image", "p.png", "--input", "codes=codes.npy",
                                       "--input", "scores=scores.npy", "--labels", "l.txt", "--json").json()
                (found,) = report["detections"]
                self.assertEqual((found["class"], found["label"], found["score"]), (1, "b", 0.75), text)
                np.testing.assert_allclose(found["box"], [0, 0, 32, 32], atol=1e-4)
                (assumed,) = report["assumed"]
                self.assertIn("the operator TFLite_Detection_PostProcess", assumed)

    def test_nothing_is_drawn_without_evidence(self):
        report = self.run_json(18)
        self.assertNotIn("detections", report)
        self.assertNotIn("head", report)
        self.assertNotIn("annotated", report)
        self.assertFalse((self.dir / "o" / "annotated.png").exists())
        (warning,) = report["warnings"]
        for part in ("[1, 4, 4, 18]", "yolov5 (1 class)", "--head yolov5", "labels"):
            self.assertIn(part, warning)

    def test_what_a_named_head_assumes_is_said(self):
        report = self.run_json(18, "--head", "yolov5")
        self.assertEqual(report["head"], {"name": "yolov5", "chosen_by": "name"})
        self.assertIn("detections", report)
        self.assertTrue((self.dir / "o" / "annotated.png").exists())
        (assumed,) = report["assumed"]
        self.assertIn("anchors of YOLOv5 for COCO", assumed)
        text = self.succeeds("run", "m.tflite", "--device", "cpu", "--image", "p.png", "--head", "yolov5").out.decode()
        self.assertIn("assumed: anchors of YOLOv5 for COCO (stride 8: 10x13 16x30 33x23; ", text)

    def test_stated_anchors_are_not_assumed(self):
        info = {"head": "yolov5", "anchors": [[[1, 2], [3, 4], [5, 6]]] * 3}
        self.write("i.json", json.dumps(info).encode())
        self.assertEqual(self.run_json(18, "--model-info", "i.json")["assumed"], [])

    def test_labels_are_evidence(self):
        self.write("l.txt", b"ant\n")
        report = self.run_json(18, "--labels", "l.txt")
        self.assertEqual(report["head"], {"name": "yolov5", "chosen_by": "shapes"})
        self.assertEqual(len(report["assumed"]), 3)
        self.assertIn("as many as the labels", report["assumed"][0])
        self.assertIn("anchors", report["assumed"][1])
        self.assertIn("yolov3", report["assumed"][2])

    def test_the_classes_of_coco_are_evidence(self):
        report = self.run_json(255)
        self.assertEqual(report["head"], {"name": "yolov5", "chosen_by": "shapes"})
        self.assertIn("COCO", report["assumed"][0])


if __name__ == "__main__":
    unittest.main()

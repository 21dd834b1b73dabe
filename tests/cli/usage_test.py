"""Exit codes, help, and what happens to wrong options and hostile files."""
import os
import unittest

from harness import CliTest, add_model, conv_model, np, png


class Help(CliTest):
    def test_help_of_every_command(self):
        text = self.succeeds("--help").out.decode()
        for command in ("run", "compile", "compare", "inspect"):
            self.assertIn(command, text)
            self.assertIn("MODEL", self.succeeds(command, "--help").out.decode())
        for option in ("--image", "--model-info", "--labels", "--head", "yolov8-decoded", "--device", "--accuracy", "--reference", "--strategy",
                       "--no-fallback", "--input", "--output-dir", "--json", "--dump-tensors"):
            self.assertIn(option, self.succeeds("run", "--help").out.decode())

    def test_version(self):
        self.assertRegex(self.succeeds("--version").out.decode(), r"^peraxis \d+\.\d+")


class WrongUsage(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.write("m.tflite", conv_model())
        self.x = self.save("x.npy", np.zeros((1, 7, 10, 3), np.int8))

    def test_no_or_unknown_command(self):
        self.fails(2)
        self.fails(2, "explode")
        self.fails(2, "run")
        self.fails(2, "run", self.model, "--no-such-option")
        self.fails(2, "run", self.model, "a-second-positional")

    def test_choices(self):
        self.fails(2, "run", self.model, "--input", f"0={self.x}", "--strategy", "magic",
                   says=["magic", "'auto'", "'exact'", "'hw-multiply'", "'max-scale'"])
        self.fails(2, "compare", self.model, "--strategy", "magic", says="'exact'")
        self.fails(2, "compile", self.model, "-o", "f", "--strategy", "magic", says="'exact'")
        self.fails(2, "run", self.model, "--device", "tpu", says="tpu")
        self.fails(2, "run", self.model, "--accuracy", "perfect", says="perfect")
        self.fails(2, "run", self.model, "--reference", "mine", says="mine")
        self.fails(2, "run", self.model, "--threads", "0")
        self.fails(2, "compile", self.model)
        self.fails(2, "compile", self.model, "-o", "f", "--target", "rk3399", says="rk3399")

    def test_empty_names(self):
        for option in ("--image", "--output-dir", "--dump-tensors", "--labels", "--model-info"):
            self.fails(2, "run", self.model, "--input", f"0={self.x}", option, "", says=option)

    def test_options_that_exclude_each_other(self):
        self.fails(2, "run", self.model, "--device", "cpu", "--no-fallback", "--input", f"0={self.x}")

    def test_missing_inputs_are_named(self):
        self.fails(2, "run", self.model, "--device", "cpu", says=["input 0 'x'", "int8", "[1,7,10,3]"])
        two = self.write("two.tflite", add_model())
        self.save("a.npy", np.zeros((1, 2, 3, 4), np.int8))
        outcome = self.fails(2, "run", two, "--device", "cpu", "--input", "0=a.npy", says="input 1 'a=b'")
        self.assertNotIn(b"'plain'", outcome.err)

    def test_inputs_given_twice_or_unknown(self):
        cpu = ("run", self.model, "--device", "cpu")
        self.fails(2, *cpu, "--input", f"0={self.x}", "--input", f"x={self.x}", says="twice")
        self.fails(2, *cpu, "--input", f"1={self.x}", says=["1=", "'x'"])
        self.fails(2, *cpu, "--input", f"y={self.x}", says="'x'")
        self.fails(2, *cpu, "--input", self.x, says="N=FILE.npy")
        self.fails(2, *cpu, "--input", f"={self.x}")

    def test_image_needs_an_image_input(self):
        two = self.write("two.tflite", add_model())
        picture = self.write("p.png", png(np.zeros((4, 4, 3))))
        self.fails(2, "run", two, "--device", "cpu", "--image", picture, says="exactly one")


class HostileFiles(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.write("m.tflite", conv_model())

    def test_model_paths(self):
        for command in (("run",), ("inspect",), ("compare",), ("compile", "-o", "out")):
            self.fails(1, *command, "no-such-file", says="no-such-file")
            self.fails(1, *command, str(self.dir), says=str(self.dir))
            self.fails(1, *command, "")
        os.mkfifo(self.dir / "pipe")
        self.fails(1, "inspect", "pipe", says="pipe")

    def test_files_that_are_something_else(self):
        for name, data, looks in (("a.tflite", b"", "empty"), ("b", png(np.zeros((2, 2, 3))), "PNG"),
                                  ("c", b"RKNN" + bytes(60), ".rknn"), ("d", b"\x08\x07" + bytes(70), "ONNX"),
                                  ("e", b"version https://git-lfs.github.com/spec/v1\n", "Git-LFS"),
                                  ("f", b'{"a": 1}', "JSON"), ("g", os.urandom(3) + bytes(100), "neither")):
            self.write(name, data)
            self.fails(1, "inspect", name, says=[name, looks])

    def test_truncated_models(self):
        data = conv_model()
        for size in (8, 9, 40, len(data) // 3, len(data) // 2, len(data) - 1):
            self.fails(1, "inspect", self.write("t.tflite", data[:size]))

    def test_arrays(self):
        cpu = ("run", self.model, "--device", "cpu", "--input")
        self.save("shape.npy", np.zeros((1, 10, 7, 3), np.int8))
        self.fails(1, *cpu, "0=shape.npy", says=["shape.npy", "[1,10,7,3]", "[1,7,10,3]"])
        self.save("type.npy", np.zeros((1, 7, 10, 3), np.uint8))
        self.fails(1, *cpu, "0=type.npy", says=["uint8", "int8"])
        self.save("real.npy", np.zeros((1, 7, 10, 3), np.float32))
        self.fails(1, *cpu, "0=real.npy", says="float32")
        self.write("broken.npy", b"\x93NUMPY\x01\x00\xff\xff{'descr'")
        self.fails(1, *cpu, "0=broken.npy", says="broken.npy")
        self.fails(1, *cpu, "0=missing.npy", says="missing.npy")
        self.fails(1, *cpu, f"0={self.dir}")

    def test_picture_info_and_labels(self):
        cpu = ("run", self.model, "--device", "cpu", "--image")
        self.fails(1, *cpu, "missing.png", says="missing.png")
        self.write("bad.png", b"\x89PNG\r\n\x1a\nrubbish")
        self.fails(1, *cpu, "bad.png", says="bad.png")
        self.write("ok.png", png(np.full((5, 9, 3), 80)))
        self.write("bad.json", b'{"labels": [')
        self.fails(1, *cpu, "ok.png", "--model-info", "bad.json", says="bad.json")
        self.write("odd.json", b'{"lables": []}')
        self.fails(1, *cpu, "ok.png", "--model-info", "odd.json", says="lables")
        self.fails(1, *cpu, "ok.png", "--model-info", "missing.json", says="missing.json")
        self.fails(1, *cpu, "ok.png", "--labels", "missing.txt", says="missing.txt")
        self.fails(2, *cpu, "ok.png", "--head", "yolo", says=["--head", "yolox", "ssd-postprocess", "none"])
        self.fails(1, *cpu, "ok.png", "--head", "ssd", says=["head 'ssd'", "[1, 7, 10, 9]", "[1, n, 4]"])

    def test_places_that_cannot_be_written(self):
        x = self.save("x.npy", np.zeros((1, 7, 10, 3), np.int8))
        cpu = ("run", self.model, "--device", "cpu", "--input", f"0={x}")
        self.write("file", b"")
        self.fails(1, *cpu, "--output-dir", "file", says="file")
        self.fails(1, *cpu, "--output-dir", "file/below", says="file/below")
        self.fails(1, *cpu, "--dump-tensors", "nowhere/d.npz", says="nowhere/d.npz")
        if os.path.exists("/dev/full"):
            with open("/dev/full", "wb") as full:
                outcome = self.peraxis(*cpu, "--json", stdout=full)
            self.assertEqual(outcome.code, 1)
            self.assertIn(b"stdout", outcome.err)


if __name__ == "__main__":
    unittest.main()

"""Names from files hold anything: commands to the terminal, line ends, no UTF-8 at all. None of it reaches stdout or
stderr as it is, whatever the command, whether it succeeds or fails; JSON stays JSON and keeps what is text."""
import json
import re
import unicodedata
import unittest

from harness import CliTest, ModelBuilder, np, png, schema

Builtin, Options = schema.BuiltinOperator, schema.BuiltinOptions
# Escape and C1 control sequences, line ends with a line of their own, a bell, bytes that are no UTF-8, an override of
# the direction of writing, a line separator, a tag.
HOSTILE = (b"n\x1b[2J\x1b]0;title\x07\r\nFORGED line\nperaxis: error: FORGED\xc2\x9b31m\xc2\x85\xff\xfe\x80\x9b\xe2\x80\xae"
           b"\xe2\x80\xa8\xf3\xa0\x80\x81\x7f\t'\"<b>&\\")
READABLE = HOSTILE.decode("utf-8", "replace")


def named(number):
    return HOSTILE + b"%d" % number


def model(unsupported=False, size=(6, 5)):
    """A convolution, a SOFTMAX, a GATHER (the CPU's) and a convolution, every name a hostile one."""
    m = ModelBuilder()
    h, w = size
    rng = np.random.default_rng(5)

    def conv(source, number, channels):
        kernel = rng.integers(-127, 128, (channels, 1, 1, channels), dtype=np.int8)
        out = m.conv(source, "name", kernel, [0.01] * channels, np.zeros(channels, np.int32), (1, h, w, channels), 0.5, 0)
        for i in range(out - 2, out + 1):
            m.graph.tensors[i].name = named(100 * number + i)
        return out

    x = m.tensor(named(0), (1, h, w, 3), scale=[1 / 255], zero_point=[-128])
    y = conv(x, 1, 3)
    if unsupported:
        out = m.tensor(named(7), (1, h, w, 3), scale=[0.5])
        m.op(Builtin.CUSTOM, [y], [out], Options.NONE, None)
        m.model.operatorCodes[-1].customCode = HOSTILE
        y = out
    indices = m.tensor(named(8), (3,), schema.TensorType.INT32, scale=(), zero_point=(), data=np.arange(3, dtype=np.int32))
    gathered = m.tensor(named(9), (1, h, w, 3), scale=[0.5])
    options = schema.GatherOptionsT()
    options.axis = 3
    m.op(Builtin.GATHER, [y, indices], [gathered], Options.GatherOptions, options)
    z = conv(gathered, 2, 3)
    soft = m.tensor(named(10), (1, h, w, 3), scale=[1 / 256], zero_point=[-128])
    options = schema.SoftmaxOptionsT()
    options.beta = 1.0
    m.op(Builtin.SOFTMAX, [z], [soft], Options.SoftmaxOptions, options)
    return m.bytes([x], [soft])


def leaves(node):
    """(key, value) of every value below an object of a JSON document."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(value, (dict, list)):
            yield from leaves(value)
        else:
            yield key, value


class ForeignText(CliTest):
    def clean(self, data, what):
        """UTF-8 without control, format and separator characters but for line ends, no line begun by a name."""
        text = data.decode("utf-8")
        hidden = {c for c in set(text) - {"\n"} if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")}
        self.assertEqual(hidden, set(), what)
        for line in text.split("\n"):
            self.assertIsNone(re.match(r"\W*FORGED|peraxis: error: FORGED", line), f"{what}: {line!r}")
        return text

    def runs(self, *args, code=0, shows=None):
        outcome = self.peraxis(*args)
        self.assertEqual(outcome.code, code, f"{args}: {outcome.err}")
        text = self.clean(outcome.out, args) + self.clean(outcome.err, args)
        if shows is not None:
            self.assertIn(shows, text, args)
        return outcome

    def test_commands(self):
        path = self.write("m.tflite", model())
        x = np.random.default_rng(1).integers(-128, 128, (1, 6, 5, 3), dtype=np.int8)
        self.save("x.npy", x)
        shows = "n\\x1b[2J"
        self.runs("inspect", path, shows=shows)
        self.runs("ops", path)
        self.runs("plan", path, shows=shows)
        self.runs("plan", path, "--input", "0=x.npy", "--all-strategies")
        self.runs("compile", path, "-o", "m.pax", shows=shows)
        self.runs("compile", path, "-o", "s.pax", "--strategy", "max-scale", "--convolutions-only")
        self.runs("run", path, "--input", "0=x.npy", "--output-dir", "o", shows=shows)
        self.runs("run", path, "--device", "cpu", "--input", "0=x.npy")
        self.runs("compare", path, "--input", "0=x.npy", shows=shows)
        self.runs("inspect", "m.pax", shows=shows)
        self.runs("run", "m.pax", "--input", "0=x.npy", shows=shows)
        self.runs("decode", "m.pax")
        self.runs("diff", "m.pax", "s.pax", code=1)  # they differ

    def test_json_stays_json_and_means_the_same(self):
        path = self.write("m.tflite", model())
        self.save("x.npy", np.zeros((1, 6, 5, 3), np.int8))
        for command in (["inspect", path], ["ops", path], ["plan", path], ["compile", path, "-o", "m.pax"],
                        ["run", path, "--input", "0=x.npy"], ["compare", path, "--input", "0=x.npy"],
                        ["inspect", "m.pax"], ["run", "m.pax", "--input", "0=x.npy"], ["decode", "m.pax"]):
            report = json.loads(self.runs(*command, "--json").out)
            if command[0] in ("inspect", "run") and command[1] == path:
                names = [t["name"] for t in report["outputs"]]
                self.assertEqual(names, [READABLE + "10"], command)

    def test_errors(self):
        path = self.write("m.tflite", model())
        self.save("x.npy", np.zeros((1, 6, 5, 4), np.int8))
        self.save("y.npy", np.zeros((1, 6, 5, 3), np.float32))
        shows = "n\\x1b[2J"
        self.runs("run", path, "--input", "0=x.npy", code=1, shows=shows)
        self.runs("run", path, "--input", "0=y.npy", code=1, shows=shows)
        self.runs("compile", path, "-o", "m.pax", "--no-fallback", code=1, shows=shows)
        path = self.write("u.tflite", model(unsupported=True))
        for command in (["inspect", path], ["ops", path], ["plan", path], ["compile", path, "-o", "u.pax"]):
            outcome = self.peraxis(*command)
            text = self.clean(outcome.out, command) + self.clean(outcome.err, command)
            self.assertIn(shows, text, command)

    def test_names_of_files_and_arguments(self):
        name = "d\x1b[2J\nFORGED.tflite"
        (self.dir / name).write_bytes(model())
        self.runs("inspect", name, shows="d\\x1b[2J")
        self.runs("inspect", name + "x", code=1, shows="d\\x1b[2J")
        outcome = self.peraxis("inspect", "--\x1b[2J")
        self.assertEqual(outcome.code, 2)
        self.assertNotIn(b"\x1b", outcome.err)
        broken = self.write("broken.tflite", b"\x1b[2J\nFORGED")
        self.runs("inspect", broken, code=1)

    def test_labels(self):
        """A classifier whose labels are hostile: in text, in JSON, in the picture."""
        path = self.write("m.tflite", model(size=(1, 1)))
        labels = [HOSTILE.replace(b"\n", b" ").replace(b"\r", b" ").decode("utf-8", "replace") + str(i) for i in range(3)]
        self.write("labels.txt", "\n".join(labels).encode())
        self.write("p.png", png(np.full((1, 1, 3), 200, np.uint8)))
        self.runs("run", path, "--image", "p.png", "--labels", "labels.txt", "--output-dir", "o", shows="n\\x1b[2J")
        report = json.loads(self.runs("run", path, "--image", "p.png", "--labels", "labels.txt", "--json").out)
        found = [value for key, value in leaves(report) if key == "label"]
        self.assertEqual(len(found), 3)
        self.assertLessEqual({text[:12] for text in found}, {text[:12] for text in labels})


if __name__ == "__main__":
    unittest.main()

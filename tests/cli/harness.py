"""Runs the peraxis binary in a directory of its own and makes the small models the tests feed it.

The models are built with the schema classes of ai-edge-litert, so nothing of peraxis made them. The files are
unittest programs; ctest calls them with PERAXIS_BINARY set, and exit code 77 means skipped.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import flatbuffers
    import numpy as np
    from ai_edge_litert import schema_py_generated as schema
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

BINARY = os.environ.get("PERAXIS_BINARY") or str(
    pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "peraxis")
if not os.access(BINARY, os.X_OK):
    print(f"skipped: no binary at {BINARY}; set PERAXIS_BINARY")
    sys.exit(77)


class Outcome:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self):
        return json.loads(self.out.decode("utf-8"))


class CliTest(unittest.TestCase):
    def setUp(self):
        self._dir = tempfile.TemporaryDirectory()
        self.addCleanup(self._dir.cleanup)
        self.dir = pathlib.Path(self._dir.name)

    def peraxis(self, *args, stdout=subprocess.PIPE):
        done = subprocess.run([BINARY, *map(os.fsencode, args)], cwd=self.dir, stdout=stdout, stderr=subprocess.PIPE,
                              timeout=300, check=False)
        self.assertGreaterEqual(done.returncode, 0, f"died of a signal: {args}\n{done.stderr}")
        return Outcome(done)

    def succeeds(self, *args):
        outcome = self.peraxis(*args)
        self.assertEqual(outcome.code, 0, f"{args}: {outcome.err.decode(errors='replace')}")
        return outcome

    def fails(self, code, *args, says=()):
        """Exit code, nothing on stdout, and an error that holds every text of `says`."""
        outcome = self.peraxis(*args)
        text = outcome.err.decode(errors="replace")
        self.assertEqual(outcome.code, code, f"{args}: {text}")
        self.assertEqual(outcome.out, b"", f"{args}: stdout must stay empty")
        self.assertIn("peraxis: error: ", text)
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, text)
        return outcome

    def write(self, name, data):
        path = self.dir / name
        path.write_bytes(data)
        return str(path)

    def save(self, name, array):
        path = self.dir / name
        np.save(path, array)
        return str(path)


class ModelBuilder:
    """A TFLite model, tensor by tensor."""

    def __init__(self):
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.buffers = [schema.BufferT()]
        self.model.operatorCodes = []
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators = [], []
        self.model.subgraphs = [self.graph]

    def tensor(self, name, shape, dtype=schema.TensorType.INT8, scale=(0.5,), zero_point=(0,), axis=0, data=None):
        t = schema.TensorT()
        t.name, t.shape, t.type = name, list(shape), dtype
        t.quantization = schema.QuantizationParametersT()
        t.quantization.scale, t.quantization.zeroPoint = list(scale), list(zero_point)
        t.quantization.quantizedDimension = axis
        t.buffer = 0
        if data is not None:
            b = schema.BufferT()
            b.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            self.model.buffers.append(b)
            t.buffer = len(self.model.buffers) - 1
        self.graph.tensors.append(t)
        return len(self.graph.tensors) - 1

    def op(self, code, inputs, outputs, options_type, options):
        operator_code = schema.OperatorCodeT()
        operator_code.builtinCode = code
        operator_code.deprecatedBuiltinCode = min(code, 127)
        operator_code.version = 1
        self.model.operatorCodes.append(operator_code)
        o = schema.OperatorT()
        o.opcodeIndex = len(self.model.operatorCodes) - 1
        o.inputs, o.outputs = list(inputs), list(outputs)
        o.builtinOptionsType, o.builtinOptions = options_type, options
        self.graph.operators.append(o)

    def conv(self, source, name, weights, scales, bias, out_shape, out_scale, out_zero_point, stride=1):
        w = self.tensor(name + "/w", weights.shape, scale=scales, zero_point=[0] * len(scales), data=weights)
        b = self.tensor(name + "/b", bias.shape, schema.TensorType.INT32, scale=[s * 0.5 for s in scales],
                        zero_point=[0] * len(scales), data=bias)
        out = self.tensor(name, out_shape, scale=[out_scale], zero_point=[out_zero_point])
        options = schema.Conv2DOptionsT()
        options.padding = schema.Padding.SAME
        options.strideH = options.strideW = stride
        options.dilationHFactor = options.dilationWFactor = 1
        self.op(schema.BuiltinOperator.CONV_2D, [source, w, b], [out], schema.BuiltinOptions.Conv2DOptions, options)
        return out

    def add(self, a, b, name, shape, scale, zero_point):
        out = self.tensor(name, shape, scale=[scale], zero_point=[zero_point])
        self.op(schema.BuiltinOperator.ADD, [a, b], [out], schema.BuiltinOptions.AddOptions, schema.AddOptionsT())
        return out

    def bytes(self, inputs, outputs):
        self.graph.inputs, self.graph.outputs = inputs, outputs
        builder = flatbuffers.Builder(4096)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def conv_model(seed=1, channels=(3, 17, 9), size=(7, 10), name="x"):
    """Two per-axis convolutions, 3x3 then 1x1; one channel of the first is all zero."""
    rng = np.random.default_rng(seed)
    (h, w), (c0, c1, c2) = size, channels
    m = ModelBuilder()
    x = m.tensor(name, (1, h, w, c0), scale=[1 / 255], zero_point=[-128])
    weights = rng.integers(-127, 128, (c1, 3, 3, c0), dtype=np.int8)
    weights[2] = 0
    scales = (rng.uniform(0.001, 0.02, c1)).astype(np.float32)
    scales[2] = 1e-9
    y = m.conv(x, "first", weights, scales.tolist(), rng.integers(-500, 500, c1, dtype=np.int32), (1, h, w, c1),
               0.06, -20)
    weights = rng.integers(-127, 128, (c2, 1, 1, c1), dtype=np.int8)
    scales = rng.uniform(0.001, 0.02, c2).astype(np.float32)
    z = m.conv(y, "second", weights, scales.tolist(), rng.integers(-500, 500, c2, dtype=np.int32), (1, h, w, c2),
               0.4, 5)
    return m.bytes([x], [z])


def add_model(names=("plain", "a=b")):
    """Two inputs of equal shape, so that only the names tell them apart. Scales make it 2 * first - like."""
    m = ModelBuilder()
    a = m.tensor(names[0], (1, 2, 3, 4), scale=[0.5])
    b = m.tensor(names[1], (1, 2, 3, 4), scale=[0.25])
    out = m.add(a, b, "sum", (1, 2, 3, 4), 1.0, 3)
    return m.bytes([a, b], [out])


def litert(model, inputs):
    """Outputs of LiteRT's reference kernels."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    interpreter = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), inputs):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def png(pixels):
    """An RGB array [h, w, 3] as PNG bytes."""
    import struct
    import zlib
    height, width, _ = pixels.shape

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels.astype(np.uint8))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

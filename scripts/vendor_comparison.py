#!/usr/bin/env python3
"""Writes docs/vendor-comparison.md: tasks, MAC cycles and bytes of our `fast` plans beside the vendor compiler's.

    scripts/vendor_comparison.py [--binary build/release/peraxis] [--shared ../shared] [--output docs/vendor-comparison.md]

For every convolution shape of the collected vendor facts (vendor/tiling.csv.gz, vendor/cycles.csv.gz) a TFLite model
with one per-axis int8 operator and random weights is built, planned and compiled. Bytes are counted from the command
words, ours and theirs, by the same code; ours must add up to what `peraxis plan` says. Needs numpy, flatbuffers and
ai_edge_litert's schema classes; run it with .venv/bin/python.
"""
import collections
import csv
import dataclasses
import functools
import gzip
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from accuracy import page_options, write_page

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))
import command_words  # noqa: E402  (both live beside the tests)
from command_words import field  # noqa: E402
from model_builder import ACTIVATIONS, Builtin, ModelBuilder  # noqa: E402
from vendor_comparison_page import page  # noqa: E402

BANK_BYTES = 32768
RECORD_BYTES = 8  # a channel's share of a 64-byte operand record of 8 channels
VENDOR_TAIL = 4  # closing words of a vendor block, not in its amount
# The vendor's DDR estimate: bytes a cycle. Within one cycle right for nearly all its layers, as the page counts.
VENDOR_BYTES_A_CYCLE = 23.654
SCALE_RATIO = 16  # largest over smallest weight scale of our models
NETWORKS = ("y5s_relu", "yolo2_relu")


def up(x, unit):
    return -(-x // unit) * unit


@dataclasses.dataclass(frozen=True)
class Shape:
    h: int
    w: int
    ic: int
    oc: int
    kh: int
    kw: int
    stride: int
    depthwise: bool

    @property
    def out(self):
        return -(-self.h // self.stride), -(-self.w // self.stride)

    @property
    def group(self):
        return 64 if self.depthwise else 32

    def mac_cycles(self, pixels=None):
        """The vendor's formula, for the whole layer or for the pixels of one tile."""
        pixels = up(pixels or self.out[0] * self.out[1], 16)
        if self.depthwise:
            return pixels * self.kh * self.kw * (up(self.oc, 64) // 64)
        return pixels * (up(self.oc, 32) // 32) * max(self.kh * self.kw * (up(self.ic, 32) // 32), 4)

    def __str__(self):
        kind = "dw " if self.depthwise else ""
        return f"{self.h}x{self.w}x{self.ic} -> {self.oc}, {kind}{self.kh}x{self.kw}/{self.stride}"


@dataclasses.dataclass
class Program:
    """The tasks of one layer, ours or the vendor's, and the bytes they move without their own command words."""
    tasks: int = 0
    pixels: list = dataclasses.field(default_factory=list)  # of the output, a task
    input: int = 0
    weights: int = 0
    operands: int = 0
    output: int = 0
    words: int = 0
    kernel_pixels: int = 0  # programmed kernels times output pixels
    reads_of_weights: int = 0  # tasks that fetch weights
    data_banks: int = 0
    fill: float = 0  # banks that the largest tile's features take
    packed: bool = False  # the packed first-layer mode
    strategy: str = ""
    sets: int = 1
    planned_cycles: int = 0

    @property
    def bytes(self):
        return self.input + self.weights + self.operands + self.output

    def add(self, rows, pixels, input_bytes, weights, reuse, kernels, channels, operand_bytes, banks, row_entries):
        self.tasks += 1
        self.pixels.append(pixels)
        self.input += input_bytes
        self.weights += 0 if reuse else weights
        self.reads_of_weights += not reuse
        self.kernel_pixels += kernels * pixels
        self.operands += operand_bytes
        self.output += pixels * channels
        self.data_banks = banks
        self.fill = max(self.fill, rows * row_entries * 64 / BANK_BYTES)

    def cycles(self, shape):
        """Counted tile by tile. Where channels are cut too, the parts share the layer's cycles."""
        parts = sum(self.pixels) // (shape.out[0] * shape.out[1])
        return sum(map(shape.mac_cycles, self.pixels)) // parts

    def kernels(self, shape):
        return self.kernel_pixels // (shape.out[0] * shape.out[1])

    def fills_all_banks(self):
        return math.ceil(self.fill) == self.data_banks


# -- the vendor's side ------------------------------------------------------------------------------------------
def read_csv(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def vendor_tilings(shared):
    """{Shape: Program} of the one-core task lists: CONV_CON2's core field, bits 31:28, is 0 there."""
    found = {}
    for row in read_csv(shared / "vendor" / "tiling.csv.gz"):
        if int(row["con2"], 16) >> 28:
            continue
        n = {key: int(row[key]) for key in row if not row[key].startswith("0x")}
        shape = Shape(n["h"], n["w"], n["ic"], n["oc"], n["k"], n["k"], n["s"], n["groups"] > 1)
        program = found.setdefault(shape, Program())
        program.packed = int(row["con1"], 16) >> 12 & 15 != 0
        # The writer's channels are not in the table; vendor streams program whole groups (vendor_writers counts).
        channels = up(n["in_c"] if shape.depthwise else n["kernels"], shape.group)
        entries = n["in_w"] * 16 / 64 if program.packed else n["entries"]
        program.add(n["in_h"], n["out_w"] * n["out_h"], n["in_w"] * n["in_h"] * (shape.ic if program.packed else n["in_c"]),
                    n["weight_bytes"], n["reuse"], n["kernels"], channels, channels * RECORD_BYTES, n["data_bank"], entries)
        program.words += 8 * (n["amount"] + VENDOR_TAIL)
    for shape, program in found.items():
        expected = shape.out[0] * shape.out[1] * up(shape.oc, shape.group)
        if program.output != expected:
            sys.exit(f"{shape}: the one-core tasks write {program.output} bytes, the layer has {expected}")
    return found


def vendor_writers(shared):
    """(convolution blocks of the collected streams, those whose writer takes whole groups of 32 or 64 channels)."""
    blocks = whole = 0
    for path in sorted([*(shared / "vendor" / "cases").glob("*.gz"), *(shared / "vendor" / "nets").glob("*.gz")]):
        with gzip.open(path) as file:
            tasks = json.load(file)["tasks"]
        for task in tasks:
            registers = command_words.written([int(word, 16) for word in task["regcmd"].split()])
            try:
                mode, channels = (field(registers, name) for name in ("CNA.CONV_CON1.CONV_MODE", "DPU.WDMA_SIZE_0.CHANNEL_WDMA"))
            except KeyError:  # no convolution, or a short block that inherits both
                continue
            blocks += 1
            whole += channels % (64 if mode == 3 else 32) == 0
    return blocks, whole


@dataclasses.dataclass
class Estimate:
    """What the vendor's compiler prints for a layer."""
    npu_cycles: int
    ddr_cycles: int
    read_kb: int
    addend: int  # bytes of an operand added in the same task; not part of the convolution
    cases: list

    @property
    def bytes(self):
        return round(self.ddr_cycles * VENDOR_BYTES_A_CYCLE) - self.addend


def dimensions(text):
    return [tuple(int(n) for n in part.split(",")) for part in re.findall(r"\(([\d,]+)\)", text)]


def vendor_estimates(shared):
    """{Shape: Estimate}, the networks' layers as [(case, Shape, Estimate)], and how many rows were left out and why."""
    found, layers, left_out = {}, [], collections.Counter()
    for row in read_csv(shared / "vendor" / "cycles.csv.gz"):
        if not row["op"].startswith("Conv"):
            left_out["other operators"] += 1
        elif row["op"] == "ConvTranspose":
            left_out["transposed convolutions"] += 1
        elif not re.search(r":n\d+_(Conv|Gemm)", row["name"]):
            left_out["convolutions that the compiler made of other operators"] += 1
        elif row["case"].endswith("_layer"):
            left_out["convolutions quantized per tensor (their shapes are there per channel)"] += 1
        else:
            x, weights = dimensions(row["in_shapes"])[:2]
            out = dimensions(row["out_shape"])[0]
            depthwise = weights[:2] == (1, x[1]) and x[1] > 1
            shape = Shape(x[2], x[3], x[1], out[1], weights[2], weights[3], round(x[2] / out[2]), depthwise)
            if shape.out != out[2:]:
                sys.exit(f"{row['case']} {row['id']}: {x} to {out} is no SAME convolution")
            addend = out[2] * out[3] * up(out[1], 16) if row["op"].endswith("Add") else 0
            estimate = Estimate(int(row["npu_cycles"]), int(row["ddr_cycles"]), int(row["rw_kb"]), addend, [row["case"]])
            layers.append((row["case"], shape, estimate))
            known = found.get(shape)
            if known is None or estimate.bytes < known.bytes:  # the smallest figure the compiler gives for the shape
                found[shape] = dataclasses.replace(estimate, cases=known.cases + estimate.cases if known else estimate.cases)
            else:
                known.cases += estimate.cases
    return found, layers, left_out


def vendor_parts(shape):
    """The bytes a layer has by its tensors: every value moved once, as vendor streams program them."""
    program = Program(tasks=1, reads_of_weights=1, packed=shape.ic == 3 and not shape.depthwise)
    program.input = shape.h * shape.w * (3 if program.packed else up(shape.ic, 16))
    kernels = 1 if shape.depthwise else up(shape.oc, 2)
    program.kernel_pixels = kernels * shape.out[0] * shape.out[1]
    program.weights = shape.kh * shape.kw * up(shape.ic, 16) * kernels
    program.operands = up(shape.oc, shape.group) * RECORD_BYTES
    program.output = shape.out[0] * shape.out[1] * up(shape.oc, shape.group)
    return program


@dataclasses.dataclass(eq=False)
class Pair:
    shape: Shape
    ours: Program
    theirs: Program
    parts: dict  # letter: bytes
    estimate: Estimate = None

    @property
    def read_kb(self):
        return self.estimate.read_kb - self.estimate.addend // 1024

    @property
    def their_bytes(self):
        return self.estimate.bytes if self.estimate else self.theirs.bytes

    @property
    def their_cycles(self):
        return self.estimate.npu_cycles if self.estimate else self.shape.mac_cycles()

    def total_cycles(self):
        """(ours, theirs) as the vendor's compiler estimates them: the slower of multiplying and moving. Its own
        estimates know no command words."""
        with_words = [program.bytes + (0 if self.estimate else program.words) for program in (self.ours, self.theirs)]
        if self.estimate:
            with_words[1] = self.their_bytes
        return [max(cycles, math.ceil(moved / VENDOR_BYTES_A_CYCLE))
                for cycles, moved in zip((self.ours.planned_cycles, self.their_cycles), with_words)]


# -- our side ---------------------------------------------------------------------------------------------------
def model(shape):
    """One per-axis int8 convolution with SAME padding; the sums of most channels stay inside the type."""
    rng = np.random.default_rng(1)
    build = ModelBuilder(rng)
    source = build.map((1, shape.h, shape.w, shape.ic), 1 / 32, 3, np.int8)
    build.inputs.append(source)
    spread = 74 * 74 * math.sqrt(shape.kh * shape.kw * (1 if shape.depthwise else shape.ic))
    dimension = (1, shape.kh, shape.kw, shape.oc) if shape.depthwise else (shape.oc, shape.kh, shape.kw, shape.ic)
    scales = np.exp(rng.uniform(-math.log(SCALE_RATIO), 0, shape.oc)).astype(np.float32)
    zeros, axis = [0] * shape.oc, 3 if shape.depthwise else 0
    weights = build.tensor(dimension, np.int8, scales, zeros, axis, rng.integers(-127, 128, dimension))
    bias = build.tensor((shape.oc,), np.int32, scales * np.float32(source.scale), zeros, 0,
                        rng.normal(0, 0.3 * spread, shape.oc).astype(np.int32))
    out = build.map((1, *shape.out, shape.oc), spread * source.scale / 100, -5, np.int8)
    common = {"padding": 0, "strideH": shape.stride, "strideW": shape.stride, "dilationHFactor": 1, "dilationWFactor": 1,
              "fusedActivationFunction": ACTIVATIONS["none"]}
    if shape.depthwise:
        build.operator(Builtin.DEPTHWISE_CONV_2D, [source, weights, bias], [out], "", "DepthwiseConv2DOptions", depthMultiplier=1, **common)
    else:
        build.operator(Builtin.CONV_2D, [source, weights, bias], [out], "", "Conv2DOptions", **common)
    return build.bytes()


class Ours:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.known = binary, pathlib.Path(folder), {}

    def run(self, *arguments):
        done = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def program(self, shape):
        if shape not in self.known:
            self.known[shape] = self.measure(shape)
        return self.known[shape]

    def measure(self, shape):
        source, file = self.folder / "m.tflite", self.folder / "m.pax"
        source.write_bytes(model(shape))
        plan = json.loads(self.run("plan", source, "--json"))["layers"][0]
        if plan["device"] != "npu":
            sys.exit(f"{shape} runs on the CPU: {plan['reason']}")
        self.run("compile", source, "-o", file)
        program = Program(strategy=plan["strategy"], sets=plan["sets"], planned_cycles=plan["mac_cycles"])
        for entry, task in command_words.tasks(file.read_bytes(), json.loads(self.run("inspect", file, "--json"))):
            get = functools.partial(field, task)
            rows, channels = get("CNA.DATA_SIZE0.DATAIN_HEIGHT"), get("DPU.WDMA_SIZE_0.CHANNEL_WDMA")
            records = get("DPU_RDMA.BRDMA_CFG.BRDMA_DATA_USE")
            columns, mode = get("CNA.DATA_SIZE0.DATAIN_WIDTH"), get("CNA.CONV_CON1.ARGB_IN")
            program.packed = mode != 0
            pixel = mode - 7 if program.packed else get("CNA.DATA_SIZE1.DATAIN_CHANNEL")
            program.add(rows, get("DPU.WDMA_SIZE_1.WIDTH_WDMA") * get("DPU.WDMA_SIZE_1.HEIGHT_WDMA"),
                        columns * rows * pixel,
                        get("CNA.WEIGHT_SIZE0.WEIGHT_BYTES"), get("CNA.CBUF_CON0.WEIGHT_REUSE"),
                        get("CNA.WEIGHT_SIZE2.WEIGHT_KERNELS"), channels, {7: RECORD_BYTES, 1: 4}.get(records, 0) * channels,
                        get("CNA.CBUF_CON0.DATA_BANK"),
                        columns * 16 / 64 if program.packed else get("CNA.CBUF_CON1.DATA_ENTRIES"))
            program.words += 8 * entry["words"]
        if (program.tasks, program.bytes + program.words) != (plan["tasks"], plan["bytes"]):
            sys.exit(f"{shape}: the words of {program.tasks} tasks move {program.bytes + program.words} bytes, "
                     f"`plan` says {plan['tasks']} tasks and {plan['bytes']} bytes")
        if program.cycles(shape) != plan["mac_cycles"]:
            sys.exit(f"{shape}: {program.cycles(shape)} MAC cycles by the tiles, `plan` says {plan['mac_cycles']}")
        return program


# -- the difference ---------------------------------------------------------------------------------------------
def byte_differences(shape, ours, theirs, estimate=None):
    """{letter: bytes} that add up to ours minus theirs; vendor_comparison_page.REASONS says what the letters mean."""
    found = collections.Counter()
    rows = ours.input - theirs.input
    if theirs.packed and not ours.packed:
        found["A"] = theirs.input // shape.ic * 16 - theirs.input
        rows -= found["A"]
    more_kernels = ours.kernels(shape) - theirs.kernels(shape)
    if more_kernels > 0:
        found["K"] = shape.kh * shape.kw * up(shape.ic, 16) * more_kernels * theirs.reads_of_weights
    weights, operands = ours.weights - theirs.weights - found["K"], ours.operands - theirs.operands
    if estimate:
        found["T"] = rows + weights + operands
        found["E"] = theirs.bytes - estimate.bytes
    else:
        spare = ours.tasks > theirs.tasks and not ours.fills_all_banks() and theirs.fills_all_banks()
        found["B" if spare else "H"] = rows
        # Both read the weights with every tile, or only we do.
        found["W" if theirs.reads_of_weights == theirs.tasks > 1 else "S"] = weights
        found["O"] = operands
    return {letter: amount for letter, amount in found.items() if amount}


def main():
    options = page_options(__doc__, "docs/vendor-comparison.md")
    shared = pathlib.Path(options.shared)
    with tempfile.TemporaryDirectory() as folder:
        mine = Ours(options.binary, folder)
        tilings = [Pair(shape, mine.program(shape), theirs, byte_differences(shape, mine.program(shape), theirs))
                   for shape, theirs in vendor_tilings(shared).items()]
        estimates, layers, left_out = vendor_estimates(shared)
        single = [Pair(shape, mine.program(shape), vendor_parts(shape),
                       byte_differences(shape, mine.program(shape), vendor_parts(shape), estimate), estimate)
                  for shape, estimate in estimates.items()]
        known = {pair.shape: pair for pair in single}
        networks = {case: [(known[shape], estimate) for name, shape, estimate in layers if name == case] for case in NETWORKS}
        deep = mine.program(Shape(20, 20, 512, 512, 3, 3, 1, False))
    text = page(tilings, single, networks, deep, left_out, vendor_writers(shared))
    write_page(options.output, text)


if __name__ == "__main__":
    main()

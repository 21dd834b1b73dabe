#!/usr/bin/env python3
"""Writes the seeds of fuzz/corpus/<target>/: small, valid inputs for the fuzzers to start from.

Run it from the top of the repository after a format changed; needs flatc (flatbuffers-compiler).
"""
import io
import json
import pathlib
import shutil
import struct
import subprocess
import tempfile
import zipfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz" / "corpus"
MASK = 2**64 - 1
P1, P2, P3, P4, P5 = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
                      2870177450012600261)


def rotate(x, n):
    return (x << n | x >> (64 - n)) & MASK


def lane(accumulator, word):
    return rotate((accumulator + word * P2) & MASK, 31) * P1 & MASK


def xxh64(data):
    """XXH64 with seed 0, as the xxHash specification writes it down."""
    at, h = 0, P5
    if len(data) >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while len(data) - at >= 32:
            lanes = [lane(v, w) for v, w in zip(lanes, struct.unpack_from("<4Q", data, at))]
            at += 32
        h = sum(rotate(v, n) for v, n in zip(lanes, (1, 7, 12, 18))) & MASK
        for v in lanes:
            h = ((h ^ lane(0, v)) * P1 + P4) & MASK
    h = (h + len(data)) & MASK
    while len(data) - at >= 8:
        h = (rotate(h ^ lane(0, struct.unpack_from("<Q", data, at)[0]), 27) * P1 + P4) & MASK
        at += 8
    if len(data) - at >= 4:
        h = (rotate(h ^ struct.unpack_from("<I", data, at)[0] * P1 & MASK, 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * P5 & MASK, 11) * P1 & MASK
    h = (h ^ h >> 33) * P2 & MASK
    h = (h ^ h >> 29) * P3 & MASK
    return h ^ h >> 32


def part(data):
    return {"data": list(data), "checksum": xxh64(data)}


def cube(buffer, offset, h, w, channels, element_bytes):
    return {"buffer": buffer, "offset": offset, "h": h, "w": w, "channels": channels,
            "element_bytes": element_bytes}


def executables():
    """Contents of executables, as JSON for flatc."""
    texts = dict(target="rk3588", compiler="peraxis", model="m", accuracy="fast", reference="litert-ref",
                 strategy="auto", graph="graph")
    lists = ("constants", "buffers", "relocations", "tasks", "placements", "host_steps", "steps", "layers")
    empty = {**texts, **{name: [] for name in lists}}
    empty["buffers"] = [{"name": "commands", "kind": "Commands", "size": 0, **part(b"")}]
    yield "empty", empty

    full = {**empty, "model_hash": 5}
    full["constants"] = [{"tensor": 3, **part(b"abc")}]
    full["buffers"] = [
        {"name": "commands", "kind": "Commands", "size": 64, **part(bytes(range(64)))},
        {"name": "weights", "kind": "Constants", "size": 48, **part(bytes(48))},
        {"name": "maps", "kind": "Activations", "size": 4096, "checksum": xxh64(b"")},
    ]
    full["relocations"] = [{"word": 1, "buffer": 1, "addend": 16}, {"word": 2, "buffer": 2, "addend": 0}]
    full["tasks"] = [dict(first_word=4 * i, words=4, op=0, first_row=i, rows=1, real_input_channels=3,
                          real_output_channels=2, set=0, kind="Direct") for i in range(2)]
    full["placements"] = [dict(cube=cube(2, 0, 2, 3, 16, 1), c=2, tensor=1, zero_point=-3, is_uint8=True)]
    channels = [dict(addend=7, multiplier=0.5, region=0, slot=c, sum_slot=-1, sum_factor=0,
                     mantissa=1 << 30, exponent=-3) for c in range(2)]
    full["host_steps"] = [
        dict(op=0, regions=[cube(2, 512, 2, 3, 8, 4)], channels=channels, rounding="Two", zero_point=0, low=-128, high=127),
        dict(op=0, regions=[cube(2, 1024, 2, 3, 16, 1)], channels=channels, rounding="Two", zero_point=0, low=-128, high=127)]
    blank = dict(op=-1, placement=-1, first_task=0, task_count=0, host_step=-1)
    full["steps"] = [{**blank, "kind": "Cpu", "op": 0}, {**blank, "kind": "Upload", "placement": 0},
                     {**blank, "kind": "Job", "task_count": 2},
                     {**blank, "kind": "Requantize", "placement": 0, "host_step": 0},
                     {**blank, "kind": "Gather", "placement": 0, "host_step": 1},
                     {**blank, "kind": "Correct", "placement": 0, "host_step": 1},
                     {**blank, "kind": "Download", "placement": 0}]
    full["layers"] = [dict(op=0, device="npu", strategy="max-scale", reason="", tasks=2, macs=9)]
    yield "full", full
    picture = dict(cube=cube(2, 2048, 2, 5, 3, 1), c=3, tensor=1, zero_point=-3, is_uint8=True)
    yield "packed", {**full, "placements": [*full["placements"], picture],
                     "packed_placements": [dict(pitch=16, placement=1)],
                     "steps": [*full["steps"], {**blank, "kind": "Upload", "placement": 1}]}
    # Reasons of operators, which a file may share; a Cpu step that reads a cube.
    yield "records", {**full, "accuracy": "exact", "reference": "single-rounding", "strategy": "hybrid",
                      "operators": [dict(op=op, device="cpu", reason="why") for op in (1, 2)],
                      "layers": [*full["layers"], dict(op=3, device="cpu", strategy="", reason="why", tasks=0, macs=0)],
                      "step_operands": [dict(step=0, inputs=[0, -1], outputs=[-1])]}


def make_executable_seeds(folder):
    with tempfile.TemporaryDirectory() as work:
        for name, content in executables():
            source = pathlib.Path(work) / f"{name}.json"
            source.write_text(json.dumps(content))
            # --force-defaults: structs and tables as our writer lays them out
            subprocess.run(["flatc", "--binary", "--force-defaults", "--root-type", "peraxis.exe.file.Content",
                            "-o", work, str(ROOT / "schemas" / "executable.fbs"), str(source)], check=True)
            made = next(p for p in pathlib.Path(work).glob(f"{name}.*") if p.suffix != ".json")
            shutil.copy(made, folder / f"{name}_content")
            made.unlink()


def convolution(buffers):
    """A TFLite file of one CONV_2D, as JSON for flatc."""
    quant = {"scale": [0.5], "zero_point": [0]}
    tensors = [dict(name="in", shape=[1, 4, 5, 2], type="INT8", buffer=0, quantization=quant),
               dict(name="weights", shape=[3, 1, 1, 2], type="INT8", buffer=1,
                    quantization={"scale": [0.1, 0.2, 0.3], "zero_point": [0, 0, 0]}),
               dict(name="bias", shape=[3], type="INT32", buffer=2),
               dict(name="out", shape=[1, 4, 5, 3], type="INT8", buffer=0, quantization=quant)]
    options = dict(padding="VALID", stride_w=1, stride_h=1, fused_activation_function="RELU")
    operator = dict(opcode_index=0, inputs=[0, 1, 2], outputs=[3], builtin_options_type="Conv2DOptions", builtin_options=options)
    return dict(version=3, operator_codes=[dict(deprecated_builtin_code=3, builtin_code="CONV_2D", version=3)],
                subgraphs=[dict(name="main", tensors=tensors, inputs=[0], outputs=[3], operators=[operator])],
                buffers=[{}, *buffers])


def make_model_seeds(folder):
    data = [bytes(range(1, 7)), struct.pack("<3i", 1, 2, -1)]
    with tempfile.TemporaryDirectory() as work:
        def tables(buffers):
            source = pathlib.Path(work) / "model.json"
            source.write_text(json.dumps(convolution(buffers)))
            subprocess.run(["flatc", "--binary", "-o", work, str(ROOT / "schemas" / "tflite.fbs"), str(source)], check=True)
            return (pathlib.Path(work) / "model.tflite").read_bytes()
        (folder / "inside.tflite").write_bytes(tables([{"data": list(part)} for part in data]))
        # The data behind the tables, then a zip's first bytes, as exporters put their metadata there.
        end = len(tables([{"offset": 1000000, "size": len(part)} for part in data]))
        buffers, behind = [], b""
        for part in data:
            behind += bytes(-(end + len(behind)) % 16)
            buffers.append({"offset": end + len(behind), "size": len(part)})
            behind += part
        (folder / "behind.tflite").write_bytes(tables(buffers) + behind + b"PK\3\4")


def captures():
    """Contents of captures, as JSON for flatc."""
    empty = dict(name="n", driver="d", target="rk3588", note="", buffers=[], tasks=[], jobs=[], submits=[], tensors=[])
    yield "empty", empty
    words = struct.pack("<3Q", 0x1001 << 48 | 9 << 16 | 0x4030, 0x41 << 48, 0x81 << 48 | 0x1D << 16 | 8)
    blob = {"size": len(words), "packed": False, **part(words)}
    packed = {"size": 64, "checksum": xxh64(bytes(64)), "packed": True, "data": list(zlib.compress(bytes(64)))}
    values = {"size": 6, "packed": False, **part(b"abcdef")}
    full = {**empty, "tasks": [dict(address=4096, words=3, core=0)],
            "jobs": [dict(first_task=0, task_count=1, in_handles=[2], out_handles=[2])],
            "submits": [dict(start_ns=5, end_ns=9, first_job=0, job_count=1)]}
    full["buffers"] = [dict(name="commands", role="commands", handle=1, address=4096, size=64, before=blob),
                       dict(name="data", role="input", handle=2, address=8192, size=96, before=packed, after=packed)]
    tensor = dict(buffer=1, offset=0, h=1, w=2, c=3, surface_bytes=32, pixel_channels=16, bias=0, padding=0, tolerance=1,
                  data=values)
    full["tensors"] = [{**tensor, "name": "in", "origin": "", "use": "Input"},
                       {**tensor, "name": "out", "origin": "o", "use": "Expected", "offset": 32}]
    yield "full", full


def make_capture_seeds(folder):
    with tempfile.TemporaryDirectory() as work:
        for name, content in captures():
            source = pathlib.Path(work) / f"{name}.json"
            source.write_text(json.dumps(content))
            subprocess.run(["flatc", "--binary", "--root-type", "peraxis.trace.file.Content", "-o", work,
                            str(ROOT / "schemas" / "capture.fbs"), str(source)], check=True)
            made = next(p for p in pathlib.Path(work).glob(f"{name}.*") if p.suffix != ".json")
            shutil.copy(made, folder / f"{name}_content")
            made.unlink()


def make_stream_seeds(folder):
    text = ("stream \"s\"\nCNA.CBUF_CON0 DATA_BANK=11 WEIGHT_BANK=1\nDPU.OUT_CVT_OFFSET OUT_CVT_OFFSET=-5\n"
            "raw 0x1001000000014ffc\nseparator\nenable CNA CORE DPU DPU_RDMA\nbytes 01 ff\n")
    (folder / "text").write_text(text)
    words = (0x0201 << 48 | 0xB1 << 16 | 0x1040, 0x1001 << 48 | 9 << 16 | 0x4030, 0, 0x0101 << 48 | 0x14, 0x41 << 48,
             0x81 << 48 | 0x1D << 16 | 8)
    (folder / "words").write_bytes(struct.pack("<6Q", *words) + b"rest")


def make_npy_seeds(folder):
    for source in sorted((ROOT / "tests" / "data" / "npy").glob("*.np?")):
        shutil.copy(source, folder / source.name)


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width, height, depth, colour, row_bytes):
    rows = b"".join(b"\0" + bytes((7 * y + x) & 255 for x in range(row_bytes)) for y in range(height))
    palette = chunk(b"PLTE", bytes(range(48))) if colour == 3 else b""
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)) +
            palette + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def segment(marker, body):
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(body) + 2) + body


def jpeg():
    """One grey block of 8x8: a DC and an AC table of one code each, difference 0, end of block."""
    one_code = bytes([1] + [0] * 15)  # a single code of one bit
    return (b"\xff\xd8" + segment(0xDB, b"\0" + b"\x10" * 64) +
            segment(0xC0, struct.pack(">BHHB", 8, 8, 8, 1) + bytes([1, 0x11, 0])) +
            segment(0xC4, b"\x00" + one_code + b"\0") + segment(0xC4, b"\x10" + one_code + b"\0") +
            segment(0xDA, bytes([1, 1, 0, 0, 63, 0])) + b"\x3f" + b"\xff\xd9")


def make_image_seeds(folder):
    seeds = {"rgb.png": png(5, 3, 8, 2, 15), "grey16.png": png(3, 2, 16, 0, 6), "palette4.png": png(4, 2, 4, 3, 2),
             "alpha.png": png(2, 3, 8, 6, 8), "grey.jpg": jpeg()}
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


def make_model_info_seeds(folder):
    seeds = {
        "empty": {},
        "classify": {"task": "classify", "head": "classification", "labels": ["cat", "dog"]},
        "detect": {"task": "detect", "head": "yolov5", "labels": ["box"], "strides": [8, 16],
                   "anchors": [[[10, 13], [16, 30]], [[30, 61], [62.5, 45]]], "score": 0.25, "iou": 0.45,
                   "max_detections": 7},
        "ssd": {"head": "ssd", "labels": ["face"], "priors": [[0.5, 0.5, 1, 0.25]], "box_order": "yxhw",
                "variances": [0.1, 0.2], "background": True, "boxes": "fractions"},
    }
    for name, content in seeds.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    metadata = json.dumps({"author": "Ultralytics", "task": "detect", "stride": 32, "names": {"0": "ant", "2": "cat"}})
    (folder / "metadata.json").write_text(metadata)
    (folder / "numbered.txt").write_bytes("\ufeff???\r\n0 ant\r\n1: 'bee'\r\n\"3\": \"cat\",\r\n".encode())
    (folder / "plain.txt").write_text("background\n3d printer\n'ant'\n")
    # A model is whatever lies before the archive.
    for name, member, text in (("deflated", "metadata.json", metadata), ("stored", "labels.txt", "0 ant\n1 bee\n")):
        file = io.BytesIO(b"\x1c\0\0\0TFL3")
        with zipfile.ZipFile(file, "a") as archive:
            info = zipfile.ZipInfo(member, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED if name == "deflated" else zipfile.ZIP_STORED
            archive.writestr(info, text)
        (folder / f"{name}.tflite").write_bytes(file.getvalue())


def make_head_seeds(folder):
    """fuzz/heads.cpp: head, input's sides, label count, type, scale, ranks and sides of outputs, values."""
    def seed(head, width, height, labels, *shapes):
        body = bytes([head, width, height, labels, 2, 10, len(shapes)])
        for shape in shapes:
            body += bytes([len(shape), *shape])
        return body + bytes(range(256))
    seeds = {"yolov5": seed(1, 64, 32, 2, (1, 4, 8, 21), (1, 2, 4, 21), (1, 1, 2, 21)), "yolox": seed(6, 64, 32, 2, (1, 42, 7)),
             "yolov8": seed(7, 64, 32, 2, (1, 4, 8, 66), (1, 2, 4, 66), (1, 1, 2, 66)), "ssd": seed(9, 64, 32, 2, (1, 6, 4), (1, 6, 3)),
             "processed": seed(10, 64, 32, 2, (1, 6, 4), (1, 6), (1, 6), (1,)), "shapes": seed(0, 64, 32, 0, (1, 84, 42))}
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


def main():
    assert xxh64(b"") == 0xEF46DB3751D8E999
    for target, make in (("executable_read", make_executable_seeds), ("tflite_import", make_model_seeds), ("capture_read", make_capture_seeds),
                         ("stream_text", make_stream_seeds), ("npy_parse", make_npy_seeds),
                         ("image_decode", make_image_seeds), ("model_info", make_model_info_seeds),
                         ("heads", make_head_seeds)):
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        make(folder)


if __name__ == "__main__":
    main()

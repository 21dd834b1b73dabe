#!/usr/bin/env python3
"""Captured command streams of other compilers, decoded, encoded again and executed on the machine model.

Usage: replay_fixtures.py DIR [--json] [--peraxis BINARY] [--keep FOLDER]

DIR holds cases in either of two forms, in any folder below it:
  NAME.json + NAME.npz   a driver's submission: buffers, jobs, tasks, arrays; the reference is TFLite's
  NAME.json.gz           a compiler's blocks: tensors, constants, relocations, recorded outputs
Each case becomes a capture (docs/capture.md). A case is ok when every word survives decode and encode and,
where the case holds what a run needs, the machine agrees with the recorded result: within 1 of TFLite's
kernels, exactly with a recorded register model. Where the chip is not settled other readings are tried after
the default one; the note says which was needed. Exit code 0 when every case is ok, else 1.
"""
import argparse
import base64
import gzip
import hashlib
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What silicon has not settled (src/machine/switches.hpp), alone and together, in the order they are tried.
READINGS = ([], ["pad_lanes=byte0"], ["drop_dummy_output=on"], ["pad_lanes=byte0", "drop_dummy_output=on"],
            ["ignore_ow_op_with_records=on"], ["stored_kernels=orig"],
            ["ignore_ow_op_with_records=on", "stored_kernels=orig"], ["out_cvt_ties=up", "bs_ties=up"],
            ["refuse_full_last_bank=off"])
PC, CNA, DPU, PPU = 0x0101, 0x0201, 0x1001, 0x4001
FEATURES, OUTPUT, SURFACE, CHANNELS = (CNA, 0x1070), (DPU, 0x4020), (DPU, 0x4024), (DPU, 0x403C)
POOLED, POOLED_SURFACE = (PPU, 0x6070), (PPU, 0x607C)
NEXT, AMOUNT, TABLE = (PC, 0x0010), (PC, 0x0014), (DPU, 0x4100)


def fields(word):
    return (word >> 48, word & 0xFFFF), word >> 16 & 0xFFFFFFFF


def with_value(word, value):
    return word & 0xFFFF00000000FFFF | (value & 0xFFFFFFFF) << 16


def last_value(words, key):
    found = [v for k, v in map(fields, words) if k == key]
    return found[-1] if found else None


class Case:
    def __init__(self, name):
        self.name = name
        self.streams = []  # lists of words
        self.capture = {"name": name, "driver": "", "buffers": [], "tasks": [], "jobs": [], "tensors": []}
        self.arrays = {}
        self.notes = []
        self.replayable = True

    def array(self, key, data):
        self.arrays[key] = np.ascontiguousarray(data)
        return key

    def nothing_to_run(self, why):
        self.replayable = False
        self.notes.append(why)


# ---- a driver's submission ----


def rebuilt(case, info, arrays, key, rng):
    """An array that was left out: inputs are default_rng(1) over the full range of their type."""
    if key in arrays:
        rng.integers(0, 256, arrays[key].shape)  # the generator goes on from input to input
        return arrays[key]
    shape = info.get("omitted_large", {}).get(key, [0, None])[1]
    if shape is None:
        return None
    wanted = info.get("sha256", {}).get(key)
    state = rng.bit_generator.state
    for low, high, dtype in ((0, 256, np.uint8), (-128, 128, np.int8)):
        rng.bit_generator.state = state
        made = rng.integers(low, high, shape).astype(dtype)
        if hashlib.sha256(made.tobytes()).hexdigest()[:32] == wanted:
            case.notes.append(f"{key} rebuilt")
            return made
    return None


def reference_output(case, info, arrays, inputs):
    """ref_out0, computed again by LiteRT's reference kernels when it was left out."""
    if "ref_out0" in arrays:
        return arrays["ref_out0"]
    if "model_tflite" not in arrays or not inputs or any(x is None for x in inputs):
        return None
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError:
        return None
    interpreter = Interpreter(model_content=arrays["model_tflite"].tobytes(),
                              experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), inputs):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    out = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    if hashlib.sha256(out.tobytes()).hexdigest()[:32] != info.get("sha256", {}).get("ref_out0"):
        return None
    case.notes.append("ref_out0 rebuilt")
    return out


def submission(path, name):
    info = json.loads(path.read_text())
    if not isinstance(info, dict):
        return None
    with np.load(path.with_suffix(".npz")) as file:
        arrays = {key: file[key] for key in file.files}
    case = Case(name)
    case.capture["driver"] = info.get("tool", "")
    keys = sorted((k for k in arrays if re.fullmatch(r"(?:regcmd_)?task\d+", k)), key=lambda k: int(re.sub(r"\D", "", k)))
    case.streams = [[int(w) for w in arrays[k]] for k in keys]
    if not case.streams:
        case.nothing_to_run(f"no stream: {info.get('outcome', 'nothing recorded')}")
        return case
    if not info.get("submits") or "bos" not in info:
        case.nothing_to_run("words only, no buffers")
        return case
    buffers = info["bos"]
    contents = {}
    for i, bo in enumerate(buffers):
        key = f"bo{bo['handle']}_{bo['role']}"
        if bo["role"] == "regcmd":
            contents[i] = np.zeros(bo["size"], np.uint8)
        elif key in arrays:
            contents[i] = arrays[key].view(np.uint8).reshape(-1)
        elif key in info.get("omitted_large", {}) and bo["role"] != "input":
            case.nothing_to_run(f"{key} was left out of the case")
            return case

    def buffer_of(address):
        return next((i for i, bo in enumerate(buffers) if bo["dma"] <= address < bo["dma"] + bo["size"]), None)

    handed_out = 0
    submits = []
    for submit in info["submits"]:
        submits.append({"first_job": len(case.capture["jobs"]), "job_count": len(submit)})
        for job in submit:
            case.capture["jobs"].append({"first_task": len(case.capture["tasks"]), "task_count": len(job["tasks"]),
                                         "in": job.get("in", []), "out": job.get("out", [])})
            for address, count in job["tasks"]:
                case.capture["tasks"].append({"address": address, "words": count})
                at = buffer_of(address)
                if at is None or handed_out >= len(case.streams):
                    case.nothing_to_run("a task's words lie in no buffer")
                    return case
                words = np.array(case.streams[handed_out], "<u8").view(np.uint8)
                offset = address - buffers[at]["dma"]
                contents[at][offset:offset + words.size] = words
                handed_out += 1
    case.capture["submits"] = submits
    for i, bo in enumerate(buffers):
        entry = {"name": f"bo{bo['handle']}_{bo['role']}", "role": "commands" if bo["role"] == "regcmd" else bo["role"],
                 "handle": bo["handle"], "address": bo["dma"], "size": bo["size"]}
        if i in contents and contents[i].size:
            entry["before"] = case.array(f"before{i}", contents[i])
        case.capture["buffers"].append(entry)
    add_tensors(case, info, arrays, buffers, contents, buffer_of)
    return case


def add_tensors(case, info, arrays, buffers, contents, buffer_of):
    rng = np.random.default_rng(1)
    names = sorted(k for k in info.get("sha256", {}) if k.startswith("ref_in"))
    inputs = [rebuilt(case, info, arrays, key, rng) for key in names]
    missing = [i for i, bo in enumerate(buffers) if bo["role"] == "input" and i not in contents]
    if missing:
        starts = [a for a in (last_value(w, FEATURES) for w in case.streams) if a and buffer_of(a) == missing[0]]
        if len(inputs) != 1 or inputs[0] is None or not starts:
            case.nothing_to_run("the input was left out and cannot be rebuilt")
            return
        _, h, w, c = inputs[0].shape
        case.capture["tensors"].append(
            {"name": "in0", "use": "input", "buffer": missing[0], "offset": min(starts) - buffers[missing[0]]["dma"],
             "h": h, "w": w, "c": c, "bias": 128 if inputs[0].dtype == np.uint8 else 0, "data": case.array("in0", inputs[0])})
    want = reference_output(case, info, arrays, inputs)
    if want is None or want.ndim != 4:
        case.notes.append("no reference output: only executed")
        return
    last = last_value(case.streams[-1], OUTPUT)
    at = buffer_of(last) if last else None
    if at is None:
        case.notes.append("the output lies in no buffer: only executed")
        return
    writers = [w for w in case.streams if last_value(w, OUTPUT) and buffer_of(last_value(w, OUTPUT)) == at]
    _, h, w, c = want.shape
    real = {(last_value(s, CHANNELS) or 0) >> 16 for s in writers}
    if max(real) + 1 < c:
        case.notes.append(f"a task makes {max(real) + 1} of {c} channels, in an order the case does not tell: only executed")
        return
    start = min(last_value(s, OUTPUT) for s in writers)
    case.capture["tensors"].append(
        {"name": "out0", "use": "expected", "origin": "TFLite reference kernels", "buffer": at,
         "offset": start - buffers[at]["dma"], "h": h, "w": w, "c": c, "surface_bytes": last_value(writers[-1], SURFACE),
         "bias": 128 if want.dtype == np.uint8 else 0, "tolerance": 1, "data": case.array("out0", want)})


# ---- a compiler's blocks ----


def block_words(task):
    """The words of a block, look-up table entries put back after the word that opens their table."""
    words = [int(w, 16) for w in task["regcmd"].split()]
    if "lut_le" not in task:
        return words
    le, lo = task["lut_le"], task["lut_lo"]
    tables = {0x20000: le[-513:], 0x30000: lo[-513:]}
    out, neutral = [], le[:-513]
    for word in words:
        out.append(word)
        key, value = fields(word)
        if key == TABLE:
            entries = tables.pop(value, None)
            if entries is None and value == 0 and neutral:
                entries, neutral = neutral, []
            out += [0x1001 << 48 | (v & 0xFFFF) << 16 | 0x4104 for v in entries or []]
    return out


def blocks(path, name):
    info = json.loads(gzip.decompress(path.read_bytes()))
    if not isinstance(info, dict) or not info.get("tasks") or "regcmd" not in info["tasks"][0]:
        return None
    case = Case(name)
    case.capture["driver"] = info.get("tool", "")
    case.streams = [block_words(t) for t in info["tasks"]]
    if not info.get("outputs"):
        case.nothing_to_run("streams only, no constants")
        return case
    # The list for one core comes first; its last block names no next one.
    count = next((i + 1 for i, w in enumerate(case.streams) if not (last_value(w, AMOUNT) or 0) & 0xFFFF), len(case.streams))
    base, commands, place = 0x10000, [], {}
    starts = [int(t["addr"], 16) for t in info["tasks"][:count]]
    next_free = (base + starts[-1] + 8 * len(case.streams[count - 1]) + 0xFFFF) & ~0xFFFF
    for i, tensor in enumerate(info["tensors"]):
        place[tensor["name"]] = (len(case.capture["buffers"]) + 1, next_free)
        entry = {"name": tensor["name"], "role": {1: "input", 2: "output", 4: "weights"}.get(tensor["kind"], "internal"),
                 "address": next_free, "size": tensor.get("size", 0)}
        data = info.get("const", {}).get(tensor["name"])
        if data:
            entry["before"] = case.array(f"const{i}", np.frombuffer(base64.b64decode(data), np.uint8))
        case.capture["buffers"].append(entry)
        next_free = (next_free + entry["size"] + 0xFFFF) & ~0xFFFF
    outputs, words = {}, [list(w) for w in case.streams[:count]]
    for relocation in info["reloc"]:
        for addend, index in relocation["at"]:
            task = next((t for t in range(count) if 0 <= index - starts[t] // 8 < len(words[t])), None)
            if task is None:
                continue
            word = words[task][index - starts[task] // 8]
            value = place[relocation["tensor"]][1] + addend
            words[task][index - starts[task] // 8] = with_value(word, value)
            if fields(word)[0] in (OUTPUT, POOLED):
                outputs.setdefault(relocation["tensor"], []).append((addend, task))
    image = np.zeros(starts[-1] + 8 * len(words[-1]), np.uint8)
    for i, block in enumerate(words):
        block = [with_value(w, base + starts[i + 1]) if fields(w)[0] == NEXT and i + 1 < count else w for w in block]
        data = np.array(block, "<u8").view(np.uint8)
        image[starts[i]:starts[i] + data.size] = data
        case.capture["tasks"].append({"address": base + starts[i], "words": len(block)})
    case.capture["buffers"].insert(0, {"name": "commands", "role": "commands", "address": base, "size": int(image.size),
                                       "before": case.array("commands", image)})
    case.capture["jobs"].append({"first_task": 0, "task_count": count})
    by_name = {t["name"]: t for t in info["tensors"]}
    for key, given in info["inputs"].items():
        nchw = np.frombuffer(base64.b64decode(given["nchw_int8"]), np.int8).reshape(given["shape"])
        _, c, h, w = given["shape"]
        entry = {"name": key, "use": "input", "buffer": place[key][0], "h": h, "w": w, "c": c,
                 "padding": int(by_name[key]["zp"][0]), "data": case.array(f"in_{key}", nchw[0].transpose(1, 2, 0))}
        if by_name[key]["native"][-1] != 16:
            entry.update(pixel_channels=c, surface_bytes=0)
        case.capture["tensors"].append(entry)
    for key, given in info["outputs"].items():
        values = np.frombuffer(base64.b64decode(given["vendor_sim_int8"]), np.int8).astype(np.int16)
        for index, difference in given["register_model_diff"]:
            values[index] += difference
        shape = [*given["shape"], 1, 1][:4]
        _, c, h, w = shape
        # A reshape has no block of its own: its input is the output.
        source = next((n["ins"][0] for n in info["nodes"] if key in n["outs"] and n["ins"]), key)
        written = key if key in outputs else source
        if written not in outputs:
            case.notes.append(f"no block writes {key}")
            continue
        offset, writer = min(outputs[written])
        stride = last_value(words[writer], SURFACE) or last_value(words[writer], POOLED_SURFACE) or 0
        if stride < 16 * h * w:  # a block for every surface: their distance
            steps = [b - a for a, b in itertools.pairwise(sorted({a for a, _ in outputs[written]}))]
            stride = max([16 * h * w, *steps[:1]])
        case.capture["tensors"].append(
            {"name": key, "use": "expected", "origin": "recorded register model", "buffer": place[written][0], "offset": offset,
             "h": h, "w": w, "c": c, "surface_bytes": stride,
             "data": case.array(f"out_{key}", values.astype(np.int8).reshape(shape)[0].transpose(1, 2, 0))})
    return case


# ---- running them ----


def peraxis(binary, *arguments, data=None):
    return subprocess.run([binary, *map(str, arguments)], input=data, capture_output=True, check=False, timeout=600)


def identical(binary, case, folder):
    """Every word of the case after decode and encode."""
    file = folder / "words.bin"
    for words in case.streams:
        data = np.array(words, "<u8").tobytes()
        file.write_bytes(data)
        text = peraxis(binary, "decode", "--words", file)
        back = peraxis(binary, "encode", data=text.stdout)
        if text.returncode or back.returncode or back.stdout != data:
            return False
    return True


def replayed(binary, case, folder, result):
    description, capture = folder / "case.json", folder / "case.pxc"
    description.write_text(json.dumps(case.capture))
    np.savez(folder / "case.npz", **case.arrays)
    made = peraxis(binary, "capture", description, "--arrays", folder / "case.npz", "-o", capture)
    if made.returncode:
        case.notes.append(made.stderr.decode(errors="replace").strip())
        return False
    best = None
    for reading in READINGS:
        try:
            done = peraxis(binary, "replay", capture, "--json", *[a for s in reading for a in ("--switch", s)])
            report = json.loads(done.stdout)
        except json.JSONDecodeError:
            case.notes.append(done.stderr.decode(errors="replace").strip())
            return False
        except subprocess.TimeoutExpired:
            case.notes.append("the replay took more than ten minutes")
            return False
        equal = sum(t["equal"] for t in report["tensors"])
        if best is None or report["ok"] > best[0]["ok"] or \
                (report["refusal"] is None, equal) > (best[0]["refusal"] is None, best[1]):
            best = (report, equal, reading)
        if report["ok"] or report["not_modelled"]:
            break
    report, equal, reading = best
    result.update(elements=sum(t["elements"] for t in report["tensors"]), equal=equal,
                  max=max((t["max"] for t in report["tensors"]), default=0))
    if reading:
        case.notes.append("with " + ", ".join(reading))
    if report["refusal"]:
        case.notes.append(("not modelled: " if report["not_modelled"] else "refused: ") + report["refusal"])
    case.notes += report["notes"]
    return report["ok"]


def cases(folder):
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        try:
            if path.name.endswith(".json.gz"):
                case = blocks(path, name[:-len(".json.gz")])
            elif path.suffix == ".json" and path.with_suffix(".npz").exists():
                case = submission(path, name[:-len(".json")])
            else:
                continue
        except (LookupError, ValueError, TypeError, AttributeError, OSError, EOFError, zlib.error,
                zipfile.BadZipFile) as problem:
            case = Case(re.sub(r"\.json(\.gz)?$", "", name))
            case.broken = f"unreadable: {type(problem).__name__}: {problem}"
        if case is not None:
            yield case


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--peraxis", default=os.environ.get("PERAXIS_BINARY", str(ROOT / "build/release/peraxis")))
    parser.add_argument("--keep", type=pathlib.Path, help="leave the captures in this folder")
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    results = []
    for case in cases(options.folder):
        result = {"name": case.name, "ok": False, "elements": 0, "equal": 0, "max": 0, "note": ""}
        with tempfile.TemporaryDirectory() as work:
            folder = pathlib.Path(work)
            if hasattr(case, "broken"):
                case.notes.append(case.broken)
            elif not identical(options.peraxis, case, folder):
                case.notes.append("decode and encode change words")
            else:
                result["ok"] = replayed(options.peraxis, case, folder, result) if case.replayable else True
                if options.keep and (folder / "case.pxc").exists():
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (folder / "case.pxc").replace(options.keep / (case.name.replace("/", "_") + ".pxc"))
        result["note"] = "; ".join(case.notes)
        results.append(result)
        if not options.json:
            print(f"{'ok  ' if result['ok'] else 'FAIL'} {result['name']}: {result['equal']} of {result['elements']} equal, "
                  f"max {result['max']}{'; ' if result['note'] else ''}{result['note']}", flush=True)
    if options.json:
        print(json.dumps({"cases": results}, indent=1))
    else:
        print(f"{sum(r['ok'] for r in results)} of {len(results)} cases ok")
    return 0 if results and all(r["ok"] for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())

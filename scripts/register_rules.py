#!/usr/bin/env python3
"""Asks the rules of scripts/fixtures/rules_table.py of every recorded task of other compilers and of every task of ours.

    scripts/register_rules.py [--binary build/release/peraxis] [--shared ../shared] [--output docs/hardware/register-rules.md]

Writes the rules with their witnesses, and what of ours has none: registers, situations, pairs of situations, settings. Fails when
a recorded task breaks a rule that is not told as an exception, when a task of ours breaks one, or when a register that we write has
none. Needs numpy; run it with .venv/bin/python. Takes about two minutes: the shared networks are compiled.
"""
import ast
import collections
import csv
import dataclasses
import gzip
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from accuracy import page_options, write_page

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "python")]
import command_words  # noqa: E402  (after the path)
import register_rules_page  # noqa: E402
from fixtures import rules, rules_table  # noqa: E402
from fixtures.blocks import Blocks, block_words  # noqa: E402
from fixtures.case import Case  # noqa: E402

ENABLE, SEPARATOR, PC_NEXT, PC_AMOUNT, TABLE_ACCESS = 0x0081, 0x0041, (0x0101, 0x0010), (0x0101, 0x0014), 0x4100
KINDS = {0x1D: "conv", 0x0D: "conv", 0x18: "dpu", 0x60: "ppu"}
FOREIGN, OURS = ("vendor", "mesa", "library"), "ours"
NETWORKS = ("demo", "real", "synth", "exporters")
NAME = {offset: name for name, (offset, _) in command_words.TABLE.items()}
CODE = {}


@dataclasses.dataclass
class Task:
    source: str           # of FOREIGN, or OURS
    where: str            # case or network, and the task's number
    kind: str
    registers: dict       # offset: value; addresses of our own are above 32 bits, one allocation each
    facts: dict           # last, next_body, loads
    whole: bool = True    # every register of its blocks is known
    scope: object = None


class Names(dict):
    """Values by name, computed when asked for."""

    def __init__(self, task):
        super().__init__(task.facts)
        self.task = task

    def __missing__(self, name):
        kind = self.task.kind
        if name in rules.FIELDS[kind]:
            value = command_words.field(self.task.registers, rules.FIELDS[kind][name])
        elif name in rules.DERIVED[kind]:
            value = evaluated(rules.DERIVED[kind][name], self)
        else:
            raise KeyError(name)
        self[name] = value
        return value


def evaluated(expression, names):
    code = CODE.get(expression)
    if code is None:
        code = CODE[expression] = compile(expression, expression, "eval")
    return eval(code, {"__builtins__": {"max": max, "min": min}}, names)  # pylint: disable=eval-used


def target_value(registers, target):
    """Of a register, or of a field in its own meaning."""
    return command_words.field(registers, target) if target.count(".") == 2 else command_words.register(registers, target)


# -- recorded tasks ---------------------------------------------------------------------------------------------
def split(words):
    """(words before the tail, enable word) of one program."""
    enable = next((w for w in words if w >> 48 == ENABLE), 0) >> 16 & 0xFFFFFFFF
    body = [w for w in words if w >> 48 not in (ENABLE, SEPARATOR, 0) and ((w >> 48, w & 0xFFFF)) not in (PC_NEXT, PC_AMOUNT)]
    return body, enable


def make(source, where, words, registers, next_words=None):
    body, enable = split(words)
    kind = KINDS.get(enable)
    if kind is None:
        return None
    loads = sum(w & 0xFFFF == TABLE_ACCESS and w >> 16 & 0xFFFFFFFF != 0 for w in body) > 0
    facts = {"last": next_words is None, "next_body": even(len(split(next_words)[0])) if next_words else 0, "loads": loads}
    return Task(source, where, kind, registers, facts)


def even(count):
    """Programs are filled up to pairs of words."""
    return count + count % 2


def mesa(folder):
    for path in sorted(folder.glob("*.npz")):
        source = "mesa" if path.name.endswith(".mesa.npz") else "library"
        with np.load(path) as file:
            keys = sorted((k for k in file.files if re.fullmatch(r"(?:regcmd_)?task\d+", k)), key=lambda k: int(re.sub(r"\D", "", k)))
            streams = [file[key].tolist() for key in keys]
        for i, words in enumerate(streams):
            linked = any((w >> 48, w & 0xFFFF) == PC_NEXT and w >> 16 & 0xFFFFFFFF for w in words) and i + 1 < len(streams)
            yield make(source, f"{path.stem} task {i}", words, command_words.written(words), streams[i + 1] if linked else None)


def vendor(folder):
    """A short block inherits from the block two before it on its core (docs/hardware/pc.md)."""
    for path in sorted(folder.rglob("*.json.gz")):
        info = json.loads(gzip.decompress(path.read_bytes()))
        case = Case(path.name)
        case.streams = [block_words(t) for t in info["tasks"]]
        blocks = Blocks(case, info)
        if info.get("reloc") and info.get("tensors"):
            blocks.lay_out()
        for chain in blocks.chains:
            images = []
            for position, index in enumerate(chain):
                image = dict(images[position - 2]) if position >= 2 else {}
                image.update(command_words.written(blocks.words[index]))
                images.append(image)
                following = case.streams[chain[position + 1]] if position + 1 < len(chain) else None
                yield make("vendor", f"{path.name.removesuffix('.json.gz')} block {index}", case.streams[index], image, following)


def tilings(path):
    """The compiler's tiling of 142 shapes: some registers of each block."""
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if int(row["en"], 0) not in KINDS or KINDS[int(row["en"], 0)] != "conv":
                continue
            r = {k: int(v, 0) for k, v in row.items() if v not in ("", None) and re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", v)}
            registers = {0x100C: r["con1"], 0x1010: r["con2"], 0x1014: r["s"] << 3 | r["s"], 0x1020: r["in_w"] << 16 | r["in_h"],
                         0x1024: r["in_c"], 0x1028: r["out_w"], 0x102C: r["out_w"] * r["out_h"], 0x1030: r["weight_bytes"],
                         0x1038: r["k"] << 24 | r["k"] << 16 | r["kernels"],
                         0x1040: r["reuse"] << 13 | r["weight_bank"] << 4 | r["data_bank"], 0x1044: r["entries"],
                         0x1068: r["pad_left"] << 4 | r["pad_top"], 0x107C: r["dma_line"], 0x1080: r["dma_surf"] & 0xFFFFFFF,
                         0x1084: r["in_w"] << 16 | r["in_h"]}
            where = f"tiling {row['h']}x{row['w']}x{row['ic']}-{row['oc']} k{row['k']} s{row['s']} task {row['task']}"
            yield Task("vendor", where, "conv", registers, {"last": False, "next_body": 0, "loads": False}, whole=False)


# -- our own ----------------------------------------------------------------------------------------------------
def relocated(file):
    """The command words with an address space for every buffer in place of 0; values there exceed 32 bits."""
    words = command_words.commands(file)
    values = {i: w >> 16 & 0xFFFFFFFF for i, w in enumerate(words)}
    for word, addend, buffer in command_words.relocations(file):
        values[word] = (buffer + 1 << 40) + addend
    return words, values


def ours(binary, model, options, folder):
    file = folder / "x.pax"
    if subprocess.run([binary, "compile", model, *options, "-o", file], capture_output=True, check=False).returncode:
        return
    report = json.loads(subprocess.run([binary, "inspect", file, "--json"], capture_output=True, check=True).stdout)
    words, values = relocated(file.read_bytes())
    parts = [(t["first_word"], t["first_word"] + t["words"]) for t in report["tasks"]]
    for i, (first, end) in enumerate(parts):
        registers = {words[k] & 0xFFFF: values[k] for k in range(first, end) if words[k] >> 48 & 1 and words[k] >> 48 not in (ENABLE, SEPARATOR)}
        linked = any((words[k] >> 48, words[k] & 0xFFFF) == PC_NEXT for k in range(first, end))
        following = words[slice(*parts[i + 1])] if linked else None
        task = make(OURS, f"{model.stem} {' '.join(options)} task {i}", words[first:end], registers, following)
        if task is not None:
            yield task


# -- the rules asked ---------------------------------------------------------------------------------------------
class Asked:
    """What became of the rules."""

    def __init__(self):
        self.counts = collections.defaultdict(collections.Counter)      # (kind, rule number): tasks by source
        self.situations = collections.defaultdict(collections.Counter)  # (kind, situation)
        self.pairs = collections.defaultdict(collections.Counter)       # (kind, situation, situation)
        self.settings = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))  # (kind, register): value: source
        self.tasks = collections.Counter()
        self.broken = []    # (source, where, target, when, rule, value)
        self.excepted = collections.Counter()  # exception: tasks
        self.without = set()  # registers of ours no rule is about

    def take(self, task):
        self.tasks[task.source, task.kind] += 1
        names = Names(task)
        said = set()
        for number, (target, when, rule) in enumerate(rules_table.RULES[task.kind]):
            try:
                v = names["v"] = target_value(task.registers, target)
                if when and not evaluated(when, names):
                    continue
                right = evaluated(rule, names)
            except (KeyError, NameError, ZeroDivisionError):
                if task.whole and task.source == OURS:
                    self.broken.append((task.source, task.where, target, when, rule, "not written"))
                continue
            said.add(".".join(target.split(".")[:2]))
            self.counts[task.kind, number][task.source] += 1
            if not right:
                self.break_of(task, target, when, rule, v)
        if task.source == OURS:
            self.without |= {NAME[offset] for offset in task.registers if offset in NAME} - said - {"PC.BASE_ADDRESS"}
        self.look(task, names)

    def break_of(self, task, target, when, rule, value):
        for exception in register_rules_page.EXCEPTIONS:
            if exception.covers(task.source, target, Names(task)):
                self.excepted[exception] += 1
                return
        self.broken.append((task.source, task.where, target, when, rule, f"{value:#x}" if value >= 0 else str(value)))

    def look(self, task, names):
        found = []
        for situation, when in rules.SITUATIONS[task.kind].items():
            try:
                if evaluated(when, names):
                    found.append(situation)
            except (KeyError, NameError, ZeroDivisionError):
                pass
        for situation in found:
            self.situations[task.kind, situation][task.source] += 1
        for pair in itertools.combinations(found, 2):
            self.pairs[(task.kind, *pair)][task.source] += 1
        if task.whole:
            for register, mask in register_rules_page.SETTINGS.items():
                value = task.registers.get(command_words.TABLE[register][0])
                if value is not None:
                    self.settings[task.kind, register][value & mask][task.source] += 1


def foreign_tasks(shared):
    yield from filter(None, mesa(shared / "mesa"))
    yield from filter(None, vendor(shared / "vendor"))
    yield from tilings(shared / "vendor" / "tiling.csv.gz")


def own_tasks(binary, shared, folders=NETWORKS, options=((), ("--accuracy", "exact"))):
    with tempfile.TemporaryDirectory() as work:
        for folder in folders:
            for model in sorted((shared / "models" / folder).glob("*.tflite")):
                for chosen in options:
                    yield from ours(binary, model, chosen, pathlib.Path(work))


def check_names():
    """A name that nothing defines would leave its rule unasked."""
    for kind, table in rules_table.RULES.items():
        known = {"v", "max", "min", "last", "next_body", "loads", *rules.FIELDS[kind], *rules.DERIVED[kind]}
        texts = [t for _, when, rule in table for t in (when, rule) if t]
        for text in (*texts, *rules.DERIVED[kind].values(), *rules.SITUATIONS[kind].values()):
            unknown = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)} - known
            if unknown:
                raise ValueError(f"{kind}: {text}: no such name: {', '.join(sorted(unknown))}")
        for target in (*(t for t, _, _ in table), *rules.FIELDS[kind].values()):
            register, _, field = target.rpartition(".") if target.count(".") == 2 else (target, "", "")
            if register not in command_words.TABLE or (field and field not in command_words.TABLE[register][1]):
                raise ValueError(f"{kind}: {target}: no such register or field")


def ask(tasks):
    check_names()
    asked = Asked()
    for task in tasks:
        asked.take(task)
    return asked


def main():
    options = page_options(__doc__, "docs/hardware/register-rules.md")
    shared = pathlib.Path(options.shared)
    if not (shared / "mesa").is_dir() or not (shared / "vendor").is_dir():
        sys.exit(f"{shared}: no mesa or vendor folder with recorded streams")
    asked = ask(itertools.chain(foreign_tasks(shared), own_tasks(options.binary, shared)))
    write_page(options.output, register_rules_page.page(asked))
    for line in register_rules_page.unwitnessed(asked):
        print(line)
    for source, where, target, when, rule, value in asked.broken[:40]:
        print(f"BROKEN: {source} {where}: {target} is {value}, the rule{f' ({when})' if when else ''}: {rule}", file=sys.stderr)
    for register in sorted(asked.without):
        print(f"NO RULE: {register}", file=sys.stderr)
    return 1 if asked.broken or asked.without else 0


if __name__ == "__main__":
    sys.exit(main())

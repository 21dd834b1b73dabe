"""Reads command words without peraxis: the words of a compiled executable, and what they write to the registers.

Names and places come from the repository's own texts, schemas/executable.fbs and src/target/rk3588/registers/*.def;
the file and the words are read by the code below. A word is target << 48 | value << 16 | register offset.
"""
import pathlib
import re
import struct

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "schemas" / "executable.fbs"
REGISTERS = ROOT / "src" / "target" / "rk3588" / "registers"


def register_table():
    """{"BLOCK.REGISTER": (offset, {"FIELD": (low bit, width, type)})}"""
    table = {}
    for path in sorted(REGISTERS.glob("*.def")):
        text = path.read_text()
        for block, register, offset in re.findall(r"^PERAXIS_REG\((\w+), (\w+), (\w+)\)", text, re.MULTILINE):
            table[f"{block}.{register}"] = (int(offset, 16), {})
        for block, register, field, low, width, kind in re.findall(
                r"^PERAXIS_FIELD\((\w+), (\w+), (\w+), (\d+), (\d+), (\w+),", text, re.MULTILINE):
            table[f"{block}.{register}"][1][field] = (int(low), int(width), kind)
    return table


TABLE = register_table()


def written(words):
    """{register offset: value} after the words of one task; later writes win."""
    return {word & 0xFFFF: word >> 16 & 0xFFFFFFFF for word in words if word >> 48 & 1}


def register(values, name):
    """Value of "BLOCK.REGISTER"; KeyError when the task does not write it."""
    return values[TABLE[name][0]]


def field(values, name):
    """Value of "BLOCK.REGISTER.FIELD" in the field's own meaning."""
    block_register, _, part = name.rpartition(".")
    low, width, kind = TABLE[block_register][1][part]
    bits = register(values, block_register) >> low & ((1 << width) - 1)
    if kind == "MinusOne":
        return bits + 1
    return bits - (1 << width) if kind == "Sint" and bits >> (width - 1) else bits


# -- the executable ---------------------------------------------------------------------------------------------
def _slot(table, name):
    """Place of a field in a table of the schema."""
    text = re.sub(r"//.*", "", SCHEMA.read_text())
    body = re.search(rf"^table {table} \{{(.*?)^\}}", text, re.MULTILINE | re.DOTALL).group(1)
    return re.findall(r"(\w+)\s*:", body).index(name)


def _member(data, at, table, name):
    """Position of a field's value in the table at `at`, None when it is not stored."""
    vtable = at - struct.unpack_from("<i", data, at)[0]
    entry = 4 + 2 * _slot(table, name)
    if entry >= struct.unpack_from("<H", data, vtable)[0]:
        return None
    offset = struct.unpack_from("<H", data, vtable + entry)[0]
    return at + offset if offset else None


def _follow(data, at):
    return at + struct.unpack_from("<I", data, at)[0]


def _vector(data, at, table, name):
    """Position of the first element and the number of elements."""
    start = _follow(data, _member(data, at, table, name))
    return start + 4, struct.unpack_from("<I", data, start)[0]


def commands(file):
    """All command words of an executable, from its bytes."""
    if file[4:8] != b"PAX1":
        raise ValueError("not an executable")
    content, root = _content(file)
    first, count = _vector(content, root, "Content", "buffers")
    for index in range(count):
        buffer = _follow(content, first + 4 * index)
        kind = _member(content, buffer, "Buffer", "kind")
        if kind is None or content[kind] == 0:  # the default is left out
            data, length = _vector(content, buffer, "Buffer", "data")
            return list(struct.unpack_from(f"<{length // 8}Q", content, data))
    raise ValueError("no command buffer")


def _content(file):
    """The inner flatbuffer of an executable, and where its root is."""
    start, size = _vector(file, _follow(file, 0), "File", "content")
    content = file[start:start + size]
    return content, _follow(content, 0)


def relocations(file):
    """[(word, addend, buffer)]: the addresses that are put into the command words."""
    content, root = _content(file)
    first, count = _vector(content, root, "Content", "relocations")
    return [struct.unpack_from("<qqi", content, first + 24 * i) for i in range(count)]


def tasks(file, inspected):
    """[(entry of `inspect --json`'s task list, registers)], in order."""
    words = commands(file)
    return [(task, written(words[task["first_word"]:task["first_word"] + task["words"]])) for task in inspected["tasks"]]

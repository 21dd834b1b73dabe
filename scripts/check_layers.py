#!/usr/bin/env python3
"""Checks the rules of the tree that no compiler checks: who may include whom, lengths (check_sizes.py), paths of one
machine, lists that must agree with files, pages and headings that are cited (check_citations.py). Prints one line a breach; exit code 1 when there is one.

Usage: check_layers.py [top of the tree]
"""
import pathlib
import re
import sys

from check_citations import check_citations, check_operator_pages
from check_sizes import check_sizes

# A folder of src/ may include from itself and from these. docs/architecture.md tells why.
LAYERS = {
    "base": "",
    "num": "base",
    "ir": "base num",
    "import": "base num ir",
    "passes": "base num ir kernels",
    "kernels": "base num ir",
    "target": "base num",
    "program": "base num ir target",
    "requant": "base num ir target program",  # and what EXTRA_HEADERS says
    "lower": "base num ir target program requant",
    "plan": "base num ir target program requant lower",  # and what EXTRA_HEADERS says
    "emit": "base num target",
    "exe": "base",  # and what EXTRA_HEADERS says
    "compiler": "base num ir target program requant lower plan emit exe",
    "machine": "base num exe",
    "trace": "base num exe target machine",
    "device": "base exe machine",
    "capture": "base machine trace target device",  # of device only the facts in uapi/; client/: see below
    "runtime": "base num ir kernels exe device",
    "vision": "base",
    "engine": "base num ir import passes kernels target program requant lower plan compiler exe device runtime vision",
    "api": "base num ir plan program kernels compiler exe device runtime vision engine",
    "cli": "*",
}
# Single headers a folder may use beyond that. The machine model shares the register table with the compiler
# and nothing else: what both share cannot reveal a mistake of one.
# A look-up table of the compiler is what the reference kernels make of 256 values.
# The planner asks which operators of the CPU read and write the NPU's cubes.
# An executable names references and strategies; their lists are where they are made.
EXTRA_HEADERS = {"machine": {"target/rk3588/registers.hpp"}, "requant": {"kernels/kernels.hpp"},
                 "plan": {"kernels/view.hpp"},
                 "exe": {"num/reference.hpp", "requant/strategies.def", "target/rk3588/task_kinds.def"}}
# Folders that may include only what is named: headers or folders. The preloaded library lives in foreign programs.
CLOSED_FOLDERS = {"capture/client": ("capture/client/", "capture/protocol.hpp", "capture/log_format.hpp", "device/uapi/")}
# Made by flatc into the build tree, and by whom they may be used.
GENERATED = {"tflite_generated.h": {"import"}, "executable_generated.h": {"exe"}, "capture_generated.h": {"trace"}}

CODE_FOLDERS = ("src", "include", "tests", "tools", "scripts", "python", "fuzz", "bench", "examples")
CODE_SUFFIXES = {".cpp", ".hpp", ".c", ".h", ".py", ".sh"}
TEXT_SUFFIXES = CODE_SUFFIXES | {".def", ".cmake", ".txt", ".md", ".json", ".fbs", ".toml", ".yaml", ".yml", ".ir", ""}
SKIPPED_FOLDERS = {".git", ".venv", "build", "__pycache__", "corpus"}
INCLUDE = re.compile(r'^[ \t]*#\s*include\s*"([^"]+)"', re.MULTILINE)
# The slash must start a path: "a/home/b" and "https://host/work/" are none of ours.
MACHINE_PATH = re.compile(r"(?<![\w./~$}*-])/(?:home|root|work|Users|mnt|tmp/(?:build|venv))(?:/[\w.-]+)+")


def files(top, folders):
    for folder in folders:
        for path in sorted((top / folder).rglob("*")):
            if path.is_file() and not SKIPPED_FOLDERS & set(path.relative_to(top).parts):
                yield path


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check_includes(top):
    for folder in sorted(p.name for p in (top / "src").iterdir() if p.is_dir()):
        if folder not in LAYERS:
            yield f"src/{folder}: unknown layer; add it to LAYERS in scripts/check_layers.py"
    for path in files(top, ["src"]):
        relative = path.relative_to(top / "src")
        if path.suffix not in {".cpp", ".hpp", ".h", ".def"} or len(relative.parts) < 2:
            continue
        folder = relative.parts[0]
        if folder not in LAYERS:
            continue
        allowed = set(LAYERS[folder].split()) | {folder}
        text = read(path)
        for match in INCLUDE.finditer(text):
            target = match.group(1)
            where = f"{path.relative_to(top)}:{line_of(text, match.start())}"
            if target in GENERATED:
                if folder not in GENERATED[target]:
                    yield f"{where}: {target} is for {', '.join(GENERATED[target])} only"
                continue
            closed = [only for inside, only in CLOSED_FOLDERS.items() if relative.as_posix().startswith(inside + "/")]
            if closed and not target.startswith(closed[0]):
                yield f"{where}: {relative.parent} may include only {', '.join(closed[0])}"
                continue
            if target in EXTRA_HEADERS.get(folder, ()) or target.startswith("peraxis/"):
                continue
            if ".." in target.split("/"):
                yield f"{where}: \"{target}\" goes through '..'"
            elif not (top / "src" / target).is_file():
                yield f"{where}: \"{target}\" is no file below src (paths start at src)"
            elif "*" not in allowed and target.split("/")[0] not in allowed:
                yield f"{where}: {folder} may not include {target.split('/')[0]} (\"{target}\")"


def check_lengths(top):
    sources = [path for path in files(top, CODE_FOLDERS) if path.suffix in CODE_SUFFIXES]
    yield from check_sizes(top, sources, read)


def check_paths(top):
    for path in files(top, ["."]):
        if path.suffix not in TEXT_SUFFIXES or path.stat().st_size > 2**20:
            continue
        text = read(path)
        for match in MACHINE_PATH.finditer(text):
            yield f"{path.relative_to(top)}:{line_of(text, match.start())}: path of one machine: {match.group(0)}"


def entries(path, macro):
    """First two arguments of each line `macro(a, b, ...)` of a list."""
    if not path.is_file():
        return []
    found = re.findall(rf"^{macro}\((\w+)(?:,\s*\"?([\w-]+))?", read(path), re.MULTILINE)
    return [(a, b) for a, b in found]


def check_lists(top):
    src = top / "src"
    for path in sorted(src.rglob("*.def")):
        seen = {}
        text = read(path)
        for match in re.finditer(r"^(PERAXIS_(?:OP|COMMAND|STRATEGY|PASS|TARGET|DEVICE))\((\w+)", text, re.MULTILINE):
            if match.groups() in seen:
                yield (f"{path.relative_to(top)}:{line_of(text, match.start())}: {match.group(2)} is listed twice")
            seen[match.groups()] = True

    commands = {a for a, _ in entries(src / "cli/commands.def", "PERAXIS_COMMAND")}
    command_files = {p.stem for p in (src / "cli/commands").glob("*.cpp")}
    yield from disagree("src/cli/commands.def", commands, "src/cli/commands/", command_files)

    ops = {a for a, _ in entries(src / "ir/ops.def", "PERAXIS_OP")}
    kernels = entries(src / "kernels/kernels.def", "PERAXIS_KERNEL")
    if kernels:
        yield from disagree("src/ir/ops.def", ops, "src/kernels/kernels.def", {a for a, _ in kernels})
    for kind, name in kernels:
        if not (src / "kernels/reference" / f"{name}.cpp").is_file():
            yield f"src/kernels/kernels.def: {kind} has no src/kernels/reference/{name}.cpp"

    registers = src / "target/rk3588/registers.def"
    if registers.is_file():
        included = {pathlib.PurePath(i).stem for i in INCLUDE.findall(read(registers))}
        blocks = {p.stem for p in (registers.parent / "registers").glob("*.def")}
        yield from disagree("src/target/rk3588/registers.def", included, "src/target/rk3588/registers/", blocks)


def disagree(first, first_names, second, second_names):
    for name in sorted(first_names - second_names):
        yield f"{first}: {name} is missing in {second}"
    for name in sorted(second_names - first_names):
        yield f"{second}: {name} is missing in {first}"


# A definition at the start of a line: a function, a type or a constant.
DEFINITION = re.compile(r"(?:(?:constexpr|static|inline) )*[A-Za-z_][\w:<>,*& ]*?[ *&](\w+)\("
                        r"|(?:struct|class|enum class|using|constexpr [\w:<>]+|const [\w:<>]+) (\w+)")
NOT_DEFINED = re.compile(r"(?:using )?namespace |using \w+::|using [\w:]+;|return |TEST|INSTANTIATE|template|namespace \w+ =")


def names(text, unnamed):
    """What a file defines inside (or outside) its unnamed namespace."""
    inside = False
    for line in text.splitlines():
        if line.startswith("namespace {"):
            inside = True
        elif line == "}  // namespace":
            inside = False
        elif inside == unnamed and not NOT_DEFINED.match(line):
            found = DEFINITION.match(line)
            if found:
                yield found[1] or found[2]


def check_joined_files(top):
    """Files that are compiled as one: a name in an unnamed namespace stands in one of them only, and in no header
    of the folder. Else another file's overload could be called without a word."""
    def namespace(text):
        found = re.search(r"^namespace ([\w:]+) \{", text, re.MULTILINE)
        return found[1] if found else ""

    for cmake in files(top, ("src", "tests")):
        if cmake.name != "CMakeLists.txt" or not re.search(r"\bJOIN \d", read(cmake)):
            continue
        owners = {}
        folder = cmake.parent
        for header in sorted(folder.rglob("*.hpp")):
            text = read(header)
            for name in names(text, unnamed=False):
                owners.setdefault((namespace(text), name), header)
        for source in sorted(folder.rglob("*.cpp")):
            text = read(source)
            for name in sorted(set(names(text, unnamed=True))):
                other = owners.setdefault((namespace(text), name), source)
                if other != source:
                    yield (f"{source.relative_to(top)}: {name} is also in {other.relative_to(top)}; "
                           "files of this folder are compiled as one (docs/decisions/0006)")


def check(top):
    breaches = []
    for rule in (check_includes, check_lengths, check_paths, check_lists, check_citations, check_operator_pages,
                 check_joined_files):
        breaches += rule(top)
    return breaches


def main():
    default = pathlib.Path(__file__).resolve().parent.parent
    top = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not (top / "src").is_dir():
        print(f"{top}: no src folder", file=sys.stderr)
        return 2
    breaches = check(top)
    for breach in breaches:
        print(breach)
    print(f"{len(breaches)} breaches" if breaches else "layers, lengths, paths, lists and citations: no breach")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())

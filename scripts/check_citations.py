"""Checks what text cites: pages and headings that it names must be there, and notes outside the repository are not named.

Called by check_layers.py. Headings become anchors by GitHub's rules: lower case, blanks become hyphens, punctuation goes,
a second heading of the same name gets -1.
"""
import pathlib
import re

# Notes from which the pages were written and which nobody else has. Facts stand in docs/hardware and docs/arithmetic.md.
OUTSIDE = re.compile(r"(?<![\w-])(?:hardware|corrections|litert-arithmetic|uapi|siblings)\.md|registers\.csv|research-note/|"
                     r"corrections [1-9]|hardware document", re.IGNORECASE)
# The folder of collected models and captures. Tests, the scripts that read it and one page say where it may be; generated
# pages name it in the command that made them.
SHARED = re.compile(r"\.\./shared")
SHARED_MAY = ("tests/", "scripts/", "docs/developing.md")
SHARED_COMMAND = re.compile(r"`scripts/\w+\.py [^`]*\.\./shared")
# These hold what is refused: the patterns, and the broken trees of the test.
NOT_CHECKED = {"scripts/check_citations.py", "tests/python/check_layers_test.py"}

FOLDERS = ("src", "include", "tests", "docs", "scripts", "fuzz", "tools", "schemas", "cmake", "examples", "bench", "python", ".ci")
SUFFIXES = {".cpp", ".hpp", ".c", ".h", ".def", ".py", ".sh", ".md", ".fbs", ".cmake", ".txt", ""}
SKIPPED_FOLDERS = {".git", ".venv", "build", "__pycache__", "corpus", "npy"}
CITED = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md(?:#[\w-]*)?")
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)


def texts(top):
    paths = sorted(top.glob("*.md"))
    for folder in FOLDERS:
        paths += sorted((top / folder).rglob("*"))
    for path in paths:
        relative = path.relative_to(top)
        if not path.is_file() or path.suffix not in SUFFIXES or relative.as_posix() in NOT_CHECKED:
            continue
        if not SKIPPED_FOLDERS & set(relative.parts) and path.stat().st_size <= 2**20:
            yield relative, path.read_text(encoding="utf-8", errors="replace")


def blank(match):
    """The same lines without their text."""
    return re.sub(r"[^\n]", " ", match.group(0))


def anchors(text):
    """The anchors of a Markdown page."""
    seen, out = {}, set()
    for heading in HEADING.findall(FENCE.sub(blank, text)):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        out.add(f"{slug}-{count}" if count else slug)
    return out


class Pages:
    def __init__(self, top):
        self.top = top
        self.known = {}

    def fault(self, page, anchor):
        """Why `page#anchor` cannot be opened, or None. The page is relative to the top."""
        if not (self.top / page).is_file():
            return f"there is no {page}" if not (self.top / page).is_dir() or anchor else None
        if not anchor or not str(page).endswith(".md"):
            return None
        if page not in self.known:
            self.known[page] = anchors((self.top / page).read_text(encoding="utf-8", errors="replace"))
        return None if anchor in self.known[page] else f"{page} has no heading for #{anchor}"


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def outside(name, text):
    for match in OUTSIDE.finditer(text):
        yield match, "names a note outside the repository: bring the fact into docs/ and cite page and heading"
    if name.startswith(SHARED_MAY):
        return
    commands = [m.span() for m in SHARED_COMMAND.finditer(text)]
    for match in SHARED.finditer(text):
        if not any(begin <= match.start() < end for begin, end in commands):
            yield match, "only tests, scripts and docs/developing.md say where collected models are"


def cited(text, pages):
    for match in CITED.finditer(text):
        page, _, anchor = match.group(0).partition("#")
        fault = pages.fault(page, anchor)
        if fault:
            yield match, fault


def links(relative, text, pages):
    plain = re.sub(r"`[^`\n]*`", blank, FENCE.sub(blank, text))
    for match in LINK.finditer(plain):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        page = relative.as_posix() if not target else normal(relative.parent / target)
        fault = "leads out of the repository" if page.startswith("..") else pages.fault(page, anchor)
        if fault:
            yield match, fault


def normal(path):
    parts = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return pathlib.PurePosixPath(*parts).as_posix()


def check_citations(top):
    pages = Pages(top)
    for relative, text in texts(top):
        name = relative.as_posix()
        found = [*outside(name, text), *cited(text, pages)]
        if relative.suffix == ".md":
            found += links(relative, text, pages)
        for match, why in sorted(found, key=lambda f: f[0].start()):
            yield f"{name}:{line_of(text, match.start())}: \"{match.group(0)}\": {why}"


def check_operator_pages(top):
    """docs/arithmetic.md has one heading an operator, in the order of the list."""
    page, ops = top / "docs/arithmetic.md", top / "src/ir/ops.def"
    if not page.is_file() or not ops.is_file():
        return
    listed = re.findall(r'^PERAXIS_OP\(\w+, "(\w+)"', ops.read_text(encoding="utf-8"), re.MULTILINE)
    headings = re.findall(r"^### (\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    told = [name for name in headings if name in listed]
    missing = [name for name in listed if name not in told]
    for name in missing:
        yield f"docs/arithmetic.md: no heading for {name} of src/ir/ops.def"
    if not missing and told != listed:
        yield f"docs/arithmetic.md: the operators' headings are not in the order of src/ir/ops.def: {' '.join(told)}"

"""Lengths of files and functions and of parameter lists. Used by check_layers.py."""
import re

# Source files of the product are shorter than tests and tools.
MAX_LINES = {"src": 500, "include": 500}
MAX_LINES_ELSEWHERE = 600
MAX_FUNCTION_LINES = 80
MAX_PARAMETERS = 6
# A system call has six arguments and a number.
LONG_LISTS = {("src/capture/client/system.hpp", "raw")}

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'')
# A line of formatted code that ends a function's head, and where such a head does not begin.
HEAD_END = re.compile(r"^[^=]*\)[ \w&:<>>,-]*\{$")
NO_FUNCTION = re.compile(r" *(?:namespace|struct|class|enum|union|if|for|while|switch|do|else|return|case|default|extern)\b| *[}:]")
CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
PARAMETER = re.compile(r"\s*(?:const\s+)?[\w:]+(?:<.*>)?(?:\s*[&*]+|\s)\s*\w+\s*(?:=.*)?$", re.DOTALL)


def stripped(text):
    """Comments and texts blanked, line ends kept."""
    return COMMENT_OR_TEXT.sub(lambda m: '""' if m[0][0] == '"' else "", text)


def split_arguments(text, start):
    """The parts between commas of the list that begins behind the bracket at `start`."""
    depth, angle, parts, last = 1, 0, [], start
    for at in range(start, len(text)):
        c = text[at]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return parts + [text[last:at]]
        elif c == "<":
            angle += 1
        elif c == ">" and text[at - 1] != "-":
            angle = max(0, angle - 1)
        elif c == "," and depth == 1 and angle == 0:
            parts.append(text[last:at])
            last = at + 1
    return []


def long_lists(code):
    """(offset, name, count) of every declaration with too many parameters; calls do not look like one."""
    for match in CALL.finditer(code):
        parts = split_arguments(code, match.end())
        if len(parts) > MAX_PARAMETERS and all(PARAMETER.match(part) for part in parts):
            yield match.start(), match[1], len(parts)


def indent_of(line):
    return len(line) - len(line.lstrip())


def head_start(lines, end):
    """The line on which a statement begins whose last line is `end`: brackets are balanced from there on."""
    first, open_brackets = end, 0
    while True:
        open_brackets += lines[first].count(")") - lines[first].count("(")
        continued = (open_brackets > 0 or lines[first].lstrip().startswith((":", "&&", "||", "?"))
                     or lines[first - 1].endswith(","))
        if not continued or first == 0:
            return first
        first -= 1


def long_functions(code):
    """(line, count) of every function with too many lines."""
    lines = code.split("\n")
    for at, line in enumerate(lines):
        if not HEAD_END.match(line) or "](" in line:  # a lambda counts with the function around it
            continue
        first = head_start(lines, at)
        if NO_FUNCTION.match(lines[first]):
            continue
        end = " " * indent_of(lines[first]) + "}"
        last = next((i for i in range(at + 1, len(lines)) if lines[i].rstrip() == end), at)
        if last - first + 1 > MAX_FUNCTION_LINES:
            yield first + 1, last - first + 1


def check_sizes(top, paths, read):
    for path in paths:
        name = str(path.relative_to(top))
        text = read(path)
        limit = MAX_LINES.get(name.split("/")[0], MAX_LINES_ELSEWHERE)
        if text.count("\n") > limit:
            yield f"{name}: {text.count(chr(10))} lines, the limit is {limit}"
        if not name.startswith(tuple(MAX_LINES)) or path.suffix not in (".cpp", ".hpp", ".h"):
            continue
        code = stripped(text)
        for at, function, count in long_lists(code):
            if (name, function) not in LONG_LISTS:
                yield (f"{name}:{code.count(chr(10), 0, at) + 1}: {function} has {count} parameters, "
                       f"the limit is {MAX_PARAMETERS}")
        for line, count in long_functions(code):
            yield f"{name}:{line}: a function of {count} lines, the limit is {MAX_FUNCTION_LINES}"

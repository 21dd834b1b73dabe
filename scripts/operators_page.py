#!/usr/bin/env python3
"""Writes the generated parts of docs/operators.md from `peraxis ops --json`; the prose between them stays.

    scripts/operators_page.py [--binary build/release/peraxis] [--output docs/operators.md]

A part lies between `<!-- generated: NAME -->` and `<!-- end -->`. Needs Python alone.
"""
import argparse
import json
import pathlib
import re
import subprocess

PART = re.compile(r"<!-- generated: (\w+) -->\n(.*?)<!-- end -->\n", re.DOTALL)


def npu_table(facts):
    """A row for all operators of which the same is said."""
    rows = {}
    for o in facts["operators"]:
        for way in [] if o["convolution"] else o["npu"]:
            rows.setdefault(tuple(way.values()), []).append(o["name"])
    lines = ["| Operator | Tasks | Against the reference | Conditions |", "|---|---|---|---|"]
    for (tasks, accuracy, conditions), names in rows.items():
        lines.append(f"| {', '.join(f'`{n}`' for n in names)} | {tasks} | {accuracy} | {conditions} |")
    return [*lines, "", sentence(facts["conditions"]["other_operators"])]


def sentence(text):
    return text[0].upper() + text[1:] + "."


def convolutions(facts):
    return [f"- {r['sentence']}" + (f" (`{r['field']}`)" if r["field"] else "") for r in facts["conditions"]["convolution_refusals"]]


def convolution_names(facts):
    names = [f"`{o['name']}`" for o in facts["operators"] if o["convolution"]]
    return [f"Convolutions here: {', '.join(names)}."]


def cpu_table(facts):
    rows = {}
    for o in facts["operators"]:
        rows.setdefault((o["cpu"]["types_text"], o["cpu"]["note"]), []).append(o["name"])
    lines = ["| Operators | Types | |", "|---|---|---|"]
    return lines + [f"| {', '.join(f'`{n}`' for n in names)} | {types} | {note} |" for (types, note), names in rows.items()]


PARTS = {"convolutions": convolution_names, "npu": npu_table, "cpu": cpu_table, "refusals": convolutions}


def page(text, facts):
    """`text` with every part made anew. All of PARTS must be there, once."""
    found = [match[1] for match in PART.finditer(text)]
    if sorted(found) != sorted(PARTS):
        raise ValueError(f"the page has the parts {sorted(found)}, expected {sorted(PARTS)}")
    return PART.sub(lambda match: "\n".join([f"<!-- generated: {match[1]} -->", *PARTS[match[1]](facts), "<!-- end -->", ""]), text)


def facts_of(binary):
    return json.loads(subprocess.run([binary, "ops", "--json"], capture_output=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/peraxis")
    parser.add_argument("--output", default="docs/operators.md")
    options = parser.parse_args()
    path = pathlib.Path(options.output)
    path.write_text(page(path.read_text(), facts_of(options.binary)))


if __name__ == "__main__":
    main()

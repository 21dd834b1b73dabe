"""No decision is made with constants of its own: what the user gives as --task-us and so on reaches all of them.

Constants are made where options are declared and nowhere else; everything else is handed them.
"""
import pathlib
import re
import unittest

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src"
# The one option struct, which the command line fills.
DECLARED = {"plan/planner.hpp"}
# A value or a member of its own, not a reference, not a copy of one that exists.
MADE = re.compile(r"\bCostConstants\s*(?:\(\s*\)|\{\s*\}|\w+\s*(?:\{\s*\})?\s*;)")


def made_in(text):
    code = re.sub(r"//[^\n]*", "", text)
    return [match.group(0) for match in MADE.finditer(code)]


class CostConstants(unittest.TestCase):
    def test_the_search_finds_what_it_is_for(self):
        for text in ("estimated_ms(cycles, bytes, CostConstants());", "f(rk3588::CostConstants{})",
                     "const rk3588::CostConstants own;", "CostConstants own{};"):
            self.assertTrue(made_in(text), text)
        for text in ("const rk3588::CostConstants& cost;", "rk3588::CostConstants weighed = options.cost;",
                     "struct CostConstants {", "// CostConstants()", "f(const CostConstants& constants);"):
            self.assertFalse(made_in(text), text)

    def test_only_options_make_constants(self):
        found = {}
        for path in sorted(SOURCES.rglob("*.[ch]pp")):
            if made := made_in(path.read_text(encoding="utf-8")):
                found[path.relative_to(SOURCES).as_posix()] = made
        self.assertEqual(set(found), DECLARED, found)
        self.assertTrue(all(len(made) == 1 for made in found.values()), found)


if __name__ == "__main__":
    unittest.main()

"""scripts/check_layers.py: the repository passes, and each kind of breach is caught."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_layers.py"


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.top = pathlib.Path(self.folder.name)
        self.put("src/base/result.hpp", "// nothing\n")
        self.put("src/num/rounding.hpp", '#include "base/result.hpp"\n')
        self.put("src/ir/graph.hpp", '#include "num/rounding.hpp"\n')
        self.put("src/ir/ops.def", 'PERAXIS_OP(Add, "add", verify_binary, None)\n')
        self.put("src/kernels/kernels.def", "PERAXIS_KERNEL(Add, add)\n")
        self.put("src/kernels/reference/add.cpp", '#include "ir/graph.hpp"\n#include <vector>\n')
        self.put("src/target/rk3588/registers.hpp", '#include "target/rk3588/registers.def"\n')
        self.put("src/target/rk3588/registers.def", '#include "target/rk3588/registers/pc.def"\n')
        self.put("src/target/rk3588/registers/pc.def", "")
        self.put("src/target/rk3588/limits.hpp", "")
        self.put("src/machine/machine.cpp", '#include "target/rk3588/registers.hpp"\n#include "num/rounding.hpp"\n')
        self.put("src/runtime/session.hpp", '#include "ir/graph.hpp"\n')
        self.put("src/cli/main.cpp", '#include "machine/machine.cpp"\n')
        self.put("src/cli/commands.def", 'PERAXIS_COMMAND(run, "run")\n')
        self.put("src/cli/commands/run.cpp", "")

    def put(self, path, text):
        path = self.top / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], capture_output=True, text=True)

    def expect_breach(self, *parts):
        result = self.run_script(self.top)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("1 breaches", result.stdout)
        for part in parts:
            self.assertIn(part, result.stdout)

    def test_repository_passes(self):
        result = self.run_script(ROOT)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_sound_tree_passes(self):
        result = self.run_script(self.top)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_include_of_a_higher_layer(self):
        self.put("src/num/more.hpp", '#include "base/result.hpp"\n\n#include "ir/graph.hpp"\n')
        self.expect_breach("src/num/more.hpp:3", "num may not include ir")

    def test_machine_sees_the_register_table_only(self):
        self.put("src/machine/more.cpp", '#include "target/rk3588/limits.hpp"\n')
        self.expect_breach("src/machine/more.cpp:1", "machine may not include target")

    def test_machine_does_not_see_the_graph(self):
        self.put("src/machine/more.cpp", '# include "ir/graph.hpp"\n')
        self.expect_breach("machine may not include ir")

    def test_runtime_does_not_see_the_machine(self):
        self.put("src/runtime/more.cpp", '#include "machine/machine.cpp"\n')
        self.expect_breach("runtime may not include machine")

    def test_path_that_does_not_start_at_src(self):
        self.put("src/num/more.hpp", '#include "rounding.hpp"\n')
        self.expect_breach("src/num/more.hpp:1", "is no file below src")

    def test_detour_over_an_allowed_folder(self):
        self.put("src/num/more.hpp", '#include "base/../ir/graph.hpp"\n')
        self.expect_breach("src/num/more.hpp:1", "..")

    def test_generated_header_of_another_layer(self):
        self.put("src/runtime/more.cpp", '#include "executable_generated.h"\n')
        self.expect_breach("executable_generated.h is for exe only")

    def test_unknown_layer(self):
        self.put("src/helpers/x.hpp", "")
        self.expect_breach("src/helpers: unknown layer")

    def test_long_file(self):
        self.put("tests/unit/long_test.cpp", "\n" * 600)
        self.assertEqual(self.run_script(self.top).returncode, 0)
        self.put("tests/unit/long_test.cpp", "\n" * 601)
        self.expect_breach("tests/unit/long_test.cpp: 601 lines")

    def test_long_source_file(self):
        self.put("src/num/long.cpp", "\n" * 500)
        self.assertEqual(self.run_script(self.top).returncode, 0)
        self.put("src/num/long.cpp", "\n" * 501)
        self.expect_breach("src/num/long.cpp: 501 lines, the limit is 500")

    def test_long_function(self):
        head = "class A {\n public:\n  A(int a,\n    int b)\n      : a_(a),\n        b_(f(b)) {\n"
        body = "    if (a &&\n        f(b)) {\n      g([&](int x) {\n        return x;\n      });\n    }\n"
        fill = "    ++a_;\n" * (80 - 4 - 6 - 1)
        self.put("src/num/long.cpp", head + body + fill + "  }\n  int a_, b_;\n" + "\n" * 50 + "};\n")
        self.assertEqual(self.run_script(self.top).returncode, 0)
        self.put("src/num/long.cpp", head + body + fill + "    ++a_;\n  }\n  int a_, b_;\n};\n")
        self.expect_breach("src/num/long.cpp:3: a function of 81 lines, the limit is 80")

    def test_long_parameter_list(self):
        six = "int f(int a, const B& b, std::map<int, C> c, D* d,\n      E&& e, F f = {1, 2}"
        call = "int g() { return f(a, b, c, d, e, f, h, i); }\n"
        self.put("src/num/long.hpp", six + ");\n" + call)
        self.assertEqual(self.run_script(self.top).returncode, 0)
        self.put("src/num/long.hpp", "\n" + six + ", bool g);\n" + call)
        self.expect_breach("src/num/long.hpp:2: f has 7 parameters, the limit is 6")

    def test_path_of_one_machine(self):
        self.put("tools/x.py", "# see https://host/home/page and a/root/b\nopen('" + "/home" + "/me/model.tflite')\n")
        self.expect_breach("tools/x.py:2", "/home" + "/me/model.tflite")

    def test_command_without_a_file(self):
        self.put("src/cli/commands.def", 'PERAXIS_COMMAND(run, "run")\nPERAXIS_COMMAND(bench, "time")\n')
        self.expect_breach("bench is missing in src/cli/commands/")

    def test_command_file_that_is_not_listed(self):
        self.put("src/cli/commands/bench.cpp", "")
        self.expect_breach("bench is missing in src/cli/commands.def")

    def test_operator_without_a_kernel(self):
        self.put("src/ir/ops.def", 'PERAXIS_OP(Add, "add", verify_binary, None)\nPERAXIS_OP(Mul, "mul", verify_binary, None)\n')
        self.expect_breach("Mul is missing in src/kernels/kernels.def")

    def test_kernel_without_a_file(self):
        (self.top / "src/kernels/reference/add.cpp").unlink()
        self.expect_breach("Add has no src/kernels/reference/add.cpp")

    def test_entry_listed_twice(self):
        self.put("src/ir/ops.def", 'PERAXIS_OP(Add, "add", verify_binary, None)\n' * 2)
        self.expect_breach("src/ir/ops.def:2", "Add is listed twice")

    def test_note_outside_the_repository(self):
        self.put("src/num/more.hpp", "// Ties (npu/hardware.md 9.7).\n")
        self.expect_breach("src/num/more.hpp:1", "hardware.md", "outside the repository")

    def test_section_of_the_corrections(self):
        self.put("docs/more.md", "as corrections 7.1 says\n")
        self.expect_breach("docs/more.md:1", "outside the repository")

    def test_page_that_is_not_there(self):
        self.put("src/num/more.hpp", "// See docs/hardware/dpu.md.\n")
        self.expect_breach("src/num/more.hpp:1", "there is no docs/hardware/dpu.md")

    def test_cited_heading(self):
        self.put("docs/chip.md", "# The chip\n\n## OUT_CVT: a scale, a shift\n\n```\n# No heading\n```\n\n## Ties\n\n## Ties ##\n")
        self.put("src/num/more.hpp", "".join(f"// docs/chip.md#{a}\n" for a in ("the-chip", "out_cvt-a-scale-a-shift", "ties", "ties-1")))
        result = self.run_script(self.top)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.put("tests/unit/x_test.cpp", "// docs/chip.md#no-heading\n")
        self.expect_breach("tests/unit/x_test.cpp:1", "no heading for #no-heading")

    def test_links_between_pages(self):
        self.put("docs/hardware/a.md", "# A\n[b](../b.md#part), [me](#a), [code](../../src/num/rounding.hpp), `[x](y.md)`, [web](https://a/b.md)\n")
        self.put("docs/b.md", "## [Part](hardware/a.md)\n")
        result = self.run_script(self.top)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.put("docs/b.md", "## Part\n\n[a](hardware/a.md#gone)\n")
        self.expect_breach("docs/b.md:3", "no heading for #gone")
        self.put("docs/b.md", "## Part\n\n[a](a.md)\n")
        self.expect_breach("docs/b.md:3", "there is no docs/a.md")

    def test_place_of_the_collected_models(self):
        self.put("tests/unit/x_test.cpp", "// ../shared/models\n")
        self.put("docs/share.md", "Generated by `scripts/share.py --shared ../shared`.\n")
        result = self.run_script(self.top)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.put("src/num/more.hpp", "// ../shared/models\n")
        self.expect_breach("src/num/more.hpp:1", "collected models")

    def test_operator_without_arithmetic(self):
        self.put("docs/arithmetic.md", "### add\n")
        self.assertEqual(self.run_script(self.top).returncode, 0)
        self.put("docs/arithmetic.md", "### sub\n")
        self.expect_breach("docs/arithmetic.md: no heading for add")

    def test_register_block_that_is_not_included(self):
        self.put("src/target/rk3588/registers/cna.def", "")
        self.expect_breach("cna is missing")


if __name__ == "__main__":
    unittest.main()

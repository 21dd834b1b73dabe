"""Runs the commands of the README's second shell block, as written, with the built binary."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def commands():
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    return blocks[1]


class Readme(unittest.TestCase):
    def test_commands_work_as_written(self):
        binary = os.environ.get("PERAXIS_BINARY", str(ROOT / "build/release/peraxis"))
        if not os.path.exists(binary):
            print(f"no binary at {binary}")
            sys.exit(77)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "examples", pathlib.Path(folder) / "examples")
            (pathlib.Path(folder) / "build").mkdir()
            script = re.sub(r"^P=.*$", f"P={shlex.quote(os.path.abspath(binary))}", commands(), flags=re.M)
            self.assertEqual(script.count("$P "), 7)
            done = subprocess.run(["bash", "-e", "-c", script], cwd=folder, capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((pathlib.Path(folder) / "build/exact/annotated.png").exists())
            self.assertTrue((pathlib.Path(folder) / "build/shapes.pax").exists())

    def test_links_lead_somewhere(self):
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
                if "://" not in target:
                    self.assertTrue((page.parent / target).exists(), f"{page.relative_to(ROOT)} -> {target}")


if __name__ == "__main__":
    unittest.main()

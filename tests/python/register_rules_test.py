"""scripts/register_rules.py: no recorded task and none of ours breaks a rule, every register that we write has one, and the
page is what the script writes. Then values are changed, and the rules notice. Needs the collected captures and models.
"""
import itertools
import sys
import unittest

import peraxis_runs
from peraxis_runs import BINARY, ROOT, SHARED

sys.path.insert(0, str(ROOT / "scripts"))
import register_rules  # noqa: E402  (after the path)
import register_rules_page  # noqa: E402
from fixtures import rules_table  # noqa: E402

peraxis_runs.need_binary()
peraxis_runs.need_shared_captures()
peraxis_runs.need_shared_models()

PAGE = ROOT / "docs/hardware/register-rules.md"
# Registers whose value is a number of its own: no rule can tell one bit of it.
FREE = {"DPU.BN_ALU_CFG", "DPU.BS_ALU_CFG", "DPU.LUT_ACCESS_DATA", "CNA.PAD_CON1", "DPU.BN_RELUX_CMP_VALUE", "DPU.BS_RELUX_CMP_VALUE",
        "PPU.POOLING_KERNEL_CFG"}


def changed(task, offset, value):
    return register_rules.Task(task.source, task.where, task.kind, {**task.registers, offset: value}, task.facts, task.whole)


class RegisterRules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.foreign = list(register_rules.foreign_tasks(SHARED))
        cls.own = list(register_rules.own_tasks(BINARY, SHARED))
        cls.asked = register_rules.ask(itertools.chain(cls.foreign, cls.own))

    def test_nothing_breaks_a_rule(self):
        self.assertEqual(self.asked.broken, [])
        self.assertEqual(self.asked.without, set())
        self.assertEqual(sum(self.asked.tasks[s, k] for s in register_rules.FOREIGN for k in register_rules_page.KINDS), len(self.foreign))
        self.assertGreater(self.asked.tasks["ours", "conv"], 3000)
        self.assertGreater(self.asked.tasks["vendor", "conv"], 1500)

    def test_exceptions_are_needed(self):
        self.assertEqual([e for e in register_rules_page.EXCEPTIONS if not self.asked.excepted[e]], [])

    def test_the_page_lists_it(self):
        """Whatever has no witness; and the witnesses of every rule. Numbers of tasks of ours change with every plan."""

        def kept(text):
            return [line.rsplit("|", 2)[0] for line in text.splitlines() if line.startswith("| `")]

        hint = "run scripts/register_rules.py and look at what is new without a witness"
        page = PAGE.read_text()
        self.assertEqual(kept(page), kept(register_rules_page.page(self.asked)), hint)
        for kind in register_rules_page.KINDS:
            for (target, when, _), _ in register_rules_page.lone_rules(self.asked, kind):
                self.assertIn(f"- `{target}`{f' where `{when}`' if when else ''}: ", page, hint)
            for (_, situation), _ in register_rules_page.lone(self.asked.situations, kind):
                self.assertIn(f"- every register where: {situation} (", page, hint)
            for register, value, _ in register_rules_page.lone_settings(self.asked, kind):
                self.assertIn(f"`{register}` = {value:#x} (", page, hint)

    def test_the_operands_plane(self):
        """The rule of docs/hardware/dpu_rdma.md#fused-addition has its witnesses, and the notch in the plane's place breaks it."""
        number = next(i for i, (t, when, _) in enumerate(rules_table.RULES["conv"]) if "EW_SURF_STRIDE" in t and when == "added")
        witnesses = self.asked.situations["conv", "adds a tensor, part of its plane"]
        self.assertGreaterEqual(witnesses["mesa"], 2)
        self.assertGreater(witnesses["ours"], 0)
        self.assertGreater(self.asked.counts["conv", number]["vendor"], 0)
        seen = 0
        for task in self.own:
            if task.kind == "conv" and task.registers[0x5040] != task.registers[0x504C]:
                broken = register_rules.ask([changed(task, 0x5040, task.registers[0x504C])]).broken
                self.assertIn("DPU_RDMA.EW_SURF_STRIDE.EW_SURF_STRIDE", [b[2] for b in broken])
                seen += 1
        self.assertGreater(seen, 10)

    def test_changed_values_are_noticed(self):
        """Some bit of every register that we write, changed, breaks a rule."""
        for kind in register_rules_page.KINDS:
            tasks = [t for t in self.own if t.kind == kind]
            tasks = tasks[::max(1, len(tasks) // 40)]
            offsets = sorted(set().union(*(t.registers for t in tasks)))
            for offset in offsets:
                name = register_rules.NAME[offset]
                if name == "PC.BASE_ADDRESS" or name in FREE:
                    continue
                self.assertTrue(any(register_rules.ask([changed(t, offset, t.registers[offset] ^ 1 << bit)]).broken
                                    for t in tasks if offset in t.registers for bit in (0, 1, 4, 6, 16, 20, 24, 31)), (kind, name))

    def test_a_recorded_task_that_breaks_a_rule(self):
        task = next(t for t in self.foreign if t.source == "vendor" and t.whole and t.kind == "conv")
        broken = register_rules.ask([changed(task, 0x1088, 48)]).broken
        self.assertEqual([(b[0], b[2]) for b in broken], [("vendor", "CNA.FC_DATA_SIZE1.DMA_CHANNEL")])

    def test_names_that_nothing_defines(self):
        table = rules_table.RULES["ppu"]
        table.append(("PPU.MISC_CTRL", "", "v == nothing"))
        try:
            with self.assertRaisesRegex(ValueError, "no such name: nothing"):
                register_rules.check_names()
        finally:
            table.pop()


if __name__ == "__main__":
    unittest.main()

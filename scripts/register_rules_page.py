"""The text of docs/hardware/register-rules.md, and the exceptions that recorded streams make."""
import dataclasses

from fixtures import rules, rules_table

KINDS = {"conv": "Convolutions", "dpu": "DPU alone", "ppu": "Pooling"}
SOURCES = ("vendor", "mesa", "library", "ours")
# Registers that switch something on, without the numbers in them.
SETTINGS = {
    "CNA.CONV_CON1": 0xFFFFFFFF, "CNA.CVT_CON0": 0xF, "CORE.MISC_CFG": 0xFFFFFFFF, "DPU.FEATURE_MODE_CFG": 0xFFFFFFFF,
    "DPU.DATA_FORMAT": 0xFC00000F, "DPU.BS_CFG": 0xFFFFFFFF, "DPU.BS_MUL_CFG": 0x3, "DPU.BS_OW_CFG": 0xFFFFFFFF, "DPU.BN_CFG": 0xFFFFFFFF,
    "DPU.BN_MUL_CFG": 0x3, "DPU.EW_CFG": 0xFFFFFFFF, "DPU.OUT_CVT_SHIFT": 0xC0000000, "DPU.LUT_CFG": 0xFFFFFFFF, "DPU.LUT_INFO": 0xFFFFFFFF,
    "DPU_RDMA.BRDMA_CFG": 0xFFFFFFFF, "DPU_RDMA.NRDMA_CFG": 0xFFFFFFFF, "DPU_RDMA.ERDMA_CFG": 0xFFFFFFFF,
    "DPU_RDMA.FEATURE_MODE_CFG": 0xFFFFFFFF, "DPU_RDMA.SRC_DMA_CFG": 0xFFFFFFFF, "PPU.OPERATION_MODE_CFG": 0xFF, "PPU.MISC_CTRL": 0xFFFFFFFF,
}


@dataclasses.dataclass(frozen=True)
class Exception_:
    """Where a source does not follow a rule, and why that does not change the rule."""
    source: str
    targets: tuple
    when: str
    why: str

    def covers(self, source, target, names):
        return source == self.source and target in self.targets and \
            (not self.when or eval(self.when, {"__builtins__": {}}, names))  # pylint: disable=eval-used


EXCEPTIONS = (
    Exception_("mesa", ("CNA.DATA_SIZE0.DATAIN_WIDTH", "CNA.CBUF_CON1.DATA_ENTRIES", "CNA.DMA_CON2.SURF_STRIDE"), "W == 16 and dma_w == 8",
               "8-wide maps of networks with an ADD: the width is doubled, the rows fetched are 8 wide (item 6)"),
    Exception_("mesa", ("CNA.CBUF_CON0.WEIGHT_BANK",), "kernels * kernel_bytes > 5 * 32768 and weight_bank == 5",
               "Mesa streams weights through 5 banks whatever they take; the vendor keeps two groups of kernels, as ours do (item 21)"),
    Exception_("library", ("DPU.BS_OW_CFG.OW_SRC",), "data_use == 7",
               "its records come with OW_SRC 0 and a number in OW_OP that would ruin them if it acted (item 22)"),
)


def row(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def witnesses(counter):
    return sum(counter[s] for s in SOURCES[:-1])


def lone(table, kind):
    """What tasks of ours are and no recorded one is."""
    return [(key, counter["ours"]) for key, counter in table.items() if key[0] == kind and counter["ours"] and not witnesses(counter)]


def lone_rules(asked, kind):
    return [(rules_table.RULES[kind][number], counter["ours"]) for (k, number), counter in sorted(asked.counts.items())
            if k == kind and counter["ours"] and not witnesses(counter)]


def lone_settings(asked, kind):
    return [(register, value, counter["ours"]) for (k, register), values in asked.settings.items() if k == kind
            for value, counter in sorted(values.items()) if counter["ours"] and not witnesses(counter)]


def lone_pairs(asked, kind):
    alone = {key[1] for key, _ in lone(asked.situations, kind)}
    return [(key, count) for key, count in lone(asked.pairs, kind) if not alone & set(key[1:])]


def unwitnessed(asked):
    for kind, title in KINDS.items():
        for (target, when, _), count in lone_rules(asked, kind):
            yield f"{title}: {target}{f' ({when})' if when else ''}: {count} tasks of ours, no recorded one"
        for (_, situation), count in lone(asked.situations, kind):
            yield f"{title}: {situation}: {count} tasks of ours, no recorded one"
        for register, value, count in lone_settings(asked, kind):
            yield f"{title}: {register} = {value:#x}: {count} tasks of ours, no recorded one"
        for (_, first, second), count in lone_pairs(asked, kind):
            yield f"{title}: {first} + {second}: {count} tasks of ours, no recorded one"


def rule_rows(asked, kind):
    yield row("register or field", "when", "rule", *SOURCES)
    yield row(*["---"] * (3 + len(SOURCES)))
    for number, (target, when, rule) in enumerate(rules_table.RULES[kind]):
        counter = asked.counts[kind, number]
        yield row(f"`{target}`", f"`{when}`" if when else "", f"`{rule}`".replace("|", "\\|"), *(counter[s] or "" for s in SOURCES))


def situation_rows(asked, kind):
    yield row("situation", "when", *SOURCES)
    yield row(*["---"] * (2 + len(SOURCES)))
    for situation, when in rules.SITUATIONS[kind].items():
        counter = asked.situations[kind, situation]
        yield row(situation, f"`{when}`", *(counter[s] or "" for s in SOURCES))


def names_rows(kind):
    yield row("name", "is")
    yield row("---", "---")
    for name, field in rules.FIELDS[kind].items():
        yield row(f"`{name}`", f"`{field}`")
    for name, expression in rules.DERIVED[kind].items():
        yield row(f"`{name}`", f"`{expression}`")


def unwitnessed_rows(asked, kind):
    for (target, when, rule), count in lone_rules(asked, kind):
        yield f"- `{target}`{f' where `{when}`' if when else ''}: `{rule}` ({count} tasks)"
    for (_, situation), count in lone(asked.situations, kind):
        yield f"- every register where: {situation} ({count} tasks)"
    settings = lone_settings(asked, kind)
    if settings:
        yield "- settings: " + ", ".join(f"`{register}` = {value:#x} ({count})" for register, value, count in settings)
    pairs = lone_pairs(asked, kind)
    if pairs:
        yield "- pairs, each seen alone: " + "; ".join(f"{first} + {second} ({count})" for (_, first, second), count in pairs)


def page(asked):
    lines = ["# Rules of register values", "",
             "Generated by `scripts/register_rules.py --binary build/release/peraxis --shared ../shared`; do not edit.", "",
             "For every register that our tasks write, the rule that recorded streams of other compilers follow in the same situation: the",
             "vendor's blocks (complete ones, and the table of its tilings), Mesa's tasks, and those of a research library. The rules are data",
             "(`scripts/fixtures/rules_table.py`) over named fields (`scripts/fixtures/rules.py`); the script asks them of every recorded task",
             "and of every task of ours, and fails when one breaks. A rule without a recorded task is our own word.", "",
             row("tasks", *SOURCES), row(*["---"] * 5),
             *(row(title, *(asked.tasks[s, kind] or "" for s in SOURCES)) for kind, title in KINDS.items()), "",
             "Ours: the shared networks, with the default plan and with `--accuracy exact`.", "",
             "## What no recorded stream covers", "",
             "Rules, situations, settings and pairs of situations that tasks of ours are in and no recorded task is.", ""]
    for kind, title in KINDS.items():
        lines += [f"### {title}", "", *(list(unwitnessed_rows(asked, kind)) or ["Nothing."]), ""]
    lines += ["## Exceptions", "", "Recorded tasks that break a rule, and why the rule stands.", "",
              row("source", "registers", "when", "tasks", "why"), row(*["---"] * 5)]
    lines += [row(e.source, ", ".join(f"`{t}`" for t in e.targets), f"`{e.when}`" if e.when else "", asked.excepted[e], e.why) for e in EXCEPTIONS]
    for kind, title in KINDS.items():
        lines += ["", f"## {title}: rules", "", *rule_rows(asked, kind), "", f"## {title}: situations", "", *situation_rows(asked, kind), "",
                  f"## {title}: names", "", *names_rows(kind)]
    return "\n".join(lines) + "\n"

"""The text of docs/evidence.md from what scripts/evidence.py found."""
from fixtures.beside_mesa import NAMED, WHOLE

# Numbers of questions (E) and corrections (item), as docs/hardware/README.md lists them, by the switch that decides.
QUESTIONS = {
    "out_cvt_ties": ("E1, item 24", "ties of OUT_CVT"),
    "out_cvt_offset_inside": ("E1", "is the zero point inside OUT_CVT's tie decision"),
    "clip_truncate_ties": ("E2", "ties of CLIP_TRUNCATE"),
    "truncate_before_cpend": ("item 1", "is the accumulator shortened before CPEND"),
    "bs_ties": ("item 24", "ties of BS"),
    "bn_ties": ("E6", "ties of BN"),
    "bn_shift_first": ("E6, item 3", "does BN shift before it adds"),
    "ew_cvt_ties": ("E4, item 24", "ties of the EW operand converter"),
    "lut_after_op": ("item 4", "does the look-up table come after the EW operation"),
    "lut_ties": ("item 19", "ties between entries of the look-up table"),
    "pool_average_ties": ("14.3", "ties of the average"),
    "pool_padding_competes": ("item 5", "can padding win a maximum"),
    "pool_notch_is_row_pitch": ("15", "does the PPU's notch lengthen rows"),
    "pad_lanes": ("E14, E31, item 2", "which byte of PAD_CON1 a channel reads"),
    "deconv_inserts_zero": ("E17, item 13", "are inserted samples zero"),
    "ew_surf_stride_unread": ("item 1 of 9", "is EW_SURF_STRIDE left unread"),
    "ignore_ow_op_with_records": ("E3, item 22", "does BS_OW_OP rest when records are read"),
    "stored_kernels": ("E28, item 23", "how high the last weight block is"),
    "refuse_partial_groups": ("E10", "do partial groups of output channels hang"),
    "drop_dummy_output": ("item 16", "may dummy channels be written outside every buffer"),
    "read_unwritten": ("-", "is memory nobody wrote read"),
    "cbuf_survives_jobs": ("6.7", "do weights stay from job to job"),
    "refuse_full_last_bank": ("6.6", "does a full last data bank corrupt"),
}
# Questions that no recorded stream can answer, with the reason.
SILENT = (
    ("E5", "DATA_USE 3, 5 and 15 appear in no stream"), ("E7", "no stream multiplies by an EW operand per channel"),
    ("E8", "PPU after PPU on maps of fewer than 4 rows appears in no case with results"),
    ("E9", "the vendor's streams use the look-up table on int8 data; whether silicon does what they expect is not recorded"),
    ("E11", "the drivers write counts everywhere"), ("E12, E13, E18, E19", "kernel behaviour: captures hold words and memory"),
    ("E15", "both readings address the same bytes in every case"), ("E16", "the packed cases are 16 and 32 pixels wide"),
    ("E20", "the enable words are the same in both readings"), ("E21, E26", "no accumulator comes near 32 bits"),
    ("E22, E23", "settled by silicon probes; no case contradicts"),
    ("E24", "the kind bits need no action in the model: the lists for 2 and 3 cores equal the one for one core without"),
    ("E25", "no stream keeps weights across a DPU-only task"),
    ("E27", "COMB_USE 0 in the vendor's two-input tasks, 4 in published probes: both are accepted"),
    ("E29", "DATA_ENTRIES is the formula's in every block"),
    ("E30, item 6", "rows are addressed by DMA_WIDTH: `u8_resda_8x8x32_s0244231` replays within its limit"),
)


# Where drivers, or drivers and silicon, expect different chips.
REMARKS = {
    "pad_lanes": "undecided between the first two: Mesa's depthwise streams need `byte0`, silicon probes in depthwise found two lanes; "
                 "`two_everywhere` is refuted. Our programs write four equal bytes, right under all",
    "ignore_ow_op_with_records": "undecided: one driver's streams need `on`, they were not seen to run; the vendor's never ask. Our "
                                 "programs write 0, right under both",
    "stored_kernels": "undecided: two paths of one driver expect different chips. Our programs store whole groups, right under both",
    "drop_dummy_output": "about a driver's buffers, not the chip's arithmetic", "read_unwritten": "about a driver, as above",
    "cbuf_survives_jobs": "about a driver, as above: its later jobs rely on weights of an earlier one",
}


def number(value):
    return f"{value:,}"


def listed(names, most=3):
    text = ", ".join(f"`{n}`" for n in names[:most])
    return text + (f" and {len(names) - most} more" if len(names) > most else "")


def case_row(case, outcome):
    row, best = outcome.row, outcome.best
    limit = str(case.limit) if case.limit and row["elements"] else "-"
    reading = ", ".join(best.reading) if best is not None and best.reading else ""
    found = outcome.found[:2] + [f"{len(outcome.found) - 2} more"] * (len(outcome.found) > 2)
    why = "; ".join(found) if found else "" if row["elements"] else case.notes[0] if case.notes else ""
    state = "yes" if row["elements"] and not outcome.found and best.within(case) else "no, explained" if outcome.found else "-"
    return (f"| `{row['name']}` | {number(row['elements'])} | {number(row['equal'])} | {row['max']} | {limit} | {state} | "
            f"{reading} | {why} | {'; '.join(outcome.proof)} |")


def case_table(rows):
    out = ["| case | values | equal | max | limit | within | reading | cause, or why nothing ran | proof |",
           "|---|---|---|---|---|---|---|---|---|"]
    return out + [case_row(case, outcome) for case, outcome in rows]


def verdict(switch, values, effects):
    refuted = [v for v in values if effects[switch, v].breaks]
    if switch in REMARKS:
        return REMARKS[switch]
    if not refuted:
        moved = [v for v in values if effects[switch, v].changes]
        return "open: values change, no case leaves its limit" if moved else "open: no case depends on it"
    kept = [v for v in values if v not in refuted]
    return f"decided: {', '.join(kept)}" if kept else "contradicted: drivers expect different chips"


def effect_text(effect):
    parts = []
    if effect.breaks:
        name, refusal, elements, equal, largest = effect.breaks[0]
        how = "refused" if refusal or not elements else f"{100 * equal / elements:.1f} % equal, max {largest}"
        parts.append(f"fails {len(effect.breaks)}: {listed([b[0] for b in effect.breaks])} (first: {how})")
    if effect.changes:
        parts.append(f"changes {len(effect.changes)} within their limits: {listed([c[0] for c in effect.changes])}")
    if effect.needed:
        parts.append(f"needed by {len(effect.needed)}: {listed(effect.needed)}")
    return "; ".join(parts) or "no difference"


def switch_table(effects, switches):
    out = ["| switch | question | value | effect on the cases that agree | verdict |", "|---|---|---|---|---|"]
    for switch, values in switches.items():
        where, question = QUESTIONS[switch]
        for i, value in enumerate(values):
            head = f"`{switch}` | {question} ({where})" if i == 0 else " | "
            word = f"`{value}`" + (" (default)" if i == 0 else "")
            out.append(f"| {head} | {word} | {effect_text(effects[switch, value])} | "
                       f"{verdict(switch, values, effects) if i == 0 else ''} |")
    return out


def whole_table(whole):
    found, (ours, theirs) = whole
    out = [f"`peraxis diff` of `{WHOLE}`, {ours} tasks of ours (`mesa-scale`) and {theirs} of Mesa's, addresses left out:", "",
           "| field | tasks | first (ours -> Mesa's) | named in |", "|---|---|---|---|"]
    return out + [f"| `{where}` | {count} | {first} | {NAMED.get(where, 'NOT NAMED')} |" for where, count, first in found]


def layer_table(layers):
    equal = [row for row in layers if row[1] == row[2]]
    out = [f"Outputs of our `mesa-scale` program for the same model and input, beside what Mesa's words give: the same bytes in {len(equal)} "
           f"of {len(layers)} single layers ({number(sum(r[1] for r in equal))} values). The others:", "",
           "| case | values | equal | max | why |", "|---|---|---|---|---|"]
    return out + [f"| `{name}` | {number(values)} | {number(same)} | {largest} | {why or 'UNEXPLAINED'} |"
                  for name, values, same, largest, why in layers if values != same]


def page(rows, effects, switches, whole, layers, summary):
    ran = [(c, o) for c, o in rows if o.row["elements"]]
    within = [o for c, o in ran if not o.found and o.best.within(c)]
    exact = [o for c, o in ran if c.exact and c.exact[1](o.best.values)]
    recorded = [c for c, _ in ran if c.exact]
    cores = [o for c, o in rows if len(o.captures) > 1]
    return "\n".join([
        "# Evidence", "",
        "Generated by `scripts/evidence.py --binary build/release/peraxis --shared ../shared`; do not edit.", "",
        "Command streams that other software made, run on the machine model and compared with results that other software",
        "computed. No board was used by anyone for these: a stream shows what its compiler expects of the chip.", "",
        f"{len(rows)} cases: {len(ran)} have values to compare, {len(within)} of them within their limit, the others "
        "outside it for causes that are named and proved.",
        f"{sum(o.row['ok'] for _, o in rows)} of {len(rows)} cases are ok. Every word of every case is the same after "
        "`peraxis decode | peraxis encode`.",
        f"{len(exact)} of {len(recorded)} vendor cases equal the recorded register model value for value under default switches; "
        f"{len(cores)} were run on more than one core, with the same result.", "",
        "## Limits", "",
        "| family | compared with | limit |", "|---|---|---|",
        "| a driver's convolutions | TFLite's reference kernels | 1, and 0.5 % of the values |",
        "| a driver's fused convolution and addition | the sum of unrounded convolution and operand ([dpu_rdma](hardware/dpu_rdma.md#fused-addition)) | 1, and 3 % of "
        "the values: it is not TFLite's ADD |",
        "| the vendor's blocks | the vendor's simulator | the larger of 1 and what the recorded register model differs by |", "",
        "Outside its limit a case is explained when its words and buffers contradict its model, or when a task reads what nobody wrote, and",
        "when that is proved: the stream put right in what the causes name, and in nothing else, meets the limit, and every wrong byte is",
        "what numpy computes from the words and buffers, without the machine. A cause without which the repaired stream is right as well",
        "is not named. Where no repair is known the bytes alone are the proof.",
        "The rules are in `scripts/fixtures/causes.py`, the proofs in `repair.py`, `evaluate.py` and `verdict.py` beside it.", "",
        "## Cases", "", *case_table(rows), "",
        "## Beside Mesa", "", *whole_table(whole), "", *layer_table(layers), "",
        "## A vendor stream on one screen", "",
        "`scripts/replay_fixtures.py ../shared/vendor --words W`, then `peraxis decode --words W/nets_yolo2_relu.bin --summary`:", "",
        "```", summary.rstrip(), "```", "",
        "## What the cases decide", "",
        "Every case that agrees is replayed with every other value of every switch (`src/machine/switches.hpp`). A value that takes a case",
        "out of its limit is refuted by it, as far as the software that made the stream knew the chip.", "",
        *switch_table(effects, switches), "",
        "Questions without a switch ([their numbers](hardware/README.md#numbers-of-questions-and-corrections)):", "",
        "| question | why the cases are silent |", "|---|---|", *[f"| {q} | {why} |" for q, why in SILENT], ""])

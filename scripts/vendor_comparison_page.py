"""The text of docs/vendor-comparison.md from what scripts/vendor_comparison.py measured."""
import collections

ROUNDING = 24  # bytes: one cycle of the vendor's DDR estimate

# Letters of Pair.parts. A letter is explained on the page only when a layer has it.
REASONS = {
    "A": "First layer of 3 channels: the vendor's packed input mode (CONV_CON1 ARGB_IN) reads 3 bytes a pixel where ours "
         "reads a cube of 16 channels.",
    "B": "More row tiles, so more halo rows are read twice: our tiles leave one feature bank of CBUF spare. It guards against a fault measured "
         "on maps one pixel wide whose last bank is nearly full (docs/hardware/cbuf.md, 6.6); wider maps were fine, and {tiles} of the {shapes} "
         "vendor programs leave no bank spare.",
    "H": "The rows are cut elsewhere, so more (or, negative, fewer) halo rows are read twice. Depthwise: the tiles are row tiles of all "
         "channels, where the vendor cuts by channels.",
    "K": "We program whole groups of 32 kernels, the missing ones zero; the vendor stores and programs the even number of real kernels "
         "(WEIGHT_SIZE2). Whether silicon reads missing kernels as zero is not settled.",
    "S": "Two groups of 32 kernels are resident at a time and all weights are read again with every tile, where the vendor keeps all of them "
         "in CBUF (WEIGHT_REUSE). That leaves more banks to the rows. Our tiling takes the fewest tasks first, then the fewest bytes: a task's "
         "interrupt on the mainline driver, 50 us, is worth 1.2 MB. {hidden} of the {count} layers spend longer multiplying than moving, "
         "so there the bytes cost no time.",
    "W": "Both sides read all weights again with every tile, and we have more (or, negative, fewer) tiles.",
    "O": "Operands, 8 bytes a channel, are read once a task: more (or, negative, fewer) tasks.",
    "T": "Row tiles: the vendor's figure counts every value once, ours what the tasks read, so halo rows, operands and streamed weights "
         "count again (B, H, O, S and W above; the vendor's real tasks do that too).",
    "E": "The vendor's estimate leaves out what its own program moves: it counts 16 (or 48) output channels and their operands where the "
         "writer is programmed for whole groups of 32. {whole} of {blocks} convolution blocks of the collected vendor streams have whole "
         "groups in WDMA_SIZE_0.",
    "R": "Cycles: the pixels of a tile are rounded up to 16, ours tile by tile, the vendor's figure once a layer.",
}


def number(value):
    return f"{value:,}"


def signed(value):
    return f"{value:+,}"


def both(ours, theirs):
    return number(ours) if ours == theirs else f"{number(ours)} / {number(theirs)}"


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(row) + " |" for row in rows])


def parts_of(pair):
    """{letter: amount}: bytes, and cycles for R. An E within the rounding of the vendor's own figure is none."""
    parts = {letter: amount for letter, amount in pair.parts.items() if letter != "E" or abs(amount) > ROUNDING}
    more = pair.ours.planned_cycles - pair.their_cycles
    if more:
        parts["R"] = more
    return parts


def why(pair):
    parts = parts_of(pair)
    if pair.ours.sets > 1:
        parts["sets"] = pair.ours.sets
    return ", ".join(f"{letter} {signed(parts[letter])}" for letter in sorted(parts))


def differs(pair):
    return bool(parts_of(pair)) or (not pair.estimate and pair.ours.tasks != pair.theirs.tasks)


def unexplained(pair):
    """Bytes that no letter stands for; a rounding of the estimate at most."""
    return pair.ours.bytes - pair.their_bytes - sum(pair.parts.values())


def legend(pairs, writers):
    count, total, hidden = collections.Counter(), collections.Counter(), 0
    for pair in pairs:
        for letter, amount in parts_of(pair).items():
            count[letter] += 1
            total[letter] += amount
        hidden += "S" in pair.parts and pair.total_cycles()[0] == pair.ours.planned_cycles
    theirs = [pair.theirs for pair in pairs if not pair.estimate]
    facts = {"hidden": hidden, "count": count["S"], "blocks": writers[0], "whole": writers[1], "shapes": len(theirs),
             "tiles": sum(p.fills_all_banks() for p in theirs)}
    return "\n".join(f"- **{letter}**: {count[letter]} layers, {signed(total[letter])}. {REASONS[letter].format(**facts)}"
                     for letter in sorted(count))


def totals(label, pairs, theirs_tiled):
    ours = [pair.ours for pair in pairs]
    rows = [("MAC cycles, the vendor's formula a layer", sum(p.planned_cycles for p in ours), sum(pair.their_cycles for pair in pairs))]
    if theirs_tiled:
        rows = [("tasks", sum(p.tasks for p in ours), sum(pair.theirs.tasks for pair in pairs))] + rows
        rows.append(("MAC cycles, tile by tile", sum(p.planned_cycles for p in ours), sum(pair.theirs.cycles(pair.shape) for pair in pairs)))
    rows.append(("bytes of tensors, weights, operands", sum(p.bytes for p in ours), sum(pair.their_bytes for pair in pairs)))
    if theirs_tiled:
        rows.append(("bytes without first layers of 3 channels", sum(pair.ours.bytes for pair in pairs if not pair.theirs.packed),
                     sum(pair.their_bytes for pair in pairs if not pair.theirs.packed)))
        rows.append(("bytes of command words", sum(p.words for p in ours), sum(pair.theirs.words for pair in pairs)))
    cycles = [pair.total_cycles() for pair in pairs]
    rows.append(("estimated cycles (the slower of multiplying and moving)", sum(a for a, _ in cycles), sum(b for _, b in cycles)))
    return table([label, "ours", "vendor", "ours / vendor"], [[name, number(a), number(b), f"{a / b:.4f}"] for name, a, b in rows])


def tiling_rows(pairs):
    return [[str(pair.shape), both(pair.ours.tasks, pair.theirs.tasks), both(pair.ours.planned_cycles, pair.their_cycles),
             both(pair.ours.bytes, pair.their_bytes), signed(pair.ours.bytes - pair.their_bytes), why(pair)]
            for pair in pairs if differs(pair)]


def estimate_rows(pairs):
    return [[str(pair.shape), pair.estimate.cases[0], number(pair.ours.tasks), both(pair.ours.planned_cycles, pair.their_cycles),
             f"{(pair.ours.bytes - pair.ours.output) // 1024:,} / {pair.read_kb:,}", both(pair.ours.bytes, pair.their_bytes),
             signed(pair.ours.bytes - pair.their_bytes), why(pair)]
            for pair in pairs if differs(pair)]


def equal_ones(pairs):
    """The shapes without a difference, a line a map size."""
    lines = collections.defaultdict(list)
    for pair in pairs:
        if not differs(pair):
            size, rest = str(pair.shape).split("x", 2)[:2], str(pair.shape).split("x", 2)[2]
            lines["x".join(size)].append(rest)
    return "\n".join(f"- {size}: {'; '.join(rest)}" for size, rest in lines.items())


def slower_line(pairs):
    more = {pair: ours - theirs for pair in pairs for ours, theirs in [pair.total_cycles()] if ours > theirs}
    moving = [pair for pair in more if "R" not in parts_of(pair)]
    names = "".join(f"; {pair.shape} ({why(pair)})" for pair in moving)
    return (f"- Estimated cycles above the vendor's: {len(more)} shapes, {signed(sum(more.values()))} in all. {len(more) - len(moving)} by R; "
            f"{len(moving)} because moving takes longer than multiplying there{names}.")


def network_rows(networks):
    rows = []
    for case, layers in networks.items():
        ours = [pair.ours for pair, _ in layers]
        rows.append([case, str(len(layers)), number(sum(p.tasks for p in ours)),
                     both(sum(p.planned_cycles for p in ours), sum(e.npu_cycles for _, e in layers)),
                     both(sum(p.bytes for p in ours), sum(e.bytes for _, e in layers))])
    return rows


def page(tilings, single, networks, deep, left_out, writers):
    for pair in tilings + single:
        assert abs(unexplained(pair)) < 1, f"{pair.shape}: {unexplained(pair)} bytes without a reason"
    count = len(single)
    formula = sum(pair.estimate.npu_cycles == pair.shape.mac_cycles() for pair in single)
    bytes_right = sum(abs(pair.parts.get("E", 0)) <= ROUNDING for pair in single)
    reads_right = sum((pair.theirs.bytes - pair.theirs.output) // 1024 == pair.read_kb for pair in single)
    strategies = collections.Counter(pair.ours.strategy for pair in tilings + single)
    plans = ", ".join(f"{n} by `{strategy}`" for strategy, n in strategies.items())
    sets = " or ".join(str(n) for n in sorted({pair.ours.sets for pair in tilings + single}))
    more_tasks = [str(pair.shape) for pair in tilings if pair.ours.tasks > pair.theirs.tasks]
    fewer = sum(pair.ours.tasks < pair.theirs.tasks for pair in tilings)
    return f"""# Beside the vendor's compiler

Generated by `scripts/vendor_comparison.py --binary build/release/peraxis --shared ../shared`; do not edit.

Tasks, MAC cycles and bytes of our `fast` plans beside those of the vendor's compiler (2.5.0) for the same convolutions, as collected
in `vendor/tiling.csv.gz` and `vendor/cycles.csv.gz`. None of this is measured on a chip: both sides are what a program says.

## How it is counted
- **Models.** One per-axis int8 operator each, random weights, scale ratio 16, SAME padding. Plans: {plans}, with {sets} channel set each.
- **Vendor tasks.** Only the one-core lists: bits 31:28 of CONV_CON2 are 0 there, 1 and 2 for rows over 2 and 3 cores, 4 and 5 for
  channels. The one-core tasks of every shape write its output exactly once.
- **Bytes.** From the command words of both sides, by the same code: the input tile, weights unless the task has WEIGHT_REUSE, operands, the output in
  whole groups of 32 channels (depthwise 64). Ours, with the command words, add up to the bytes of `peraxis plan`. Command words are in a line of
  their own: a later tile of the vendor's writes only the registers that change, ours is a whole program.
- **MAC cycles.** The vendor's formula, `ceil16(pixels) * ceil(oc/32) * max(kh*kw*ceil(ic/32), 4)`, depthwise `ceil16(pixels) * kh*kw*ceil(c/64)`.
  It gives the printed NPU cycles of {formula} of {count} layers of `cycles.csv.gz`. Ours is counted tile by tile.
- **The vendor's estimates.** `rw_kb` is what is read (input, weights, operands; the output is not in it): right for {reads_right} of {count} layers.
  `ddr_cycles` x 23.654 is all bytes with the output, every value once, no tiles: within one cycle for {bytes_right} of {count} layers.

## Totals
{totals(f"{len(tilings)} tiled shapes", tilings, True)}

{totals(f"{count} layers with an estimate", single, False)}

Whole networks, every occurrence of a layer counted; cycles and bytes are ours / the vendor's estimate without tiles. For the 60 convolutions
of `y5s_relu` the vendor's one-core list has 225 tasks (`vendor/README.md`).

{table(["network", "convolutions", "our tasks", "MAC cycles", "bytes"], network_rows(networks))}

- Fewer tasks than the vendor: {fewer} shapes; more: {len(more_tasks)}{' (' + '; '.join(more_tasks) + ')' if more_tasks else ''}.
{slower_line(tilings)}
- A 3x3 convolution of 512 to 512 channels on 20x20 (case `conv_deep`) is split by the vendor into two convolutions of 256 input channels, the
  second adding an int8 partial sum. We run it undivided: {deep.tasks} tasks, {number(deep.planned_cycles)} MAC cycles (theirs 921,600),
  {number(deep.bytes)} bytes (weights read {deep.reads_of_weights} times), and exact sums.

## Why ours is more
Letters of the tables. A number is bytes, ours minus theirs; the bytes of a row add up to its difference. R is cycles.

{legend(tilings + single, writers)}

## Shapes that differ
Of {len(tilings)} shapes of `tiling.csv.gz`; one number where both agree, else ours / vendor. Shape: map and input channels -> output channels,
kernel/stride, `dw` depthwise.

{table(["shape", "tasks", "MAC cycles", "bytes", "difference", "why"], tiling_rows(tilings))}

Equal in tasks, cycles and bytes, {sum(not differs(p) for p in tilings)} shapes:
{equal_ones(tilings)}

## Layers with an estimate
Of `cycles.csv.gz`, {count} different shapes; the smallest figure where a shape occurs more than once; an operand added in the same task is taken off.
Left out: {'; '.join(f'{n} {what}' for what, n in left_out.items())}. KiB read: ours / `rw_kb`.

{table(["shape", "first case", "our tasks", "MAC cycles", "KiB read", "bytes", "difference", "why"], estimate_rows(single))}

Equal in cycles and, within the rounding of the estimate, bytes, {sum(not differs(p) for p in single)} shapes:
{equal_ones(single)}
"""

"""`mesa-scale` requantizes with the words that the released Mesa driver emitted for the same models.

The captures are streams of Mesa's Teflon delegate, collected beside the models: whole_mobilenet_v1_0.25_128_quant,
and small models whose file is part of the capture. Compared are OUT_CVT_OFFSET, OUT_CVT_SCALE and OUT_CVT_SHIFT, as
whole 32-bit values. Two things in the captures have no counterpart here and are told by their own registers:
- A task with the element-wise stage on is a convolution with an ADD fused into it; its OUT_CVT belongs to the ADD.
- Mesa has a table of known models for which it moves one bit of the shift into CLIP_TRUNCATE; the sum of both
  shifts is the same.
Everything else must be equal, and the numbers of layers compared are asserted: none may drop out.

Needs numpy and the collected captures (PERAXIS_SHARED). Run by pytest, or as a program.
"""
import json

import sys

import command_words
import peraxis_runs
from command_words import field, register
from peraxis_runs import np, peraxis, replaced

sys.path.insert(0, str(peraxis_runs.ROOT / "scripts"))
from fixtures import beside_mesa  # noqa: E402

peraxis_runs.need_binary()
MODELS = peraxis_runs.need_shared_models()
CAPTURES = peraxis_runs.SHARED / "mesa"
if not CAPTURES.is_dir():
    peraxis_runs.skip(f"no captures in {CAPTURES}; set PERAXIS_SHARED")

WHOLE = "mobilenet_v1_0.25_128_quant"
WORDS = ("DPU.OUT_CVT_OFFSET", "DPU.OUT_CVT_SCALE", "DPU.OUT_CVT_SHIFT")
# What a layer is, whoever cut it into tasks. The input's width is left out: Mesa doubles it on 8-wide maps.
LAYER = ("CNA.CONV_CON1.CONV_MODE", "CNA.CONV_CON3.CONV_X_STRIDE", "CNA.CONV_CON3.CONV_Y_STRIDE", "CNA.DATA_SIZE1.DATAIN_CHANNEL",
         "CNA.DATA_SIZE2.DATAOUT_WIDTH", "CNA.WEIGHT_SIZE2.WEIGHT_WIDTH", "CNA.WEIGHT_SIZE2.WEIGHT_HEIGHT",
         "DPU.WDMA_SIZE_0.CHANNEL_WDMA")


def captured(name, prefix):
    """Registers of every task of a capture, in order."""
    stored = np.load(CAPTURES / f"{name}.mesa.npz")
    keys = sorted((key for key in stored.files if key.startswith(prefix)), key=lambda key: int(key[len(prefix):]))
    return [command_words.written(stored[key].tolist()) for key in keys]


def compiled(model, folder, strategy="mesa-scale"):
    """[(operator, registers)] of every task of a compiled model."""
    file = folder / "x.pax"
    peraxis("compile", model, "--strategy", strategy, "--convolutions-only", "-o", file)
    report = json.loads(peraxis("inspect", file, "--json"))
    assert replaced(report, strategy) == []
    return [(task["op"], registers) for task, registers in command_words.tasks(file.read_bytes(), report)]


def fused_with_add(registers):
    return field(registers, "DPU.EW_CFG.EW_BYPASS") == 0


def words_of(registers):
    """The requantization words; the shift with what CLIP_TRUNCATE took of it."""
    offset, scale, shift = (register(registers, name) for name in WORDS)
    return offset, scale, shift + field(registers, "CORE.CLIP_TRUNCATE.CLIP_TRUNCATE")


def layer_of(registers):
    return [field(registers, name) for name in LAYER]


def differences(ours, theirs):
    """[(operator, our words, their words)] of the layers whose words differ; tasks stand in the same order."""
    assert len(ours) == len(theirs)
    return [(op, words_of(a), words_of(b)) for (op, a), b in zip(ours, theirs) if words_of(a) != words_of(b)]


def test_whole_network(tmp_path):
    ours = compiled(MODELS / "real" / f"{WHOLE}.tflite", tmp_path)
    theirs = captured(f"whole_{WHOLE}", "task")
    assert [layer_of(a) for _, a in ours] == [layer_of(b) for b in theirs]
    assert not any(field(b, "CORE.CLIP_TRUNCATE.CLIP_TRUNCATE") or fused_with_add(b) for b in theirs)
    assert differences(ours, theirs) == []
    print(f"{WHOLE}: {len(ours)} layers, all {3 * len(ours)} words equal")
    assert len(ours) == 28


def test_whole_network_differs_where_it_is_named(tmp_path):
    """Every word of every task, addresses left out: what differs is in the list of fixtures/beside_mesa.py."""
    found, tasks = beside_mesa.whole_network(str(peraxis_runs.BINARY), peraxis_runs.SHARED, tmp_path)
    assert tasks == (28, 28)
    assert [where for where, _, _ in found] == sorted(beside_mesa.NAMED)


def test_another_rounding_is_noticed(tmp_path):
    """The nearest 15-bit factor instead of Mesa's next one; and single bits."""
    theirs = captured(f"whole_{WHOLE}", "task")
    nearest = compiled(MODELS / "real" / f"{WHOLE}.tflite", tmp_path, "max-scale")
    found = differences(nearest, theirs)
    assert len(found) > len(theirs) // 2, found
    for name in WORDS:
        changed = [dict(registers) for registers in theirs]
        changed[5][command_words.TABLE[name][0]] ^= 1
        assert len(differences(list(enumerate(changed)), theirs)) == 1, name


CASES = sorted(path.name.removesuffix(".mesa.npz") for path in CAPTURES.glob("u8_*.mesa.npz"))


def test_small_models(tmp_path):
    layers, fused, truncated, without = 0, [], [], []
    for name in CASES:
        theirs = captured(name, "regcmd_task")
        stored = np.load(CAPTURES / f"{name}.mesa.npz")
        if not theirs or "model_tflite" not in stored:
            without.append(name)
            continue
        model = tmp_path / "m.tflite"
        model.write_bytes(stored["model_tflite"].tobytes())
        ours = compiled(model, tmp_path)
        if len({op for op, _ in ours}) == 1:
            # Rows may be cut differently; every tile of a layer has the same words.
            assert len({words_of(a) for _, a in ours}) == len({words_of(b) for b in theirs}) == 1, name
            ours, theirs = ours[:1], theirs[:1]
        assert [layer_of(a) for _, a in ours] == [layer_of(b) for b in theirs], name
        fused += [name] * sum(map(fused_with_add, theirs))
        truncated += [name for b in theirs if field(b, "CORE.CLIP_TRUNCATE.CLIP_TRUNCATE")]
        pairs = [pair for pair in zip(ours, theirs) if not fused_with_add(pair[1])]
        assert differences([a for a, _ in pairs], [b for _, b in pairs]) == [], name
        layers += len(pairs)
    print(f"{len(CASES)} captures: {layers} layers equal; {len(fused)} with a fused ADD, not compared; shift partly in "
          f"CLIP_TRUNCATE: {truncated}; no stream or no model: {without}")
    assert (layers, len(fused), len(truncated), len(without)) == (34, 6, 1, 4)


if __name__ == "__main__":
    peraxis_runs.main(__file__)

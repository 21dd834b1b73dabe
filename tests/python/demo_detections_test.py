"""The twelve demo pictures through the register commands: boxes of `run --image` against those of LiteRT.

expected_detections.json was made with LiteRT's reference kernels (tools/models/make_expected_detections.py). `exact`
must find the same boxes; `fast` may differ by single steps of the output, which moves a side of a box by up to a
tenth, so it is held to the clear boxes only. Boxes are compared before clipping: neither side clips.

Needs numpy. Run by pytest, or as a program.
"""
import json

import pytest

import peraxis_runs
from peraxis_runs import DEMO

peraxis_runs.need_binary()
MODEL = DEMO / "shapes_yolo_raw_int8.tflite"
EXPECTED = json.loads((DEMO / "expected_detections.json").read_text())
CLEAR = 0.35  # the score from which on a box must be found, and must be one of the expected


def expected(picture):
    boxes = []
    for item in EXPECTED[picture]["int8_raw"]:
        cx, cy, w, h = item["cxcywh"]
        boxes.append((item["class"], item["score"], (cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2)))
    return boxes


def detected(picture, accuracy, folder):
    report = json.loads(peraxis_runs.peraxis("run", MODEL, "--image", DEMO / picture, "--accuracy", accuracy, "--device",
                                             "sim", "--no-fallback", "--json", "--output-dir", folder))
    assert report["npu"]["mac_share"] == 1, report["npu"]
    return [(item["label"], item["score"], tuple(item["box"])) for item in report["detections"]]


def iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def pairs(wanted, found, least):
    """Each wanted box with a found one of the same class, each used once, best overlap first; then what is left."""
    candidates = sorted(((iou(w[2], f[2]), i, j) for i, w in enumerate(wanted) for j, f in enumerate(found)
                         if w[0] == f[0]), reverse=True)
    used_wanted, used_found, made = set(), set(), []
    for overlap, i, j in candidates:
        if overlap >= least and i not in used_wanted and j not in used_found:
            used_wanted.add(i)
            used_found.add(j)
            made.append((wanted[i], found[j]))
    return (made, [w for i, w in enumerate(wanted) if i not in used_wanted],
            [f for j, f in enumerate(found) if j not in used_found])


def test_all_pictures_are_there():
    assert len(EXPECTED) == 12
    assert sum(len(item["int8_raw"]) for item in EXPECTED.values()) == 42


@pytest.mark.parametrize("picture", sorted(EXPECTED))
def test_exact_finds_the_same_boxes(picture, tmp_path):
    found = detected(picture, "exact", tmp_path)
    made, missing, extra = pairs(expected(picture), found, 0.98)
    assert not missing and not extra, f"missing {missing}\nnot expected {extra}"
    for want, got in made:
        assert abs(want[1] - got[1]) < 2e-3, f"score {got[1]}, expected {want[1]}"


@pytest.mark.parametrize("picture", sorted(EXPECTED))
def test_fast_finds_the_clear_boxes(picture, tmp_path):
    wanted = expected(picture)
    found = detected(picture, "fast", tmp_path)
    _, missing, _ = pairs([box for box in wanted if box[1] >= CLEAR], found, 0.75)
    assert not missing, f"missing {missing}\nfound {found}"
    _, _, extra = pairs(wanted, [box for box in found if box[1] >= CLEAR], 0.75)
    assert not extra, f"not expected {extra}\nexpected {wanted}"


if __name__ == "__main__":
    peraxis_runs.main(__file__)

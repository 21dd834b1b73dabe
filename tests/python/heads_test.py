"""Heads of trained networks, whole: `run --image` on the CPU against the formulas in NumPy on LiteRT's outputs.

The pictures are the recorded inputs of the shared models made pictures again, so `run` quantizes them to the very
recorded bytes, and its outputs are the recorded ones of LiteRT's reference kernels. The decoders here are written
from the networks' definitions and share nothing with peraxis.

Needs numpy and the shared models. Run by pytest, or as a program.
"""
import json
import struct
import zlib

import pytest

import peraxis_runs
from peraxis_runs import np

peraxis_runs.need_binary()
MODELS = peraxis_runs.need_shared_models()
SCORE, IOU = 0.25, 0.45
PERSON, CAT = 0, 15  # COCO


def png(pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def recorded(name):
    """The picture of set 0 and its outputs as real numbers."""
    folder, stem = name.split("/")
    facts = json.loads((MODELS / folder / "index.json").read_text())[stem]
    arrays = np.load(MODELS / folder / f"{stem}.npz")
    zero_point, scale = facts["inputs"][0]["zero_point"][0], facts["inputs"][0]["scale"][0]
    pixels = np.rint((arrays["i0_0"][0].astype(int) - zero_point) * (scale if scale > 0.5 else scale * 255)).astype(int)
    if scale * (-128 - zero_point) < -16:  # what the input can hold: pixel - 128 (src/vision/quantize.hpp)
        pixels += 128
    outputs = [((arrays[f"o0_{i}"].astype(np.float64) - out["zero_point"][0]) * out["scale"][0])
               for i, out in enumerate(facts["outputs"])]
    return pixels.astype(np.uint8), outputs


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def detected(name, picture, folder, *options):
    (folder / "picture.png").write_bytes(png(picture))
    report = json.loads(peraxis_runs.peraxis("run", MODELS / f"{name}.tflite", "--device", "cpu", "--image",
                                             folder / "picture.png", "--json", *options))
    return report


def suppressed(boxes, scores, iou=IOU):
    """(class, score, x1, y1, x2, y2) above the score, greedily without overlaps within a class, best first."""
    rows, classes = np.nonzero(scores > SCORE)
    order = np.argsort(-scores[rows, classes], kind="stable")
    kept = []
    for row, label in zip(rows[order], classes[order]):
        if len(kept) == 100:
            break
        a = boxes[row]
        for other, _, *b in kept:
            both = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
            area = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
            if other == label and both / (area - both) > iou:
                break
        else:
            kept.append((label, scores[row, label], *a))
    return kept


def corners(cx, cy, w, h):
    return np.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], -1)


def same(report, wanted):
    found = report["detections"]
    assert len(found) == len(wanted), f"{found}\nexpected {wanted}"
    # Equal scores may come in another order where the last bit differs.
    key = [(-round(float(s), 4), c, [round(float(v), 1) for v in box]) for c, s, *box in wanted]
    got = [(-round(d["score"], 4), d["class"], [round(v, 1) for v in d["box"]]) for d in found]
    for (score, label, box), (want_score, want_label, want_box) in zip(sorted(got), sorted(key)):
        assert label == want_label and abs(score - want_score) <= 2e-4, (label, score, want_label, want_score)
        np.testing.assert_allclose(box, want_box, atol=0.11)


def cells(strides, width, height):
    xs, ys, steps = [], [], []
    for stride in strides:
        y, x = np.mgrid[:-(-height // stride), :-(-width // stride)]
        xs.append(x.ravel())
        ys.append(y.ravel())
        steps.append(np.full(x.size, stride))
    return np.concatenate(xs), np.concatenate(ys), np.concatenate(steps)


def test_yolox_finds_the_cat(tmp_path):
    name = "real/yolox_nano_ti_lite_320_full_integer"
    picture, (output,) = recorded(name)
    x, y, step = cells((8, 16, 32), 320, 320)
    rows = output[0]
    boxes = corners((rows[:, 0] + x) * step, (rows[:, 1] + y) * step, np.exp(rows[:, 2]) * step, np.exp(rows[:, 3]) * step)
    wanted = suppressed(boxes, rows[:, 4:5] * rows[:, 5:])
    assert [label for label, *_ in wanted] == [CAT], wanted
    report = detected(name, picture, tmp_path)
    assert report["head"] == {"name": "yolox", "chosen_by": "shapes"}
    same(report, wanted)


def test_yolo_fastest_finds_the_person_when_it_is_named(tmp_path):
    name = "real/yolo-fastest-1.1-coco80-int8"
    picture, outputs = recorded(name)
    anchors = {16: [(12, 18), (37, 49), (52, 132)], 32: [(115, 73), (119, 199), (242, 238)]}
    boxes, scores = [], []
    for output in outputs:
        stride = 320 // output.shape[1]
        rows = output[0].reshape(output.shape[1], output.shape[2], 3, 85)
        y, x = np.mgrid[:rows.shape[0], :rows.shape[1]]
        for a, (w, h) in enumerate(anchors[stride]):
            r = rows[:, :, a]
            boxes.append(corners((sigmoid(r[..., 0]) + x) * stride, (sigmoid(r[..., 1]) + y) * stride,
                                 np.exp(r[..., 2]) * w, np.exp(r[..., 3]) * h).reshape(-1, 4))
            scores.append((sigmoid(r[..., 4:5]) * sigmoid(r[..., 5:])).reshape(-1, 80))
    wanted = suppressed(np.concatenate(boxes), np.concatenate(scores))
    assert wanted[0][0] == PERSON, wanted
    report = detected(name, picture, tmp_path, "--head", "yolo-fastest")
    assert report["head"] == {"name": "yolo-fastest", "chosen_by": "name"}
    same(report, wanted)
    unnamed = detected(name, picture, tmp_path)
    assert "detections" not in unnamed
    (warning,) = unnamed["warnings"]
    assert "yolov3-tiny" in warning and "yolo-fastest" in warning, warning


def test_ssd_finds_the_face_with_its_anchors(tmp_path):
    """Anchors of the public network this one is a small version of (sides 10, 16, 24 ... at strides 8 to 64)."""
    name = "real/emza_ssd_slim_120x160x1"
    picture, outputs = recorded(name)
    sides = {8: (10, 16, 24), 16: (32, 48), 32: (64, 96), 64: (128, 192, 256)}
    info = {"head": "ssd", "labels": ["face"], "box_order": "xywh", "variances": [0.1, 0.2], "strides": list(sides),
            "anchors": [[[min(s, 160), min(s, 120)] for s in sides[stride]] for stride in sides]}
    priors = []
    for stride in sides:
        y, x = np.mgrid[:-(-120 // stride), :-(-160 // stride)]
        for py, px in zip(y.ravel(), x.ravel()):
            priors += [((px + 0.5) * stride, (py + 0.5) * stride, min(s, 160), min(s, 120)) for s in sides[stride]]
    priors = np.array(priors)
    codes, scores = outputs[0][0], outputs[1][0]
    assert priors.shape == codes.shape
    boxes = corners(*(priors[:, i] + codes[:, i] * 0.1 * priors[:, 2 + i] for i in (0, 1)),
                    *(priors[:, i] * np.exp(codes[:, i] * 0.2) for i in (2, 3)))
    wanted = suppressed(boxes, scores[:, 1:])
    assert wanted, "no face"
    (tmp_path / "info.json").write_text(json.dumps(info))
    same(detected(name, picture, tmp_path, "--model-info", tmp_path / "info.json"), wanted)
    without = detected(name, picture, tmp_path)
    assert "detections" not in without
    (warning,) = without["warnings"]
    assert "'ssd'" in warning and "priors" in warning, warning


def test_yolov8_raw(tmp_path):
    """Random weights: the boxes mean nothing, the arithmetic is the real one."""
    name = "synth/yolov8n_relu_320_raw"
    picture, outputs = recorded(name)
    boxes, scores = [], []
    for sides, classes in zip(outputs[::2], outputs[1::2]):
        stride = 320 // sides.shape[1]
        bins = sides[0].reshape(-1, 4, 16)
        weights = np.exp(bins - bins.max(-1, keepdims=True))
        left, top, right, bottom = ((weights / weights.sum(-1, keepdims=True)) @ np.arange(16)).T
        y, x = np.mgrid[:sides.shape[1], :sides.shape[2]]
        x, y = x.ravel() + 0.5, y.ravel() + 0.5
        boxes.append(np.stack([x - left, y - top, x + right, y + bottom], -1) * stride)
        scores.append(sigmoid(classes[0].reshape(-1, 80)))
    wanted = suppressed(np.concatenate(boxes), np.concatenate(scores))
    assert len(wanted) > 10
    report = detected(name, picture, tmp_path)
    assert report["head"] == {"name": "yolov8", "chosen_by": "shapes"}
    found = report["detections"]
    assert len(found) == len(wanted)
    np.testing.assert_allclose([d["score"] for d in found], [w[1] for w in wanted], atol=1e-5)
    pairs = {(d["class"], *np.round(d["box"], 1)) for d in found}
    near = sum(any(p[0] == w[0] and np.abs(np.array(p[1:]) - w[2:]).max() < 0.11 for p in pairs) for w in wanted)
    # Of equal scores at the hundredth place either may be left out.
    last = wanted[-1][1]
    assert near >= sum(w[1] > last + 1e-6 for w in wanted)


@pytest.mark.parametrize("name, head", [("synth/yolov5n_relu_320_raw", "yolov5"),
                                        ("synth/yolov5n_silu_320_decoded", "yolov5-decoded")])
def test_yolov5_is_told_by_its_shapes(name, head, tmp_path):
    report = detected(name, recorded(name)[0], tmp_path)
    assert report["head"] == {"name": head, "chosen_by": "shapes"}
    assert "detections" in report


def test_a_head_that_does_not_fit_is_an_error_with_its_name(tmp_path):
    name = "synth/yolov5n_relu_320_raw"
    with pytest.raises(peraxis_runs.Failed, match=r"head 'yolox' does not fit the outputs.*one row a cell"):
        detected(name, recorded(name)[0], tmp_path, "--head", "yolox")
    report = detected(name, recorded(name)[0], tmp_path, "--head", "none")
    assert "detections" not in report and "head" not in report and report["warnings"] == []


if __name__ == "__main__":
    peraxis_runs.main(__file__)

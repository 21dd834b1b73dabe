"""The demo's recorded detections come from its own model and pictures, and the pictures from their seed.

Needs ai-edge-litert, numpy, pillow; skipped without them. Run by pytest, or as a program.
"""
import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo"
sys.path.insert(0, str(ROOT / "tools" / "models"))

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")


def test_expected_detections_are_litert_reference_results():
    pytest.importorskip("ai_edge_litert")
    import make_expected_detections
    expected = json.loads((DEMO / "expected_detections.json").read_text())
    assert len(expected) == 12
    assert sum(len(item["int8_raw"]) for item in expected.values()) == 42
    assert make_expected_detections.differences(expected, make_expected_detections.compute(DEMO)) == []


def test_a_changed_digit_is_noticed():
    import make_expected_detections
    expected = json.loads((DEMO / "expected_detections.json").read_text())
    computed = {name: json.loads(json.dumps(item["int8_raw"])) for name, item in expected.items()}
    assert make_expected_detections.differences(expected, computed) == []
    computed["test_03.png"][0]["cxcywh"][2] += 0.01
    assert len(make_expected_detections.differences(expected, computed)) == 1
    del computed["test_05.png"]
    assert len(make_expected_detections.differences(expected, computed)) == 2


def test_pictures_and_labels_follow_from_the_seed():
    import shapes_data
    pictures, boxes = shapes_data.make_set(12, 1001)
    labels = json.loads((DEMO / "test_labels.json").read_text())
    for i in range(12):
        name = f"test_{i:02d}.png"
        assert np.array_equal(np.asarray(Image.open(DEMO / name)), pictures[i]), name
        drawn = [{"class": shapes_data.CLASSES[int(b[0])], "cxcywh": [round(float(v), 2) for v in b[1:]]} for b in boxes[i]]
        assert drawn == labels[name], name


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q"]))

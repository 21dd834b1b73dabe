"""The demo's detector on drawn pictures through the register commands: `exact` gives the bytes and detections of LiteRT's reference
kernels, `fast` their average precision within 0.002. scripts/demo_accuracy.py does the same on 500 pictures.

Needs numpy, pillow, ai-edge-litert; skipped without them. Run by pytest, or as a program.
"""
import sys

import pytest

import peraxis_runs
from peraxis_runs import BINARY, ROOT

pytest.importorskip("ai_edge_litert")
pytest.importorskip("PIL.Image")
peraxis_runs.need_binary()
sys.path.insert(0, str(ROOT / "scripts"))
import demo_accuracy  # noqa: E402  pylint: disable=wrong-import-position

PICTURES = 40


@pytest.fixture(scope="module", name="ways")
def measured():
    return {way.name: way for way in demo_accuracy.measure(BINARY, PICTURES, 1)}


def test_exact_is_identical(ways):
    way = ways["peraxis, `exact`"]
    assert (way.different, way.detections) == (0, PICTURES)
    assert way.precision == ways["LiteRT, reference kernels"].precision


def test_fast_is_as_precise(ways):
    reference = ways["LiteRT, reference kernels"]
    assert reference.precision > 0.9, "the pictures or the counting are broken"
    assert abs(ways["peraxis, `fast`"].precision - reference.precision) <= demo_accuracy.LIMIT


def test_a_difference_would_be_counted(ways):
    """LiteRT's own default kernels are not the reference's."""
    assert ways["LiteRT, default kernels"].different > 0
    assert ways["LiteRT, default kernels"].detections < PICTURES


def test_the_page_has_the_numbers(ways):
    text = demo_accuracy.page(list(ways.values()), PICTURES)
    for way in ways.values():
        assert f"| {way.name} | {way.precision:.4f} |" in text


if __name__ == "__main__":
    peraxis_runs.main(__file__)

"""What `peraxis plan` promises about the shared networks, measured on their stored input sets.

The default plan (`fast`) may take a few more tasks than one a tile, and stays within 1 of the reference kernels in
every layer. `--max-mismatch` is a promise: the pooled share of differing values, every layer on the reference's own
inputs, stays below the budget, without calibration. `exact` has no differences. The certificate of a layer bounds
whatever is measured of it, under every strategy. What a budget costs is printed, beside `fast` and `exact`.

Needs numpy and the shared models (PERAXIS_SHARED). Run by pytest, or as a program.
"""
import json
import multiprocessing.pool

import numpy as np
import pytest

import peraxis_runs
from peraxis_runs import compare, golden_sets, peraxis

peraxis_runs.need_binary()
MODELS = peraxis_runs.need_shared_models()
NAMES = sorted(f"{folder}/{name}" for folder in ("demo", "real", "synth")
               for name in json.loads((MODELS / folder / "index.json").read_text()))
SETS = (0, 1)
BUDGETS = (0.05, 0.01)  # per cent
MOST_TASKS = 1.3  # of one task a tile
# Percent of differing values under the default plan. The exceptions have depthwise layers without an activation.
FAST_LIMITS = {"real/yolo-fastest-1.1-coco80-int8": 0.6, "real/tf2_mobilenet_v2_1.0_224_ptq": 0.6}
FAST_LIMIT = 0.1
WAYS = {
    "fast": (),
    "exact": ("--accuracy", "exact"),
    "max-scale": ("--strategy", "max-scale"),
    **{f"budget {percent}": ("--max-mismatch", str(percent)) for percent in BUDGETS},
}
FIRST_SET_ONLY = {
    "exponent-classes": ("--strategy", "exponent-classes"),
    "groups": ("--strategy", "groups", "--group-size", "64", "--correction", "multiply"),
}
WITHIN_ONE = ("fast", "exact", "exponent-classes", *(way for way in WAYS if way.startswith("budget")))
RUN_WHOLE = ("demo/shapes_yolo_raw_int8", "real/kws_ref_model", "real/yolo-fastest-1.1-coco80-int8", "synth/yolov5n_relu_320_decoded_u8")


def plans_of(name, folder):
    """{(way, set): the JSON of plan} of one model."""
    sets = golden_sets(MODELS / f"{name}.npz")
    assert len(sets) == len(SETS)
    found = {}
    for index, (inputs, _) in enumerate(sets):
        arguments = []
        for n, values in enumerate(inputs):
            path = folder / f"{name.replace('/', '_')}_{index}_{n}.npy"
            np.save(path, values)
            arguments += ["--input", f"{n}={path}"]
        for way, options in {**WAYS, **(FIRST_SET_ONLY if index == 0 else {})}.items():
            found[way, index] = json.loads(peraxis("plan", MODELS / f"{name}.tflite", "--json", "--threads", "1",
                                                   *arguments, *options))
    return found


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    """{model: plans_of}. A model that fails leaves its error, which its tests raise."""
    folder = tmp_path_factory.mktemp("inputs")

    def attempt(name):
        try:
            return plans_of(name, folder)
        except (peraxis_runs.Failed, AssertionError) as error:
            return error

    with multiprocessing.pool.ThreadPool(2) as pool:
        return dict(zip(NAMES, pool.map(attempt, NAMES, chunksize=1)))


@pytest.fixture
def plan(plans, request):
    """The plans of the model of this test."""
    made = plans[request.node.callspec.params["name"]]
    if isinstance(made, Exception):
        raise made
    return made


def measured(report):
    """[(layer, its isolated figures)] of the layers on the NPU; all of them must have been measured."""
    layers = [layer for layer in report["layers"] if layer["device"] == "npu"]
    assert layers and all(layer["isolated"] for layer in layers)
    return [(layer, layer["isolated"]) for layer in layers]


def pooled(report):
    """Differing values, values and the largest difference over the layers on the NPU."""
    figures = [found for _, found in measured(report)]
    return (sum(found["differing"] for found in figures), sum(found["elements"] for found in figures),
            max(found["max"] for found in figures))


def percent_of(report):
    differing, elements, _ = pooled(report)
    return 100 * differing / elements


def text_of(report):
    """What a plan costs, for the printed lines."""
    total = report["total"]
    return f"{total['estimated_ms']:.2f} ms (estimate), {total['tasks']} tasks"


def test_every_network_is_planned(plans):
    assert len(NAMES) == 17
    assert set(FAST_LIMITS) < set(NAMES)
    wrong = {name: str(made) for name, made in plans.items() if isinstance(made, Exception)}
    assert not wrong, wrong


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_those_of_their_values(plan, name):
    """The per cent, the elements and the totals of every document agree with the counts in it."""
    for report in plan.values():
        for layer, found in measured(report):
            assert sum(found["histogram"].values()) == found["elements"] > 0
            assert found["differing"] == found["elements"] - found["histogram"]["0"]
            assert found["percent"] == pytest.approx(100 * found["differing"] / found["elements"])
        parts = [*report["layers"], report["other_operators"], report["other_operators_on_npu"]]
        for key in ("tasks", "bytes", "mac_cycles"):
            assert report["total"][key] == sum(part[key] for part in parts), key
        assert report["total"]["estimated_ms"] == pytest.approx(sum(part["estimated_ms"] for part in parts))


@pytest.mark.parametrize("name", RUN_WHOLE)
def test_the_measured_figures_are_those_of_compare(plan, name, tmp_path):
    """`compare` runs the compiled model; the layers alone must differ in as many values as `plan` says."""
    arrays = np.load(MODELS / f"{name}.npz")
    np.savez(tmp_path / "set.npz", **{key: arrays[key] for key in arrays if key.startswith(("i0_", "o0_"))})
    found = compare(MODELS / f"{name}.tflite", tmp_path / "set.npz")
    assert [(layer["op"], layer["strategy"], layer["isolated"]) for layer in found["layers"] if layer["strategy"]] == [
        (layer["op"], layer["strategy"], figures) for layer, figures in measured(plan["fast", 0])]
    assert found["npu"]["tasks"] == plan["fast", 0]["total"]["tasks"]


@pytest.mark.parametrize("name", NAMES)
def test_fast(plan, name):
    limit = FAST_LIMITS.get(name, FAST_LIMIT)
    for index in SETS:
        report, one = plan["fast", index], plan["max-scale", index]
        print(f"{name} set {index}: fast {percent_of(report):.4f} % (limit {limit}, expected "
              f"{report['total']['expected_mismatch_percent']:.4f}), {text_of(report)}; one task a tile {text_of(one)}")
        assert report["total"]["tasks"] <= MOST_TASKS * one["total"]["tasks"]
        assert percent_of(report) <= limit


@pytest.mark.parametrize("name", NAMES)
def test_no_layer_is_off_by_more_than_one(plan, name):
    wrong = [(way, index, layer["op"], layer["name"], layer["strategy"], found["max"])
             for (way, index), report in plan.items() if way in WITHIN_ONE
             for layer, found in measured(report) if found["max"] > 1]
    assert not wrong, f"(way, set, operator, name, strategy, maximum): {wrong}"


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", NAMES)
def test_a_budget_is_kept(plan, name, budget):
    found = []
    for index in SETS:
        report = plan[f"budget {budget}", index]
        found.append(percent_of(report))
        assert report["max_mismatch_percent"] == budget
        assert report["total"]["expected_mismatch_percent"] <= budget
    print(f"{name}: at most {budget} %: measured {', '.join(f'{value:.4f}' for value in found)} %, "
          f"{text_of(plan[f'budget {budget}', 0])}; fast {text_of(plan['fast', 0])}; exact {text_of(plan['exact', 0])}")
    assert max(found) <= budget


@pytest.mark.parametrize("name", NAMES)
def test_exact_has_no_differences(plan, name):
    for index in SETS:
        report = plan["exact", index]
        assert {layer["strategy"] for layer, _ in measured(report)} == {"exact"}
        assert pooled(report)[0] == 0
        assert report["total"]["expected_mismatch_percent"] == 0


@pytest.mark.parametrize("name", NAMES)
def test_inputs_do_not_change_a_plan(plan, name):
    """Without --calibrate the inputs are measured, not looked at."""
    for way in WAYS:
        first, second = ([{key: value for key, value in layer.items() if key != "isolated"} for layer in plan[way, index]["layers"]]
                         for index in SETS)
        assert first == second, way


@pytest.mark.parametrize("name", NAMES)
def test_certificates_bound_what_is_measured(plan, name):
    wrong, proven = [], 0
    for (way, index), report in plan.items():
        for layer, found in measured(report):
            certificate = layer["certificate"]
            proven += certificate["differing"] == 0
            assert 0 <= certificate["differing"] <= certificate["values"]
            assert (certificate["differing"] == 0) == (certificate["max"] == 0)
            if found["max"] > certificate["max"] or (certificate["differing"] == 0 and found["differing"] != 0):
                wrong.append((way, index, layer["op"], layer["name"], layer["strategy"], certificate, found))
    assert not wrong, f"(way, set, operator, name, strategy, certificate, measured): {wrong}"
    assert proven  # exact at least
    # Without a certificate above 1, a strategy that clips would not have been looked at.
    if name.startswith("synth/"):
        assert any(layer["certificate"]["max"] > 1 for layer, _ in measured(plan["max-scale", 0]))


if __name__ == "__main__":
    peraxis_runs.main(__file__)

"""Class names of the collected models: every form of the label file, inside the model, and what every real model gives.

The right names are the README's beside the models (class 16 is `cat`), and for labels inside a model those that
Python's zipfile reads from it. Run by pytest, or as a program.
"""
import json
import zipfile

import pytest

import peraxis_runs
from peraxis_runs import np

peraxis_runs.need_binary()
MODELS = peraxis_runs.need_shared_models()
REPORTS = MODELS / "reports"
if not (REPORTS / "labels_plain.txt").is_file():
    peraxis_runs.skip("no labels_* in models/reports of the shared folder")
PLAIN = (REPORTS / "labels_plain.txt").read_text().splitlines()
COCO_GAPS = [i for i, name in enumerate(PLAIN) if name == "n/a"]


def run(model, picture, *options):
    return json.loads(peraxis_runs.peraxis("run", model, "--device", "cpu", "--image", picture, "--json", *options))


def best(*options, model="labels_model.tflite"):
    report = run(REPORTS / model, REPORTS / "labels_picture.png", *options)
    return report["top"][0], report


FORMS = {
    "numbered": lambda i, name: f"{i} {name}",
    "two_blanks": lambda i, name: f"{i}  {name}",
    "tab": lambda i, name: f"{i}\t{name}",
    "colon": lambda i, name: f"{i}: {name}",
    "colon_alone": lambda i, name: f"{i}:{name}",
    "single_quotes": lambda i, name: f"{i}: '{name}'",
    "double_quotes": lambda i, name: f'{i} "{name}"',
    "json": lambda i, name: f'"{i}": "{name}",',
    "comma": lambda i, name: f"{i},{name}",
    "padded": lambda i, name: f"{i:03d} {name}",
}
ENDS = {"lf": "\n", "crlf": "\r\n"}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_numbered_forms(form, gaps, end, tmp_path):
    lines = [FORMS[form](i, name) for i, name in enumerate(PLAIN) if not (gaps and i in COCO_GAPS)]
    (tmp_path / "l.txt").write_bytes("\ufeff".encode() * (end == "crlf") + (ENDS[end].join(lines) + 3 * ENDS[end]).encode())
    top, report = best("--labels", tmp_path / "l.txt")
    assert (top["class"], top["label"]) == (16, "cat")
    assert report["labels_from"] == f"--labels {tmp_path / 'l.txt'}"
    assert report["top"][1]["label"] == "dog"


@pytest.mark.parametrize("first", ["???", "background", "1"])
def test_a_background_before_the_classes(first, tmp_path):
    """90 classes and 91 lines: the first is none of them. The same when numbers begin at 1."""
    lines = [f"{i + 1} {name}" for i, name in enumerate(PLAIN)] if first == "1" else [first, *PLAIN]
    (tmp_path / "l.txt").write_text("\n".join(lines))
    top, _ = best("--labels", tmp_path / "l.txt")
    assert (top["class"], top["label"]) == (16, "cat")


@pytest.mark.parametrize("name", ["labels_plain.txt", "labels_numbered.txt"])
def test_the_files_as_they_are(name):
    top, report = best("--labels", REPORTS / name)
    assert (top["class"], top["label"]) == (16, "cat")
    assert report["labels_from"].endswith(name)


def test_names_that_begin_with_digits(tmp_path):
    names = [f"{i}d printer" if i % 2 else f"{i}{name}" for i, name in enumerate(PLAIN)]
    (tmp_path / "l.txt").write_text("\n".join(names))
    top, _ = best("--labels", tmp_path / "l.txt")
    assert (top["class"], top["label"]) == (16, "16cat")


def test_labels_inside_the_model(tmp_path):
    top, report = best(model="labels_inside_file.tflite")
    assert (top["class"], top["label"]) == (16, "cat")
    assert report["labels_from"] == "labels.txt inside the model"
    (tmp_path / "l.txt").write_text("\n".join(f"other {i}" for i in range(90)))
    top, report = best("--labels", tmp_path / "l.txt", model="labels_inside_file.tflite")
    assert (top["class"], top["label"]) == (16, "other 16")


@pytest.mark.parametrize("name", ["mobilenet_v1_0.25_128_quant", "tf2_mobilenet_v2_1.0_224_ptq"])
def test_imagenet_labels_inside_real_models(name):
    """1001 names for 1001 classes: the first, `background`, is a class of its own."""
    model = MODELS / "real" / f"{name}.tflite"
    with zipfile.ZipFile(model) as archive:
        (member,) = archive.namelist()
        labels = archive.read(member).decode().splitlines()
    assert len(labels) == 1001 and labels[0] == "background"
    report = run(model, peraxis_runs.DEMO / "test_03.png")
    assert report["labels_from"] == f"{member} inside the model"
    assert [t["label"] for t in report["top"]] == [labels[t["class"]] for t in report["top"]]


@pytest.mark.parametrize("name", ["kws_ref_model", "mobilenet_v1_0.25_128_quant", "pretrainedResnet_quant",
                                  "tf2_mobilenet_v2_1.0_224_ptq", "tflm_person_detect", "vww_96_int8"])
def test_real_classifiers_say_why_they_are_taken_for_one(name):
    report = run(MODELS / "real" / f"{name}.tflite", peraxis_runs.DEMO / "test_03.png")
    assert report["head"]["name"] == "classification"
    (assumed,) = report["assumed"]
    assert "'classification', because" in assumed
    arrays = np.array([t["score"] for t in report["top"]])
    assert (np.diff(arrays) <= 0).all()


@pytest.mark.parametrize("name, assumed", [("shapes_yolo_raw_int8", []), ("shapes_yolo_decoded_int8", ["boxes in fractions"])])
def test_the_demo_states_its_head(name, assumed):
    report = run(MODELS / "demo" / f"{name}.tflite", peraxis_runs.DEMO / "test_03.png")
    assert report["head"]["chosen_by"] == "name"
    assert len(report["detections"]) >= 4
    assert [a[:len(b)] for a, b in zip(report["assumed"], assumed, strict=True)] == assumed
    assert report["model_info_from"] == report["labels_from"] == f"{MODELS / 'demo' / name}.json beside the model"


if __name__ == "__main__":
    peraxis_runs.main(__file__)

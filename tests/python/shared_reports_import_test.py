"""Files as exporters write them, and small ones made after public reports: right to the byte, or refused in so many words.

`shared/models/exporters` and `reports` hold them, with LiteRT's outputs. `exact` on the machine model and `--device
cpu` must both give these.

Needs numpy and the shared models (PERAXIS_SHARED). Run by pytest, or as a program.
"""
import pytest

import peraxis_runs
from peraxis_runs import golden_sets, run

peraxis_runs.need_binary()
MODELS = peraxis_runs.need_shared_models()
REPORTS = MODELS / "reports"
if not REPORTS.is_dir():
    peraxis_runs.skip(f"no {REPORTS}")
EXPORTED = ("keras_mnv2_16x8", "keras_mnv2_floatio", "keras_unet_floatio", "tv_convnext_int8io", "yolo11n-obb_int8",
            "onnx2tf129_yolo11n_full_integer", "tv_mobilenetv2_pt2e",
            "tv_mobilenetv3s_int8io", "tv_shufflenetv2_int8io", "yolo11n-cls_int8", "yolo11n_int8", "yolo26n_int8",
            "yolov8n-pose_int8")

READ = (
    "b01_buffer_offsets_all",
    "real_aeq_mobilenet_v1_025_a8w8_offsets",
    "b02_subgraphs_second_unused",
    "b12_no_declared_shapes_middle",
    "b12_no_declared_shapes_output_dynamic",
    "b08_dynamic_height_declared_size",
    "a03_conv2dtranspose_shape_pack_static",
    "c08_shapes_computed_upsample_bilinear",
    "c08_shapes_computed_upsample_nearest",
    "c17_reshape_int64_int64",
    "b04_int4_weights_conv",
    "b05_sparse_weights_densify",
    "b06_fp16_weights_conv",
    "b06_fp16_weights_int8_const_dequantize",
)
REFUSED = {
    "b02_subgraphs_if": ("operator 0 is IF (code 118): it runs another subgraph",),
    "b03_stateful_wake_word_one_layer": ("operator 0 is CALL_ONCE", "operator 1 is VAR_HANDLE", "it keeps state"),
    "b07_hybrid_conv": ("the weights (tensor 1 't1') are int8 beside a float32 input", "quantized dynamically (hybrid)",
                        "static_wi8_ai8", "representative_dataset", "int8=True"),
    "b11_blockwise_custom": ("its quantization is of a custom kind, like blockwise (details of type 1)", "CHANNELWISE"),
    "a02_conv_huge_multiplier_shift40": ("conv_2d 0 't3': input scale * weight scale / output scale is 4.99999994e+11",
                                         "LiteRT's result is undefined from 2^31 on", "a scale is dead or broken"),
    "a02_conv_huge_multiplier_shift108": ("is 4.99999978e+32; LiteRT's result is undefined", "quantize again"),
    "b10_identifier_op_version_99": ("operator 0 and 1 more are CONV_2D (code 3): version 99, but LiteRT 2.3.0 knows 1 to 8",),
}


@pytest.mark.parametrize("device", ("sim", "cpu"))
@pytest.mark.parametrize("path", [*(f"reports/{name}" for name in READ), *(f"exporters/{name}" for name in EXPORTED)])
def test_outputs_are_byte_identical(path, device, tmp_path):
    sets = golden_sets(MODELS / f"{path}.npz")
    assert sets
    for inputs, outputs in sets:
        got, _ = run(MODELS / f"{path}.tflite", inputs, tmp_path, "--device", device, "--accuracy", "exact")
        assert len(got) == len(outputs)
        for a, b in zip(got, outputs):
            assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_why(name):
    with pytest.raises(peraxis_runs.Failed) as refusal:
        peraxis_runs.peraxis("inspect", REPORTS / f"{name}.tflite")
    for text in ("exit code 1", *REFUSED[name]):
        assert text in str(refusal.value)


if __name__ == "__main__":
    peraxis_runs.main(__file__)

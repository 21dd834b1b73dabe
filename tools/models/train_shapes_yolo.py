#!/usr/bin/env python3
"""Train a small YOLOv5-style detector of drawn shapes and quantize it to per-axis int8 TFLite.

Needs: pip install tensorflow-cpu numpy pillow ai-edge-litert
No data set and no pretrained weights: the pictures come from shapes_data.py. About 10 minutes on two cores.

Files in --out:
  shapes_yolo.weights.h5           the float weights; --weights FILE skips training and starts from them
  shapes_yolo_raw_int8.tflite      outputs: head logits of stride 8 and 16, [1, 20, 20, 27] and [1, 10, 10, 27]
  shapes_yolo_decoded_int8.tflite  the same with sigmoid, grid and anchors in the graph: [1, 1500, 9], a row is
                                   cx, cy, w, h as fractions of the input, objectness, 4 class probabilities
  shapes_yolo_*_int8.json          labels, strides, anchors (the --model-info file)
  test_XX.png, test_labels.json, expected_detections.json, report.json
"""
import argparse
import json
import os
import pathlib
import time

import numpy as np
from PIL import Image

from shapes_data import CLASSES, make_set
from yolo_boxes import as_json, average_precision, decode_raw, nms, run_tflite

STRIDES = [8, 16]
ANCHORS = np.array([[[16, 16], [24, 24], [34, 34]], [[46, 46], [64, 64], [90, 90]]], np.float32)
ANCHOR_COUNT = ANCHORS.shape[1]
ROW = 5 + len(CLASSES)
TEST_PICTURES = 500
SHIPPED_PICTURES = 12
EVALUATION_SCORE = .05  # low, because average precision looks at all scores


# ---- targets

def assign(labels, level, size, rows_padded):
    """YOLOv5's assignment for one stride: the cell of the centre and its two nearest neighbours.

    Returns rows of picture, y, x, anchor, class, cx, cy, w, h, padded to a fixed count, and a mask.
    """
    stride, cells = STRIDES[level], size // STRIDES[level]
    rows = []
    for picture, boxes in enumerate(labels):
        for c, cx, cy, w, h in boxes:
            ratio = np.array([w, h]) / ANCHORS[level]
            for anchor in np.nonzero(np.maximum(ratio, 1 / ratio).max(1) < 2.0)[0]:
                gx, gy = cx / stride, cy / stride
                near = {(int(gx), int(gy))}
                near.add((int(gx) + (1 if gx % 1 > .5 else -1), int(gy)))
                near.add((int(gx), int(gy) + (1 if gy % 1 > .5 else -1)))
                rows += [(picture, y, x, anchor, c, cx, cy, w, h) for x, y in near if 0 <= x < cells and 0 <= y < cells]
    rows = rows[:rows_padded]
    targets, mask = np.zeros((rows_padded, 9), np.float32), np.zeros(rows_padded, np.float32)
    if rows:
        targets[:len(rows)] = rows
    mask[:len(rows)] = 1
    return targets, mask


# ---- model

def activation_layer(tf, name):
    layers = tf.keras.layers
    return {"relu": lambda x: layers.ReLU()(x),
            "relu6": lambda x: layers.ReLU(6.)(x),
            "leaky": lambda x: layers.LeakyReLU(negative_slope=.1)(x),
            "silu": lambda x: layers.Multiply()([x, layers.Activation("sigmoid")(x)])}[name]


def build(tf, size, activation, batch=None):
    """A YOLOv5 in small: C3 blocks, SPPF, one way up and one way down, heads at stride 8 and 16."""
    layers = tf.keras.layers

    def conv(x, channels, kernel=1, stride=1):
        x = layers.Conv2D(channels, kernel, stride, "same", use_bias=False, kernel_initializer="he_normal")(x)
        return activation(layers.BatchNormalization(momentum=.97, epsilon=1e-3)(x))

    def c3(x, channels, add=True):
        left, right = conv(x, channels // 2), conv(x, channels // 2)
        inner = conv(conv(left, channels // 2, 1), channels // 2, 3)
        left = layers.Add()([left, inner]) if add else inner
        return conv(layers.Concatenate()([left, right]), channels)

    def sppf(x, channels):
        stages = [conv(x, channels // 2)]
        for _ in range(3):
            stages.append(layers.MaxPooling2D(5, 1, "same")(stages[-1]))
        return conv(layers.Concatenate()(stages), channels)

    source = tf.keras.Input((size, size, 3), batch_size=batch)
    x = c3(conv(conv(source, 12, 6, 2), 24, 3, 2), 24)
    p3 = c3(conv(x, 48, 3, 2), 48)
    x = c3(conv(p3, 96, 3, 2), 96)
    p4 = conv(sppf(x, 96), 48)
    # UpSampling2D would become RESHAPE and TILE in the TFLite file.
    up = layers.Lambda(lambda t: tf.image.resize(t, (size // 8, size // 8), "nearest"))(p4)
    n3 = c3(layers.Concatenate()([up, p3]), 48, add=False)
    n4 = c3(layers.Concatenate()([conv(n3, 48, 3, 2), p4]), 96, add=False)
    bias = np.zeros((ANCHOR_COUNT, ROW), np.float32)
    bias[:, 4], bias[:, 5:] = -4.0, -1.0
    heads = [layers.Conv2D(ANCHOR_COUNT * ROW, 1, kernel_initializer=tf.keras.initializers.RandomNormal(stddev=.02),
                           bias_initializer=tf.keras.initializers.Constant(bias.reshape(-1)), name=name)(x)
             for name, x in (("head_p3", n3), ("head_p4", n4))]
    return tf.keras.Model(source, heads)


def decode_in_graph(tf, heads, size):
    """decode_raw() in operators that TFLite has, boxes as fractions of the input, as YOLOv5's export does."""
    parts = []
    for head, stride, anchors in zip(heads, STRIDES, ANCHORS):
        cells = size // stride
        y = tf.sigmoid(tf.reshape(head, (1, cells * cells, ANCHOR_COUNT, ROW)))
        row, column = np.meshgrid(np.arange(cells), np.arange(cells), indexing="ij")
        grid = np.stack([column, row], -1).reshape(1, cells * cells, 1, 2).astype(np.float32)
        centre = (y[..., :2] * 2 + (grid - .5)) * (stride / size)
        box = (y[..., 2:4] * 2) ** 2 * (anchors.reshape(1, 1, ANCHOR_COUNT, 2) / size)
        parts.append(tf.reshape(tf.concat([centre, box, y[..., 4:]], -1), (1, cells * cells * ANCHOR_COUNT, ROW)))
    return tf.concat(parts, 1)


# ---- training

def complete_iou(tf, predicted, truth):
    """IoU and CIoU of boxes cx, cy, w, h, row by row."""
    p0, p1 = predicted[:, :2] - predicted[:, 2:] / 2, predicted[:, :2] + predicted[:, 2:] / 2
    t0, t1 = truth[:, :2] - truth[:, 2:] / 2, truth[:, :2] + truth[:, 2:] / 2
    sides = tf.maximum(0., tf.minimum(p1, t1) - tf.maximum(p0, t0))
    shared = sides[:, 0] * sides[:, 1]
    union = predicted[:, 2] * predicted[:, 3] + truth[:, 2] * truth[:, 3] - shared + 1e-6
    iou = shared / union
    diagonal = tf.reduce_sum((tf.maximum(p1, t1) - tf.minimum(p0, t0)) ** 2, 1) + 1e-6
    distance = tf.reduce_sum((predicted[:, :2] - truth[:, :2]) ** 2, 1)
    angle = tf.atan(truth[:, 2] / (truth[:, 3] + 1e-6)) - tf.atan(predicted[:, 2] / (predicted[:, 3] + 1e-6))
    aspect = (4 / np.pi ** 2) * angle ** 2
    weight = tf.stop_gradient(aspect / (1 - iou + aspect + 1e-6))
    return iou, iou - distance / diagonal - weight * aspect


def level_loss(tf, head, targets, mask, level, size):
    """YOLOv5's loss of one stride: boxes, classes, objectness (whose target is the box's IoU)."""
    cells = size // STRIDES[level]
    entropy = tf.nn.sigmoid_cross_entropy_with_logits
    head = tf.reshape(head, (-1, cells, cells, ANCHOR_COUNT, ROW))
    index = tf.cast(targets[:, :4], tf.int32)
    rows = tf.gather_nd(head, index)
    s = tf.sigmoid(rows[:, :4])
    centre = (s[:, :2] * 2 - .5 + tf.reverse(targets[:, 1:3], [1])) * STRIDES[level]
    box = (s[:, 2:] * 2) ** 2 * tf.gather(tf.constant(ANCHORS)[level], index[:, 3])
    iou, ciou = complete_iou(tf, tf.concat([centre, box], 1), targets[:, 5:9])
    count = tf.reduce_sum(mask) + 1e-3
    box_loss = tf.reduce_sum((1 - ciou) * mask) / count
    wanted = tf.one_hot(tf.cast(targets[:, 4], tf.int32), len(CLASSES))
    class_loss = tf.reduce_sum(entropy(wanted, rows[:, 5:]) * mask[:, None]) / count / len(CLASSES)
    objects = tf.tensor_scatter_nd_max(tf.zeros_like(head[..., 4]), index,
                                       tf.stop_gradient(tf.maximum(iou, 0.)) * mask)
    object_loss = tf.reduce_mean(entropy(objects, head[..., 4]))
    return .05 * 3 * box_loss + .5 * 2 * class_loss + object_loss * (4. if level == 0 else 1.) * 2


def make_step(tf, model, optimizer, size):
    @tf.function
    def step(pictures, targets3, mask3, targets4, mask4):
        pictures = tf.cast(pictures, tf.float32) / 255.
        with tf.GradientTape() as tape:
            heads = model(pictures, training=True)
            loss = level_loss(tf, heads[0], targets3, mask3, 0, size)
            loss += level_loss(tf, heads[1], targets4, mask4, 1, size)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss
    return step


def train(tf, model, pictures, labels, options):
    """Cosine schedule with a short warm-up over --steps or --minutes; returns the number of steps."""
    optimizer = tf.keras.optimizers.AdamW(options.lr, weight_decay=5e-4, clipnorm=10.)
    step = make_step(tf, model, optimizer, options.size)
    rng = np.random.default_rng(options.seed + 7)
    order, per_epoch = np.arange(len(pictures)), len(pictures) // options.batch
    rows_padded = options.batch * 24
    start, done, running = time.time(), 0, 0.
    while True:
        part = done / options.steps if options.steps else (time.time() - start) / (options.minutes * 60)
        if part >= 1:
            return done
        if done % per_epoch == 0:
            rng.shuffle(order)
        chosen = order[done % per_epoch * options.batch:][:options.batch]
        x, boxes = pictures[chosen], [labels[i] for i in chosen]
        if rng.random() < .5:  # mirror
            x, boxes = x[:, :, ::-1], [np.where(np.arange(5) == 1, options.size - b, b) for b in boxes]
        if rng.random() < .5:  # exchange colours
            x = x[..., rng.permutation(3)]
        cosine = .01 + .99 * .5 * (1 + np.cos(np.pi * part))
        optimizer.learning_rate.assign(options.lr * min(1, (done + 1) / 200) * cosine)
        loss = float(step(tf.constant(np.ascontiguousarray(x)), *assign(boxes, 0, options.size, rows_padded),
                          *assign(boxes, 1, options.size, rows_padded)))
        running = loss if done == 0 else .98 * running + .02 * loss
        done += 1
        if done % 100 == 0:
            print(f"step {done} loss {running:.4f} {part * 100:.0f}% {time.time() - start:.0f}s", flush=True)


# ---- conversion

def convert(tf, function, pictures, size, path):
    """Full int8 post-training quantization; per-axis weights are the converter's default."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    def representative():
        for i in range(200):
            yield [pictures[i:i + 1].astype(np.float32) / 255]

    signature = [tf.TensorSpec((1, size, size, 3), tf.float32)]
    concrete = convert_variables_to_constants_v2(tf.function(function, input_signature=signature).get_concrete_function())
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = representative
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    path.write_bytes(converter.convert())


def float_heads(model, pictures):
    batches = [[head.numpy() for head in model(pictures[i:i + 50].astype(np.float32) / 255, training=False)]
               for i in range(0, len(pictures), 50)]
    return [np.concatenate(heads) for heads in zip(*batches)]


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1))


def write_test_files(out, pictures, labels, int8_rows, float_rows):
    expected, truth = {}, {}
    for i in range(SHIPPED_PICTURES):
        name = f"test_{i:02d}.png"
        Image.fromarray(pictures[i]).save(out / name)
        expected[name] = {"int8_raw": as_json(int8_rows[i], CLASSES), "float": as_json(float_rows[i], CLASSES)}
        truth[name] = [{"class": CLASSES[int(b[0])], "cxcywh": [round(float(v), 2) for v in b[1:]]} for b in labels[i]]
    write_json(out / "expected_detections.json", expected)
    write_json(out / "test_labels.json", truth)


def write_model_info(out):
    start, end = {"task": "detect"}, {"score": .25, "iou": .45}
    levels = {"strides": STRIDES, "anchors": ANCHORS.astype(int).tolist()}
    write_json(out / "shapes_yolo_raw_int8.json", {**start, "head": "yolov5", "labels": CLASSES, **levels, **end})
    write_json(out / "shapes_yolo_decoded_int8.json", {**start, "head": "yolov5-decoded", "labels": CLASSES, **end})


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the results")
    parser.add_argument("--minutes", type=float, default=9, help="training time when --steps is 0")
    parser.add_argument("--steps", type=int, default=0, help="training steps instead of a time")
    parser.add_argument("--weights", type=pathlib.Path, help="skip training: these weights, same seed, size, activation")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--train", type=int, default=10000, help="number of training pictures")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lr", type=float, default=4e-3, help="highest learning rate")
    parser.add_argument("--size", type=int, default=160, help="side of the input, a multiple of 16")
    parser.add_argument("--activation", default="relu", choices=["relu", "relu6", "silu", "leaky"])
    return parser.parse_args()


def main():
    options = parse_options()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf
    out, size = options.out, options.size
    out.mkdir(parents=True, exist_ok=True)
    tf.keras.utils.set_random_seed(options.seed)
    pictures, labels = make_set(options.train, options.seed, size)
    test_pictures, test_labels = make_set(TEST_PICTURES, options.seed + 1000, size)
    activation = activation_layer(tf, options.activation)
    model = build(tf, size, activation)
    report = {"size": size, "activation": options.activation, "seed": options.seed, "batch": options.batch,
              "params": int(model.count_params()), "train_images": options.train, "test_images": TEST_PICTURES}

    start = time.time()
    if options.weights:
        model.load_weights(options.weights)
    else:
        report["steps"] = train(tf, model, pictures, labels, options)
        report["train_seconds"] = round(time.time() - start)
        model.save_weights(out / "shapes_yolo.weights.h5")

    def evaluate(name, rows):
        kept = [nms(row, EVALUATION_SCORE) for row in rows]
        report[f"{name}_ap50"] = average_precision(kept, test_labels, len(CLASSES))
        report[f"{name}_map50"] = float(np.mean(report[f"{name}_ap50"]))
        print(name, report[f"{name}_map50"], flush=True)
        return kept

    float_rows = evaluate("float", decode_raw(float_heads(model, test_pictures), STRIDES, ANCHORS))
    single = build(tf, size, activation, batch=1)
    single.set_weights(model.get_weights())
    raw_path, decoded_path = out / "shapes_yolo_raw_int8.tflite", out / "shapes_yolo_decoded_int8.tflite"
    convert(tf, lambda x: single(x, training=False), pictures, size, raw_path)
    convert(tf, lambda x: decode_in_graph(tf, single(x, training=False), size), pictures, size, decoded_path)
    int8_rows = evaluate("int8_raw", decode_raw(run_tflite(raw_path, test_pictures), STRIDES, ANCHORS))
    decoded = run_tflite(decoded_path, test_pictures)[0].copy()
    decoded[..., :4] *= size
    evaluate("int8_decoded", decoded)

    write_test_files(out, test_pictures, test_labels, int8_rows, float_rows)
    write_model_info(out)
    write_json(out / "report.json", report)


if __name__ == "__main__":
    main()

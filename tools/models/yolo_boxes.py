"""Decode YOLOv5 heads, suppress overlapping boxes, run a TFLite detector. NumPy only; LiteRT for run_tflite.

This is what src/vision/heads.cpp is compared with, so the order of operations and the NumPy types matter:
sigmoid and box sizes are float32, centres, scores and overlaps float64.
"""
import numpy as np


def decode_raw(heads, strides, anchors):
    """Head logits, one [N, h, w, anchors * (5 + classes)] array a stride -> [N, boxes, 5 + classes].

    A row is cx, cy, w, h in pixels of the input, objectness, class probabilities.
    """
    parts = []
    for logits, stride, anchor in zip(heads, strides, np.asarray(anchors, np.float32)):
        count, height, width = logits.shape[:3]
        values = logits.shape[3] // len(anchor)
        s = 1 / (1 + np.exp(-logits.reshape(count, height, width, len(anchor), values).astype(np.float32)))
        row, column = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
        centre = (s[..., :2] * 2 - .5 + np.stack([column, row], -1)[None, :, :, None]) * stride
        size = (s[..., 2:4] * 2) ** 2 * anchor[None, None, None]
        parts.append(np.concatenate([centre, size, s[..., 4:]], -1).reshape(count, -1, values))
    return np.concatenate(parts, 1)


def iou_matrix(a, b):
    """Overlap of every box of a with every box of b; boxes are cx, cy, w, h."""
    ax0, ay0, ax1, ay1 = _corners(a)
    bx0, by0, bx1, by1 = _corners(b)
    width = np.minimum(ax1[:, None], bx1) - np.maximum(ax0[:, None], bx0)
    height = np.minimum(ay1[:, None], by1) - np.maximum(ay0[:, None], by0)
    shared = np.clip(width, 0, None) * np.clip(height, 0, None)
    return shared / (a[:, 2:3] * a[:, 3:4] + (b[:, 2] * b[:, 3])[None] - shared + 1e-9)


def _corners(boxes):
    return (boxes[:, 0] - boxes[:, 2] / 2, boxes[:, 1] - boxes[:, 3] / 2,
            boxes[:, 0] + boxes[:, 2] / 2, boxes[:, 1] + boxes[:, 3] / 2)


def nms(rows, score=.25, iou=.45, max_detections=100):
    """Greedy suppression within a class: [boxes, 5 + classes] -> [n, 6] of class, score, cx, cy, w, h."""
    scores = rows[:, 4:5] * rows[:, 5:]
    index = np.argwhere(scores > score)
    if not len(index):
        return np.zeros((0, 6), np.float32)
    left = np.concatenate([index[:, 1:2], scores[index[:, 0], index[:, 1]][:, None], rows[index[:, 0], :4]], 1)
    left = left[np.argsort(-left[:, 1], kind="stable")]
    kept = []
    while len(left) and len(kept) < max_detections:
        best = left[0]
        kept.append(best)
        overlap = iou_matrix(best[None, 2:], left[:, 2:])[0]
        left = left[~((overlap > iou) & (left[:, 0] == best[0]))]
    return np.array(kept, np.float32)


def average_precision(predictions, truths, classes, threshold=.5):
    """AP at one IoU threshold for each class; predictions from nms(), truths [n, 5] of class, cx, cy, w, h."""
    result = []
    for c in range(classes):
        records, total = [], 0
        for predicted, truth in zip(predictions, truths):
            truth = truth[truth[:, 0] == c][:, 1:]
            total += len(truth)
            used = np.zeros(len(truth), bool)
            for row in predicted[predicted[:, 0] == c]:
                hit = False
                if len(truth):
                    overlap = iou_matrix(row[None, 2:], truth)[0]
                    nearest = int(overlap.argmax())
                    if overlap[nearest] >= threshold and not used[nearest]:
                        used[nearest] = hit = True
                records.append((row[1], hit))
        records.sort(key=lambda record: -record[0])
        hits = np.cumsum([record[1] for record in records]) if records else np.array([0])
        precision = hits / (np.arange(len(hits)) + 1)
        recall = hits / max(1, total)
        precision = np.maximum.accumulate(precision[::-1])[::-1]
        result.append(float(np.sum(np.diff(np.concatenate([[0], recall])) * precision)))
    return result


def run_tflite(path, pictures, reference=True):
    """Dequantized outputs for uint8 pictures, one array an output, the largest grid first.

    reference=True takes LiteRT's plain kernels (BUILTIN_REF); its default ones differ from them by one
    step in places, which moves a box side by up to a fifth.
    """
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    options = {"experimental_op_resolver_type": OpResolverType.BUILTIN_REF} if reference else {}
    interpreter = Interpreter(str(path), num_threads=1, **options)
    interpreter.allocate_tensors()
    source, sinks = interpreter.get_input_details()[0], interpreter.get_output_details()
    results = [[] for _ in sinks]
    scale, zero_point = source["quantization"]
    for picture in pictures:
        steps = np.round(picture.astype(np.float32) / 255 / scale) + zero_point
        interpreter.set_tensor(source["index"], np.clip(steps, -128, 127).astype(np.int8)[None])
        interpreter.invoke()
        for result, sink in zip(results, sinks):
            sink_scale, sink_zero = sink["quantization"]
            stored = interpreter.get_tensor(sink["index"]).astype(np.float32)
            result.append((stored - sink_zero) * sink_scale)
    return sorted((np.concatenate(result) for result in results), key=lambda result: -result.shape[1])


def as_json(rows, labels, score=.25):
    """nms() rows as the lists that expected_detections.json holds: four digits of score, two of pixels."""
    return [{"class": labels[int(row[0])], "score": round(float(row[1]), 4),
             "cxcywh": [round(float(value), 2) for value in row[2:]]} for row in rows if row[1] >= score]

// From output tensors to boxes and classes. A detector's TFLite file ends in one of two ways: with the bare
// head convolutions, one a stride (YOLOv5 "raw": logits, whose sigmoid, grid and anchors are left to us), or
// with one tensor in which the graph has already done that ("decoded"). What the tensors cannot say, labels,
// strides and anchors, comes from a small JSON file; its defaults are YOLOv5's for COCO.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "vision/image.hpp"

namespace peraxis::vision {

struct Anchor {
  float width = 0;  // pixels of the model's input
  float height = 0;

  bool operator==(const Anchor&) const = default;
};

struct ModelInfo {
  std::string task;  // "detect", "classify", or empty: by shapes
  std::string head;  // "yolov5", "yolov5-decoded", "classification", "none", or empty: by shapes
  std::vector<std::string> labels;
  std::vector<int> strides = {8, 16, 32};
  std::vector<std::vector<Anchor>> anchors = {
      {{10, 13}, {16, 30}, {33, 23}}, {{30, 61}, {62, 45}, {59, 119}}, {{116, 90}, {156, 198}, {373, 326}}};
  double score = 0.25;       // boxes at or below this are dropped
  double iou = 0.45;         // boxes of one class that overlap more than this are one
  int max_detections = 100;  // the best so many are kept
};

// The JSON file of --model-info; `name` is for error texts. Keys: task, head, labels, strides, anchors,
// score, iou, max_detections, all optional; an unknown key is an error, because it is most likely a typing
// mistake.
Result<ModelInfo> parse_model_info(std::string_view text, std::string_view name);

// One output of the model. type: "int8", "uint8", "int16" (real = (stored - zero_point) * scale) or
// "float32".
struct OutputTensor {
  std::vector<int64_t> shape;
  std::string type;
  float scale = 0;
  int64_t zero_point = 0;
  std::span<const uint8_t> data;
};

enum class HeadKind { YoloRaw, YoloDecoded, Classification, None };
const char* head_kind_name(HeadKind kind);

// By the shapes of the outputs:
//   YoloRaw         one [1, h, w, anchors * (5 + classes)] a stride of info, in any order
//   YoloDecoded     one [1, N, 5 + classes] with N > 5 + classes
//   Classification  one [1, N] or [1, 1, 1, N] with N >= 2
// With labels in info, the class count must be theirs. A head or task named by info excludes the others.
HeadKind detect_head(std::span<const OutputTensor> outputs, const ModelInfo& info);

struct Detection {
  int class_id = 0;
  std::optional<std::string> label;  // absent when info has no label for the class
  float score = 0;
  float box[4] = {0, 0, 0, 0};  // x1, y1, x2, y2 in pixels of the picture before the letterbox; not clipped
};

// What the boxes are measured in: the model's input, and how the picture was put into it.
struct InputGeometry {
  int width = 0;
  int height = 0;
  Letterbox letterbox;
};

// YoloRaw: centre = (2 s - 0.5 + cell) * stride, size = (2 s)^2 * anchor, score = objectness * class. Then
// greedy non-maximum suppression within a class, the best first; equal scores keep the order stride, row,
// column, anchor, class.
Result<std::vector<Detection>> decode_yolo_raw(std::span<const OutputTensor> outputs, const ModelInfo& info,
                                               const InputGeometry& input);

// YoloDecoded: cx, cy, w, h as fractions of the input, or pixels when any of them is above 2. Unless info
// names the head, one row a cell (YOLOX's shape) is Unsupported: those rows are not boxes yet.
Result<std::vector<Detection>> decode_yolo_decoded(const OutputTensor& output, const ModelInfo& info,
                                                   const InputGeometry& input);

// detect_head, then the decoder for it; Unsupported when the head is not a detector's.
Result<std::vector<Detection>> decode_detections(std::span<const OutputTensor> outputs, const ModelInfo& info,
                                                 const InputGeometry& input);

struct ClassScore {
  int class_id = 0;
  std::optional<std::string> label;
  float score = 0;  // the dequantized output, as the model gives it
};

// The best `count` classes, best first; equal scores keep the order of the classes.
Result<std::vector<ClassScore>> top_classes(const OutputTensor& output, const ModelInfo& info, int count = 5);

}  // namespace peraxis::vision

// Decoders for the heads, kept to the order of operations of the training script (tools/models/
// train_shapes_yolo.py), whose NumPy types decide the last bits: sigmoid and box sizes in float, centres,
// scores and overlaps in double.
#include "vision/heads.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace peraxis::vision {
namespace {

constexpr int64_t kBoxValues = 5;  // cx, cy, w, h, objectness

struct Candidate {
  int class_id;
  double score;
  double cx, cy, width, height;  // pixels of the model's input
};

std::string shape_text(const OutputTensor& tensor) {
  std::string text;
  for (int64_t side : tensor.shape) text += fmt::format("{}{}", text.empty() ? "[" : ", ", side);
  return text.empty() ? "[]" : text + "]";
}

Result<size_t> element_count(const OutputTensor& tensor) {
  size_t count = 1;
  for (int64_t side : tensor.shape) {
    if (side < 1 || count > std::numeric_limits<size_t>::max() / 8 / static_cast<size_t>(side))
      return fail(ErrorCode::InvalidArgument, "output of shape {}: not a shape that can be read",
                  shape_text(tensor));
    count *= static_cast<size_t>(side);
  }
  return count;
}

template <class Stored>
std::vector<float> dequantize_as(const OutputTensor& tensor, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, tensor.data.data() + i * sizeof(Stored), sizeof(Stored));
    if constexpr (std::is_same_v<Stored, float>)
      values[i] = stored;
    else
      values[i] = static_cast<float>(int64_t{stored} - tensor.zero_point) * tensor.scale;
  }
  return values;
}

Result<std::vector<float>> dequantize(const OutputTensor& tensor) {
  const size_t count = PERAXIS_TRY(element_count(tensor));
  const bool is_float = tensor.type == "float32";
  const size_t bytes = is_float                                          ? 4
                       : tensor.type == "int16"                          ? 2
                       : tensor.type == "int8" || tensor.type == "uint8" ? 1
                                                                         : 0;
  if (bytes == 0)
    return fail(ErrorCode::Unsupported,
                "output of shape {} and type {}: int8, uint8, int16 and float32 can be read",
                shape_text(tensor), tensor.type);
  if (tensor.data.size() != count * bytes)
    return fail(ErrorCode::InvalidArgument, "output of shape {} and type {} has {} bytes, needs {}",
                shape_text(tensor), tensor.type, tensor.data.size(), count * bytes);
  if (!is_float && !(std::isfinite(tensor.scale) && tensor.scale > 0))
    return fail(ErrorCode::InvalidArgument,
                "output of shape {} and type {}: scale {} is not a positive number", shape_text(tensor),
                tensor.type, tensor.scale);
  if (!is_float && (tensor.zero_point < -32768 || tensor.zero_point > 32767))
    return fail(ErrorCode::InvalidArgument,
                "output of shape {} and type {}: zero point {} is outside the type", shape_text(tensor),
                tensor.type, tensor.zero_point);
  if (is_float) return dequantize_as<float>(tensor, count);
  if (tensor.type == "int16") return dequantize_as<int16_t>(tensor, count);
  if (tensor.type == "int8") return dequantize_as<int8_t>(tensor, count);
  return dequantize_as<uint8_t>(tensor, count);
}

float sigmoid(float logit) {
  return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(logit))));
}

std::optional<std::string> label_of(const ModelInfo& info, int class_id) {
  if (static_cast<size_t>(class_id) >= info.labels.size()) return std::nullopt;
  return info.labels[static_cast<size_t>(class_id)];
}

double overlap(const Candidate& a, const Candidate& b) {
  const double width =
      std::min(a.cx + a.width / 2, b.cx + b.width / 2) - std::max(a.cx - a.width / 2, b.cx - b.width / 2);
  const double height =
      std::min(a.cy + a.height / 2, b.cy + b.height / 2) - std::max(a.cy - a.height / 2, b.cy - b.height / 2);
  const double shared = std::max(width, 0.0) * std::max(height, 0.0);
  return shared / (a.width * a.height + b.width * b.height - shared + 1e-9);
}

// Adds one candidate a class whose score is above the threshold. A box that is not finite (float models can
// give one) is no box.
void add_candidates(std::vector<Candidate>& candidates, const Candidate& box, double objectness,
                    std::span<const float> classes, double threshold) {
  if (!std::isfinite(box.cx) || !std::isfinite(box.cy) || !std::isfinite(box.width) ||
      !std::isfinite(box.height))
    return;
  for (size_t i = 0; i < classes.size(); ++i) {
    const double score = objectness * static_cast<double>(classes[i]);
    if (!(score > threshold) || !std::isfinite(score)) continue;
    candidates.push_back({static_cast<int>(i), score, box.cx, box.cy, box.width, box.height});
  }
}

// Greedy: the best remaining box is kept if no kept box of its class overlaps it too much.
std::vector<Candidate> suppress(std::vector<Candidate> candidates, const ModelInfo& info) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  std::vector<Candidate> kept;
  for (const Candidate& candidate : candidates) {
    if (kept.size() >= static_cast<size_t>(std::max(info.max_detections, 0))) break;
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
      return other.class_id == candidate.class_id && overlap(other, candidate) > info.iou;
    });
    if (!covered) kept.push_back(candidate);
  }
  return kept;
}

std::vector<Detection> to_picture(const std::vector<Candidate>& candidates, const ModelInfo& info,
                                  const Letterbox& box) {
  std::vector<Detection> detections;
  detections.reserve(candidates.size());
  for (const Candidate& c : candidates) {
    Detection& detection = detections.emplace_back();
    detection.class_id = c.class_id;
    detection.label = label_of(info, c.class_id);
    detection.score = static_cast<float>(c.score);
    detection.box[0] = static_cast<float>((c.cx - c.width / 2 - box.pad_x) / box.scale);
    detection.box[1] = static_cast<float>((c.cy - c.height / 2 - box.pad_y) / box.scale);
    detection.box[2] = static_cast<float>((c.cx + c.width / 2 - box.pad_x) / box.scale);
    detection.box[3] = static_cast<float>((c.cy + c.height / 2 - box.pad_y) / box.scale);
  }
  return detections;
}

Status check_geometry(const InputGeometry& input) {
  if (input.width < 1 || input.height < 1)
    return fail(ErrorCode::InvalidArgument, "model input of {} x {} pixels: both sides must be positive",
                input.width, input.height);
  if (!(input.letterbox.scale > 0) || !std::isfinite(input.letterbox.scale))
    return fail(ErrorCode::InvalidArgument, "letterbox scale {} is not a positive number",
                input.letterbox.scale);
  return {};
}

// Classes of an output row of `values` numbers for each anchor, 0 when it cannot be a row.
int64_t classes_of(int64_t values, const ModelInfo& info) {
  const int64_t classes = values - kBoxValues;
  if (classes < 1 || (!info.labels.empty() && classes != static_cast<int64_t>(info.labels.size()))) return 0;
  return classes;
}

bool is_yolo_raw(std::span<const OutputTensor> outputs, const ModelInfo& info) {
  if (info.strides.empty() || outputs.size() != info.strides.size() || info.anchors.size() != outputs.size())
    return false;
  const auto anchors = static_cast<int64_t>(info.anchors[0].size());
  int64_t classes = 0;
  for (const OutputTensor& output : outputs) {
    // Which anchors belong to which output is known only with the input's size, so here the lists must be
    // alike.
    if (output.shape.size() != 4 || output.shape[0] != 1 || anchors == 0 || output.shape[3] % anchors != 0)
      return false;
    const int64_t found = classes_of(output.shape[3] / anchors, info);
    if (found == 0 || (classes != 0 && found != classes)) return false;
    classes = found;
  }
  return std::all_of(info.anchors.begin(), info.anchors.end(),
                     [&](const auto& list) { return static_cast<int64_t>(list.size()) == anchors; });
}

bool is_yolo_decoded(std::span<const OutputTensor> outputs, const ModelInfo& info) {
  if (outputs.size() != 1) return false;
  const auto& shape = outputs[0].shape;
  return shape.size() == 3 && shape[0] == 1 && shape[1] > shape[2] && classes_of(shape[2], info) > 0;
}

bool is_classification(std::span<const OutputTensor> outputs) {
  if (outputs.size() != 1) return false;
  const auto& shape = outputs[0].shape;
  if (shape.size() != 2 && shape.size() != 4) return false;
  return shape.back() >= 2 &&
         std::all_of(shape.begin(), shape.end() - 1, [](int64_t side) { return side == 1; });
}

// The output whose grid is the input divided by the stride (rounded up).
Result<size_t> output_of_stride(std::span<const OutputTensor> outputs, const InputGeometry& input,
                                int stride) {
  const int64_t height = (int64_t{input.height} + stride - 1) / stride;
  const int64_t width = (int64_t{input.width} + stride - 1) / stride;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].shape[1] == height && outputs[i].shape[2] == width) return i;
  std::string shapes;
  for (const OutputTensor& output : outputs) shapes += (shapes.empty() ? "" : ", ") + shape_text(output);
  return fail(ErrorCode::InvalidArgument,
              "YOLOv5 head: stride {} needs an output of {} x {} cells for an input of {} x {} pixels; the "
              "outputs are {}",
              stride, height, width, input.height, input.width, shapes);
}

// One row a cell: the head of an anchor-free detector (YOLOX, YOLOv8), whose boxes mean something else.
bool one_row_a_cell(const OutputTensor& output, const ModelInfo& info, const InputGeometry& input) {
  int64_t cells = 0;
  for (int stride : info.strides)
    if (stride > 0)
      cells +=
          ((int64_t{input.width} + stride - 1) / stride) * ((int64_t{input.height} + stride - 1) / stride);
  return output.shape[1] == cells;
}

void decode_level(std::vector<Candidate>& candidates, const OutputTensor& output, std::span<float> logits,
                  int stride, const std::vector<Anchor>& anchors, double threshold) {
  const auto values = static_cast<size_t>(output.shape[3]) / anchors.size();
  size_t at = 0;
  for (int64_t y = 0; y < output.shape[1]; ++y) {
    for (int64_t x = 0; x < output.shape[2]; ++x) {
      for (const Anchor& anchor : anchors) {
        const std::span<float> row = logits.subspan(at, values);
        at += values;
        const double objectness = static_cast<double>(sigmoid(row[4]));
        if (!(objectness > threshold)) continue;  // a class probability is at most 1
        for (float& value : row) value = sigmoid(value);
        const float w = row[2] * 2, h = row[3] * 2;
        const Candidate box{0,
                            0,
                            (static_cast<double>(row[0] * 2 - 0.5f) + static_cast<double>(x)) * stride,
                            (static_cast<double>(row[1] * 2 - 0.5f) + static_cast<double>(y)) * stride,
                            static_cast<double>(w * w * anchor.width),
                            static_cast<double>(h * h * anchor.height)};
        add_candidates(candidates, box, objectness, row.subspan(5), threshold);
      }
    }
  }
}

}  // namespace

const char* head_kind_name(HeadKind kind) {
  switch (kind) {
    case HeadKind::YoloRaw:
      return "yolov5";
    case HeadKind::YoloDecoded:
      return "yolov5-decoded";
    case HeadKind::Classification:
      return "classification";
    case HeadKind::None:
      break;
  }
  return "none";
}

HeadKind detect_head(std::span<const OutputTensor> outputs, const ModelInfo& info) {
  const auto allowed = [&](HeadKind kind) {
    if (!info.head.empty() && info.head != head_kind_name(kind)) return false;
    return info.task.empty() || (info.task == "classify") == (kind == HeadKind::Classification);
  };
  if (allowed(HeadKind::YoloRaw) && is_yolo_raw(outputs, info)) return HeadKind::YoloRaw;
  if (allowed(HeadKind::YoloDecoded) && is_yolo_decoded(outputs, info)) return HeadKind::YoloDecoded;
  if (allowed(HeadKind::Classification) && is_classification(outputs)) return HeadKind::Classification;
  return HeadKind::None;
}

Result<std::vector<Detection>> decode_yolo_raw(std::span<const OutputTensor> outputs, const ModelInfo& info,
                                               const InputGeometry& input) {
  PERAXIS_TRY(check_geometry(input));
  if (!is_yolo_raw(outputs, info))
    return fail(ErrorCode::InvalidArgument,
                "{} outputs are not a YOLOv5 head with {} strides, {} anchors each and {} labels",
                outputs.size(), info.strides.size(), info.anchors.empty() ? 0 : info.anchors[0].size(),
                info.labels.size());
  std::vector<Candidate> candidates;
  for (size_t level = 0; level < info.strides.size(); ++level) {
    if (info.strides[level] < 1)
      return fail(ErrorCode::InvalidArgument, "YOLOv5 head: stride {} is not positive", info.strides[level]);
    const size_t index = PERAXIS_TRY(output_of_stride(outputs, input, info.strides[level]));
    std::vector<float> logits = PERAXIS_TRY(dequantize(outputs[index]));
    decode_level(candidates, outputs[index], logits, info.strides[level], info.anchors[level], info.score);
  }
  return to_picture(suppress(std::move(candidates), info), info, input.letterbox);
}

Result<std::vector<Detection>> decode_yolo_decoded(const OutputTensor& output, const ModelInfo& info,
                                                   const InputGeometry& input) {
  PERAXIS_TRY(check_geometry(input));
  if (!is_yolo_decoded({&output, 1}, info))
    return fail(ErrorCode::InvalidArgument,
                "an output of shape {} is not a decoded YOLOv5 head with {} labels", shape_text(output),
                info.labels.size());
  if (info.head.empty() && one_row_a_cell(output, info, input))
    return fail(
        ErrorCode::Unsupported,
        "an output of shape {} has one row a cell, as anchor-free detectors have, which are not decoded; "
        "name head \"yolov5-decoded\" in the model info if its rows are boxes",
        shape_text(output));
  const std::vector<float> values = PERAXIS_TRY(dequantize(output));
  const auto row_values = static_cast<size_t>(output.shape[2]);
  float largest = 0;
  for (size_t at = 0; at < values.size(); at += row_values)
    for (size_t i = 0; i < 4; ++i) largest = std::max(largest, values[at + i]);
  const bool pixels = largest > 2;
  const double scale_x = pixels ? 1 : input.width, scale_y = pixels ? 1 : input.height;

  std::vector<Candidate> candidates;
  for (size_t at = 0; at < values.size(); at += row_values) {
    const std::span<const float> row(values.data() + at, row_values);
    const Candidate box{0,
                        0,
                        static_cast<double>(row[0]) * scale_x,
                        static_cast<double>(row[1]) * scale_y,
                        static_cast<double>(row[2]) * scale_x,
                        static_cast<double>(row[3]) * scale_y};
    add_candidates(candidates, box, static_cast<double>(row[4]), row.subspan(5), info.score);
  }
  return to_picture(suppress(std::move(candidates), info), info, input.letterbox);
}

Result<std::vector<Detection>> decode_detections(std::span<const OutputTensor> outputs, const ModelInfo& info,
                                                 const InputGeometry& input) {
  switch (detect_head(outputs, info)) {
    case HeadKind::YoloRaw:
      return decode_yolo_raw(outputs, info, input);
    case HeadKind::YoloDecoded:
      return decode_yolo_decoded(outputs[0], info, input);
    case HeadKind::Classification:
    case HeadKind::None:
      break;
  }
  std::string shapes;
  for (const OutputTensor& output : outputs) shapes += (shapes.empty() ? "" : ", ") + shape_text(output);
  return fail(ErrorCode::Unsupported, "outputs {} are not a detection head this version can decode", shapes);
}

Result<std::vector<ClassScore>> top_classes(const OutputTensor& output, const ModelInfo& info, int count) {
  if (!is_classification({&output, 1}))
    return fail(ErrorCode::InvalidArgument, "an output of shape {} is not a list of class scores",
                shape_text(output));
  std::vector<float> values = PERAXIS_TRY(dequantize(output));
  for (float& value : values)
    if (std::isnan(value))
      value = -std::numeric_limits<float>::infinity();  // last, and the order stays an order
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)];
  });
  order.resize(std::min(order.size(), static_cast<size_t>(std::max(count, 0))));
  std::vector<ClassScore> best;
  for (int class_id : order)
    best.push_back({class_id, label_of(info, class_id), values[static_cast<size_t>(class_id)]});
  return best;
}

}  // namespace peraxis::vision

// See head_parts.hpp. The order of operations is that of the training script of the demo (tools/models/
// train_shapes_yolo.py), whose NumPy types decide the last bits: sigmoid and box sizes in float, centres,
// scores and overlaps in double.
#include "vision/head_parts.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace peraxis::vision {
namespace {

constexpr int64_t kCocoClasses = 80, kVocClasses = 20;
constexpr int64_t kBoxValues = 5;  // cx, cy, w, h, objectness
// Half a step of a quantized output, with room for float models.
constexpr float kProbabilityMargin = 0.1f;
// No picture is as large, and what is farther away or larger would be infinite as a float.
constexpr double kFarthest = 1e9;
constexpr double kHighestScore = 1e9;
// Steps of this size leave a score two values or fewer.
constexpr float kCoarsestScore = 0.5f;

int64_t label_count(const ModelInfo& info) {
  return static_cast<int64_t>(info.labels.size());
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

double overlap(const Candidate& a, const Candidate& b) {
  const double width =
      std::min(a.cx + a.width / 2, b.cx + b.width / 2) - std::max(a.cx - a.width / 2, b.cx - b.width / 2);
  const double height =
      std::min(a.cy + a.height / 2, b.cy + b.height / 2) - std::max(a.cy - a.height / 2, b.cy - b.height / 2);
  const double shared = std::max(width, 0.0) * std::max(height, 0.0);
  return shared / (a.width * a.height + b.width * b.height - shared + 1e-9);
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

// The output whose grid is the input divided by the stride (rounded up).
Result<size_t> output_of_stride(std::string_view head, std::span<const OutputTensor> outputs,
                                const InputGeometry& input, int stride) {
  const Grid grid = grid_of(input, stride);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (has_grid(outputs[i], grid)) return i;
  return fail(ErrorCode::InvalidArgument,
              "head '{}': stride {} needs an output of {} x {} cells for an input of {} x {} pixels; the "
              "outputs are {}",
              head, stride, grid.height, grid.width, input.height, input.width, shapes_text(outputs));
}

}  // namespace

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

std::string shape_text(const OutputTensor& tensor) {
  std::string text;
  for (int64_t side : tensor.shape) text += fmt::format("{}{}", text.empty() ? "[" : ", ", side);
  return text.empty() ? "[]" : text + "]";
}

std::string shapes_text(std::span<const OutputTensor> outputs) {
  std::string text;
  for (const OutputTensor& output : outputs) text += (text.empty() ? "" : ", ") + shape_text(output);
  return text.empty() ? "none" : text;
}

std::optional<std::string> label_of(const ModelInfo& info, int class_id, int shift) {
  if (class_id < 0 || shift < 0) return std::nullopt;
  const size_t index = static_cast<size_t>(class_id) + static_cast<size_t>(shift);
  return index < info.labels.size() ? std::optional(info.labels[index]) : std::nullopt;
}

bool classes_fit(int64_t classes, const ModelInfo& info) {
  return classes >= 1 && (info.labels.empty() || classes == label_count(info) ||
                          (info.labels_background && classes == label_count(info) - 1));
}

std::string class_evidence(int64_t classes, const ModelInfo& info) {
  if (!info.labels.empty()) return fmt::format("its {} classes are as many as the labels", classes);
  if (classes == kCocoClasses) return fmt::format("its {} classes are as many as COCO's", classes);
  if (classes == kVocClasses) return fmt::format("its {} classes are as many as VOC's", classes);
  return {};
}

Fit fit_by_classes(int64_t classes, const ModelInfo& info, std::string_view structure) {
  Fit fit;
  fit.classes = classes;
  const std::string counted = class_evidence(classes, info);
  fit.supported = !counted.empty();
  fit.evidence = fit.supported ? fmt::format("{} and {}", structure, counted)
                               : "there are no labels, and neither COCO nor VOC has so many classes";
  return fit;
}

std::string anchors_text(const Levels& levels) {
  std::string text;
  for (size_t i = 0; i < std::min(levels.strides.size(), levels.anchors.size()); ++i) {
    text += fmt::format("{}stride {}:", i == 0 ? "" : "; ", levels.strides[i]);
    for (const Anchor& anchor : levels.anchors[i]) text += fmt::format(" {}x{}", anchor.width, anchor.height);
  }
  return text;
}

bool grids_match(const HeadView& view, const std::vector<int>& strides) {
  return std::all_of(strides.begin(), strides.end(), [&](int stride) {
    const Grid grid = grid_of(view.input, stride);
    return std::any_of(view.outputs.begin(), view.outputs.end(),
                       [&](const OutputTensor& output) { return has_grid(output, grid); });
  });
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

Grid grid_of(const InputGeometry& input, int stride) {
  if (stride < 1) return {};
  return {(int64_t{input.width} + stride - 1) / stride, (int64_t{input.height} + stride - 1) / stride};
}

int64_t cells_of(const std::vector<int>& strides, const InputGeometry& input) {
  if (input.width < 1 || input.height < 1) return 0;
  int64_t cells = 0;
  for (int stride : strides) {
    const Grid grid = grid_of(input, stride);
    cells += grid.width * grid.height;
  }
  return cells;
}

bool has_grid(const OutputTensor& output, const Grid& grid) {
  const auto& shape = output.shape;
  return grid.width > 0 && shape.size() == 4 && shape[0] == 1 && shape[1] == grid.height &&
         shape[2] == grid.width && shape[3] >= 1;
}

std::optional<RowShape> row_shape(const OutputTensor& output, int64_t rows) {
  const auto& shape = output.shape;
  if (shape.size() != 3 || shape[0] != 1 || rows < 1 || shape[1] < 1 || shape[2] < 1) return std::nullopt;
  if (shape[2] == rows) return RowShape{rows, shape[1], true};
  if (shape[1] == rows) return RowShape{rows, shape[2], false};
  return std::nullopt;
}

std::optional<RowShape> longest_rows(const OutputTensor& output) {
  const auto& shape = output.shape;
  if (shape.size() != 3) return std::nullopt;
  return row_shape(output, std::max(shape[1], shape[2]));
}

std::optional<RowShape> rows_by_cells(const HeadView& view) {
  if (view.outputs.size() != 1) return std::nullopt;
  const auto shape = row_shape(view.outputs[0], cells_of(view.info.strides, view.input));
  return shape || !view.named() ? shape : longest_rows(view.outputs[0]);
}

std::vector<float> RowValues::tail(int64_t row, int64_t first) const {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(columns() - first));
  for (int64_t column = first; column < columns(); ++column) values.push_back(at(row, column));
  return values;
}

float RowValues::largest_box_value(double score) const {
  float largest = 0;
  const auto above = [&](int64_t row) {
    for (int64_t column = 4; column < columns(); ++column)
      if (static_cast<double>(at(row, column)) > score) return true;
    return false;
  };
  for (int64_t row = 0; row < rows(); ++row)
    for (int64_t column = 0; column < 4 && above(row); ++column)
      if (const float value = at(row, column); std::isfinite(value)) largest = std::max(largest, value);
  return largest;
}

Result<RowValues> read_rows(const OutputTensor& output, const RowShape& shape) {
  return RowValues(PERAXIS_TRY(dequantize(output)), shape);
}

Status check_probabilities(std::string_view head, const OutputTensor& output, const RowValues& values,
                           int64_t first) {
  if (output.type != "float32" && output.scale >= kCoarsestScore)
    return fail(
        ErrorCode::Unsupported,
        "head '{}': the output's values are {} apart, which leaves nothing of scores between 0 and 1; "
        "export the model with boxes as fractions of the input",
        head, output.scale);
  for (int64_t row = 0; row < values.rows(); ++row) {
    for (int64_t column = first; column < values.columns(); ++column) {
      const float value = values.at(row, column);
      if (std::isfinite(value) && (value < -kProbabilityMargin || value > 1 + kProbabilityMargin))
        return fail(ErrorCode::Unsupported,
                    "head '{}': column {} of row {} is {}, but scores must be between 0 and 1 (after the "
                    "sigmoid or softmax)",
                    head, column, row, value);
    }
  }
  return {};
}

Result<BoxScale> box_scale(std::string_view head, float largest, const HeadView& view) {
  const std::string& unit = view.info.boxes;
  if (unit == "cells")
    return fail(ErrorCode::Unsupported,
                "head '{}': boxes are \"fractions\" or \"pixels\", the model info says \"{}\"", head, unit);
  const bool pixels = unit.empty() ? largest > 2 : unit == "pixels";
  BoxScale scale;
  if (!pixels) scale = {static_cast<double>(view.input.width), static_cast<double>(view.input.height), {}};
  if (unit.empty())
    scale.assumed.push_back(fmt::format(
        "boxes in {}, because their largest value is {:.4g} (\"boxes\" in the model info says it)",
        pixels ? "pixels of the input" : "fractions of the input", largest));
  return scale;
}

void add_candidates(std::vector<Candidate>& candidates, const Candidate& box, double objectness,
                    std::span<const float> classes, double threshold) {
  const auto near = [](double value) { return std::abs(value) <= kFarthest; };  // false for no number
  if (!near(box.cx) || !near(box.cy) || !near(box.width) || !near(box.height) || box.width < 0 ||
      box.height < 0)
    return;
  for (size_t i = 0; i < classes.size(); ++i) {
    const double score = objectness * static_cast<double>(classes[i]);
    if (!(score > threshold) || score > kHighestScore) continue;
    candidates.push_back({static_cast<int>(i), score, box.cx, box.cy, box.width, box.height});
  }
}

Decoded finish_suppressed(std::vector<Candidate> candidates, const HeadView& view,
                          std::vector<std::string> assumed) {
  const ModelInfo& info = view.info;
  const Letterbox& box = view.input.letterbox;
  const auto most = static_cast<size_t>(std::max(info.max_detections, 0));
  if (candidates.size() > most)
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(most), candidates.end());
  std::vector<Detection> detections;
  detections.reserve(candidates.size());
  for (const Candidate& c : candidates) {
    Detection& detection = detections.emplace_back();
    detection.class_id = c.class_id;
    detection.label = label_of(info, c.class_id, view.label_shift);
    detection.score = static_cast<float>(c.score);
    detection.box[0] = static_cast<float>((c.cx - c.width / 2 - box.pad_x) / box.scale);
    detection.box[1] = static_cast<float>((c.cy - c.height / 2 - box.pad_y) / box.scale);
    detection.box[2] = static_cast<float>((c.cx + c.width / 2 - box.pad_x) / box.scale);
    detection.box[3] = static_cast<float>((c.cy + c.height / 2 - box.pad_y) / box.scale);
  }
  return {std::move(detections), std::move(assumed)};
}

Decoded finish(std::vector<Candidate> candidates, const HeadView& view, std::vector<std::string> assumed) {
  return finish_suppressed(suppress(std::move(candidates), view.info), view, std::move(assumed));
}

int64_t level_classes(std::span<const OutputTensor> outputs, const Levels& levels, const ModelInfo& info) {
  if (levels.strides.empty() || outputs.size() != levels.strides.size() ||
      levels.anchors.size() != outputs.size())
    return 0;
  const auto anchors = static_cast<int64_t>(levels.anchors[0].size());
  int64_t classes = 0;
  for (const OutputTensor& output : outputs) {
    // Which anchors belong to which output is known only with the input's size, so here the lists must be
    // alike.
    if (output.shape.size() != 4 || output.shape[0] != 1 || anchors == 0 || output.shape[3] % anchors != 0)
      return 0;
    const int64_t found = output.shape[3] / anchors - kBoxValues;
    if (!classes_fit(found, info) || (classes != 0 && found != classes)) return 0;
    classes = found;
  }
  const bool alike = std::all_of(levels.anchors.begin(), levels.anchors.end(), [&](const auto& list) {
    return static_cast<int64_t>(list.size()) == anchors;
  });
  return alike ? classes : 0;
}

Result<Decoded> decode_levels(std::string_view head, const HeadView& view, const Levels& levels,
                              RowDecoder decode) {
  PERAXIS_TRY(check_geometry(view.input));
  std::vector<Candidate> candidates;
  for (size_t level = 0; level < levels.strides.size(); ++level) {
    const int stride = levels.strides[level];
    if (stride < 1)
      return fail(ErrorCode::InvalidArgument, "head '{}': stride {} is not positive", head, stride);
    const OutputTensor& output =
        view.outputs[PERAXIS_TRY(output_of_stride(head, view.outputs, view.input, stride))];
    std::vector<float> logits = PERAXIS_TRY(dequantize(output));
    const size_t row_values = static_cast<size_t>(output.shape[3]) / levels.anchors[level].size();
    size_t at = 0;
    for (int64_t y = 0; y < output.shape[1]; ++y) {
      for (int64_t x = 0; x < output.shape[2]; ++x) {
        for (const Anchor& anchor : levels.anchors[level]) {
          const std::span<float> row = std::span(logits).subspan(at, row_values);
          at += row_values;
          const double objectness = static_cast<double>(sigmoid(row[4]));
          if (!(objectness > view.info.score)) continue;  // a class probability is at most 1
          const Candidate box = decode(
              {row, static_cast<double>(x), static_cast<double>(y), static_cast<double>(stride), anchor});
          const std::span<float> classes = row.subspan(5);
          for (float& value : classes) value = sigmoid(value);
          add_candidates(candidates, box, objectness, classes, view.info.score);
        }
      }
    }
  }
  return finish(std::move(candidates), view);
}

}  // namespace peraxis::vision

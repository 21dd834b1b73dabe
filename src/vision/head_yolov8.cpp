// YOLOv8, YOLO11 and relatives: no anchors, no objectness. Raw: for each cell the logits of 16 bins for each
// side of the box, left, top, right, bottom, then those of the classes; a side's distance from the cell's
// centre in cells is the mean of the bins' numbers under their softmax. The two parts are one output, or one
// each. Decoded: rows cx, cy, w, h, classes.
#include <algorithm>

#include "vision/head_parts.hpp"

namespace peraxis::vision {
namespace {

constexpr int64_t kBins = 16;
constexpr int64_t kBoxLogits = 4 * kBins;
constexpr int64_t kCocoClasses = 80;

// Where the logits of a stride are: rows are cells, columns count from the first of the part.
struct Part {
  size_t output = 0;
  int64_t first_row = 0, first_column = 0;
  RowShape shape;
};

struct Level {
  int stride = 0;
  Grid grid;
  Part box, classes;
};

struct RawShape {
  std::vector<Level> levels;
  int64_t classes = 0;
  bool split = false;  // boxes and classes are outputs of their own
};

RowShape map_rows(const OutputTensor& output) {
  return {output.shape[1] * output.shape[2], output.shape[3], false};
}

// The maps of one stride among the outputs: one with both parts, or one of 64 channels and one of the
// classes. Of two with 64 channels the first in the model's order is the boxes'.
std::optional<Level> level_of(const HeadView& view, int stride, bool split, int64_t& classes) {
  Level level{stride, grid_of(view.input, stride), {}, {}};
  std::vector<size_t> maps;
  for (size_t i = 0; i < view.outputs.size(); ++i)
    if (has_grid(view.outputs[i], level.grid)) maps.push_back(i);
  if (maps.size() != (split ? 2u : 1u)) return std::nullopt;
  if (split && view.outputs[maps[0]].shape[3] != kBoxLogits) std::swap(maps[0], maps[1]);
  const OutputTensor& boxes = view.outputs[maps[0]];
  const OutputTensor& scores = view.outputs[maps.back()];
  if (split && boxes.shape[3] != kBoxLogits) return std::nullopt;
  const int64_t found = split ? scores.shape[3] : boxes.shape[3] - kBoxLogits;
  if (!classes_fit(found, view.info) || (classes != 0 && classes != found)) return std::nullopt;
  classes = found;
  level.box = {maps[0], 0, 0, map_rows(boxes)};
  level.classes = {maps.back(), 0, split ? 0 : kBoxLogits, map_rows(scores)};
  return level;
}

// One output with the cells of all strides one after another. Its columns say little (64 + 20 are also a
// decoded head's 4 + 80), so without a name or labels only those of COCO are taken.
std::optional<RawShape> joined_shape(const HeadView& view) {
  const auto rows = row_shape(view.outputs[0], cells_of(view.info.strides, view.input));
  if (!rows || !classes_fit(rows->columns - kBoxLogits, view.info)) return std::nullopt;
  RawShape found{{}, rows->columns - kBoxLogits, false};
  if (!view.named() && view.info.labels.empty() && found.classes != kCocoClasses) return std::nullopt;
  int64_t first = 0;
  for (const int stride : view.info.strides) {
    const Grid grid = grid_of(view.input, stride);
    found.levels.push_back({stride, grid, {0, first, 0, *rows}, {0, first, kBoxLogits, *rows}});
    first += grid.width * grid.height;
  }
  return found;
}

std::optional<RawShape> raw_shape(const HeadView& view) {
  const auto& strides = view.info.strides;
  if (strides.empty()) return std::nullopt;
  if (view.outputs.size() == 1 && view.outputs[0].shape.size() == 3) return joined_shape(view);
  const bool split = view.outputs.size() == 2 * strides.size();
  if (!split && view.outputs.size() != strides.size()) return std::nullopt;
  RawShape found;
  found.split = split;
  for (const int stride : strides) {
    const auto level = level_of(view, stride, split, found.classes);
    if (!level) return std::nullopt;
    found.levels.push_back(*level);
  }
  return found;
}

std::optional<Fit> fit_raw(const HeadView& view) {
  const auto shape = raw_shape(view);
  if (!shape) return std::nullopt;
  Fit fit = fit_by_classes(shape->classes, view.info, "there are outputs for the cells of every stride");
  if (shape->split && !fit.supported) {
    fit.supported = true;
    fit.evidence = "every stride has an output of 4 x 16 bins and one of classes";
  }
  return fit;
}

// Softmax of the bins' logits, then the mean of the bins' numbers.
double distance(const RowValues& values, int64_t row, int64_t first) {
  double largest = static_cast<double>(values.at(row, first));
  for (int64_t bin = 1; bin < kBins; ++bin)
    largest = std::max(largest, static_cast<double>(values.at(row, first + bin)));
  double sum = 0, weighted = 0;
  for (int64_t bin = 0; bin < kBins; ++bin) {
    const double weight = std::exp(static_cast<double>(values.at(row, first + bin)) - largest);
    sum += weight;
    weighted += weight * static_cast<double>(bin);
  }
  return weighted / sum;
}

void decode_level(std::vector<Candidate>& candidates, const Level& level,
                  const std::vector<RowValues>& outputs, int64_t classes, double threshold) {
  const RowValues& boxes = outputs[level.box.output];
  const RowValues& scores = outputs[level.classes.output];
  const double stride = level.stride;
  std::vector<float> probabilities(static_cast<size_t>(classes));
  for (int64_t y = 0, cell = 0; y < level.grid.height; ++y) {
    for (int64_t x = 0; x < level.grid.width; ++x, ++cell) {
      bool any = false;
      for (int64_t c = 0; c < classes; ++c) {
        float& score = probabilities[static_cast<size_t>(c)];
        score = sigmoid(scores.at(level.classes.first_row + cell, level.classes.first_column + c));
        any |= static_cast<double>(score) > threshold;
      }
      if (!any) continue;
      const auto side = [&](int64_t k) {
        return distance(boxes, level.box.first_row + cell, level.box.first_column + k * kBins);
      };
      const double left = side(0), top = side(1), right = side(2), bottom = side(3);
      add_candidates(candidates,
                     {0, 0, (static_cast<double>(x) + 0.5 + (right - left) / 2) * stride,
                      (static_cast<double>(y) + 0.5 + (bottom - top) / 2) * stride, (left + right) * stride,
                      (top + bottom) * stride},
                     1, probabilities, threshold);
    }
  }
}

Result<Decoded> decode_raw(const HeadView& view) {
  PERAXIS_TRY(check_geometry(view.input));
  const RawShape shape = *raw_shape(view);
  std::vector<RowValues> outputs;
  for (const OutputTensor& output : view.outputs)
    outputs.push_back(PERAXIS_TRY(
        read_rows(output, output.shape.size() == 4 ? map_rows(output) : shape.levels[0].box.shape)));
  std::vector<Candidate> candidates;
  for (const Level& level : shape.levels)
    decode_level(candidates, level, outputs, shape.classes, view.info.score);
  return finish(std::move(candidates), view);
}

std::optional<Fit> fit_decoded(const HeadView& view) {
  const auto rows = rows_by_cells(view);
  if (!rows || !classes_fit(rows->columns - 4, view.info)) return std::nullopt;
  const int64_t classes = rows->columns - 4;
  const bool by_cells = rows->rows == cells_of(view.info.strides, view.input);
  Fit fit = fit_by_classes(classes, view.info, "there is one row for every cell of the strides");
  if (classes == 1 && by_cells && !fit.supported) {
    fit.supported = true;
    fit.evidence = "there is one row for every cell of the strides, a box and a single score";
  }
  return fit;
}

Result<Decoded> decode_decoded(const HeadView& view) {
  PERAXIS_TRY(check_geometry(view.input));
  const RowValues values = PERAXIS_TRY(read_rows(view.outputs[0], *rows_by_cells(view)));
  PERAXIS_TRY(check_probabilities("yolov8-decoded", view.outputs[0], values, 4));
  const BoxScale scale =
      PERAXIS_TRY(box_scale("yolov8-decoded", values.largest_box_value(view.info.score), view));
  std::vector<Candidate> candidates;
  for (int64_t row = 0; row < values.rows(); ++row) {
    const auto at = [&](int64_t column) { return static_cast<double>(values.at(row, column)); };
    const Candidate box{0, 0, at(0) * scale.x, at(1) * scale.y, at(2) * scale.x, at(3) * scale.y};
    add_candidates(candidates, box, 1, values.tail(row, 4), view.info.score);
  }
  return finish(std::move(candidates), view, scale.assumed);
}

}  // namespace

const Head yolov8_head = {
    "yolov8",
    HeadTask::Detect,
    "one output [1, h, w, 64 + classes] a stride, or a pair [1, h, w, 64] and [1, h, w, "
    "classes], or one [1, n, 64 + classes] or [1, 64 + classes, n] with one row a cell",
    false,
    fit_raw,
    decode_raw};

const Head yolov8_decoded_head = {
    "yolov8-decoded",
    HeadTask::Detect,
    "one output [1, 4 + classes, n] or [1, n, 4 + classes] with one row a cell of the strides",
    false,
    fit_decoded,
    decode_decoded};

}  // namespace peraxis::vision

// YOLOv5. Raw: one output a stride with the logits of 5 + classes values an anchor; centre =
// (2 s - 0.5 + cell) * stride, size = (2 s)^2 * anchor with s = sigmoid. Decoded: rows cx, cy, w, h,
// objectness, classes. Score = objectness * class.
#include <algorithm>

#include "vision/head_parts.hpp"

namespace peraxis::vision {
namespace {

Levels levels_of(const ModelInfo& info) {
  return {info.strides, info.anchors};
}

std::optional<Fit> fit_raw(const HeadView& view) {
  const int64_t classes = level_classes(view.outputs, levels_of(view.info), view.info);
  if (classes == 0 || (!view.named() && !grids_match(view, view.info.strides))) return std::nullopt;
  Fit fit = fit_by_classes(classes, view.info, "there is an output with the grid of every stride");
  if (view.info.anchors_stated && !fit.supported) {
    fit.supported = true;
    fit.evidence = "the outputs have the grids and the number of anchors of the model info";
  }
  if (!view.info.anchors_stated)
    fit.assumed.push_back(
        fmt::format("anchors of YOLOv5 for COCO ({}); \"anchors\" in the model info has others",
                    anchors_text(levels_of(view.info))));
  if (!view.named())
    fit.assumed.emplace_back(
        "boxes are coded as YOLOv5 does; --head yolov3 reads the same shapes as YOLOv3 does");
  return fit;
}

Candidate decode_row(const LevelRow& row) {
  for (size_t i = 0; i < 4; ++i) row.logits[i] = sigmoid(row.logits[i]);
  const std::span<const float> s = row.logits;
  const float w = s[2] * 2, h = s[3] * 2;
  return {0,
          0,
          (static_cast<double>(s[0] * 2 - 0.5f) + row.x) * row.stride,
          (static_cast<double>(s[1] * 2 - 0.5f) + row.y) * row.stride,
          static_cast<double>(w * w * row.anchor.width),
          static_cast<double>(h * h * row.anchor.height)};
}

Result<Decoded> decode_raw(const HeadView& view) {
  return decode_levels("yolov5", view, levels_of(view.info), decode_row);
}

// Whether there is a row for every anchor of every cell: three a cell at the strides 8, 16, 32, with or
// without 64, unless the model info says otherwise.
bool has_anchor_rows(const HeadView& view, int64_t rows) {
  const ModelInfo& info = view.info;
  if (!info.anchors_stated && !info.strides_stated)
    return rows == 3 * cells_of({8, 16, 32}, view.input) || rows == 3 * cells_of({8, 16, 32, 64}, view.input);
  int64_t count = 0;
  for (size_t i = 0; i < std::min(info.strides.size(), info.anchors.size()); ++i)
    count += cells_of({info.strides[i]}, view.input) * static_cast<int64_t>(info.anchors[i].size());
  return rows == count;
}

std::optional<Fit> fit_decoded(const HeadView& view) {
  if (view.outputs.size() != 1) return std::nullopt;
  const auto& shape = view.outputs[0].shape;
  if (shape.size() != 3 || shape[0] != 1 || shape[1] <= shape[2] || !classes_fit(shape[2] - 5, view.info))
    return std::nullopt;
  // One row a cell is the mark of heads without anchors.
  if (!view.named() && shape[1] == cells_of(view.info.strides, view.input)) return std::nullopt;
  const int64_t classes = shape[2] - 5;
  if (!has_anchor_rows(view, shape[1]))
    return Fit{classes, false, "its rows are not as many as anchors in the cells of the strides", {}};
  Fit fit =
      fit_by_classes(classes, view.info, "there are as many rows as anchors in the cells of the strides");
  if (classes == 1 && !fit.supported) {
    fit.supported = true;
    fit.evidence =
        "there are as many rows as anchors in the cells of the strides, and a single class behind them";
  }
  return fit;
}

Result<Decoded> decode_decoded(const HeadView& view) {
  PERAXIS_TRY(check_geometry(view.input));
  const auto& shape = view.outputs[0].shape;
  const RowValues values = PERAXIS_TRY(read_rows(view.outputs[0], {shape[1], shape[2], false}));
  const BoxScale scale =
      PERAXIS_TRY(box_scale("yolov5-decoded", values.largest_box_value(view.info.score), view));
  std::vector<Candidate> candidates;
  for (int64_t row = 0; row < values.rows(); ++row) {
    const auto at = [&](int64_t column) { return static_cast<double>(values.at(row, column)); };
    const Candidate box{0, 0, at(0) * scale.x, at(1) * scale.y, at(2) * scale.x, at(3) * scale.y};
    add_candidates(candidates, box, at(4), values.tail(row, 5), view.info.score);
  }
  return finish(std::move(candidates), view, scale.assumed);
}

}  // namespace

const Head yolov5_head = {
    "yolov5",
    HeadTask::Detect,
    "one output [1, h, w, anchors x (5 + classes)] a stride, with the strides and anchors of the model info",
    false,
    fit_raw,
    decode_raw};

const Head yolov5_decoded_head = {
    "yolov5-decoded", HeadTask::Detect, "one output [1, n, 5 + classes] with more rows than columns", false,
    fit_decoded,      decode_decoded};

}  // namespace peraxis::vision

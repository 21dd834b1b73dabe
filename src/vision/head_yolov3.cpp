// YOLOv3 and its small relatives: one output a stride with the logits of 5 + classes values an anchor; centre
// = (sigmoid + cell) * stride, size = exp * anchor, score = objectness * class. The relatives differ in
// strides and anchors (the public .cfg files of darknet and of Yolo-Fastest 1.1), which the tensors do not
// show. YOLOv3 itself has the shapes, strides and anchors of YOLOv5.
#include "vision/head_parts.hpp"

namespace peraxis::vision {
namespace {

using Anchors = std::vector<std::vector<Anchor>>;

const std::vector<int>& two_strides() {
  static const std::vector<int> strides = {16, 32};
  return strides;
}
const Anchors& tiny_anchors() {
  static const Anchors anchors = {{{10, 14}, {23, 27}, {37, 58}}, {{81, 82}, {135, 169}, {344, 319}}};
  return anchors;
}
const Anchors& fastest_anchors() {
  static const Anchors anchors = {{{12, 18}, {37, 49}, {52, 132}}, {{115, 73}, {119, 199}, {242, 238}}};
  return anchors;
}

// Strides and anchors of the model info, else the head's own.
Levels levels_of(const ModelInfo& info, const Anchors& anchors) {
  return {info.strides_stated || info.anchors_stated ? info.strides : two_strides(),
          info.anchors_stated ? info.anchors : anchors};
}

std::optional<Fit> fit_levels(const HeadView& view, const Levels& levels, std::string_view whose) {
  const int64_t classes = level_classes(view.outputs, levels, view.info);
  if (classes == 0) return std::nullopt;
  Fit fit = fit_by_classes(classes, view.info, "there is an output with the grid of every stride");
  if (!view.info.anchors_stated)
    fit.assumed.push_back(fmt::format("anchors of {} ({}); \"anchors\" in the model info has others", whose,
                                      anchors_text(levels)));
  return fit;
}

// Without a name two outputs on the grids of the strides 16 and 32 can be any relative; stated anchors mean
// YOLOv5 (heads.hpp: other heads with the same shapes must be named).
std::optional<Fit> fit_two(const HeadView& view, const Anchors& anchors, std::string_view whose) {
  if (view.named()) return fit_levels(view, levels_of(view.info, anchors), whose);
  if (view.info.anchors_stated || view.info.strides_stated || view.outputs.size() != 2) return std::nullopt;
  const Grid fine = grid_of(view.input, 16), coarse = grid_of(view.input, 32);
  const auto pair = [&](size_t a, size_t b) {
    return has_grid(view.outputs[a], fine) && has_grid(view.outputs[b], coarse);
  };
  if (!pair(0, 1) && !pair(1, 0)) return std::nullopt;
  return fit_levels(view, {two_strides(), anchors}, whose);
}

Candidate decode_row(const LevelRow& row) {
  const auto real = [&](size_t i) { return static_cast<double>(row.logits[i]); };
  return {0,
          0,
          (static_cast<double>(sigmoid(row.logits[0])) + row.x) * row.stride,
          (static_cast<double>(sigmoid(row.logits[1])) + row.y) * row.stride,
          std::exp(real(2)) * static_cast<double>(row.anchor.width),
          std::exp(real(3)) * static_cast<double>(row.anchor.height)};
}

std::optional<Fit> fit_yolov3(const HeadView& view) {
  return fit_levels(view, {view.info.strides, view.info.anchors}, "YOLOv3 for COCO");
}
Result<Decoded> decode_yolov3(const HeadView& view) {
  return decode_levels("yolov3", view, {view.info.strides, view.info.anchors}, decode_row);
}

std::optional<Fit> fit_tiny(const HeadView& view) {
  return fit_two(view, tiny_anchors(), "YOLOv3-tiny for COCO");
}
Result<Decoded> decode_tiny(const HeadView& view) {
  return decode_levels("yolov3-tiny", view, levels_of(view.info, tiny_anchors()), decode_row);
}

std::optional<Fit> fit_fastest(const HeadView& view) {
  return fit_two(view, fastest_anchors(), "Yolo-Fastest 1.1 for COCO");
}
Result<Decoded> decode_fastest(const HeadView& view) {
  return decode_levels("yolo-fastest", view, levels_of(view.info, fastest_anchors()), decode_row);
}

constexpr std::string_view kTwoOutputs =
    "one output [1, h, w, anchors x (5 + classes)] for the strides 16 and 32, or for those of the model info";

}  // namespace

const Head yolov3_head = {
    "yolov3",
    HeadTask::Detect,
    "one output [1, h, w, anchors x (5 + classes)] a stride, with the strides and anchors of the model info",
    true,
    fit_yolov3,
    decode_yolov3};

const Head yolov3_tiny_head = {"yolov3-tiny", HeadTask::Detect, kTwoOutputs, false, fit_tiny, decode_tiny};

const Head yolo_fastest_head = {"yolo-fastest", HeadTask::Detect, kTwoOutputs,
                                false,          fit_fastest,      decode_fastest};

}  // namespace peraxis::vision

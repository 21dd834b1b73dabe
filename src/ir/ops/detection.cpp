// The custom operator TFLite_Detection_PostProcess (docs/arithmetic.md#detection_post_process): boxes and
// class scores in, the four lists of detections out.
#include <cmath>

#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

Status verify_options(const DetectionAttributes& a) {
  constexpr int32_t kMost = 1 << 20;
  const auto within = [](int32_t value) { return value >= 1 && value <= kMost; };
  if (!within(a.max_detections) || !within(a.max_classes_per_detection) || !within(a.detections_per_class) ||
      !within(a.num_classes)) {
    return fail(
        ErrorCode::InvalidModel,
        "max_detections {}, max_classes_per_detection {}, detections_per_class {}, num_classes {}; each "
        "must be 1 to {}",
        a.max_detections, a.max_classes_per_detection, a.detections_per_class, a.num_classes, kMost);
  }
  if (!(a.nms_iou_threshold > 0.0F && a.nms_iou_threshold <= 1.0F)) {
    return fail(ErrorCode::InvalidModel, "nms_iou_threshold {}; it must be above 0 and at most 1",
                a.nms_iou_threshold);
  }
  if (std::isnan(a.nms_score_threshold)) return fail(ErrorCode::InvalidModel, "nms_score_threshold is NaN");
  return {};
}

}  // namespace

Status verify_detection(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::UInt8};
  PERAXIS_TRY(view.expect_counts(3, 3, 4));
  const auto a = PERAXIS_TRY(view.attributes<DetectionAttributes>());
  PERAXIS_TRY(verify_options(a));
  const Operand boxes = view.input(0, "the boxes");
  const Operand scores = view.input(1, "the class scores");
  const Operand anchors = view.input(2, "the anchors");
  for (const Operand& operand : {boxes, scores, anchors}) PERAXIS_TRY(expect_numbers(operand, kTypes));
  PERAXIS_TRY(expect_same_type(boxes, scores));
  PERAXIS_TRY(expect_same_type(boxes, anchors));
  PERAXIS_TRY(expect_rank(boxes, 3, 3));
  PERAXIS_TRY(expect_rank(scores, 3, 3));
  PERAXIS_TRY(expect_rank(anchors, 2, 2));
  const int32_t count = boxes.tensor->shape[1];
  const int32_t columns = scores.tensor->shape[2];
  if (boxes.tensor->shape[0] != 1 || boxes.tensor->shape[2] < 4 || scores.tensor->shape[0] != 1 ||
      scores.tensor->shape[1] != count || anchors.tensor->shape[0] != count ||
      anchors.tensor->shape[1] != 4) {
    return fail(ErrorCode::InvalidModel, "boxes {}, class scores {} and anchors {} do not fit together",
                shape_text(boxes.tensor->shape), shape_text(scores.tensor->shape),
                shape_text(anchors.tensor->shape));
  }
  if (columns != a.num_classes && columns != a.num_classes + 1) {
    return fail(ErrorCode::InvalidModel, "{} has {} columns for {} classes; it needs {} or {}", scores.text(),
                columns, a.num_classes, a.num_classes, a.num_classes + 1);
  }
  const int64_t slots = int64_t{a.max_detections} * a.max_classes_per_detection;
  if (slots > kMaxElements / 4) return fail(ErrorCode::Unsupported, "{} detections are too many", slots);
  const auto detections = static_cast<int32_t>(slots);
  const std::vector<int32_t> shapes[] = {{1, detections, 4}, {1, detections}, {1, detections}, {1}};
  constexpr const char* kRoles[] = {"the output boxes", "the output classes", "the output scores",
                                    "the output count"};
  for (size_t i = 0; i < 4; ++i) {
    const Operand output = view.output(i, kRoles[i]);
    PERAXIS_TRY(expect_type(output, {DataType::Float32}));
    PERAXIS_TRY(expect_shape(output, shapes[i]));
  }
  return {};
}

}  // namespace peraxis::ir::rules

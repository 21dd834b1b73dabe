// Heads that are known but not decoded: key points and masks. Their tensors are the result.
#include "vision/head_parts.hpp"

namespace peraxis::vision {
namespace {

constexpr int64_t kPoints = 17;  // of a person, COCO
constexpr int64_t kMasks = 32;   // prototypes of YOLO's segmentation networks

// YOLOv8-pose, 4 + classes + 3 values a point a row (without labels one class, without a name COCO's points),
// or MoveNet's [1, 1, 17, 3].
std::optional<Fit> fit_pose(const HeadView& view) {
  if (view.outputs.size() != 1) return std::nullopt;
  if (view.outputs[0].shape == std::vector<int64_t>{1, 1, kPoints, 3})
    return Fit{0, true, "the output has the shape of MoveNet's key points", {}};
  const auto rows = rows_by_cells(view);
  if (!rows) return std::nullopt;
  const auto labels = static_cast<int64_t>(view.info.labels.size());
  const int64_t points = rows->columns - 4 - (labels == 0 ? 1 : labels);
  if (points < 3 || points % 3 != 0) return std::nullopt;
  const bool usual = points == 3 * kPoints;
  if (!view.named() && !usual) return std::nullopt;
  return Fit{labels,
             usual,
             usual ? "there is one row for every cell of the strides, with the 17 points of COCO's persons"
                   : "its points are not COCO's 17",
             {}};
}

// YOLO's masks: rows of 4 + classes + 32 coefficients and a map of 32 prototypes; or classes a pixel.
std::optional<Fit> fit_segmentation(const HeadView& view) {
  if (view.outputs.size() == 1) {
    const auto& shape = view.outputs[0].shape;
    const bool map = shape.size() == 3 || shape.size() == 4;
    if (map && view.input.width > 1 && view.input.height > 1 && shape[0] == 1 &&
        shape[1] == view.input.height && shape[2] == view.input.width)
      return Fit{shape.size() == 4 ? shape[3] : 0, true, "the output is a map of the input's size", {}};
    return std::nullopt;
  }
  if (view.outputs.size() != 2) return std::nullopt;
  const size_t rows_at = view.outputs[0].shape.size() == 3 ? 0 : 1;
  const auto& map = view.outputs[1 - rows_at].shape;
  const auto rows = row_shape(view.outputs[rows_at], cells_of(view.info.strides, view.input));
  if (!rows || map.size() != 4 || map[0] != 1 || (map[3] != kMasks && map[1] != kMasks)) return std::nullopt;
  const int64_t classes = rows->columns - 4 - kMasks;
  if (!classes_fit(classes, view.info)) return std::nullopt;
  return Fit{classes, true, "there are rows for the cells of the strides and a map of 32 prototypes", {}};
}

}  // namespace

const Head pose_head = {
    "pose", HeadTask::Tensors, "rows of 4 + classes + 3 values a key point, or [1, 1, 17, 3] of key points",
    false,  fit_pose,          nullptr};

const Head segmentation_head = {
    "segmentation",
    HeadTask::Tensors,
    "a map of the input's size, or rows of 4 + classes + 32 values and a map of 32 mask prototypes",
    false,
    fit_segmentation,
    nullptr};

}  // namespace peraxis::vision

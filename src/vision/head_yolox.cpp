// YOLOX: one row a cell, x, y, w, h, objectness, classes, the last two after their sigmoid. Exports leave the
// box as the network gives it, centre = (x + cell) * stride and size = exp(w) * stride, or hold pixels
// already. Cells are counted stride by stride, then by rows. Score = objectness * class.
#include "vision/head_parts.hpp"

namespace peraxis::vision {
namespace {

// Neither an offset in cells nor the logarithm of a side in cells comes near; pixels of the last column do.
constexpr float kNoOffset = 16;

std::optional<Fit> fit(const HeadView& view) {
  const auto rows = rows_by_cells(view);
  if (!rows || !classes_fit(rows->columns - 5, view.info)) return std::nullopt;
  return fit_by_classes(rows->columns - 5, view.info, "there is one row for every cell of the strides");
}

Result<Decoded> decode(const HeadView& view) {
  PERAXIS_TRY(check_geometry(view.input));
  const RowShape shape = *rows_by_cells(view);
  const RowValues values = PERAXIS_TRY(read_rows(view.outputs[0], shape));
  PERAXIS_TRY(check_probabilities("yolox", view.outputs[0], values, 4));
  const std::string& unit = view.info.boxes;
  const float largest = values.largest_box_value(view.info.score);
  const bool in_cells = unit == "cells" || (unit.empty() && largest <= kNoOffset);
  std::vector<std::string> assumed;
  if (unit.empty())
    assumed.push_back(fmt::format(
        "boxes in {}, because their largest value is {:.4g} (\"boxes\" in the model info says it)",
        in_cells ? "cells, as the network gives them" : "pixels of the input", largest));
  std::vector<Candidate> candidates;
  const auto add = [&](int64_t row, const Candidate& box) {
    add_candidates(candidates, box, static_cast<double>(values.at(row, 4)), values.tail(row, 5),
                   view.info.score);
  };
  const auto at = [&](int64_t row, int64_t column) { return static_cast<double>(values.at(row, column)); };
  if (!in_cells) {
    const double x = unit == "fractions" ? view.input.width : 1;
    const double y = unit == "fractions" ? view.input.height : 1;
    for (int64_t row = 0; row < values.rows(); ++row)
      add(row, {0, 0, at(row, 0) * x, at(row, 1) * y, at(row, 2) * x, at(row, 3) * y});
    return finish(std::move(candidates), view, std::move(assumed));
  }
  const int64_t cells = cells_of(view.info.strides, view.input);
  if (values.rows() != cells)
    return fail(
        ErrorCode::Unsupported,
        "head 'yolox': {} rows, but the strides of the model info have {} cells in an input of {} x {} "
        "pixels",
        values.rows(), cells, view.input.height, view.input.width);
  int64_t row = 0;
  for (const int side : view.info.strides) {
    const Grid grid = grid_of(view.input, side);
    const double stride = side;
    for (int64_t y = 0; y < grid.height; ++y) {
      for (int64_t x = 0; x < grid.width; ++x, ++row)
        add(row, {0, 0, (at(row, 0) + static_cast<double>(x)) * stride,
                  (at(row, 1) + static_cast<double>(y)) * stride, std::exp(at(row, 2)) * stride,
                  std::exp(at(row, 3)) * stride});
    }
  }
  return finish(std::move(candidates), view, std::move(assumed));
}

}  // namespace

const Head yolox_head = {
    "yolox",
    HeadTask::Detect,
    "one output [1, n, 5 + classes] or [1, 5 + classes, n] with one row a cell of the strides",
    false,
    fit,
    decode};

}  // namespace peraxis::vision

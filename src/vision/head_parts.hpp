// What the decoders of heads share: real values of a tensor, tensors as rows, grids, candidates and their
// suppression.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "vision/heads.hpp"

namespace peraxis::vision {

#define PERAXIS_HEAD(name) extern const Head name##_head;
#include "vision/heads.def"

std::string shape_text(const OutputTensor& tensor);
std::string shapes_text(std::span<const OutputTensor> outputs);  // "[1, 2, 3], [1, 4]"

// The real values; fails on shapes, types, sizes and scales that cannot be read.
Result<std::vector<float>> dequantize(const OutputTensor& tensor);

float sigmoid(float logit);

// `shift`: see HeadView::label_shift.
std::optional<std::string> label_of(const ModelInfo& info, int class_id, int shift);

// Whether `classes` is a possible number of classes: positive, and that of the labels if there are any.
bool classes_fit(int64_t classes, const ModelInfo& info);

// What speaks for a number of classes that fits: labels, or that COCO or VOC have as many. Empty: nothing.
std::string class_evidence(int64_t classes, const ModelInfo& info);

// A reading that has the form `structure` ("one row a cell"), supported when the classes are.
Fit fit_by_classes(int64_t classes, const ModelInfo& info, std::string_view structure);

// "YOLOv5's for COCO: 8: 10x13 16x30 33x23, ..." for the texts of what is assumed.
struct Levels;
std::string anchors_text(const Levels& levels);

Status check_geometry(const InputGeometry& input);

// Cells of a stride: the input's sides divided by it, rounded up.
struct Grid {
  int64_t width = 0, height = 0;
};
Grid grid_of(const InputGeometry& input, int stride);
int64_t cells_of(const std::vector<int>& strides, const InputGeometry& input);  // of all strides
bool has_grid(const OutputTensor& output, const Grid& grid);                    // [1, height, width, n]

// A tensor [1, n, columns] or [1, columns, n] as n rows.
struct RowShape {
  int64_t rows = 0, columns = 0;
  bool transposed = false;
};
std::optional<RowShape> row_shape(const OutputTensor& output, int64_t rows);  // with that many rows
std::optional<RowShape> longest_rows(const OutputTensor& output);             // the longer side is the rows

// How the rows of an output are read: one a cell unless the head is named, then any number.
std::optional<RowShape> rows_by_cells(const HeadView& view);

class RowValues {
 public:
  RowValues(std::vector<float> values, const RowShape& shape) : values_(std::move(values)), shape_(shape) {}
  int64_t rows() const { return shape_.rows; }
  int64_t columns() const { return shape_.columns; }
  float at(int64_t row, int64_t column) const {
    return values_[static_cast<size_t>(shape_.transposed ? column * shape_.rows + row
                                                         : row * shape_.columns + column)];
  }
  // The columns from `first` on.
  std::vector<float> tail(int64_t row, int64_t first) const;
  // The largest finite value of the first four columns of rows with a score above `score`, at least 0.
  float largest_box_value(double score) const;

 private:
  std::vector<float> values_;
  RowShape shape_;
};
Result<RowValues> read_rows(const OutputTensor& output, const RowShape& shape);

// Unsupported when a finite value of the columns from `first` on is no probability, or when the tensor's
// scale leaves probabilities no digits (boxes in pixels under one scale with the scores).
Status check_probabilities(std::string_view head, const OutputTensor& output, const RowValues& values,
                           int64_t first);

// The factors that make pixels of box values: 1 when they are pixels, else the input's sides. Without
// info.boxes, values are pixels when the largest is above 2, and `assumed` says so.
struct BoxScale {
  double x = 1, y = 1;
  std::vector<std::string> assumed;
};
Result<BoxScale> box_scale(std::string_view head, float largest, const HeadView& view);

struct Candidate {
  int class_id;
  double score;
  double cx, cy, width, height;  // pixels of the model's input
};

// Adds one candidate a class whose score is above the threshold. A box that is not finite (float models can
// give one), lies farther away than any picture's or has a negative side is no box.
void add_candidates(std::vector<Candidate>& candidates, const Candidate& box, double objectness,
                    std::span<const float> classes, double threshold);

// Greedy, within a class: the best remaining box is kept if no kept box of its class overlaps it too much;
// equal scores keep their order. Then boxes in pixels of the picture.
Decoded finish(std::vector<Candidate> candidates, const HeadView& view,
               std::vector<std::string> assumed = {});
// The same without the suppression, for boxes that went through one.
Decoded finish_suppressed(std::vector<Candidate> candidates, const HeadView& view,
                          std::vector<std::string> assumed = {});

// Heads with anchors: one output [1, h, w, anchors x (5 + classes)] a stride, in any order.
struct Levels {
  const std::vector<int>& strides;
  const std::vector<std::vector<Anchor>>& anchors;
};
// Classes, 0 when the outputs are no such head. Grids are not looked at.
int64_t level_classes(std::span<const OutputTensor> outputs, const Levels& levels, const ModelInfo& info);
// Whether every stride has an output with its grid.
bool grids_match(const HeadView& view, const std::vector<int>& strides);

// A row of 5 + classes logits and its place.
struct LevelRow {
  std::span<float> logits;
  double x, y;  // the cell
  double stride;
  Anchor anchor;
};
using RowDecoder = Candidate (*)(const LevelRow& row);  // centre and size; may overwrite the logits' box
// Decodes rows in the order stride, row, column, anchor: score = sigmoid(objectness) x sigmoid(class).
Result<Decoded> decode_levels(std::string_view head, const HeadView& view, const Levels& levels,
                              RowDecoder decode);

}  // namespace peraxis::vision

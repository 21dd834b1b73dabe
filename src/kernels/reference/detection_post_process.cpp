// TFLite_Detection_PostProcess: boxes around anchors are decoded, suppressed by overlap and listed with their
// classes. Decoding is in double, rounded to float32; overlaps are in float32
// (docs/arithmetic.md#detection_post_process).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/elements.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {
namespace {

struct Box {
  float ymin = 0, xmin = 0, ymax = 0, xmax = 0;
};

struct Detection {
  int64_t box = 0;
  int64_t label = 0;
  float score = 0;
};

// The values of an input as real numbers.
std::vector<float> real_values(const Context& context, size_t input) {
  const ir::Tensor& tensor = context.input(input);
  std::vector<float> out(static_cast<size_t>(tensor.elements()));
  if (tensor.type == ir::DataType::Float32) {
    std::memcpy(out.data(), context.inputs[input].data(), context.inputs[input].size());
    return out;
  }
  const Quant quant = quant_of(tensor);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = quant.scale * static_cast<float>(int32_t{context.inputs[input][i]} - quant.zero_point);
  return out;
}

std::vector<Box> decode(const Context& context, const ir::DetectionAttributes& a) {
  const std::vector<float> codes = real_values(context, 0);
  const std::vector<float> anchors = real_values(context, 2);
  const auto stride = static_cast<size_t>(context.input(0).shape[2]);
  std::vector<Box> boxes(static_cast<size_t>(context.input(0).shape[1]));
  for (size_t i = 0; i < boxes.size(); ++i) {
    const auto code = [&](size_t k) { return static_cast<double>(codes[i * stride + k]); };
    const auto anchor = [&](size_t k) { return static_cast<double>(anchors[i * 4 + k]); };
    const auto centre = [&](size_t k, float scale) {
      return static_cast<float>(code(k) / static_cast<double>(scale) * anchor(k + 2) + anchor(k));
    };
    const auto half = [&](size_t k, float scale) {
      return static_cast<float>(0.5 * std::exp(code(k) / static_cast<double>(scale)) * anchor(k));
    };
    const float y = centre(0, a.y_scale);
    const float x = centre(1, a.x_scale);
    const float half_h = half(2, a.h_scale);
    const float half_w = half(3, a.w_scale);
    boxes[i] = {y - half_h, x - half_w, y + half_h, x + half_w};
  }
  return boxes;
}

float overlap(const Box& a, const Box& b) {
  const float area_a = (a.ymax - a.ymin) * (a.xmax - a.xmin);
  const float area_b = (b.ymax - b.ymin) * (b.xmax - b.xmin);
  if (area_a <= 0 || area_b <= 0) return 0.0F;
  const float height = std::max(std::min(a.ymax, b.ymax) - std::max(a.ymin, b.ymin), 0.0F);
  const float width = std::max(std::min(a.xmax, b.xmax) - std::max(a.xmin, b.xmin), 0.0F);
  const float common = height * width;
  return common / (area_a + area_b - common);
}

// Boxes in the order of falling scores, without those that overlap a better one; at most `limit`.
std::vector<int64_t> suppress(const std::vector<Box>& boxes, const std::vector<float>& scores,
                              const ir::DetectionAttributes& a, int64_t limit) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] >= a.nms_score_threshold) order.push_back(static_cast<int64_t>(i));
  }
  const auto score = [&](int64_t i) { return scores[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) { return score(p) > score(q); });
  std::vector<int64_t> kept;
  for (const int64_t candidate : order) {
    if (static_cast<int64_t>(kept.size()) >= limit) break;
    const Box& box = boxes[static_cast<size_t>(candidate)];
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](int64_t other) {
      return overlap(boxes[static_cast<size_t>(other)], box) > a.nms_iou_threshold;
    });
    if (!covered) kept.push_back(candidate);
  }
  return kept;
}

class Scores {
 public:
  Scores(const Context& context, const ir::DetectionAttributes& a)
      : values_(real_values(context, 1)),
        columns_(context.input(1).shape[2]),
        offset_(columns_ - a.num_classes),
        classes_(a.num_classes),
        rows_(context.input(1).shape[1]) {}

  int64_t rows() const { return rows_; }
  int64_t classes() const { return classes_; }
  float at(int64_t row, int64_t label) const {
    return values_[static_cast<size_t>(row * columns_ + offset_ + label)];
  }
  // Classes of a row from the best score down, the first of equal ones first.
  std::vector<int64_t> best(int64_t row, int64_t count) const {
    std::vector<int64_t> labels(static_cast<size_t>(classes_));
    std::iota(labels.begin(), labels.end(), 0);
    std::stable_sort(labels.begin(), labels.end(),
                     [&](int64_t a, int64_t b) { return at(row, a) > at(row, b); });
    labels.resize(static_cast<size_t>(std::min(count, classes_)));
    return labels;
  }

 private:
  std::vector<float> values_;
  int64_t columns_, offset_, classes_, rows_;
};

// The slots of the output; a missing one stays 0.
std::vector<Detection> fast_detections(const std::vector<Box>& boxes, const Scores& scores,
                                       const ir::DetectionAttributes& a) {
  std::vector<float> best(static_cast<size_t>(scores.rows()));
  for (int64_t row = 0; row < scores.rows(); ++row)
    best[static_cast<size_t>(row)] = scores.at(row, scores.best(row, 1)[0]);
  std::vector<Detection> found;
  for (const int64_t box : suppress(boxes, best, a, a.max_detections)) {
    for (const int64_t label : scores.best(box, a.max_classes_per_detection))
      found.push_back({box, label, scores.at(box, label)});
  }
  return found;
}

std::vector<Detection> regular_detections(const std::vector<Box>& boxes, const Scores& scores,
                                          const ir::DetectionAttributes& a) {
  std::vector<Detection> found;
  for (int64_t label = 0; label < scores.classes(); ++label) {
    std::vector<float> column(static_cast<size_t>(scores.rows()));
    for (int64_t row = 0; row < scores.rows(); ++row)
      column[static_cast<size_t>(row)] = scores.at(row, label);
    const int64_t limit = std::min(a.detections_per_class, a.max_detections);
    for (const int64_t box : suppress(boxes, column, a, limit))
      found.push_back({box, label, column[static_cast<size_t>(box)]});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Detection& p, const Detection& q) { return p.score > q.score; });
  if (found.size() > static_cast<size_t>(a.max_detections))
    found.resize(static_cast<size_t>(a.max_detections));
  return found;
}

void write(const Context& context, const std::vector<Box>& boxes, const std::vector<Detection>& found) {
  for (const std::span<uint8_t> output : context.outputs) std::ranges::fill(output, uint8_t{0});
  for (size_t i = 0; i < found.size(); ++i) {
    const auto slot = static_cast<int64_t>(i);
    const Box& box = boxes[static_cast<size_t>(found[i].box)];
    const Writer<float> corners(context.outputs[0]);
    corners.set(4 * slot, box.ymin);
    corners.set(4 * slot + 1, box.xmin);
    corners.set(4 * slot + 2, box.ymax);
    corners.set(4 * slot + 3, box.xmax);
    Writer<float>(context.outputs[1]).set(slot, static_cast<float>(found[i].label));
    Writer<float>(context.outputs[2]).set(slot, found[i].score);
  }
  Writer<float>(context.outputs[3]).set(0, static_cast<float>(found.size()));
}

}  // namespace

Status detection_post_process(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* a = PERAXIS_TRY(attributes<ir::DetectionAttributes>(context));
  const std::vector<Box> boxes = decode(context, *a);
  const Scores scores(context, *a);
  if (std::ranges::any_of(real_values(context, 1), [](float score) { return std::isnan(score); }))
    return fail(ErrorCode::InvalidArgument, "{}: a class score is NaN", context.label());
  write(context, boxes,
        a->use_regular_nms ? regular_detections(boxes, scores, *a) : fast_detections(boxes, scores, *a));
  return {};
}

}  // namespace peraxis::kernels::reference

// A list of class scores: the best of them, as the model gives them.
#include <algorithm>
#include <limits>
#include <numeric>

#include "vision/head_parts.hpp"

namespace peraxis::vision {
namespace {

bool is_class_list(const OutputTensor& output) {
  const auto& shape = output.shape;
  if (shape.size() != 2 && shape.size() != 4) return false;
  return shape.back() >= 2 &&
         std::all_of(shape.begin(), shape.end() - 1, [](int64_t side) { return side == 1; });
}

std::optional<Fit> fit(const HeadView& view) {
  if (view.outputs.size() != 1 || !is_class_list(view.outputs[0])) return std::nullopt;
  return Fit{view.outputs[0].shape.back()};
}

}  // namespace

const Head classification_head = {"classification",
                                  HeadTask::Classify,
                                  "one output [1, n] or [1, 1, 1, n] with at least 2 values",
                                  false,
                                  fit,
                                  nullptr};

Result<std::vector<ClassScore>> top_classes(const OutputTensor& output, const ModelInfo& info, int count) {
  if (!is_class_list(output))
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
  best.reserve(order.size());
  for (int class_id : order)
    best.push_back({class_id, label_of(info, class_id), values[static_cast<size_t>(class_id)]});
  return best;
}

}  // namespace peraxis::vision

// A list of class scores: the best of them, as the model gives them.
#include <algorithm>
#include <limits>
#include <numeric>

#include "vision/head_parts.hpp"

namespace peraxis::vision {
namespace {

// Of the sum of probabilities that were rounded to 256 steps.
constexpr double kSumMargin = 0.05;

bool is_class_list(const OutputTensor& output) {
  const auto& shape = output.shape;
  if (shape.size() != 2 && shape.size() != 4) return false;
  return shape.back() >= 2 &&
         std::all_of(shape.begin(), shape.end() - 1, [](int64_t side) { return side == 1; });
}

// The parameters that LiteRT demands of SOFTMAX and LOGISTIC outputs: 0 to 1 in 2^-8 (2^-15) steps.
bool has_probability_scale(const OutputTensor& output) {
  if (output.type == "int8") return output.scale == 1.0f / 256 && output.zero_point == -128;
  if (output.type == "uint8") return output.scale == 1.0f / 256 && output.zero_point == 0;
  return output.type == "int16" && output.scale == 1.0f / 32768 && output.zero_point == 0;
}

// Real values from 0 to 1 that add up to 1, as a softmax gives them.
bool are_probabilities(const OutputTensor& output) {
  if (output.type != "float32") return false;
  const auto values = dequantize(output);
  if (!values) return false;
  double sum = 0;
  for (const float value : *values) {
    if (!(value >= 0 && value <= 1)) return false;
    sum += static_cast<double>(value);
  }
  return std::abs(sum - 1) <= kSumMargin;
}

// Any vector has this form, also what a network makes of a picture to compare it with others.
std::string evidence(const HeadView& view) {
  const OutputTensor& output = view.outputs[0];
  const int64_t classes = output.shape.back();
  if (!view.info.labels.empty() && labels_fit(view.info, classes))
    return fmt::format("there are labels for its {} values", classes);
  if (view.info.task == "classify") return "the model info says so";
  if (has_probability_scale(output)) return "its scale is that of probabilities, as SOFTMAX has it";
  if (are_probabilities(output)) return "its values are between 0 and 1 and add up to 1";
  if (classes == 1000 || classes == 1001)
    return fmt::format("its {} values are as many as ImageNet's classes", classes);
  return {};
}

std::optional<Fit> fit(const HeadView& view) {
  if (view.outputs.size() != 1 || !is_class_list(view.outputs[0])) return std::nullopt;
  const std::string found = evidence(view);
  const ModelInfo& info = view.info;
  Fit fit{view.outputs[0].shape.back(), !found.empty(), found, {}};
  if (found.empty())
    fit.evidence = info.labels.empty()
                       ? "its values are no probabilities, there are no labels, and ImageNet has "
                         "another number of classes"
                       : fmt::format("there are {} labels for its values", info.labels.size());
  return fit;
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
  const auto classes = static_cast<int64_t>(values.size());
  const int shift = labels_fit(info, classes) ? label_shift(info, classes) : kNoLabels;
  std::vector<ClassScore> best;
  best.reserve(order.size());
  for (int class_id : order)
    best.push_back({class_id, label_of(info, class_id, shift), values[static_cast<size_t>(class_id)]});
  return best;
}

}  // namespace peraxis::vision

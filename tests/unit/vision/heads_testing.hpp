// What the tests of heads share: tensors of their own, a small model info, the expected box.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "vision/heads.hpp"

namespace peraxis::vision {

inline constexpr float kOff = -20.0f;  // a logit whose sigmoid is next to nothing
inline constexpr float kOn = 20.0f;
inline const float kLn3 = std::log(3.0f);  // its sigmoid is 3/4

// Owns the bytes that an OutputTensor looks at.
template <class T>
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<T> values;
  std::string type;
  float scale = 0;
  int64_t zero_point = 0;

  OutputTensor view() const {
    return {shape,
            type,
            scale,
            zero_point,
            {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)}};
  }
};

inline Tensor<float> float_tensor(std::vector<int64_t> shape, float fill = 0) {
  size_t count = 1;
  for (int64_t side : shape) count *= static_cast<size_t>(side);
  return {std::move(shape), std::vector<float>(count, fill), "float32"};
}

inline void set_row(Tensor<float>& tensor, size_t row, std::vector<float> values) {
  std::copy(values.begin(), values.end(),
            tensor.values.begin() + static_cast<std::ptrdiff_t>(row * values.size()));
}

inline void expect_box(const Detection& detection, float x1, float y1, float x2, float y2) {
  EXPECT_NEAR(detection.box[0], x1, 1e-4);
  EXPECT_NEAR(detection.box[1], y1, 1e-4);
  EXPECT_NEAR(detection.box[2], x2, 1e-4);
  EXPECT_NEAR(detection.box[3], y2, 1e-4);
}

using Found = Result<std::vector<Detection>>;

// The boxes of the head `name`; an empty name: of the head that the shapes tell.
inline Found decode_as(std::string name, std::vector<OutputTensor> outputs, ModelInfo info,
                       const InputGeometry& input) {
  info.head = std::move(name);
  return decode_detections({outputs, info, input});
}

// The name of the head that is chosen, "none", or "refused: " and why.
inline std::string head_of(const std::vector<std::vector<int64_t>>& shapes, const ModelInfo& info = {},
                           const InputGeometry& input = {640, 640, {}}) {
  std::vector<OutputTensor> outputs;
  for (const auto& shape : shapes) outputs.push_back({shape, "int8", 1, 0, {}});
  const auto choice = choose_head({outputs, info, input});
  if (!choice) return fmt::format("refused: {}", choice.error().message);
  return choice->head == nullptr ? "none" : std::string(choice->head->name);
}

}  // namespace peraxis::vision

// Values of a model's inputs: arrays that fit their tensors, and pictures.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/npy.hpp"
#include "ir/graph.hpp"
#include "vision/heads.hpp"
#include "vision/image.hpp"
#include "vision/quantize.hpp"

namespace peraxis::engine {

inline std::vector<std::span<const uint8_t>> spans(const std::vector<std::vector<uint8_t>>& values) {
  return {values.begin(), values.end()};
}

// How an input takes pictures.
struct PictureInput {
  size_t input = 0;
  int height = 0, width = 0, channels = 0;
  bool channels_first = false;  // [1, channels, height, width]
  vision::PixelRule rule = vision::PixelRule::ZeroToOne;
  std::string because;  // why `rule`
};

// The inputs that can take a picture: [1,h,w,1 or 3] or [1,1 or 3,h,w] in int8, uint8 or float32.
std::vector<PictureInput> picture_inputs(const ir::Graph& graph);

// A picture as the bytes of that input: letterboxed, and pixels as its scale asks for.
struct PictureValue {
  std::vector<uint8_t> bytes;
  PictureInput taken;              // with the rule of the pixels
  vision::InputGeometry geometry;  // from the input back to the picture
};
Result<PictureValue> picture_value(const ir::Graph& graph, PictureInput taken, const vision::Image& picture);

// "input 0 'images' (int8 [1,320,320,3])"; all of them, with commas.
std::string input_label(const ir::Graph& graph, size_t input);
std::string inputs_listed(const ir::Graph& graph);

// The array as the bytes of `tensor`: dtype and shape must be the tensor's. `what` names the array.
Result<std::vector<uint8_t>> tensor_bytes(const base::Array& array, const ir::Tensor& tensor,
                                          const std::string& what);
base::Array tensor_array(const ir::Tensor& tensor, std::span<const uint8_t> bytes);

}  // namespace peraxis::engine

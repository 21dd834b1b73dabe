// A TFLite file does not say how pixels become real numbers before quantization, but the range that its
// input can represent, [scale * (q_min - zero_point), scale * (q_max - zero_point)], gives it away:
//
//   lower end below -16     real = pixel - 128         (scale 1, zero point 0)
//   lower end below -0.5    real = pixel / 127.5 - 1   (MobileNet: scale 1/128, zero point 128)
//   upper end above 2       real = pixel               (scale 1, zero point -128)
//   else                    real = pixel / 255         (YOLO exports: scale 1/255)
//
// The first row that fits is taken, and stored = clamp(round(real / scale) + zero_point), ties away from
// zero. Float inputs have no range of their own: it is that of the values they are quantized to, or pixel /
// 255.
#pragma once

#include <optional>
#include <string_view>

#include "vision/image.hpp"

namespace peraxis::vision {

enum class PixelRule { MinusCentre, MinusOneToOne, AsIs, ZeroToOne };

// InvalidArgument when type is not "int8", "uint8" or "float32", or the parameters make no sense for it.
Result<PixelRule> pixel_rule(std::string_view type, float scale, int64_t zero_point);
// "0..1", "-1..1", "0..255", "-128..127".
std::string_view pixel_range_text(PixelRule rule);

// What a model's input holds. scale and zero_point: of int8 and uint8.
struct PixelFormat {
  std::string_view type;
  float scale = 0;
  int64_t zero_point = 0;
  int channels = 3;
  bool channels_first = false;         // NCHW
  std::optional<PixelRule> rule = {};  // default: pixel_rule
};

// The picture as the model's input bytes, NHWC or NCHW: 3 channels in the order R, G, B, or 1 channel of grey
// ((299 R + 587 G + 114 B) / 1000, rounded half up). Floats are 4 bytes, little-endian.
Result<std::vector<uint8_t>> quantize_image(const Image& image, const PixelFormat& format);

}  // namespace peraxis::vision

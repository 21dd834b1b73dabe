// Resizing in integers. The source position of output pixel i is ((2 i + 1) * in - out) / (2 out): exact as
// a fraction, so only the weight is rounded, to 11 bits (the precision OpenCV's 8-bit resize has too).
#include <algorithm>

#include "vision/image.hpp"

namespace peraxis::vision {
namespace {

constexpr int kWeightBits = 11;
constexpr int kOne = 1 << kWeightBits;
constexpr uint8_t kFill = 114;  // YOLOv5's letterbox grey

struct Tap {
  int first;   // source index
  int second;  // its neighbour, or the same at the edge
  int weight;  // of `second`, in 1/2048
};

std::vector<Tap> make_taps(int in, int out) {
  std::vector<Tap> taps;
  taps.reserve(static_cast<size_t>(out));
  const int64_t denominator = int64_t{2} * out;
  for (int i = 0; i < out; ++i) {
    const int64_t numerator = std::max<int64_t>(0, (int64_t{2} * i + 1) * in - out);
    const int64_t index = numerator / denominator;
    const int64_t weight = ((numerator % denominator) * kOne + out) / denominator;
    const int first = static_cast<int>(std::min<int64_t>(index, in - 1));
    taps.push_back({first, std::min(first + 1, in - 1), static_cast<int>(weight)});
  }
  return taps;
}

Status check_size(int width, int height) {
  if (width <= 0 || height <= 0 || int64_t{width} * height > kMaxPixels)
    return fail(
        ErrorCode::InvalidArgument,
        "a picture cannot be resized to {} x {} pixels: both sides must be positive, the limit is {} pixels",
        width, height, kMaxPixels);
  return {};
}

// round(in * to / from) for positive values, at least 1.
int scaled_side(int in, int to, int from) {
  return static_cast<int>(std::max<int64_t>(1, (int64_t{2} * in * to + from) / (int64_t{2} * from)));
}

}  // namespace

Result<Image> resize_bilinear(const Image& image, int width, int height) {
  PERAXIS_TRY(check_image(image));
  PERAXIS_TRY(check_size(width, height));
  if (image.width == width && image.height == height) return image;

  const std::vector<Tap> columns = make_taps(image.width, width);
  const std::vector<Tap> rows = make_taps(image.height, height);
  Image out{width, height,
            std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height) * 3)};
  const int64_t stride = int64_t{image.width} * 3;
  uint8_t* to = out.rgb.data();
  for (const Tap& row : rows) {
    const uint8_t* upper = image.rgb.data() + row.first * stride;
    const uint8_t* lower = image.rgb.data() + row.second * stride;
    for (const Tap& column : columns) {
      const int left = column.first * 3, right = column.second * 3;
      for (int channel = 0; channel < 3; ++channel) {
        const int top =
            upper[left + channel] * (kOne - column.weight) + upper[right + channel] * column.weight;
        const int bottom =
            lower[left + channel] * (kOne - column.weight) + lower[right + channel] * column.weight;
        const int64_t sum = int64_t{top} * (kOne - row.weight) + int64_t{bottom} * row.weight;
        *to++ = static_cast<uint8_t>((sum + (int64_t{1} << (2 * kWeightBits - 1))) >> (2 * kWeightBits));
      }
    }
  }
  return out;
}

Result<LetterboxedImage> letterbox(const Image& image, int width, int height) {
  PERAXIS_TRY(check_image(image));
  PERAXIS_TRY(check_size(width, height));
  if (image.width == width && image.height == height) return LetterboxedImage{image, {}};

  // The tighter side decides; compared as fractions.
  const bool width_decides = int64_t{width} * image.height <= int64_t{height} * image.width;
  const int to = width_decides ? width : height;
  const int from = width_decides ? image.width : image.height;
  const int inner_width = std::min(width, scaled_side(image.width, to, from));
  const int inner_height = std::min(height, scaled_side(image.height, to, from));
  const int pad_x = (width - inner_width) / 2, pad_y = (height - inner_height) / 2;

  const Image inner = PERAXIS_TRY(resize_bilinear(image, inner_width, inner_height));
  LetterboxedImage out;
  out.letterbox = {static_cast<double>(to) / from, static_cast<double>(pad_x), static_cast<double>(pad_y)};
  out.image = {width, height,
               std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, kFill)};
  for (int y = 0; y < inner_height; ++y) {
    const auto row = inner.rgb.begin() + int64_t{y} * inner_width * 3;
    std::copy(row, row + int64_t{inner_width} * 3,
              out.image.rgb.begin() + (int64_t{y + pad_y} * width + pad_x) * 3);
  }
  return out;
}

}  // namespace peraxis::vision

// Pictures as the models see them: 8-bit RGB, rows from the top, no padding between rows. Everything
// here is integer arithmetic, so a picture gives the same model input on every machine; only the JPEG
// decoder may differ between library versions, by one step in places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace peraxis::vision {

// The largest picture that is read, made or written.
inline constexpr int64_t kMaxPixels = int64_t{64} * 1024 * 1024;

struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;  // height * width * 3

  bool operator==(const Image&) const = default;
};

// InvalidArgument unless the sides are positive, within kMaxPixels, and rgb has width * height * 3 bytes.
Status check_image(const Image& image);

// JPEG or PNG. Grey becomes equal R, G, B; an alpha channel is dropped without blending; 16-bit values
// keep their upper byte; CMYK becomes RGB without a colour profile. Gamma and profiles are not applied;
// a JPEG is turned as its EXIF orientation says, as OpenCV does. More than max_pixels (at most kMaxPixels)
// are refused by the header, before memory is taken. `name` is for the error text only.
Result<Image> decode_image(std::span<const uint8_t> bytes, std::string_view name,
                           int64_t max_pixels = kMaxPixels);

Result<std::vector<uint8_t>> encode_png(const Image& image);

// Bilinear with pixel centres at .5 and the edge pixels repeated outwards; no low-pass filter when the
// picture shrinks (as OpenCV's INTER_LINEAR, which YOLOv5 uses). The weights are rounded to 1/2048 and
// the weighted sum is rounded half up.
Result<Image> resize_bilinear(const Image& image, int width, int height);

// How a picture was put into the model's input: x_input = x_picture * scale + pad_x.
struct Letterbox {
  double scale = 1;
  double pad_x = 0;
  double pad_y = 0;
};

struct LetterboxedImage {
  Image image;
  Letterbox letterbox;
};

// Fits the picture into width x height, keeps its aspect, centres it (the odd pixel of padding goes right
// and below) and fills the rest with grey 114, as YOLOv5 does. A picture of the right size is copied.
Result<LetterboxedImage> letterbox(const Image& image, int width, int height);

}  // namespace peraxis::vision

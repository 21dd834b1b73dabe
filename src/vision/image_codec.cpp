// Picture files: which format it is, and the limits that hold for both.
#include <algorithm>
#include <array>

#include "vision/image.hpp"
#include "vision/picture_files.hpp"

namespace peraxis::vision {
namespace {

constexpr std::array<uint8_t, 8> kPngSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

bool is_png(std::span<const uint8_t> bytes) {
  return bytes.size() >= kPngSignature.size() &&
         std::equal(kPngSignature.begin(), kPngSignature.end(), bytes.begin());
}

bool is_jpeg(std::span<const uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

}  // namespace

Status check_image(const Image& image) {
  if (image.width <= 0 || image.height <= 0)
    return fail(ErrorCode::InvalidArgument, "picture of {} x {} pixels: both sides must be positive",
                image.width, image.height);
  const int64_t pixels = int64_t{image.width} * image.height;
  if (pixels > kMaxPixels)
    return fail(ErrorCode::InvalidArgument, "picture of {} x {} pixels: the limit is {} pixels", image.width,
                image.height, kMaxPixels);
  if (image.rgb.size() != static_cast<size_t>(pixels) * 3)
    return fail(ErrorCode::InvalidArgument, "picture of {} x {} pixels has {} bytes, needs {}", image.width,
                image.height, image.rgb.size(), pixels * 3);
  return {};
}

Status check_pixel_count(int64_t width, int64_t height, int64_t max_pixels, std::string_view name) {
  if (width > max_pixels || height > max_pixels || width * height > max_pixels)
    return fail(ErrorCode::InvalidArgument, "picture '{}': {} x {} pixels, the limit is {} pixels", name,
                width, height, max_pixels);
  return {};
}

Result<Image> decode_image(std::span<const uint8_t> bytes, std::string_view name, int64_t max_pixels) {
  max_pixels = std::min(max_pixels, kMaxPixels);
  if (is_png(bytes)) return decode_png(bytes, name, max_pixels);
  if (is_jpeg(bytes)) return decode_jpeg(bytes, name, max_pixels);
  return fail(ErrorCode::InvalidArgument, "picture '{}': {} bytes that are neither JPEG nor PNG", name,
              bytes.size());
}

}  // namespace peraxis::vision

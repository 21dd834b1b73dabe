// Any bytes as a picture: refused with a message, or an image that is consistent and comes back unchanged
// from our own PNG. Pictures that would only cost time are cut off by the header, before the decoder sees
// them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.hpp"
#include "vision/image.hpp"

using namespace peraxis;

namespace {

constexpr int64_t kMaxFuzzPixels = 1 << 20;
constexpr int64_t kTooMany = int64_t{1} << 31;

// Width times height as a PNG header states it; 0 for other files.
int64_t png_pixels(std::span<const uint8_t> bytes) {
  if (bytes.size() < 24 || bytes[0] != 0x89) return 0;
  const auto word = [&](size_t at) {
    return int64_t{bytes[at]} << 24 | int64_t{bytes[at + 1]} << 16 | int64_t{bytes[at + 2]} << 8 |
           bytes[at + 3];
  };
  return std::min(word(16), kTooMany) * std::min(word(20), kTooMany);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const int64_t stated = png_pixels(bytes);
  if (stated > kMaxFuzzPixels && stated <= vision::kMaxPixels) return 0;
  const auto image = vision::decode_image(bytes, "fuzz");
  if (!image) {
    PERAXIS_CHECK(!image.error().message.empty(), "a refusal says why");
    return 0;
  }
  PERAXIS_CHECK(vision::check_image(*image).has_value(), "what was decoded is consistent");
  if (int64_t{image->width} * image->height > kMaxFuzzPixels) return 0;
  const auto png = vision::encode_png(*image);
  PERAXIS_CHECK(png.has_value(), "a decoded picture can be written");
  const auto again = vision::decode_image(*png, "again");
  PERAXIS_CHECK(again && *again == *image, "PNG loses nothing");
  return 0;
}

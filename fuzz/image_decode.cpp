// Any bytes as a picture: refused with a message, or an image that is consistent and comes back unchanged
// from our own PNG. The pixel limit is low, so that no header buys minutes of work.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.hpp"
#include "vision/image.hpp"

using namespace peraxis;

namespace {

constexpr int64_t kMaxFuzzPixels = 1 << 20;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto image = vision::decode_image({data, size}, "fuzz", kMaxFuzzPixels);
  if (!image) {
    PERAXIS_CHECK(!image.error().message.empty(), "a refusal says why");
    return 0;
  }
  PERAXIS_CHECK(vision::check_image(*image).has_value(), "what was decoded is consistent");
  PERAXIS_CHECK(int64_t{image->width} * image->height <= kMaxFuzzPixels, "the limit holds");
  const auto png = vision::encode_png(*image);
  PERAXIS_CHECK(png.has_value(), "a decoded picture can be written");
  const auto again = vision::decode_image(*png, "again");
  PERAXIS_CHECK(again && *again == *image, "PNG loses nothing");
  return 0;
}

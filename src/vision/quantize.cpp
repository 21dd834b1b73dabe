// Every input value comes from one 8-bit pixel value, so the rule is applied 256 times and the picture is
// a table look-up.
#include "vision/quantize.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace peraxis::vision {
namespace {

static_assert(std::endian::native == std::endian::little, "float inputs are written in the machine's order");

struct TypeRange {
  int64_t low;
  int64_t high;
};

Result<TypeRange> quantized_range(std::string_view type) {
  if (type == "int8") return TypeRange{-128, 127};
  if (type == "uint8") return TypeRange{0, 255};
  return fail(ErrorCode::Unsupported, "model input of type {}: pictures go into int8, uint8 or float32 only",
              type);
}

double real_value(PixelRule rule, int pixel) {
  switch (rule) {
    case PixelRule::MinusCentre:
      return pixel - 128.0;
    case PixelRule::MinusOneToOne:
      return pixel / 127.5 - 1.0;
    case PixelRule::AsIs:
      return pixel;
    case PixelRule::ZeroToOne:
      break;
  }
  return pixel / 255.0;
}

// By channel and pixel in the order of the input.
std::vector<uint8_t> channel_values(const Image& image, const PixelFormat& format) {
  const size_t pixels = image.rgb.size() / 3;
  if (format.channels == 1) {
    std::vector<uint8_t> grey(pixels);
    for (size_t i = 0; i < pixels; ++i) {
      const uint8_t* rgb = image.rgb.data() + i * 3;
      grey[i] = static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
    }
    return grey;
  }
  if (!format.channels_first) return image.rgb;
  std::vector<uint8_t> planes(image.rgb.size());
  for (size_t c = 0; c < 3; ++c)
    for (size_t i = 0; i < pixels; ++i) planes[c * pixels + i] = image.rgb[i * 3 + c];
  return planes;
}

}  // namespace

Result<PixelRule> pixel_rule(std::string_view type, float scale, int64_t zero_point) {
  if (type == "float32") return PixelRule::ZeroToOne;
  const TypeRange range = PERAXIS_TRY(quantized_range(type));
  if (!std::isfinite(scale) || scale <= 0)
    return fail(ErrorCode::InvalidArgument, "model input of type {}: scale {} is not a positive number", type,
                scale);
  if (zero_point < range.low || zero_point > range.high)
    return fail(ErrorCode::InvalidArgument, "model input of type {}: zero point {} is outside {}..{}", type,
                zero_point, range.low, range.high);
  const double low = static_cast<double>(scale) * static_cast<double>(range.low - zero_point);
  const double high = static_cast<double>(scale) * static_cast<double>(range.high - zero_point);
  if (low < -16) return PixelRule::MinusCentre;
  if (low < -0.5) return PixelRule::MinusOneToOne;
  return high > 2 ? PixelRule::AsIs : PixelRule::ZeroToOne;
}

std::string_view pixel_range_text(PixelRule rule) {
  switch (rule) {
    case PixelRule::MinusCentre:
      return "-128..127";
    case PixelRule::MinusOneToOne:
      return "-1..1";
    case PixelRule::AsIs:
      return "0..255";
    case PixelRule::ZeroToOne:
      break;
  }
  return "0..1";
}

Result<std::vector<uint8_t>> quantize_image(const Image& image, const PixelFormat& format) {
  PERAXIS_TRY(check_image(image));
  if (format.channels != 1 && format.channels != 3)
    return fail(ErrorCode::Unsupported, "model input with {} channels: pictures have 1 or 3",
                format.channels);
  const PixelRule own = PERAXIS_TRY(pixel_rule(format.type, format.scale, format.zero_point));
  const PixelRule rule = format.rule.value_or(own);
  std::vector<uint8_t> values = channel_values(image, format);

  if (format.type == "float32") {
    std::vector<uint8_t> bytes(values.size() * sizeof(float));
    for (size_t i = 0; i < values.size(); ++i) {
      const float value = static_cast<float>(real_value(rule, values[i]));
      std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof(float));
    }
    return bytes;
  }
  const TypeRange range = PERAXIS_TRY(quantized_range(format.type));
  std::array<uint8_t, 256> table;
  for (int pixel = 0; pixel < 256; ++pixel) {
    const double steps = std::round(real_value(rule, pixel) / static_cast<double>(format.scale));
    const double stored = std::clamp(steps + static_cast<double>(format.zero_point),
                                     static_cast<double>(range.low), static_cast<double>(range.high));
    table[static_cast<size_t>(pixel)] = static_cast<uint8_t>(static_cast<int>(stored) & 0xff);
  }
  for (uint8_t& value : values) value = table[value];
  return values;
}

}  // namespace peraxis::vision

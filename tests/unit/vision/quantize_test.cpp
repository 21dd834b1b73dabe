// The four pixel rules, each on the input parameters of a network that needs it.
#include "vision/quantize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace peraxis::vision {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Image kPicture = {2, 1, {0, 127, 128, 255, 1, 254}};

std::vector<int> as_int8(const std::vector<uint8_t>& bytes) {
  std::vector<int> out;
  for (uint8_t byte : bytes) out.push_back(static_cast<int8_t>(byte));
  return out;
}

TEST(Quantize, ZeroToOneInt8IsPixelMinus128ForEveryPixel) {
  Image ramp{256, 1, {}};
  for (int pixel = 0; pixel < 256; ++pixel) ramp.rgb.insert(ramp.rgb.end(), 3, static_cast<uint8_t>(pixel));
  auto bytes = quantize_image(ramp, {"int8", 0.003921568859368563f, -128, 3});
  ASSERT_TRUE(bytes) << bytes.error().text();
  ASSERT_EQ(bytes->size(), 768u);
  for (int pixel = 0; pixel < 256; ++pixel)
    EXPECT_EQ(static_cast<int8_t>((*bytes)[static_cast<size_t>(pixel) * 3]), pixel - 128);
}

TEST(Quantize, ZeroToOneUint8IsThePixel) {
  auto bytes = quantize_image(kPicture, {"uint8", 0.003921568859368563f, 0, 3});
  ASSERT_TRUE(bytes);
  EXPECT_THAT(*bytes, ElementsAre(0, 127, 128, 255, 1, 254));
}

TEST(Quantize, MinusOneToOne) {
  // MobileNetV2: scale 2/255, zero point -1, so stored = round(pixel - 127.5) - 1, ties away from zero: at
  // pixel 127 the real value is -1/255, which is half a step.
  EXPECT_EQ(*pixel_rule("int8", 0.007843137718737125f, -1), PixelRule::MinusOneToOne);
  EXPECT_EQ(*pixel_rule("uint8", 0.0078125f, 128), PixelRule::MinusOneToOne);
  // scale 1/128, zero point 128: 0 -> -1 -> 0; 255 -> 1 -> 128 + 128 = 256 -> 255; 127 -> -0.003922 ->
  // round(-0.502) = -1 -> 127; 128 -> round(0.502) = 1 -> 129; 1 -> -0.992157 * 128 = -126.996 -> 1; 254 ->
  // 255.
  auto bytes = quantize_image(kPicture, {"uint8", 0.0078125f, 128, 3});
  ASSERT_TRUE(bytes);
  EXPECT_THAT(*bytes, ElementsAre(0, 127, 129, 255, 1, 255));
}

TEST(Quantize, PixelAsItIs) {
  EXPECT_EQ(*pixel_rule("int8", 1.0f, -128), PixelRule::AsIs);
  auto bytes = quantize_image(kPicture, {"int8", 1.0f, -128, 3});
  ASSERT_TRUE(bytes);
  EXPECT_THAT(as_int8(*bytes), ElementsAre(-128, -1, 0, 127, -127, 126));
}

TEST(Quantize, PixelMinusCentre) {
  EXPECT_EQ(*pixel_rule("int8", 1.0f, 0), PixelRule::MinusCentre);
  auto bytes = quantize_image(kPicture, {"int8", 1.0f, 0, 3});
  ASSERT_TRUE(bytes);
  EXPECT_THAT(as_int8(*bytes), ElementsAre(-128, -1, 0, 127, -127, 126));
}

TEST(Quantize, OneChannelIsGrey) {
  // (299 * 0 + 587 * 127 + 114 * 128 + 500) / 1000 = 89.641 -> 89; (299 * 255 + 587 * 1 + 114 * 254 + 500) /
  // 1000 = 106.288 -> 106.
  auto bytes = quantize_image(kPicture, {"uint8", 0.003921568859368563f, 0, 1});
  ASSERT_TRUE(bytes);
  EXPECT_THAT(*bytes, ElementsAre(89, 106));
}

TEST(Quantize, Float32) {
  auto bytes = quantize_image(kPicture, {"float32", 0, 0, 3});
  ASSERT_TRUE(bytes);
  ASSERT_EQ(bytes->size(), 24u);
  float values[6];
  std::memcpy(values, bytes->data(), sizeof values);
  EXPECT_EQ(values[0], 0.0f);
  EXPECT_EQ(values[1], static_cast<float>(127 / 255.0));
  EXPECT_EQ(values[3], 1.0f);
}

TEST(Quantize, ErrorsNameTheValue) {
  const auto message = [](const auto& result) {
    return result ? std::string("no error") : result.error().message;
  };
  EXPECT_THAT(message(quantize_image(kPicture, {"int16", 1, 0, 3})), HasSubstr("int16"));
  EXPECT_THAT(message(quantize_image(kPicture, {"int8", 1, 0, 4})), HasSubstr("4 channels"));
  EXPECT_THAT(message(quantize_image(kPicture, {"int8", 0, 0, 3})), HasSubstr("scale 0"));
  EXPECT_THAT(message(quantize_image(kPicture, {"int8", 1, 200, 3})), HasSubstr("200"));
  EXPECT_THAT(message(quantize_image(kPicture, {"uint8", 1, -1, 3})), HasSubstr("-1"));
  EXPECT_THAT(message(quantize_image({2, 2, {1, 2, 3}}, {"uint8", 1, 0, 3})), HasSubstr("2 x 2"));
}

}  // namespace
}  // namespace peraxis::vision

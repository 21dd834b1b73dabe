// Drawing: which pixels may change, and that no box or label can reach outside the picture's memory.
#include "vision/draw.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace peraxis::vision {
namespace {

Image flat(int width, int height) {
  return {width, height,
          std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, 90)};
}

bool changed(const Image& image, int x, int y) {
  const size_t at = (static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x)) * 3;
  return image.rgb[at] != 90 || image.rgb[at + 1] != 90 || image.rgb[at + 2] != 90;
}

TEST(Draw, FrameIsOnTheBoxAndTheInsideIsUntouched) {
  const Detection detection{0, "a", 0.5f, {100, 200, 400, 440}};
  auto out = draw_detections(flat(640, 480), std::vector{detection});
  ASSERT_TRUE(out);
  ASSERT_EQ(out->width, 640);
  ASSERT_EQ(out->height, 480);
  EXPECT_TRUE(changed(*out, 100, 300));
  EXPECT_TRUE(changed(*out, 400, 300));
  EXPECT_TRUE(changed(*out, 250, 200));
  EXPECT_TRUE(changed(*out, 250, 440));
  EXPECT_FALSE(changed(*out, 250, 300));
  EXPECT_FALSE(changed(*out, 50, 300));
  EXPECT_TRUE(changed(*out, 105, 190));   // the name, above the frame
  EXPECT_FALSE(changed(*out, 390, 190));  // which is shorter than the frame
}

TEST(Draw, SmallPicturesAreEnlarged) {
  auto out = draw_detections(flat(160, 100), {});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->width, 480);
  EXPECT_EQ(out->height, 300);
  auto same = draw_detections(flat(160, 100), {}, {0});
  ASSERT_TRUE(same);
  EXPECT_EQ(*same, flat(160, 100));
}

TEST(Draw, OddBoxesAndLabelsAreHarmless) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  const std::vector<Detection> detections = {
      {0, every_byte, 1, {-1e30f, -5, 1e30f, 5}},
      {-7, std::nullopt, nan, {nan, nan, nan, nan}},
      {1 << 30, "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@", 2, {inf, inf, -inf, -inf}},
      {3, "", 0, {5, 5, 5, 5}},
      {4, "\xc3\xa4\xe2\x82\xac", -1e30f, {20, 20, 1, 1}}};
  for (auto [width, height] : {std::pair{1, 1}, {3, 200}, {200, 3}, {64, 48}}) {
    for (int min_side : {0, 480}) {
      auto out = draw_detections(flat(width, height), detections, {min_side});
      ASSERT_TRUE(out);
      EXPECT_TRUE(check_image(*out));
    }
  }
}

}  // namespace
}  // namespace peraxis::vision

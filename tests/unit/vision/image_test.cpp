// Resizing and letterboxing; the values are worked out by hand.
#include "vision/image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peraxis::vision {
namespace {

using testing::ElementsAre;

Image grey_row(std::initializer_list<int> values) {
  Image image{static_cast<int>(values.size()), 1, {}};
  for (int value : values) image.rgb.insert(image.rgb.end(), 3, static_cast<uint8_t>(value));
  return image;
}

std::vector<int> red(const Image& image) {
  std::vector<int> out;
  for (size_t i = 0; i < image.rgb.size(); i += 3) out.push_back(image.rgb[i]);
  return out;
}

TEST(Resize, TwiceAsWide) {
  // Centres at 0.25 steps between 10 and 50: positions -0.25 (clamped), 0.25, 0.75, 1.25 (clamped).
  auto image = resize_bilinear(grey_row({10, 50}), 4, 1);
  ASSERT_TRUE(image);
  EXPECT_THAT(red(*image), ElementsAre(10, 20, 40, 50));
}

TEST(Resize, ThreeToTwo) {
  // Positions 0.25 and 1.75: 0.75 * 0 + 0.25 * 100 = 25; 0.25 * 100 + 0.75 * 201 = 175.75 -> 176.
  auto image = resize_bilinear(grey_row({0, 100, 201}), 2, 1);
  ASSERT_TRUE(image);
  EXPECT_THAT(red(*image), ElementsAre(25, 176));
}

TEST(Resize, BothAxesAndChannels) {
  // The centre of a 2 x 2 picture is the mean, rounded half up: (0+1+2+3)/4 = 1.5 -> 2.
  const Image image{2, 2, {0, 10, 100, 1, 20, 100, 2, 30, 100, 3, 41, 101}};
  auto one = resize_bilinear(image, 1, 1);
  ASSERT_TRUE(one);
  EXPECT_THAT(one->rgb, ElementsAre(2, 25, 100));
}

TEST(Resize, SameSizeAndConstantPicturesStay) {
  const Image image = grey_row({3, 9, 27});
  EXPECT_EQ(*resize_bilinear(image, 3, 1), image);
  Image flat{7, 5, std::vector<uint8_t>(105, 255)};
  EXPECT_EQ(*resize_bilinear(flat, 13, 31), (Image{13, 31, std::vector<uint8_t>(13 * 31 * 3, 255)}));
}

TEST(Resize, BadSizesAreErrors) {
  EXPECT_FALSE(resize_bilinear(grey_row({1}), 0, 4));
  EXPECT_FALSE(resize_bilinear(grey_row({1}), 1 << 20, 1 << 20));
  EXPECT_FALSE(letterbox(grey_row({1}), -1, 4));
  EXPECT_FALSE(letterbox({0, 0, {}}, 4, 4));
}

TEST(Letterbox, RightSizeIsACopy) {
  const Image image = grey_row({3, 9, 27});
  auto box = letterbox(image, 3, 1);
  ASSERT_TRUE(box);
  EXPECT_EQ(box->image, image);
  EXPECT_EQ(box->letterbox.scale, 1);
  EXPECT_EQ(box->letterbox.pad_x, 0);
  EXPECT_EQ(box->letterbox.pad_y, 0);
}

TEST(Letterbox, WidePictureGetsBarsAboveAndBelow) {
  // 4 x 2 into 8 x 7: scale 2, 4 rows of picture, 3 rows of grey, 1 above and 2 below.
  Image image{4, 2, std::vector<uint8_t>(24, 200)};
  auto box = letterbox(image, 8, 7);
  ASSERT_TRUE(box);
  EXPECT_EQ(box->letterbox.scale, 2);
  EXPECT_EQ(box->letterbox.pad_x, 0);
  EXPECT_EQ(box->letterbox.pad_y, 1);
  const std::vector<int> values = red(box->image);
  ASSERT_EQ(values.size(), 56u);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], i / 8 >= 1 && i / 8 < 5 ? 200 : 114) << i;
}

TEST(Letterbox, TallPictureShrinks) {
  // 3 x 9 into 5 x 4: scale 4/9, width round(3 * 4/9) = 1, 2 columns of grey on either side.
  Image image{3, 9, std::vector<uint8_t>(81, 9)};
  auto box = letterbox(image, 5, 4);
  ASSERT_TRUE(box);
  EXPECT_DOUBLE_EQ(box->letterbox.scale, 4.0 / 9);
  EXPECT_EQ(box->letterbox.pad_x, 2);
  EXPECT_EQ(box->letterbox.pad_y, 0);
  const std::vector<int> values = red(box->image);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], i % 5 == 2 ? 9 : 114) << i;
}

}  // namespace
}  // namespace peraxis::vision

// The eight orientations of EXIF, as Pillow's ImageOps.exif_transpose turns a picture of 2 rows and 3
// columns.
#include "vision/orientation.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace peraxis::vision {
namespace {

int orientation_in(const std::string& text) {
  return exif_orientation({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

std::string exif(bool big_endian, char value) {
  using namespace std::string_literals;
  if (big_endian) return "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"s + value + "\0\0\0\0\0\0"s;
  return "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0"s + value + "\0\0\0\0\0\0\0"s;
}

TEST(Orientation, pictures_are_turned_as_pillow_turns_them) {
  const Image stored{3, 2, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5}};
  const std::vector<std::vector<int>> seen = {
      {0, 1, 2, 3, 4, 5}, {2, 1, 0, 5, 4, 3}, {5, 4, 3, 2, 1, 0}, {3, 4, 5, 0, 1, 2},
      {0, 3, 1, 4, 2, 5}, {3, 0, 4, 1, 5, 2}, {5, 2, 4, 1, 3, 0}, {2, 5, 1, 4, 0, 3},
  };
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image out = upright(stored, orientation);
    EXPECT_EQ(out.width, orientation >= 5 ? 2 : 3);
    EXPECT_EQ(out.height, orientation >= 5 ? 3 : 2);
    std::vector<int> values;
    for (size_t i = 0; i < out.rgb.size(); i += 3) values.push_back(out.rgb[i]);
    EXPECT_EQ(values, seen[static_cast<size_t>(orientation - 1)]) << orientation;
  }
}

TEST(Orientation, is_read_in_both_orders_of_bytes) {
  for (char value = 1; value <= 8; ++value) {
    EXPECT_EQ(orientation_in(exif(false, value)), value);
    EXPECT_EQ(orientation_in(exif(true, value)), value);
  }
}

TEST(Orientation, what_is_broken_means_upright) {
  for (const bool big : {false, true}) {
    const std::string whole = exif(big, 6);
    for (size_t n = 0; n < 26; ++n) EXPECT_EQ(orientation_in(whole.substr(0, n)), 1) << n;
    for (const char value : {'\0', '\x09', '\xff'}) EXPECT_EQ(orientation_in(exif(big, value)), 1);
    std::string far_away = whole;
    far_away[10] = far_away[13] = '\xff';
    EXPECT_EQ(orientation_in(far_away), 1);
  }
}

}  // namespace
}  // namespace peraxis::vision

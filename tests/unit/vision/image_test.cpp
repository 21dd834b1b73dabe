// Picture files and resizing. The PNG files are put together here, chunk by chunk, so that the decoder is not
// judged by the encoder beside it; the resize values are worked out by hand.
#include "vision/image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace peraxis::vision {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void append_u32(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

void append_chunk(std::string& out, const std::string& type, const std::string& data) {
  append_u32(out, static_cast<uint32_t>(data.size()));
  const std::string body = type + data;
  out += body;
  append_u32(out, static_cast<uint32_t>(
                      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}

// colour_type: 0 grey, 2 RGB, 4 grey and alpha, 6 RGBA. `rows` are the raw scan lines, each with its filter
// byte.
std::string png_file(uint32_t width, uint32_t height, int bits, int colour_type, const std::string& rows) {
  std::string out = "\x89PNG\r\n\x1a\n";
  std::string header;
  append_u32(header, width);
  append_u32(header, height);
  header += static_cast<char>(bits);
  header += static_cast<char>(colour_type);
  header += std::string(3, '\0');
  append_chunk(out, "IHDR", header);
  std::vector<Bytef> packed(compressBound(static_cast<uLong>(rows.size())));
  uLongf size = static_cast<uLongf>(packed.size());
  compress(packed.data(), &size, reinterpret_cast<const Bytef*>(rows.data()),
           static_cast<uLong>(rows.size()));
  append_chunk(out, "IDAT", std::string(reinterpret_cast<const char*>(packed.data()), size));
  append_chunk(out, "IEND", "");
  return out;
}

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string text_of(std::initializer_list<int> values) {
  std::string out;
  for (int value : values) out += static_cast<char>(value);
  return out;
}

// 16 x 8, left half (200, 30, 60), right half (20, 160, 230), baseline, quality 95, 4:4:4.
const char kJpegHex[] =
    "ffd8ffe000104a46494600010100000100010000ffdb00430002010101010102010101020202020204030202020205040403"
    "04060506060605060606070908060709070606080b08090a0a0a0a0a06080b0c0b0a0c090a0a0affdb004301020202020202"
    "050303050a0706070a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
    "0a0a0a0a0a0a0a0affc00011080008001003011100021101031101ffc40014000100000000000000000000000000000008ff"
    "c40014100100000000000000000000000000000000ffc40016010101010000000000000000000000000009060affc4001411"
    "0100000000000000000000000000000000ffda000c03010002110311003f0027a1ca61504919837fffd9";

std::string from_hex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

TEST(DecodeImage, PngRgb) {
  const std::string file =
      png_file(2, 2, 8, 2, text_of({0, 1, 2, 3, 4, 5, 6, 0, 250, 251, 252, 253, 254, 255}));
  auto image = decode_image(bytes_of(file), "a.png");
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_EQ(image->width, 2);
  EXPECT_EQ(image->height, 2);
  EXPECT_THAT(image->rgb, ElementsAre(1, 2, 3, 4, 5, 6, 250, 251, 252, 253, 254, 255));
}

TEST(DecodeImage, OtherChannelCountsAndDepthsBecomeRgb) {
  const struct {
    int bits, colour_type;
    std::string row;
    std::vector<uint8_t> rgb;
  } cases[] = {
      {8, 0, text_of({0, 7, 200}), {7, 7, 7, 200, 200, 200}},
      {1, 0, text_of({0, 0x40}), {0, 0, 0, 255, 255, 255}},
      {8, 4, text_of({0, 7, 99, 200, 0}), {7, 7, 7, 200, 200, 200}},
      {8, 6, text_of({0, 1, 2, 3, 99, 4, 5, 6, 0}), {1, 2, 3, 4, 5, 6}},
      {16, 0, text_of({0, 7, 255, 200, 0}), {7, 7, 7, 200, 200, 200}},
      {16, 2, text_of({0, 1, 255, 2, 255, 3, 0, 4, 0, 5, 0, 6, 128}), {1, 2, 3, 4, 5, 6}},
      {16, 6, text_of({0, 1, 9, 2, 9, 3, 9, 9, 9, 4, 9, 5, 9, 6, 9, 9, 9}), {1, 2, 3, 4, 5, 6}},
  };
  for (const auto& c : cases) {
    auto image = decode_image(bytes_of(png_file(2, 1, c.bits, c.colour_type, c.row)), "a.png");
    ASSERT_TRUE(image) << image.error().text() << " colour type " << c.colour_type;
    EXPECT_EQ(image->rgb, c.rgb) << "colour type " << c.colour_type << ", " << c.bits << " bits";
  }
}

TEST(DecodeImage, Jpeg) {
  auto image = decode_image(bytes_of(from_hex(kJpegHex)), "a.jpg");
  ASSERT_TRUE(image) << image.error().text();
  ASSERT_EQ(image->width, 16);
  ASSERT_EQ(image->height, 8);
  const uint8_t expected[2][3] = {{200, 30, 60}, {20, 160, 230}};
  for (size_t i = 0; i < image->rgb.size(); ++i)
    EXPECT_NEAR(image->rgb[i], expected[(i / 3) % 16 / 8][i % 3], 3) << i;
}

TEST(DecodeImage, EveryTruncationIsAnErrorThatNamesTheFile) {
  const std::string png = png_file(3, 2, 8, 2, std::string(20, '\0'));
  const std::string jpeg = from_hex(kJpegHex);
  for (const std::string& file : {png, jpeg}) {
    for (size_t size = 0; size + 12 < file.size(); ++size) {  // a PNG's IEND chunk is 12 bytes
      const std::string part = file.substr(0, size);
      auto image = decode_image(bytes_of(part), "cut.file");
      ASSERT_FALSE(image) << size;
      EXPECT_THAT(image.error().message, HasSubstr("cut.file"));
      EXPECT_EQ(image.error().message.find('\n'), std::string::npos);
    }
  }
}

TEST(DecodeImage, FlippedBytesNeverCrash) {
  const std::string png = png_file(3, 2, 8, 2, std::string(20, '\1'));
  for (const std::string& file : {png, from_hex(kJpegHex)}) {
    for (size_t at = 0; at < file.size(); ++at) {
      for (int flip : {0x01, 0x80, 0xff}) {
        std::string broken = file;
        broken[at] = static_cast<char>(broken[at] ^ flip);
        auto image = decode_image(bytes_of(broken), "broken");
        EXPECT_TRUE(!image || check_image(*image));
      }
    }
  }
}

TEST(DecodeImage, TooManyPixelsAreRefusedBeforeDecoding) {
  auto image = decode_image(bytes_of(png_file(16384, 8192, 8, 2, "")), "large.png");
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("16384 x 8192"));
  auto huge = decode_image(bytes_of(png_file(65536, 65536, 8, 2, "")), "huge.png");
  ASSERT_FALSE(huge);
  EXPECT_THAT(huge.error().message, HasSubstr("65536 x 65536"));
}

TEST(DecodeImage, OtherFilesAreNamed) {
  auto image = decode_image(bytes_of("GIF89a..."), "a.gif");
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("neither JPEG nor PNG"));
}

TEST(EncodePng, IsReadBackExactly) {
  Image image{5, 3, {}};
  for (int i = 0; i < 45; ++i) image.rgb.push_back(static_cast<uint8_t>(i * 37));
  auto bytes = encode_png(image);
  ASSERT_TRUE(bytes);
  auto again = decode_image(*bytes, "a.png");
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, image);
  EXPECT_FALSE(encode_png({5, 3, {1}}));
}

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

// Picture files. The PNG files are put together here, chunk by chunk, so that the decoder is not judged by
// the encoder beside it; JPEG pixels are compared with Pillow's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "vision/image.hpp"

namespace peraxis::vision {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void append_u32(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

std::string png_chunk(const std::string& type, const std::string& data) {
  std::string out;
  append_u32(out, static_cast<uint32_t>(data.size()));
  const std::string body = type + data;
  out += body;
  append_u32(out, static_cast<uint32_t>(
                      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
  return out;
}

std::string packed(const std::string& data) {
  std::string out(compressBound(static_cast<uLong>(data.size())), '\0');
  uLongf size = static_cast<uLongf>(out.size());
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
           static_cast<uLong>(data.size()));
  return out.substr(0, size);
}

struct PngHead {
  uint32_t width, height;
  int bits, colour_type;  // 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA
  bool interlaced = false;
};

// `rows` are the raw scan lines, each with its filter byte; `extra` whole chunks in front of the data.
std::string png_file(const PngHead& head, const std::string& rows, const std::string& extra = "") {
  std::string header;
  append_u32(header, head.width);
  append_u32(header, head.height);
  header += static_cast<char>(head.bits);
  header += static_cast<char>(head.colour_type);
  header += std::string(2, '\0');
  header += static_cast<char>(head.interlaced);
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + extra + png_chunk("IDAT", packed(rows)) +
         png_chunk("IEND", "");
}

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string bytes_of(std::initializer_list<int> values) {
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

// 8 x 8, colour at half resolution, quality 60, and what Pillow reads from it.
const char kProgressiveHex[] =
    "ffd8ffe000104a46494600010100000100010000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f13201513121213271c1e17"
    "202e2931302e292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a51524fffdb0043010e0e0e131113"
    "261515264f352d354f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"
    "4f4f4f4f4f4f4f4fffc20011080008000803012200021101031101ffc4001500010100000000000000000000000000000002"
    "ffc4001501010100000000000000000000000000000204ffda000c03010002100310000001a06bffc4001510010100000000"
    "000000000000000000000300ffda000801010001050227bfffc4001811000203000000000000000000000000000002030413"
    "ffda0008010301013f01ab02667fffc4001811000301010000000000000000000000000102030012ffda0008010201013f01"
    "b289b72a37ffc40014100100000000000000000000000000000000ffda0008010100063f027fffc400161001010100000000"
    "000000000000000000010011ffda0008010100013f2120d5bfffda000c03010002000300000010fbffc40015110101000000"
    "00000000000000000000000100ffda0008010301013f105852ffc400161101010100000000000000000000000000011100ff"
    "da0008010201013f102c0937ffc400161000030000000000000000000000000000000121ffda0008010100013f104a84ffd9";
const char kProgressiveRgbHex[] =
    "14f80026f90044f52b65f25589ee78a9ef8dc5f295d5f69b0fe30021e20b3edf3960dc6085d981a7dc96c4e19ed5e6a20ebe"
    "1b1ebf313cbc5d5fba8184b99da7bcadc9c4b1dacab3119d44229d5a419b81649b9e8a9ab4ae9fbecea7bae0aeba187d6f2a"
    "7d81497da26e7eba937dc6b580c6d587b9e48cb4185e822b60944d62b17163c29561c5b562bad1659fe06895104082254592"
    "4949ad6e4ab69048aeac4598c44572d0445f082d7d1d328b4337a5693aac8936a0a43081b92e55c42d40";

// 8 x 8 of four inks with Adobe's marker, quality 60, and what Pillow makes of it as RGB.
const char kCmykHex[] =
    "ffd8ffee000e41646f626500640000000000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f13201513121213271c1e17202e"
    "2931302e292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a51524fffc00014080008000804431100"
    "4d11005911004b1100ffc400160001010100000000000000000000000000030406ffc4002410000103030109000000000000"
    "00000000010002050304114107121632336381a1e1ffda000e0443004d0059004b00003f005da0d4eaf95270476bd239393b"
    "d9c921611e37eabf249270d6375738e807c192405b6963ccbfffd9";
const char kCmykRgbHex[] =
    "ff05f6d505ecad05bb8d04a06804934c046f30045e140446ff22fed321abac1fba8b1da3681c6b4b1b652f194f14182efe41"
    "d1d13eb6aa3b928a389065364a4a33532e303c122e2dfb5eb5cf5aa3a8558c87514e634e6a474a2d2b453210420ef87eafcc"
    "797fa47254846d7060683c44631f2a5c1e0f570bf49a7ec89481a18c608285295e8025437a352872000c6ca3f1b870c5b15a"
    "a0a73f80a0325c991f4191002688ba0b809bf0d462c4cc409ec1397fb80d5bb10a40a8b1259da10a9483";

std::string from_hex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

// The file with the bytes `from`, found by their first place, replaced by as many others.
std::string patched(std::string file, const std::string& from, const std::string& to) {
  const size_t at = file.find(from);
  EXPECT_NE(at, std::string::npos);
  return file.replace(at, from.size(), to);
}

std::string refusal(const std::string& file) {
  auto image = decode_image(bytes_of(file), "a.file");
  EXPECT_FALSE(image);
  if (image) return "";
  EXPECT_THAT(image.error().message, HasSubstr("a.file"));
  return image.error().message;
}

void expect_near(const std::string& file, const std::string& rgb, int width, int height) {
  auto image = decode_image(bytes_of(file), "a.jpg");
  ASSERT_TRUE(image) << image.error().text();
  ASSERT_EQ(image->width, width);
  ASSERT_EQ(image->height, height);
  ASSERT_EQ(image->rgb.size(), rgb.size());
  for (size_t i = 0; i < rgb.size(); ++i) EXPECT_NEAR(image->rgb[i], static_cast<uint8_t>(rgb[i]), 1) << i;
}

TEST(DecodeImage, PngRgb) {
  const std::string file =
      png_file({2, 2, 8, 2}, bytes_of({0, 1, 2, 3, 4, 5, 6, 0, 250, 251, 252, 253, 254, 255}));
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
      {8, 0, bytes_of({0, 7, 200}), {7, 7, 7, 200, 200, 200}},
      {1, 0, bytes_of({0, 0x40}), {0, 0, 0, 255, 255, 255}},
      {2, 0, bytes_of({0, 0x60}), {85, 85, 85, 170, 170, 170}},
      {4, 0, bytes_of({0, 0x1e}), {17, 17, 17, 238, 238, 238}},
      {8, 4, bytes_of({0, 7, 99, 200, 0}), {7, 7, 7, 200, 200, 200}},
      {8, 6, bytes_of({0, 1, 2, 3, 99, 4, 5, 6, 0}), {1, 2, 3, 4, 5, 6}},
      {16, 0, bytes_of({0, 7, 255, 200, 0}), {7, 7, 7, 200, 200, 200}},
      {16, 2, bytes_of({0, 1, 255, 2, 255, 3, 0, 4, 0, 5, 0, 6, 128}), {1, 2, 3, 4, 5, 6}},
      {16, 4, bytes_of({0, 7, 255, 9, 9, 200, 0, 0, 0}), {7, 7, 7, 200, 200, 200}},
      {16, 6, bytes_of({0, 1, 9, 2, 9, 3, 9, 9, 9, 4, 9, 5, 9, 6, 9, 9, 9}), {1, 2, 3, 4, 5, 6}},
  };
  for (const auto& c : cases) {
    auto image = decode_image(bytes_of(png_file({2, 1, c.bits, c.colour_type}, c.row)), "a.png");
    ASSERT_TRUE(image) << image.error().text() << " colour type " << c.colour_type;
    EXPECT_EQ(image->rgb, c.rgb) << "colour type " << c.colour_type << ", " << c.bits << " bits";
  }
}

TEST(DecodeImage, PaletteColoursAreTakenAsStored) {
  const std::string palette = png_chunk("PLTE", bytes_of({10, 20, 30, 40, 50, 60, 70, 80, 90}));
  const struct {
    int bits;
    std::string row;
  } cases[] = {{2, bytes_of({0, 0x84})}, {4, bytes_of({0, 0x20, 0x10})}, {8, bytes_of({0, 2, 0, 1})}};
  for (const auto& c : cases) {
    for (const std::string& clear : {std::string(), png_chunk("tRNS", bytes_of({0, 128, 255}))}) {
      auto image = decode_image(bytes_of(png_file({3, 1, c.bits, 3}, c.row, palette + clear)), "a.png");
      ASSERT_TRUE(image) << image.error().text();
      EXPECT_THAT(image->rgb, ElementsAre(70, 80, 90, 10, 20, 30, 40, 50, 60)) << c.bits << " bits";
    }
  }
  EXPECT_THAT(refusal(png_file({3, 1, 8, 3}, bytes_of({0, 2, 0, 1}))), HasSubstr("PLTE"));
}

TEST(DecodeImage, ChunksThatWouldChangeTheColoursAreIgnored) {
  const std::string gamma = png_chunk("gAMA", bytes_of({0, 1, 0x86, 0xa0}));  // linear light
  const std::string clear = png_chunk("tRNS", bytes_of({0, 7}));              // grey 7 is transparent
  const std::string back = png_chunk("bKGD", bytes_of({0, 99}));
  const std::string profile = png_chunk("iCCP", "name" + bytes_of({0, 0}) + "not a profile");
  auto image = decode_image(
      bytes_of(png_file({2, 1, 8, 0}, bytes_of({0, 7, 200}), gamma + profile + clear + back)), "a");
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_THAT(image->rgb, ElementsAre(7, 7, 7, 200, 200, 200));
}

TEST(DecodeImage, InterlacedPng) {
  // Adam7 of 2 x 2: the first pixel, then the one right of it, then the second row.
  auto image = decode_image(bytes_of(png_file({2, 2, 8, 0, true}, bytes_of({0, 1, 0, 2, 0, 3, 4}))), "a.png");
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_THAT(image->rgb, ElementsAre(1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4));
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

TEST(DecodeImage, ProgressiveJpegIsWhatPillowReads) {
  expect_near(from_hex(kProgressiveHex), from_hex(kProgressiveRgbHex), 8, 8);
}

TEST(DecodeImage, CmykJpegIsWhatPillowReads) {
  expect_near(from_hex(kCmykHex), from_hex(kCmykRgbHex), 8, 8);
}

TEST(DecodeImage, EveryTruncationIsAnErrorThatNamesTheFile) {
  for (const std::string& file : {png_file({3, 2, 8, 2}, std::string(20, '\0')), from_hex(kJpegHex),
                                  from_hex(kProgressiveHex), from_hex(kCmykHex)}) {
    for (size_t size = 0; size < file.size(); ++size) {
      const std::string message = refusal(file.substr(0, size));
      EXPECT_EQ(message.find('\n'), std::string::npos) << size;
    }
    EXPECT_TRUE(decode_image(bytes_of(file), "whole"));
    EXPECT_TRUE(decode_image(bytes_of(file + "and more"), "with a tail"));
  }
}

TEST(DecodeImage, JpegDataThatStopsBeforeTheEndMarkerIsRefused) {
  const std::string whole = from_hex(kJpegHex);
  const std::string data =
      bytes_of({0x27, 0xa1, 0xca, 0x61, 0x50, 0x49, 0x19, 0x83, 0x7f});  // all of the scan
  EXPECT_THAT(
      refusal(patched(whole, data + "\xff\xd9", data.substr(0, 3) + "\xff\xd9" + std::string(6, '\0'))),
      HasSubstr("premature end"));
}

TEST(DecodeImage, FlippedBytesNeverCrash) {
  const std::string png = png_file({3, 2, 8, 2}, std::string(20, '\1'));
  for (const std::string& file : {png, from_hex(kJpegHex), from_hex(kProgressiveHex), from_hex(kCmykHex)}) {
    for (size_t at = 0; at < file.size(); ++at) {
      for (int flip : {0x01, 0x80, 0xff}) {
        std::string broken = file;
        broken[at] = static_cast<char>(broken[at] ^ flip);
        auto image = decode_image(bytes_of(broken), "broken", 1 << 20);
        EXPECT_TRUE(!image || check_image(*image));
        EXPECT_TRUE(!image || file != png) << "flipped byte " << at << " of a PNG";
      }
    }
  }
}

TEST(DecodeImage, WrongChecksumsAreRefusedInEveryChunk) {
  const std::string file = png_file({1, 1, 8, 0}, bytes_of({0, 9}), png_chunk("tEXt", "a"));
  for (const char* chunk : {"IHDR", "tEXt", "IDAT", "IEND"}) {
    const size_t type = file.find(chunk);
    size_t size = 0;
    for (size_t i = type - 4; i < type; ++i) size = size << 8 | static_cast<uint8_t>(file[i]);
    std::string broken = file;
    broken[type + 4 + size] ^= 1;
    EXPECT_THAT(refusal(broken), HasSubstr(std::string(chunk) + ": CRC error"));
  }
}

TEST(DecodeImage, JpegThatUsesATableItDoesNotDefine) {
  const std::string scan = bytes_of({0xff, 0xda, 0, 12, 3, 1}), table = scan + bytes_of({0x33});
  EXPECT_THAT(refusal(patched(from_hex(kJpegHex), scan + bytes_of({0}), table)), HasSubstr("Huffman table"));
}

TEST(DecodeImage, ArithmeticCodingIsRefusedByName) {
  const std::string file = patched(from_hex(kJpegHex), "\xff\xc0", "\xff\xc9");
  EXPECT_THAT(refusal(file), HasSubstr("arithmetic"));
  EXPECT_EQ(decode_image(bytes_of(file), "a").error().code, ErrorCode::Unsupported);
}

std::string jpeg_segment(int marker, const std::string& body) {
  const int size = static_cast<int>(body.size()) + 2;
  return bytes_of({0xff, marker, size >> 8, size & 255}) + body;
}

// One grey block of 8 x 8 whose scans each bring one bit of one coefficient, all zero.
std::string jpeg_of_scans(int count) {
  const std::string one_code = bytes_of({1}) + std::string(15, '\0');  // the bit 0 is its only code
  std::string out = bytes_of({0xff, 0xd8}) + jpeg_segment(0xdb, bytes_of({0}) + std::string(64, '\x10')) +
                    jpeg_segment(0xc2, bytes_of({8, 0, 8, 0, 8, 1, 1, 0x11, 0})) +
                    jpeg_segment(0xc4, bytes_of({0}) + one_code + bytes_of({0})) +
                    jpeg_segment(0xc4, bytes_of({0x10}) + one_code + bytes_of({0}));
  out += jpeg_segment(0xda, bytes_of({1, 1, 0, 0, 0, 0})) + "\x7f";
  for (int scan = 0; scan + 1 < count; ++scan) {
    const int coefficient = 1 + scan % 63, low = 13 - scan / 63, high = low == 13 ? 0 : low + 1;
    out += jpeg_segment(0xda, bytes_of({1, 1, 0, coefficient, coefficient, high << 4 | low})) + "\x7f";
  }
  return out + bytes_of({0xff, 0xd9});
}

TEST(DecodeImage, ScansOfAJpegAreLimited) {
  auto image = decode_image(bytes_of(jpeg_of_scans(100)), "a.jpg");
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_EQ(image->rgb, std::vector<uint8_t>(192, 128));
  EXPECT_THAT(refusal(jpeg_of_scans(101)), HasSubstr("more than 100 scans"));
}

TEST(DecodeImage, TooManyPixelsAreRefusedBeforeDecoding) {
  EXPECT_THAT(refusal(png_file({16384, 8192, 8, 2}, "")),
              HasSubstr("16384 x 8192 pixels, the limit is 67108864"));
  EXPECT_THAT(refusal(png_file({65536, 65536, 8, 2}, "")), HasSubstr("65536 x 65536"));
  EXPECT_THAT(refusal(png_file({0x7fffffff, 0x7fffffff, 16, 6}, "")), HasSubstr("2147483647 x 2147483647"));
  EXPECT_THAT(refusal(png_file({0x80000000, 1, 8, 2}, "")), HasSubstr("out of range"));
  EXPECT_THAT(refusal(png_file({0, 4, 8, 2}, "")), HasSubstr("IHDR"));
  const std::string jpeg = from_hex(kJpegHex), sides = bytes_of({0, 8, 0, 16, 3});
  EXPECT_THAT(refusal(patched(jpeg, sides, bytes_of({0x20, 0, 0x40, 0, 3}))), HasSubstr("16384 x 8192"));
  EXPECT_THAT(refusal(patched(jpeg, sides, bytes_of({0xff, 0xff, 0xff, 0xff, 3}))), HasSubstr("65500"));
}

TEST(DecodeImage, TheCallerMayLowerThePixelLimit) {
  const std::string png = png_file({2, 2, 8, 0}, bytes_of({0, 1, 2, 0, 3, 4}));
  EXPECT_TRUE(decode_image(bytes_of(png), "a", 4));
  EXPECT_FALSE(decode_image(bytes_of(png), "a", 3));
  EXPECT_TRUE(decode_image(bytes_of(from_hex(kJpegHex)), "a", 128));
  EXPECT_FALSE(decode_image(bytes_of(from_hex(kJpegHex)), "a", 127));
}

TEST(DecodeImage, HarmlessOdditiesAreReadWithoutAWord) {
  testing::internal::CaptureStderr();
  const std::string jpeg = from_hex(kJpegHex);
  EXPECT_TRUE(
      decode_image(bytes_of(patched(jpeg, bytes_of({'F', 0, 1, 1}), bytes_of({'F', 0, 9, 1}))), "version"));
  EXPECT_TRUE(
      decode_image(bytes_of(jpeg.substr(0, jpeg.size() - 2) + std::string(5, '\0') + "\xff\xd9"), "fill"));
  EXPECT_TRUE(decode_image(bytes_of(png_file({1, 1, 8, 0}, bytes_of({0, 9, 0, 0}))), "too much data"));
  EXPECT_FALSE(decode_image(bytes_of(jpeg.substr(0, 200)), "cut"));
  EXPECT_FALSE(decode_image(bytes_of(png_file({1, 1, 3, 0}, bytes_of({0, 9}))), "3 bits"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(DecodeImage, OtherFilesAreNamed) {
  EXPECT_THAT(refusal("GIF89a..."), HasSubstr("9 bytes that are neither JPEG nor PNG"));
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

TEST(EncodePng, NarrowPicturesMayBeLong) {
  for (const Image& image : {Image{1'500'000, 1, std::vector<uint8_t>(4'500'000, 3)},
                             Image{1, 1'500'000, std::vector<uint8_t>(4'500'000, 4)}}) {
    auto bytes = encode_png(image);
    ASSERT_TRUE(bytes) << bytes.error().text();
    auto again = decode_image(*bytes, "a.png");
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_TRUE(*again == image);
  }
}

// Orientation 6: the first row is seen at the right side, so the stored left column runs along the top.
TEST(DecodeImage, JpegIsTurnedAsItsExifBlockSays) {
  using namespace std::string_literals;
  const std::string jpeg = from_hex(kJpegHex);
  const std::string exif = "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"s;
  const auto stored = decode_image(bytes_of(jpeg), "stored");
  const std::string with_block = jpeg.substr(0, 2) + jpeg_segment(0xe1, exif) + jpeg.substr(2);
  const auto seen = decode_image(bytes_of(with_block), "seen");
  ASSERT_TRUE(stored && seen);
  ASSERT_EQ(seen->width, stored->height);
  ASSERT_EQ(seen->height, stored->width);
  for (int y = 0; y < seen->height; ++y)
    for (int x = 0; x < seen->width; ++x) {
      const int from = ((stored->height - 1 - x) * stored->width + y) * 3, to = (y * seen->width + x) * 3;
      for (int c = 0; c < 3; ++c)
        EXPECT_EQ(seen->rgb[static_cast<size_t>(to + c)], stored->rgb[static_cast<size_t>(from + c)]);
    }
}

}  // namespace
}  // namespace peraxis::vision

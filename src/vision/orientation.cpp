// See orientation.hpp. EXIF 2.32, section 4.6.4 A: tag 0x112 of the first directory, one SHORT.
#include "vision/orientation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace peraxis::vision {
namespace {

constexpr std::string_view kMark{"Exif\0\0", 6};
constexpr uint32_t kOrientationTag = 0x112, kShort = 3, kTiffMark = 42;
constexpr size_t kEntryBytes = 12;

// Numbers of a TIFF file in its own order of bytes; nothing behind its end.
struct Tiff {
  std::span<const uint8_t> bytes;
  bool big_endian = false;

  std::optional<uint32_t> number(size_t at, size_t count) const {
    if (at > bytes.size() || bytes.size() - at < count) return std::nullopt;
    uint32_t out = 0;
    for (size_t i = 0; i < count; ++i) out = out << 8 | bytes[at + (big_endian ? i : count - 1 - i)];
    return out;
  }
};

}  // namespace

int exif_orientation(std::span<const uint8_t> block) {
  if (block.size() < kMark.size() + 8 || std::memcmp(block.data(), kMark.data(), kMark.size()) != 0) return 1;
  Tiff tiff{block.subspan(kMark.size())};
  if (tiff.bytes[0] != tiff.bytes[1] || (tiff.bytes[0] != 'M' && tiff.bytes[0] != 'I')) return 1;
  tiff.big_endian = tiff.bytes[0] == 'M';
  if (tiff.number(2, 2) != kTiffMark) return 1;
  const size_t directory = tiff.number(4, 4).value_or(0);
  const size_t entries = tiff.number(directory, 2).value_or(0);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    const auto tag = tiff.number(entry, 2);
    if (!tag) return 1;
    if (*tag != kOrientationTag) continue;
    const uint32_t value = tiff.number(entry + 8, 2).value_or(1);
    const bool one_short = tiff.number(entry + 2, 2) == kShort && tiff.number(entry + 4, 4) == 1U;
    return one_short && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Image upright(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  // Of the stored picture, as the eight numbers say where its first row and first column are to be seen.
  const bool turned = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image out{turned ? image.height : image.width, turned ? image.width : image.height, {}};
  out.rgb.resize(image.rgb.size());
  uint8_t* to = out.rgb.data();
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x, to += 3) {
      const int column = turned ? y : x, row = turned ? x : y;
      const int64_t from_x = from_right ? image.width - 1 - column : column;
      const int64_t from_y = from_below ? image.height - 1 - row : row;
      std::copy_n(image.rgb.data() + (from_y * image.width + from_x) * 3, 3, to);
    }
  return out;
}

}  // namespace peraxis::vision

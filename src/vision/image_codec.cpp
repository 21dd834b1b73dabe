// Picture files. Two things are checked here because the stb decoder does not: the pixel count before any
// memory is taken, and that a JPEG has its end marker (stb returns a half grey picture for a cut-off file
// and calls it success).
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "vision/image.hpp"

namespace peraxis::vision {
namespace {

bool is_png(std::span<const uint8_t> bytes) {
  constexpr std::array<uint8_t, 8> kSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  return bytes.size() >= kSignature.size() && std::equal(kSignature.begin(), kSignature.end(), bytes.begin());
}

bool is_jpeg(std::span<const uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

// Inside a scan every 0xff is followed by a zero or a restart marker, so the last start-of-scan marker is
// the real one; a whole file has an end marker behind it.
bool jpeg_is_cut_off(std::span<const uint8_t> bytes) {
  for (size_t i = bytes.size() - 1; i > 0; --i) {
    if (bytes[i - 1] != 0xff) continue;
    if (bytes[i] == 0xd9) return false;
    if (bytes[i] == 0xda) return true;
  }
  return true;
}

int64_t big_endian_u32(std::span<const uint8_t> bytes) {
  return int64_t{bytes[0]} << 24 | int64_t{bytes[1]} << 16 | int64_t{bytes[2]} << 8 | bytes[3];
}

// stb skips the checksums of a PNG's chunks: a damaged file would decode to wrong pixels without a word.
Status check_png_chunks(std::span<const uint8_t> bytes, std::string_view name) {
  size_t at = 8;
  while (bytes.size() - at >= 12) {
    const int64_t length = big_endian_u32(bytes.subspan(at));
    if (length > static_cast<int64_t>(bytes.size() - at) - 12) break;
    const auto body = bytes.subspan(at + 4, static_cast<size_t>(length) + 4);
    const std::string_view kind(reinterpret_cast<const char*>(body.data()), 4);
    const auto crc = static_cast<int64_t>(crc32(0, body.data(), static_cast<uInt>(body.size())));
    if (crc != big_endian_u32(bytes.subspan(at + 8 + static_cast<size_t>(length))))
      return fail(ErrorCode::InvalidArgument,
                  "picture '{}': PNG chunk at byte {} is damaged (wrong checksum)", name, at);
    if (kind == "IEND") return {};
    at += static_cast<size_t>(length) + 12;
  }
  return fail(ErrorCode::InvalidArgument, "picture '{}': PNG is cut off at byte {}", name, at);
}

struct StbFree {
  void operator()(void* memory) const { stbi_image_free(memory); }
};

}  // namespace

Status check_image(const Image& image) {
  if (image.width <= 0 || image.height <= 0)
    return fail(ErrorCode::InvalidArgument, "picture of {} x {} pixels: both sides must be positive",
                image.width, image.height);
  const int64_t pixels = int64_t{image.width} * image.height;
  if (pixels > kMaxPixels)
    return fail(ErrorCode::InvalidArgument, "picture of {} x {} pixels: the limit is {} pixels", image.width,
                image.height, kMaxPixels);
  if (image.rgb.size() != static_cast<size_t>(pixels) * 3)
    return fail(ErrorCode::InvalidArgument, "picture of {} x {} pixels has {} bytes, needs {}", image.width,
                image.height, image.rgb.size(), pixels * 3);
  return {};
}

Result<Image> decode_image(std::span<const uint8_t> bytes, std::string_view name) {
  const bool png = is_png(bytes);
  if (!png && !is_jpeg(bytes))
    return fail(ErrorCode::InvalidArgument, "picture '{}': {} bytes that are neither JPEG nor PNG", name,
                bytes.size());
  const char* format = png ? "PNG" : "JPEG";
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return fail(ErrorCode::InvalidArgument, "picture '{}': {} bytes, the limit is {}", name, bytes.size(),
                std::numeric_limits<int>::max());
  const int size = static_cast<int>(bytes.size());
  int width = 0, height = 0, channels = 0;
  const auto reason = [] {
    const char* text = stbi_failure_reason();
    return text ? text : "no reason given";
  };
  if (png) PERAXIS_TRY(check_png_chunks(bytes, name));
  // stb refuses a PNG beyond its own limit without saying why, so the header is looked at here first.
  if (png && bytes.size() >= 24) {
    const int64_t png_width = big_endian_u32(bytes.subspan(16)),
                  png_height = big_endian_u32(bytes.subspan(20));
    if (png_width > kMaxPixels || png_height > kMaxPixels || png_width * png_height > kMaxPixels)
      return fail(ErrorCode::InvalidArgument, "picture '{}': {} x {} pixels, the limit is {} pixels", name,
                  png_width, png_height, kMaxPixels);
  }
  if (!stbi_info_from_memory(bytes.data(), size, &width, &height, &channels) || width <= 0 || height <= 0)
    return fail(ErrorCode::InvalidArgument, "picture '{}': broken {} header ({})", name, format, reason());
  if (int64_t{width} * height > kMaxPixels)
    return fail(ErrorCode::InvalidArgument, "picture '{}': {} x {} pixels, the limit is {} pixels", name,
                width, height, kMaxPixels);
  if (!png && jpeg_is_cut_off(bytes))
    return fail(ErrorCode::InvalidArgument, "picture '{}': JPEG is cut off, its end marker is missing", name);

  const std::unique_ptr<stbi_uc, StbFree> pixels(
      stbi_load_from_memory(bytes.data(), size, &width, &height, &channels, 3));
  if (!pixels)
    return fail(ErrorCode::InvalidArgument, "picture '{}': broken {} data ({})", name, format, reason());
  Image image{width, height, {}};
  image.rgb.assign(pixels.get(), pixels.get() + int64_t{width} * height * 3);
  return image;
}

Result<std::vector<uint8_t>> encode_png(const Image& image) {
  PERAXIS_TRY(check_image(image));
  std::vector<uint8_t> bytes;
  const auto append = [](void* context, void* data, int size) {
    auto* out = static_cast<std::vector<uint8_t>*>(context);
    const auto* first = static_cast<const uint8_t*>(data);
    out->insert(out->end(), first, first + size);
  };
  if (!stbi_write_png_to_func(append, &bytes, image.width, image.height, 3, image.rgb.data(),
                              image.width * 3))
    return fail(ErrorCode::OutOfMemory, "no memory to write a PNG of {} x {} pixels", image.width,
                image.height);
  return bytes;
}

}  // namespace peraxis::vision

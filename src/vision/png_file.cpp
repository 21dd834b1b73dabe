// PNG by libpng. Only the pixels are wanted: every chunk that could change or accompany them (transparency,
// gamma, colour profiles, text) is skipped unparsed, so none of them costs memory, but its checksum counts.
#include <png.h>

#include <cstdio>
#include <cstring>
#include <limits>
#include <new>

#include "vision/picture_files.hpp"

namespace peraxis::vision {
namespace {

// The library's own limit of a million a side would refuse a narrow picture without naming a limit.
constexpr png_uint_32 kAnySide = std::numeric_limits<int32_t>::max();
constexpr png_byte kTransparency[] = {'t', 'R', 'N', 'S', 0};

struct Source {
  std::span<const uint8_t> bytes;
  size_t at = 0;
};

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  int passes = 0;

  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

struct Writer {
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~Writer() { png_destroy_write_struct(&png, &info); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  auto* escape = static_cast<Escape*>(png_get_error_ptr(png));
  std::snprintf(escape->reason.data(), escape->reason.size(), "%s", text);
  std::longjmp(escape->target, 1);
}

void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->bytes.size() - source->at) png_error(png, "the file is cut off");
  std::memcpy(to, source->bytes.data() + source->at, count);
  source->at += count;
}

// Memory may run out below C code, which an exception must not pass.
void append_bytes(png_structp png, png_bytep from, size_t count) {
  auto* out = static_cast<std::vector<uint8_t>*>(png_get_io_ptr(png));
  bool full = false;
  try {
    out->insert(out->end(), from, from + count);
  } catch (const std::bad_alloc&) {
    full = true;
  }
  if (full) png_error(png, "no memory");
}

void no_flush(png_structp) {}

void lift_side_limits(png_structp png) {
  png_set_user_limits(png, kAnySide, kAnySide);
}

void read_header(Reader& reader, Escape& escape, Source& source) {
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &escape, on_error, on_warning);
  if (!reader.png) return;
  reader.info = png_create_info_struct(reader.png);
  if (!reader.info) return;
  lift_side_limits(reader.png);
  png_set_crc_action(reader.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  // -1: every chunk but the four vital ones and tRNS, which must be named.
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_NEVER, kTransparency, 1);
  png_set_read_fn(reader.png, &source, read_bytes);
  png_read_info(reader.png, reader.info);
}

// Rows become 8-bit RGB: palettes and small greys spread out, lower bytes and alpha dropped.
void set_rgb8(Reader& reader) {
  png_set_expand(reader.png);
  png_set_strip_16(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_gray_to_rgb(reader.png);
  reader.passes = png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
}

void read_rows(Reader& reader, Image& image) {
  for (int pass = 0; pass < reader.passes; ++pass)
    for (int y = 0; y < image.height; ++y)
      png_read_row(reader.png, image.rgb.data() + int64_t{y} * image.width * 3, nullptr);
  png_read_end(reader.png, nullptr);
}

void write_file(Writer& writer, Escape& escape, const Image& image, std::vector<uint8_t>& bytes) {
  writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &escape, on_error, on_warning);
  if (!writer.png) return;
  writer.info = png_create_info_struct(writer.png);
  if (!writer.info) return;
  lift_side_limits(writer.png);
  png_set_write_fn(writer.png, &bytes, append_bytes, no_flush);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer.png, writer.info);
  for (int y = 0; y < image.height; ++y)
    png_write_row(writer.png, image.rgb.data() + int64_t{y} * image.width * 3);
  png_write_end(writer.png, writer.info);
}

}  // namespace

Result<Image> decode_png(std::span<const uint8_t> bytes, std::string_view name, int64_t max_pixels) {
  Escape escape;
  Source source{bytes};
  Reader reader;
  const auto broken = [&](const char* part) {
    return fail(ErrorCode::InvalidArgument, "picture '{}': broken PNG {} near byte {} ({})", name, part,
                source.at, escape.reason.data());
  };
  if (!guarded(escape, [&] { read_header(reader, escape, source); })) return broken("header");
  if (!reader.info) return fail(ErrorCode::OutOfMemory, "picture '{}': no memory for libpng", name);

  const int64_t width = png_get_image_width(reader.png, reader.info);
  const int64_t height = png_get_image_height(reader.png, reader.info);
  PERAXIS_TRY(check_pixel_count(width, height, max_pixels, name));
  if (!guarded(escape, [&] { set_rgb8(reader); })) return broken("header");
  const auto row_bytes = static_cast<int64_t>(png_get_rowbytes(reader.png, reader.info));
  if (row_bytes != width * 3)
    return fail(ErrorCode::Internal, "picture '{}': libpng makes rows of {} bytes for {} pixels", name,
                row_bytes, width);

  Image image{static_cast<int>(width), static_cast<int>(height), {}};
  image.rgb.resize(static_cast<size_t>(width * height * 3));
  if (!guarded(escape, [&] { read_rows(reader, image); })) return broken("data");
  return image;
}

Result<std::vector<uint8_t>> encode_png(const Image& image) {
  PERAXIS_TRY(check_image(image));
  Escape escape;
  Writer writer;
  std::vector<uint8_t> bytes;
  if (!guarded(escape, [&] { write_file(writer, escape, image, bytes); }) || !writer.info)
    return fail(ErrorCode::OutOfMemory, "cannot write a PNG of {} x {} pixels ({})", image.width,
                image.height, writer.info ? escape.reason.data() : "no memory for libpng");
  return bytes;
}

}  // namespace peraxis::vision

// JPEG by libjpeg-turbo. The library goes on after damage with a warning and grey pixels; here a warning that
// means damaged or missing data ends the decoding. A few kilobytes of progressive scans can each pass over
// the whole picture, so their number is limited too.
#include <cstddef>
#include <cstdio>
// jpeglib.h needs the two above.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <utility>

#include "vision/orientation.hpp"
#include "vision/picture_files.hpp"

namespace peraxis::vision {
namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;
constexpr unsigned kMostMarkerBytes = 0xFFFF;
constexpr int kMaxScans = 100;  // encoders make about ten
// Warnings that leave every pixel as it was meant.
constexpr std::array<int, 4> kHarmless = {JWRN_EXTRANEOUS_DATA, JWRN_JFIF_MAJOR, JWRN_ADOBE_XFORM,
                                          JWRN_NOT_SEQUENTIAL};

// What libjpeg's callbacks reach through the decompressor's client_data.
struct Decoder {
  jpeg_decompress_struct state{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  Escape escape;

  ~Decoder() { jpeg_destroy_decompress(&state); }
};

[[noreturn]] void on_error(j_common_ptr state) {
  auto& escape = static_cast<Decoder*>(state->client_data)->escape;
  std::array<char, JMSG_LENGTH_MAX> text{};
  state->err->format_message(state, text.data());
  std::snprintf(escape.reason.data(), escape.reason.size(), "%s", text.data());
  std::longjmp(escape.target, 1);
}

// Negative levels are warnings.
void on_message(j_common_ptr state, int level) {
  if (level >= 0) return;
  if (std::find(kHarmless.begin(), kHarmless.end(), state->err->msg_code) == kHarmless.end()) on_error(state);
}

void on_output(j_common_ptr) {}

void on_progress(j_common_ptr state) {
  auto& decoder = *static_cast<Decoder*>(state->client_data);
  if (decoder.state.input_scan_number <= kMaxScans) return;
  std::snprintf(decoder.escape.reason.data(), decoder.escape.reason.size(), "more than %d scans", kMaxScans);
  std::longjmp(decoder.escape.target, 1);
}

void read_header(Decoder& decoder, std::span<const uint8_t> bytes) {
  decoder.state.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = on_error;
  decoder.errors.emit_message = on_message;
  decoder.errors.output_message = on_output;
  decoder.state.client_data = &decoder;
  jpeg_create_decompress(&decoder.state);
  decoder.progress.progress_monitor = on_progress;
  decoder.state.progress = &decoder.progress;
  jpeg_mem_src(&decoder.state, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_save_markers(&decoder.state, kExifMarker, kMostMarkerBytes);
  jpeg_read_header(&decoder.state, TRUE);
}

int orientation_of(const jpeg_decompress_struct& state) {
  for (const jpeg_marker_struct* m = state.marker_list; m != nullptr; m = m->next)
    if (const int found = exif_orientation({m->data, m->data_length}); found != 1) return found;
  return 1;
}

bool is_cmyk(const jpeg_decompress_struct& state) {
  return state.jpeg_color_space == JCS_CMYK || state.jpeg_color_space == JCS_YCCK;
}

// The four inks are stored inverted, as Adobe's programs write them: 255 is no ink.
void cmyk_to_rgb(const uint8_t* from, uint8_t* to, int width) {
  for (int x = 0; x < width; ++x, from += 4, to += 3)
    for (int c = 0; c < 3; ++c) to[c] = static_cast<uint8_t>((from[c] * from[3] + 127) / 255);
}

void read_rows(Decoder& decoder, Image& image, std::vector<uint8_t>& inks) {
  jpeg_start_decompress(&decoder.state);
  for (int y = 0; y < image.height; ++y) {
    uint8_t* row = image.rgb.data() + int64_t{y} * image.width * 3;
    JSAMPROW to = inks.empty() ? row : inks.data();
    jpeg_read_scanlines(&decoder.state, &to, 1);
    if (!inks.empty()) cmyk_to_rgb(inks.data(), row, image.width);
  }
  jpeg_finish_decompress(&decoder.state);
}

}  // namespace

Result<Image> decode_jpeg(std::span<const uint8_t> bytes, std::string_view name, int64_t max_pixels) {
  Decoder decoder;
  const auto broken = [&](const char* part) {
    return fail(ErrorCode::InvalidArgument, "picture '{}': broken JPEG {} ({})", name, part,
                decoder.escape.reason.data());
  };
  if (!guarded(decoder.escape, [&] { read_header(decoder, bytes); })) return broken("header");
  const int64_t width = decoder.state.image_width, height = decoder.state.image_height;
  PERAXIS_TRY(check_pixel_count(width, height, max_pixels, name));
  // Arithmetic codes give endless zeros after the end of their data: a short file could cost minutes.
  if (decoder.state.arith_code)
    return fail(ErrorCode::Unsupported, "picture '{}': JPEG with arithmetic coding; only Huffman is read",
                name);

  Image image{static_cast<int>(width), static_cast<int>(height), {}};
  image.rgb.resize(static_cast<size_t>(width * height * 3));
  const int orientation = orientation_of(decoder.state);
  std::vector<uint8_t> inks(is_cmyk(decoder.state) ? static_cast<size_t>(width) * 4 : 0);
  decoder.state.out_color_space = inks.empty() ? JCS_RGB : JCS_CMYK;
  if (!guarded(decoder.escape, [&] { read_rows(decoder, image, inks); })) return broken("data");
  return upright(std::move(image), orientation);
}

}  // namespace peraxis::vision

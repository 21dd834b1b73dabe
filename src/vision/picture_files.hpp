// The two picture formats behind decode_image and encode_png. libpng and libjpeg report an error by a call
// that must not return, so both are run under guarded(): the callback leaves a reason and jumps out.
#pragma once

#include <array>
#include <csetjmp>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "vision/image.hpp"

namespace peraxis::vision {

// Where a C library's error callback jumps to, and what it had to say.
struct Escape {
  std::jmp_buf target;
  std::array<char, 256> reason{};
};

// Runs `steps`; false when an error callback jumped out of them. A jump runs no destructors: `steps` may own
// nothing and may only write to what outlives this call.
template <class Steps>
bool guarded(Escape& escape, const Steps& steps) {
  if (setjmp(escape.target)) return false;
  steps();
  return true;
}

// InvalidArgument when the sides of the picture's header give more than max_pixels.
Status check_pixel_count(int64_t width, int64_t height, int64_t max_pixels, std::string_view name);

Result<Image> decode_png(std::span<const uint8_t> bytes, std::string_view name, int64_t max_pixels);
Result<Image> decode_jpeg(std::span<const uint8_t> bytes, std::string_view name, int64_t max_pixels);

}  // namespace peraxis::vision

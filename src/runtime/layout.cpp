// See layout.hpp. The inner loops run over the pixels of one channel or one surface; everything that depends
// on the channel alone is settled outside them. Threads share out surfaces, never parts of one.
#include "runtime/layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "num/multiplier.hpp"
#include "num/rounding.hpp"

namespace peraxis::runtime {
namespace {

constexpr uint8_t kTopBit = 0x80;

// Pixels taken at a time for all channels of a surface: what they read and write then stays in the first
// cache.
constexpr int64_t kBlockPixels = 256;

// fn(s) for every surface of `channels` channels, on the pool's threads if there is one.
template <class Fn>
void for_each_surface(int64_t channels, base::ThreadPool* pool, const Fn& fn) {
  const int64_t surfaces = (channels + kInt8Lanes - 1) / kInt8Lanes;
  if (pool != nullptr) {
    pool->parallel_for(0, surfaces, fn);
  } else {
    for (int64_t s = 0; s < surfaces; ++s) fn(s);
  }
}

// fn(c, first, last): channel c, pixels [first, last).
template <class Fn>
void for_each_channel(int64_t channels, int64_t pixels, base::ThreadPool* pool, const Fn& fn) {
  for_each_surface(channels, pool, [&](int64_t surface) {
    const int64_t begin = surface * kInt8Lanes, end = std::min(begin + kInt8Lanes, channels);
    for (int64_t first = 0; first < pixels; first += kBlockPixels)
      for (int64_t c = begin; c < end; ++c) fn(c, first, std::min(first + kBlockPixels, pixels));
  });
}

// Pixels of a dense host array, of which the channels of one surface are wanted.
template <class T>
struct HostPixels {
  T* data;         // of the first channel of the first pixel
  int64_t stride;  // from one pixel to the next
  int64_t pixels;
};

// Copies `lanes` bytes of every pixel, flipping the bits of `flip`; pads the block to 16 with `fill`.
template <bool kFull>
void pack_surface(const HostPixels<const uint8_t>& host, uint8_t* surface, int64_t lanes, uint8_t flip,
                  uint8_t fill) {
  for (int64_t p = 0; p < host.pixels; ++p) {
    const uint8_t* from = host.data + p * host.stride;
    uint8_t* to = surface + p * kInt8Lanes;
    if constexpr (kFull) {
      std::array<uint8_t, kInt8Lanes> block;
      std::memcpy(block.data(), from, kInt8Lanes);
      for (uint8_t& byte : block) byte ^= flip;
      std::memcpy(to, block.data(), kInt8Lanes);
    } else {
      std::array<uint8_t, kInt8Lanes> block;
      block.fill(fill);
      for (int64_t lane = 0; lane < lanes; ++lane)
        block[static_cast<size_t>(lane)] = static_cast<uint8_t>(from[lane] ^ flip);
      std::memcpy(to, block.data(), kInt8Lanes);
    }
  }
}

template <bool kFull>
void unpack_surface(const uint8_t* surface, const HostPixels<uint8_t>& host, int64_t lanes, uint8_t flip) {
  for (int64_t p = 0; p < host.pixels; ++p) {
    const uint8_t* from = surface + p * kInt8Lanes;
    uint8_t* to = host.data + p * host.stride;
    if constexpr (kFull) {
      std::array<uint8_t, kInt8Lanes> block;
      std::memcpy(block.data(), from, kInt8Lanes);
      for (uint8_t& byte : block) byte ^= flip;
      std::memcpy(to, block.data(), kInt8Lanes);
    } else {
      for (int64_t lane = 0; lane < lanes; ++lane) to[lane] = static_cast<uint8_t>(from[lane] ^ flip);
    }
  }
}

void copy_flipped(const uint8_t* from, int64_t bytes, uint8_t flip, uint8_t* to) {
  if (flip == 0) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  } else {
    for (int64_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(from[i] ^ flip);
  }
}

// Pixels between a row's last and the next row are never looked at; they get a defined value.
void upload_packed(std::span<const uint8_t> host, const exe::Placement& p, std::span<uint8_t> rows,
                   uint8_t flip, uint8_t fill) {
  const int64_t bytes = p.cube.w * p.c, pitch = p.pitch * p.c;
  if (bytes == pitch) {
    copy_flipped(host.data(), p.cube.h * bytes, flip, rows.data());
    return;
  }
  for (int64_t y = 0; y < p.cube.h; ++y) {
    uint8_t* to = rows.data() + y * pitch;
    copy_flipped(host.data() + y * bytes, bytes, flip, to);
    std::memset(to + bytes, fill, static_cast<size_t>(pitch - bytes));
  }
}

void download_packed(std::span<const uint8_t> rows, const exe::Placement& p, std::span<uint8_t> host,
                     uint8_t flip) {
  const int64_t bytes = p.cube.w * p.c;
  for (int64_t y = 0; y < p.cube.h; ++y)
    copy_flipped(rows.data() + y * p.pitch * p.c, bytes, flip, host.data() + y * bytes);
}

// First byte of channel `slot` in an int8 cube of `pixels` pixels; the next pixel is 16 bytes on.
int64_t int8_offset(int64_t slot, int64_t pixels) {
  return (slot / kInt8Lanes) * pixels * kInt8Lanes + slot % kInt8Lanes;
}

// First byte of channel `slot` in an int32 cube of `pixels` pixels; the next pixel is 16 bytes on.
int64_t int32_offset(int64_t slot, int64_t pixels) {
  return ((slot / kInt32Lanes) * pixels * kInt32Lanes + slot % kInt32Lanes) * int64_t{sizeof(int32_t)};
}

// Channel slots of the cube beyond the logical channels hold the zero point, so that a reader that takes
// whole surfaces sees defined values.
void fill_unused_slots(const exe::Placement& placement, std::span<uint8_t> cube) {
  const int64_t pixels = placement.cube.h * placement.cube.w;
  const auto fill = static_cast<uint8_t>(placement.zero_point);
  for (int64_t slot = placement.c; slot < placement.cube.channels; ++slot) {
    uint8_t* to = cube.data() + int8_offset(slot, pixels);
    for (int64_t p = 0; p < pixels; ++p) to[p * kInt8Lanes] = fill;
  }
}

int32_t load_int32(const uint8_t* bytes) {
  int32_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// `offset`: 128 for uint8, whose zero point LiteRT adds, and wraps, in stored values.
int8_t finish(const exe::HostStep& step, int64_t scaled, int32_t offset) {
  const int32_t stored = num::wrap_int32(scaled + step.zero_point + offset);
  return static_cast<int8_t>(num::saturate(int64_t{stored} - offset, step.low, step.high));
}

template <exe::Rounding kRounding>
int8_t requantize_one(const exe::HostStep& step, const exe::HostChannel& channel, int64_t accumulator,
                      int32_t offset) {
  const int32_t wrapped = num::wrap_int32(accumulator);
  const num::Multiplier multiplier{channel.mantissa, channel.exponent};
  if constexpr (kRounding == exe::Rounding::Two) {
    return finish(step, num::multiply_two_roundings(wrapped, multiplier), offset);
  } else if constexpr (kRounding == exe::Rounding::Once) {
    // The product may leave int32; it then lies beyond every activation range, whatever the zero point.
    return finish(
        step,
        num::saturate(num::multiply_one_rounding(wrapped, multiplier), -(int64_t{1} << 30), int64_t{1} << 30),
        offset);
  } else {
    const double rounded = std::round(static_cast<double>(wrapped) * channel.multiplier);
    // What x86 makes of a double outside int32, and with it the reference kernel.
    if (!(rounded >= -2147483648.0 && rounded <= 2147483647.0))
      return finish(step, std::numeric_limits<int32_t>::min(), offset);
    return finish(step, static_cast<int64_t>(rounded), offset);
  }
}

template <exe::Rounding kRounding>
void requantize_channels(const exe::HostStep& step, Regions regions, const exe::Placement& placement,
                         std::span<uint8_t> cube, base::ThreadPool* pool) {
  const int64_t pixels = placement.cube.h * placement.cube.w;
  const auto channels = static_cast<int64_t>(step.channels.size());
  const int32_t offset = placement.is_uint8 ? 128 : 0;
  for_each_channel(channels, pixels, pool, [&](int64_t c, int64_t first, int64_t last) {
    const exe::HostChannel& channel = step.channels[static_cast<size_t>(c)];
    const uint8_t* base = regions[static_cast<size_t>(channel.region)].data();
    const uint8_t* from = base + int32_offset(channel.slot, pixels);
    const uint8_t* sums = channel.sum_slot < 0 ? nullptr : base + int32_offset(channel.sum_slot, pixels);
    uint8_t* to = cube.data() + int8_offset(c, pixels);
    for (int64_t p = first; p < last; ++p) {
      int64_t accumulator = int64_t{load_int32(from + p * 16)} + channel.addend;
      if (sums != nullptr) accumulator += int64_t{channel.sum_factor} * load_int32(sums + p * 16);
      to[p * kInt8Lanes] =
          static_cast<uint8_t>(requantize_one<kRounding>(step, channel, accumulator, offset));
    }
  });
}

}  // namespace

kernels::Layout kernel_layout(const exe::Placement& placement) {
  return {placement.cube.h * placement.cube.w, placement.c, placement.slot_of, placement.is_uint8,
          static_cast<uint8_t>(placement.zero_point)};
}

int64_t cube_bytes(const exe::Cube& cube) {
  return cube.h * cube.w * cube.channels * cube.element_bytes;
}

int64_t placement_bytes(const exe::Placement& placement) {
  return placement.packed() ? placement.cube.h * placement.pitch * placement.c : cube_bytes(placement.cube);
}

void upload(std::span<const uint8_t> host, const exe::Placement& placement, std::span<uint8_t> cube,
            base::ThreadPool* pool) {
  const int64_t pixels = placement.cube.h * placement.cube.w;
  const uint8_t flip = placement.is_uint8 ? kTopBit : 0;
  const auto fill = static_cast<uint8_t>(placement.zero_point);
  if (placement.packed()) {
    upload_packed(host, placement, cube, flip, fill);
    return;
  }
  for_each_surface(placement.cube.channels, pool, [&](int64_t s) {
    const int64_t first = s * kInt8Lanes;
    const int64_t lanes = std::clamp<int64_t>(placement.c - first, 0, kInt8Lanes);
    uint8_t* surface = cube.data() + first * pixels;
    if (lanes == kInt8Lanes)
      pack_surface<true>({host.data() + first, placement.c, pixels}, surface, lanes, flip, fill);
    else
      pack_surface<false>({host.data() + std::min(first, placement.c), placement.c, pixels}, surface, lanes,
                          flip, fill);
  });
}

void download(std::span<const uint8_t> cube, const exe::Placement& placement, std::span<uint8_t> host,
              base::ThreadPool* pool) {
  const int64_t pixels = placement.cube.h * placement.cube.w;
  const uint8_t flip = placement.is_uint8 ? kTopBit : 0;
  if (placement.packed()) {
    download_packed(cube, placement, host, flip);
    return;
  }
  if (!placement.slot_of.empty()) {
    for_each_channel(placement.c, pixels, pool, [&](int64_t c, int64_t first, int64_t last) {
      const uint8_t* from = cube.data() + int8_offset(placement.slot_of[static_cast<size_t>(c)], pixels);
      for (int64_t p = first; p < last; ++p)
        host[static_cast<size_t>(p * placement.c + c)] = from[p * kInt8Lanes] ^ flip;
    });
    return;
  }
  for_each_surface(placement.c, pool, [&](int64_t s) {
    const int64_t first = s * kInt8Lanes;
    const int64_t lanes = std::min(placement.c - first, kInt8Lanes);
    const uint8_t* surface = cube.data() + first * pixels;
    if (lanes == kInt8Lanes)
      unpack_surface<true>(surface, {host.data() + first, placement.c, pixels}, lanes, flip);
    else
      unpack_surface<false>(surface, {host.data() + first, placement.c, pixels}, lanes, flip);
  });
}

void gather(const exe::HostStep& step, Regions regions, const exe::Placement& placement,
            std::span<uint8_t> cube, base::ThreadPool* pool) {
  const int64_t pixels = placement.cube.h * placement.cube.w;
  const auto channels = static_cast<int64_t>(step.channels.size());
  for_each_channel(channels, pixels, pool, [&](int64_t c, int64_t first, int64_t last) {
    const exe::HostChannel& channel = step.channels[static_cast<size_t>(c)];
    const uint8_t* from =
        regions[static_cast<size_t>(channel.region)].data() + int8_offset(channel.slot, pixels);
    uint8_t* to = cube.data() + int8_offset(c, pixels);
    for (int64_t p = first; p < last; ++p) to[p * kInt8Lanes] = from[p * kInt8Lanes];
  });
  fill_unused_slots(placement, cube);
}

void requantize(const exe::HostStep& step, Regions regions, const exe::Placement& placement,
                std::span<uint8_t> cube, base::ThreadPool* pool) {
  switch (step.rounding) {
    case exe::Rounding::Two:
      requantize_channels<exe::Rounding::Two>(step, regions, placement, cube, pool);
      break;
    case exe::Rounding::Once:
      requantize_channels<exe::Rounding::Once>(step, regions, placement, cube, pool);
      break;
    case exe::Rounding::Double:
      requantize_channels<exe::Rounding::Double>(step, regions, placement, cube, pool);
      break;
  }
  fill_unused_slots(placement, cube);
}

void correct(const exe::HostStep& step, Regions regions, const exe::Placement& placement,
             std::span<uint8_t> cube, base::ThreadPool* pool) {
  const int64_t pixels = placement.cube.h * placement.cube.w;
  const auto channels = static_cast<int64_t>(step.channels.size());
  std::vector<std::array<uint8_t, 256>> tables(step.channels.size());
  for (size_t c = 0; c < tables.size(); ++c)
    for (int32_t q = -128; q <= 127; ++q)
      tables[c][static_cast<uint8_t>(q)] = static_cast<uint8_t>(static_cast<int8_t>(
          num::rescaled(q, step.zero_point, step.channels[c].multiplier, step.low, step.high)));
  for_each_channel(channels, pixels, pool, [&](int64_t c, int64_t first, int64_t last) {
    const exe::HostChannel& channel = step.channels[static_cast<size_t>(c)];
    const std::array<uint8_t, 256>& table = tables[static_cast<size_t>(c)];
    const uint8_t* from =
        regions[static_cast<size_t>(channel.region)].data() + int8_offset(channel.slot, pixels);
    uint8_t* to = cube.data() + int8_offset(c, pixels);
    for (int64_t p = first; p < last; ++p) to[p * kInt8Lanes] = table[from[p * kInt8Lanes]];
  });
  fill_unused_slots(placement, cube);
}

int8_t requantize_value(const exe::HostStep& step, const exe::HostChannel& channel, int64_t accumulator,
                        int32_t offset) {
  switch (step.rounding) {
    case exe::Rounding::Two:
      return requantize_one<exe::Rounding::Two>(step, channel, accumulator, offset);
    case exe::Rounding::Once:
      return requantize_one<exe::Rounding::Once>(step, channel, accumulator, offset);
    case exe::Rounding::Double:
      return requantize_one<exe::Rounding::Double>(step, channel, accumulator, offset);
  }
  return 0;
}

}  // namespace peraxis::runtime

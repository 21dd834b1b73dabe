#include "kernels/cube/lanes.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cube/strided.hpp"

namespace peraxis::kernels::cube {
namespace {

uint8_t flip_of(const Layout& layout) {
  return layout.cube() && layout.flipped ? 0x80 : 0;
}

// Of a cube whose channels are in their order, as stored: what a kernel may take or write where it is.
bool in_place(const Layout& layout, const Lanes& lanes) {
  return layout.cube() && layout.plain() && !layout.flipped && lanes.width == kLanes;
}

template <int64_t kLength>
void spread_fixed(const Strided<const uint8_t>& from, const Strided<uint8_t>& to, int64_t pixels,
                  uint8_t flip) {
  for (int64_t p = 0; p < pixels; ++p) {
    std::array<uint8_t, kLength> bytes;
    std::memcpy(bytes.data(), from.at(p), kLength);
    for (uint8_t& byte : bytes) byte ^= flip;
    std::memcpy(to.at(p), bytes.data(), kLength);
  }
}

// `pixels` pieces of `length` bytes.
void spread(const Strided<const uint8_t>& from, const Strided<uint8_t>& to, int64_t pixels, int64_t length,
            uint8_t flip) {
  if (length == kLanes) return spread_fixed<kLanes>(from, to, pixels, flip);
  if (length == kLanes / 2) return spread_fixed<kLanes / 2>(from, to, pixels, flip);
  if (length == 1) return spread_fixed<1>(from, to, pixels, flip);
  for (int64_t p = 0; p < pixels; ++p)
    for (int64_t i = 0; i < length; ++i) to.at(p)[i] = from.at(p)[i] ^ flip;
}

// fn(offset of pixel 0 in the cube, channel, channels) for channels [first, first + count) in the pieces that
// lie side by side.
template <class Fn>
void each_piece(const Layout& layout, int64_t first, int64_t count, const Fn& fn) {
  for (int64_t c = first; c < first + count;) {
    if (!layout.plain()) {
      fn(slot_offset(layout.slot_of[static_cast<size_t>(c)], layout.pixels), c, 1);
      ++c;
      continue;
    }
    const int64_t length = std::min(kLanes - c % kLanes, first + count - c);
    fn(slot_offset(c, layout.pixels), c, length);
    c += length;
  }
}

}  // namespace

Values read_lanes(const InputView& view, const Lanes& lanes, std::vector<uint8_t>& scratch) {
  if (in_place(view.layout, lanes))
    return view.bytes.subspan(static_cast<size_t>(slot_offset(lanes.first, lanes.pixels)),
                              static_cast<size_t>(lanes.pixels * kLanes));
  scratch.resize(static_cast<size_t>(lanes.pixels * lanes.width));
  copy_lanes(view, lanes, scratch.data());
  return scratch;
}

void copy_lanes(const InputView& view, const Lanes& lanes, uint8_t* to) {
  if (lanes.real < lanes.width) std::memset(to, 0, static_cast<size_t>(lanes.pixels * lanes.width));
  if (!view.layout.cube()) {
    spread({view.bytes.data() + lanes.first, lanes.channels}, {to, lanes.width}, lanes.pixels, lanes.real, 0);
    return;
  }
  each_piece(view.layout, lanes.first, lanes.real, [&](int64_t offset, int64_t c, int64_t length) {
    spread({view.bytes.data() + offset, kLanes}, {to + c - lanes.first, lanes.width}, lanes.pixels, length,
           flip_of(view.layout));
  });
}

std::span<uint8_t> lanes_to_write(const OutputView& view, const Lanes& lanes, std::vector<uint8_t>& scratch) {
  if (in_place(view.layout, lanes))
    return view.bytes.subspan(static_cast<size_t>(slot_offset(lanes.first, lanes.pixels)),
                              static_cast<size_t>(lanes.pixels * kLanes));
  scratch.resize(static_cast<size_t>(lanes.pixels * lanes.width));
  return scratch;
}

void store_lanes(const OutputView& view, const Lanes& lanes, const std::vector<uint8_t>& scratch) {
  if (in_place(view.layout, lanes)) return;
  if (!view.layout.cube()) {
    spread({scratch.data(), lanes.width}, {view.bytes.data() + lanes.first, lanes.channels}, lanes.pixels,
           lanes.real, 0);
    return;
  }
  spread({scratch.data(), lanes.width}, {view.bytes.data() + slot_offset(lanes.first, lanes.pixels), kLanes},
         lanes.pixels, lanes.real, flip_of(view.layout));
}

void read_pixels(const InputView& view, int64_t first, int64_t count, uint8_t* to) {
  const int64_t channels = view.layout.channels;
  each_piece(view.layout, 0, channels, [&](int64_t offset, int64_t c, int64_t length) {
    spread({view.bytes.data() + offset + first * kLanes, kLanes}, {to + c, channels}, count, length,
           flip_of(view.layout));
  });
}

void write_pixels(const OutputView& view, int64_t first, int64_t count, const uint8_t* from) {
  const int64_t channels = view.layout.channels;
  each_piece(view.layout, 0, channels, [&](int64_t offset, int64_t c, int64_t length) {
    spread({from + c, channels}, {view.bytes.data() + offset + first * kLanes, kLanes}, count, length,
           flip_of(view.layout));
  });
}

}  // namespace peraxis::kernels::cube

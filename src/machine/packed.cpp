// Packed first layer (docs/hardware/cna.md#packed-pixels): pixels of 1 to 4 interleaved bytes become atoms of
// 16 channels on their way into the CBUF, through a converter that can turn uint8 into int8. A row takes
// LINE_STRIDE pixels of memory. The lanes no byte belongs to are zero: a guess on which nothing depends as
// long as their weights equal the weight zero point.
#include <algorithm>

#include "machine/stage.hpp"
#include "machine/task.hpp"

namespace peraxis::machine {

using namespace rk3588;

void decode_packed(Registers& r, CnaConfig& c) {
  const int64_t mode = r.get(CNA::CONV_CON1::ARGB_IN);
  if (mode < 8 || mode > 11) {
    r.refuse("CNA.CONV_CON1.ARGB_IN is {}, must be 0 or 8..11 (1 to 4 channels)", mode);
    return;
  }
  c.packed = mode - 7;
  r.require(CNA::CONV_CON1::NONALIGN_DMA, 1, "packed pixels are a stream of bytes");
  r.require(CNA::CONV_CON1::GROUP_LINE_OFF, 1, "packed pixels are read line by line");
  r.require(CNA::CONV_CON1::DECONV, 0, "packed pixels in a transposed convolution are unknown");
  r.require(CNA::CONV_CON1::CONV_MODE, 0, "packed pixels in depthwise are unknown");
  r.require(CNA::CBUF_CON0::DATA_REUSE, 0, "reuse of packed pixels is unknown");
  r.require(CNA::DATA_SIZE1::DATAIN_CHANNEL, kAtom, "packed pixels become one atom");
  PixelConverter& v = c.converter;
  v.on = !r.flag(CNA::CVT_CON0::CVT_BYPASS);
  if (!v.on) {
    r.require(CNA::CVT_CON0::DATA_SIGN, 1, "unsigned bytes need the converter");
    return;
  }
  v.is_signed = r.flag(CNA::CVT_CON0::DATA_SIGN);
  v.offset_first = r.flag(CNA::CVT_CON0::CVT_TYPE);
  v.round = r.flag(CNA::CVT_CON0::ROUND_TYPE);
  v.shift = {r.get(CNA::CVT_CON0::CVT_TRUNCATE_0), r.get(CNA::CVT_CON0::CVT_TRUNCATE_1),
             r.get(CNA::CVT_CON0::CVT_TRUNCATE_2), r.get(CNA::CVT_CON0::CVT_TRUNCATE_3)};
  v.scale = {r.get(CNA::CVT_CON1::CVT_SCALE0), r.get(CNA::CVT_CON2::CVT_SCALE1),
             r.get(CNA::CVT_CON3::CVT_SCALE2), r.get(CNA::CVT_CON4::CVT_SCALE3)};
  v.offset = {r.get(CNA::CVT_CON1::CVT_OFFSET0), r.get(CNA::CVT_CON2::CVT_OFFSET1),
              r.get(CNA::CVT_CON3::CVT_OFFSET2), r.get(CNA::CVT_CON4::CVT_OFFSET3)};
  const int64_t lanes = (int64_t{1} << c.packed) - 1;
  const int64_t enabled = r.get(CNA::CVT_CON5::PER_CHANNEL_CVT_EN);
  if ((enabled & lanes) != lanes)
    r.refuse("CNA.CVT_CON5.PER_CHANNEL_CVT_EN is {:#x}: must enable the {} lanes of the pixels", enabled,
             c.packed);
}

int8_t convert_pixel(const PixelConverter& v, size_t lane, uint8_t byte) {
  if (!v.on) return static_cast<int8_t>(byte);
  const int64_t x = v.is_signed ? static_cast<int8_t>(byte) : byte;
  const int n = static_cast<int>(v.shift[lane]);
  const int64_t y = v.offset_first
                        ? shift_by((x + v.offset[lane]) * v.scale[lane], n, Ties::ByRegister, v.round)
                        : shift_by(x * v.scale[lane], n, Ties::ByRegister, v.round) + v.offset[lane];
  return static_cast<int8_t>(num::saturate_int8(y));
}

Result<std::shared_ptr<const Features>> read_packed(const ConvTask& task, const Memory& memory,
                                                    std::vector<Range>& ranges) {
  const CnaConfig& c = task.cna;
  auto features = std::make_shared<Features>();
  features->width = c.width;
  features->height = c.height;
  features->channels = kAtom;
  const int64_t pitch = c.line_stride * c.packed;
  const int64_t columns = std::min(c.width, c.dma_width);
  for (int64_t y = 0; y < c.height; ++y) {
    const int64_t address = c.feature_address + y * pitch;
    const auto row = memory.read(address, columns * c.packed, "CNA feature DMA");
    if (!row)
      return with_note(row.error(), fmt::format("task {}: row {} of the packed pixels at {:#x}", task.index,
                                                y, c.feature_address));
    features->bytes.resize(static_cast<size_t>((y + 1) * c.width * kAtom));
    int8_t* to = features->bytes.data() + y * c.width * kAtom;
    for (int64_t i = 0; i < columns * c.packed; ++i)
      to[i / c.packed * kAtom + i % c.packed] =
          convert_pixel(c.converter, static_cast<size_t>(i % c.packed), (*row)[static_cast<size_t>(i)]);
    ranges.push_back({address, address + columns * c.packed});
  }
  return features;
}

}  // namespace peraxis::machine

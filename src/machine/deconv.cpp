// Transposed convolution (docs/hardware/cna.md#transposed-convolution): between the samples of the tile the
// CNA inserts others that hold the padding byte; what follows is an ordinary convolution of that wider plane.
#include <algorithm>
#include <cstring>

#include "machine/task.hpp"

namespace peraxis::machine {

using namespace rk3588;

void decode_deconv(Registers& r, CnaConfig& c) {
  const auto factor = [&](int64_t field, const char* name) -> int64_t {
    if (field != 0 && field != 1 && field != 3 && field != 7)
      r.refuse("CNA.CONV_CON3.{} is {}, must be 0, 1, 3 or 7: others act as 0", name, field);
    return field + 1;
  };
  c.deconv_x = factor(r.get(CNA::CONV_CON3::DECONV_X_STRIDE), "DECONV_X_STRIDE");
  c.deconv_y = factor(r.get(CNA::CONV_CON3::DECONV_Y_STRIDE), "DECONV_Y_STRIDE");
  r.require(CNA::CONV_CON1::CONV_MODE, 0, "transposed convolution in depthwise is unknown");
  r.require(CNA::CONV_CON3::CONV_X_STRIDE, 1, "the stride of a transposed convolution is DECONV_X_STRIDE");
  r.require(CNA::CONV_CON3::CONV_Y_STRIDE, 1, "the stride of a transposed convolution is DECONV_Y_STRIDE");
  r.require(CNA::CBUF_CON0::DATA_REUSE, 0, "reuse in a transposed convolution is unknown");
  if (c.in_width > c.dma_width)
    r.refuse("CNA.DATA_SIZE0.DATAIN_WIDTH is {}, more than DMA_WIDTH {}: unknown in a transposed convolution",
             c.in_width, c.dma_width);
  if (std::max(c.pad_top, c.pad_left) > 11)
    r.refuse("CNA.PAD_CON0: padding {} and {}: more than 11 misbehaves in a transposed convolution",
             c.pad_top, c.pad_left);
  c.width = (c.in_width - 1) * c.deconv_x + 1;
  c.height = (c.in_height - 1) * c.deconv_y + 1;
}

std::shared_ptr<const Features> insert_samples(const CnaConfig& c, const Features& in, bool zeros) {
  auto out = std::make_shared<Features>();
  out->width = c.width;
  out->height = c.height;
  out->channels = c.channels;
  out->bytes.assign(static_cast<size_t>(c.width * c.height * c.channels),
                    zeros ? int8_t{0} : static_cast<int8_t>(c.pad_value));
  for (int64_t g = 0; g < c.channels / kAtom; ++g)
    for (int64_t y = 0; y < in.height; ++y)
      for (int64_t x = 0; x < in.width; ++x) {
        const int64_t at = (g * c.height + y * c.deconv_y) * c.width + x * c.deconv_x;
        std::memcpy(out->bytes.data() + at * kAtom, in.atom(g, y, x), kAtom);
      }
  return out;
}

}  // namespace peraxis::machine

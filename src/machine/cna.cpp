// CNA: reads the feature tile of a task into the CBUF. The address rule
// (docs/hardware/cna.md#feature-addresses): a block is four lines (one with GROUP_LINE_OFF) of DMA_WIDTH
// atoms; LINE_STRIDE leads to the next block of the same channel group, and the signed SURF_STRIDE from the
// end of a block to the same block of the next group. The plane size of the tensor is only in SURF_STRIDE,
// never W * H of the task.
#include <algorithm>
#include <cstring>

#include "machine/fast.hpp"

namespace peraxis::machine {

using namespace rk3588;

namespace {

// Zero skipping and compression are not modelled, the input converter for packed pixels only;
// their operands have no effect as long as they are off.
void refuse_other_modes(Registers& r) {
  r.not_modelled(CNA::CONV_CON1::IN_PRECISION, 0, "input types other than int8");
  r.not_modelled(CNA::CONV_CON1::PROC_PRECISION, 0, "types other than int8");
  r.require(CNA::CONV_CON2::CMD_FIFO_SRST, 0, "a debug bit");
  r.require(CNA::CONV_CON2::CSC_DO_EN, 0, "a debug bit that stops the MAC");
  r.require(CNA::CONV_CON2::CSC_WO_EN, 0, "a debug bit that stops the MAC");
  r.not_modelled(CNA::CONV_CON3::NN_MODE, 0, "multi-core co-operation");
  r.not_modelled(CNA::DATA_SIZE3::SURF_MODE, 0, "surface serialisation");
  r.require(CNA::CBUF_CON0::FC_DATA_BANK, 0, "other values corrupt the results");
  r.not_modelled(CNA::FC_CON0::FC_SKIP_EN, 0, "zero skipping");
  r.not_modelled(CNA::DCOMP_CTRL::DECOMP_CONTROL, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_REGNUM::DCOMP_REGNUM, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT0::DCOMP_AMOUNT0, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT1::DCOMP_AMOUNT1, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT2::DCOMP_AMOUNT2, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT3::DCOMP_AMOUNT3, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT4::DCOMP_AMOUNT4, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT5::DCOMP_AMOUNT5, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT6::DCOMP_AMOUNT6, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT7::DCOMP_AMOUNT7, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT8::DCOMP_AMOUNT8, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT9::DCOMP_AMOUNT9, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT10::DCOMP_AMOUNT10, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT11::DCOMP_AMOUNT11, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT12::DCOMP_AMOUNT12, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT13::DCOMP_AMOUNT13, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT14::DCOMP_AMOUNT14, 0, "compressed weights");
  r.not_modelled(CNA::DCOMP_AMOUNT15::DCOMP_AMOUNT15, 0, "compressed weights");
}

void decode_features(Registers& r, CnaConfig& c) {
  c.line_mode = r.flag(CNA::CONV_CON1::GROUP_LINE_OFF);
  c.width = c.in_width = r.get(CNA::DATA_SIZE0::DATAIN_WIDTH);
  c.height = c.in_height = r.get(CNA::DATA_SIZE0::DATAIN_HEIGHT);
  c.channels = r.get(CNA::DATA_SIZE1::DATAIN_CHANNEL);
  c.dma_width = r.get(CNA::FC_DATA_SIZE0::DMA_WIDTH);
  c.line_stride = r.get(CNA::DMA_CON1::LINE_STRIDE);
  c.surf_stride = r.get(CNA::DMA_CON2::SURF_STRIDE);
  c.feature_address = r.get(CNA::FEATURE_DATA_ADDR::FEATURE_BASE_ADDR);
  c.pad_top = r.get(CNA::PAD_CON0::PAD_TOP);
  c.pad_left = r.get(CNA::PAD_CON0::PAD_LEFT);
  c.pad_value = static_cast<uint32_t>(r.get(CNA::PAD_CON1::PAD_VALUE));
  r.require(CNA::FC_DATA_SIZE0::DMA_HEIGHT, c.height, "the rows of DATAIN_HEIGHT");
  r.require(CNA::FC_DATA_SIZE1::DMA_CHANNEL, c.channels, "the channels of DATAIN_CHANNEL");
  if (c.width < 1 || c.height < 1 || c.dma_width < 1)
    r.refuse("CNA.DATA_SIZE0 / FC_DATA_SIZE0: an input of {} x {} (DMA_WIDTH {}) is empty", c.width, c.height,
             c.dma_width);
  if (c.channels < kAtom || c.channels % kAtom != 0)
    r.refuse("CNA.DATA_SIZE1.DATAIN_CHANNEL is {}, must be a multiple of 16", c.channels);
  if (c.feature_address % kAtom != 0)
    r.refuse("CNA.FEATURE_DATA_ADDR is {:#x}, must be a multiple of 16", c.feature_address);
}

void decode_kernel(Registers& r, CnaConfig& c) {
  c.stride_x = r.get(CNA::CONV_CON3::CONV_X_STRIDE);
  c.stride_y = r.get(CNA::CONV_CON3::CONV_Y_STRIDE);
  c.dilation_x = r.get(CNA::CONV_CON3::ATROUS_X_DILATION);
  c.dilation_y = r.get(CNA::CONV_CON3::ATROUS_Y_DILATION);
  c.kernel_w = r.get(CNA::WEIGHT_SIZE2::WEIGHT_WIDTH);
  c.kernel_h = r.get(CNA::WEIGHT_SIZE2::WEIGHT_HEIGHT);
  c.kernels = r.get(CNA::WEIGHT_SIZE2::WEIGHT_KERNELS);
  c.weight_address = r.get(CNA::DCOMP_ADDR0::DECOMPRESS_ADDR0);
  c.weight_bytes = r.get(CNA::WEIGHT_SIZE0::WEIGHT_BYTES);
  c.kernel_bytes = r.get(CNA::WEIGHT_SIZE1::WEIGHT_BYTES_PER_KERNEL);
  if (c.stride_x < 1 || c.stride_y < 1)
    r.refuse("CNA.CONV_CON3: stride {} x {}, must be at least 1", c.stride_x, c.stride_y);
  if (c.kernel_w < 1 || c.kernel_h < 1 || c.kernels < 1)
    r.refuse("CNA.WEIGHT_SIZE2: {} kernels of {} x {} are empty", c.kernels, c.kernel_w, c.kernel_h);
  if (c.weight_address % kAtom != 0)
    r.refuse("CNA.DCOMP_ADDR0 is {:#x}, must be a multiple of 16", c.weight_address);
  const int64_t grains = r.get(CNA::CONV_CON2::FEATURE_GRAINS);
  if (grains < c.stride_y + c.kernel_h)
    r.refuse("CNA.CONV_CON2.FEATURE_GRAINS is {}, must be at least stride + kernel rows = {}", grains,
             c.stride_y + c.kernel_h);
}

}  // namespace

CnaConfig decode_cna(Registers& r) {
  CnaConfig c;
  refuse_other_modes(r);
  const int64_t mode = r.get(CNA::CONV_CON1::CONV_MODE);
  if (mode != 0 && mode != 3)
    r.refuse("CNA.CONV_CON1.CONV_MODE is {}, must be 0 (direct) or 3 (depthwise)", mode);
  c.depthwise = mode == 3;
  decode_features(r, c);
  decode_kernel(r, c);
  if (r.get(CNA::CONV_CON1::ARGB_IN) != 0) {
    decode_packed(r, c);
  } else {
    r.not_modelled(CNA::CONV_CON1::NONALIGN_DMA, 0, "a stream of bytes that are no packed pixels");
    r.not_modelled(CNA::CVT_CON0::CVT_BYPASS, 1, "the input converter on a feature cube");
    r.not_modelled(CNA::CVT_CON0::DATA_SIGN, 1, "unsigned features");
    if (r.flag(CNA::CONV_CON1::DECONV)) decode_deconv(r, c);
  }
  c.data_banks = r.get(CNA::CBUF_CON0::DATA_BANK);
  c.weight_banks = r.get(CNA::CBUF_CON0::WEIGHT_BANK);
  c.data_reuse = r.flag(CNA::CBUF_CON0::DATA_REUSE);
  c.weight_reuse = r.flag(CNA::CBUF_CON0::WEIGHT_REUSE);
  c.entries = r.get(CNA::CBUF_CON1::DATA_ENTRIES);
  c.out_width = r.get(CNA::DATA_SIZE2::DATAOUT_WIDTH);
  c.out_atoms = r.get(CNA::DATA_SIZE3::DATAOUT_ATOMICS);
  return c;
}

int8_t pad_byte(const CnaConfig& cna, PadLanes lanes, int64_t channel) {
  const bool second = lanes != PadLanes::Byte0 && (cna.depthwise || lanes == PadLanes::Two) &&
                      channel % 64 < 32 && channel % 2 == 1;
  return static_cast<int8_t>(cna.pad_value >> (second ? 8 : 0));
}

namespace {

// The rows from memory; `ranges` gets what was read, by channel group.
Result<std::shared_ptr<const Features>> read_features(const ConvTask& task, const Memory& memory,
                                                      std::vector<Range>& ranges) {
  const CnaConfig& c = task.cna;
  auto features = std::make_shared<Features>();
  features->width = c.in_width;
  features->height = c.in_height;
  features->channels = c.channels;
  features->bytes.resize(static_cast<size_t>(c.in_width * c.in_height * c.channels));
  const int64_t rows_per_block = c.line_mode ? 1 : 4;
  const int64_t group_step = rows_per_block * c.dma_width + c.surf_stride;
  const int64_t row_atoms = std::min(c.in_width, c.dma_width);
  for (int64_t g = 0; g < c.channels / kAtom; ++g) {
    Range range{INT64_MAX, 0};
    for (int64_t y = 0; y < c.in_height; ++y) {
      const int64_t atom =
          y / rows_per_block * c.line_stride + y % rows_per_block * c.dma_width + g * group_step;
      const int64_t address = c.feature_address + atom * kAtom;
      const auto row = memory.read(address, row_atoms * kAtom, "CNA feature DMA");
      if (!row)
        return with_note(row.error(),
                         fmt::format("task {}: channel group {}, row {} of the feature tile at {:#x}",
                                     task.index, g, y, c.feature_address));
      std::memcpy(features->bytes.data() + (g * c.in_height + y) * c.in_width * kAtom, row->data(),
                  row->size());
      range.begin = std::min(range.begin, address);
      range.end = std::max(range.end, address + row_atoms * kAtom);
    }
    ranges.push_back(range);
  }
  return features;
}

}  // namespace

Status load_features(const ConvTask& task, Context& context) {
  const CnaConfig& c = task.cna;
  if (c.data_reuse) return {};
  const bool deconv = c.deconv_x != 1 || c.deconv_y != 1;
  const bool keep = !context.options.plain && c.packed == 0 && !deconv;
  const JobCache::Reading* known = keep ? context.cache.find_features(c, context.memory) : nullptr;
  JobCache::Reading reading;
  if (known != nullptr) {
    reading = *known;
  } else {
    reading.time = context.memory.now();
    reading.features = PERAXIS_TRY(c.packed != 0 ? read_packed(task, context.memory, reading.ranges)
                                                 : read_features(task, context.memory, reading.ranges));
    if (keep) context.cache.keep_features(c, reading);
    if (deconv)
      reading.features = insert_samples(c, *reading.features, context.options.switches.deconv_inserts_zero);
  }
  context.reads.insert(context.reads.end(), reading.ranges.begin(), reading.ranges.end());
  context.report.bytes_read +=
      std::min(c.in_width, c.dma_width) * c.in_height * (c.packed != 0 ? c.packed : c.channels);
  context.cbuf.features = std::move(reading.features);
  return {};
}

}  // namespace peraxis::machine

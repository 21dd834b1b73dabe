// MRDMA reads one surface as 8 lanes of 16 bits and repeats every pixel along its row; the copies below each
// other become further surfaces of the writer, one output row apart, whose rows are a notch apart. No stage
// touches the bits. Captured with 2 x 2 copies. Other numbers of copies are taken in the same fields;
// whatever else differs from the captured form is refused.
#include "machine/unpool.hpp"

#include <cstring>

namespace peraxis::machine {

using namespace rk3588;

namespace {

constexpr int64_t kLanes = 8;

void check_types(Registers& r) {
  const char* why = "the only 16-bit task known copies from 16 bits to raw output";
  r.require(DPU::DATA_FORMAT::IN_PRECISION, 1, why);
  r.require(DPU::DATA_FORMAT::PROC_PRECISION, 0, why);
  r.require(DPU::DATA_FORMAT::OUT_PRECISION, 0, why);
  r.require(DPU_RDMA::FEATURE_MODE_CFG::IN_PRECISION, 1, why);
  r.require(DPU_RDMA::FEATURE_MODE_CFG::PROC_PRECISION, 0, why);
  r.require(DPU_RDMA::FEATURE_MODE_CFG::MRDMA_FP16TOFP32_EN, 0, why);
  r.require(DPU::FEATURE_MODE_CFG::FLYING_MODE, 1, "the blocks that the enable word starts");
  r.require(DPU_RDMA::FEATURE_MODE_CFG::FLYING_MODE, 1, "as DPU.FEATURE_MODE_CFG.FLYING_MODE");
  r.require(DPU_RDMA::FEATURE_MODE_CFG::MRDMA_DISABLE, 0, "without main data the task never ends");
  r.require(DPU_RDMA::FEATURE_MODE_CFG::COMB_USE, 0, "there is no operand");
  r.require(DPU::FEATURE_MODE_CFG::OUTPUT_MODE, 2, "output to memory");
  r.require(DPU::FEATURE_MODE_CFG::CONV_MODE, 0, "depthwise order without a convolution is unknown");
  r.require(DPU_RDMA::FEATURE_MODE_CFG::CONV_MODE, 0, "depthwise order without a convolution is unknown");
}

// All stages off, nothing scaled, no operand read.
void check_stages(Registers& r) {
  const char* why = "16-bit lanes are copied only";
  r.require(DPU::BS_CFG::BS_BYPASS, 1, why);
  r.require(DPU::BN_CFG::BN_BYPASS, 1, why);
  r.require(DPU::EW_CFG::EW_BYPASS, 1, why);
  r.require(DPU::BS_OW_CFG::OD_BYPASS, 1, why);
  r.require(DPU::OUT_CVT_OFFSET::OUT_CVT_OFFSET, 0, why);
  r.require(DPU::OUT_CVT_SCALE::OUT_CVT_SCALE, 1, why);
  r.require(DPU::OUT_CVT_SCALE::FP32TOFP16_EN, 0, why);
  r.require(DPU::OUT_CVT_SHIFT::OUT_CVT_SHIFT, 0, why);
  r.require(DPU_RDMA::ERDMA_CFG::ERDMA_DISABLE, 1, why);
  r.require(DPU_RDMA::NRDMA_CFG::NRDMA_DATA_USE, 0, why);
  r.require(DPU_RDMA::BRDMA_CFG::BRDMA_DATA_USE, 0, why);
}

void decode_geometry(Registers& r, UnpoolTask& t) {
  t.width = r.get(DPU_RDMA::DATA_CUBE_WIDTH::WIDTH);
  t.height = r.get(DPU_RDMA::DATA_CUBE_HEIGHT::HEIGHT);
  r.require(DPU_RDMA::DATA_CUBE_CHANNEL::CHANNEL, kLanes, "one surface of 16-bit lanes a task");
  r.require(DPU_RDMA::SRC_DMA_CFG::UNPOOLING_EN, 1, "16-bit data are known with un-pooling only");
  r.require(DPU_RDMA::SRC_DMA_CFG::POOLING_METHOD, 0, "only repetition is known");
  r.require(DPU_RDMA::SRC_DMA_CFG::LINE_NOTCH_ADDR, 0, "row notches of the input are unknown");
  t.columns = r.get(DPU_RDMA::SRC_DMA_CFG::KERNEL_WIDTH) + 1;
  t.rows = r.get(DPU_RDMA::SRC_DMA_CFG::KERNEL_HEIGHT) + 1;
  r.require(DPU_RDMA::SRC_DMA_CFG::KERNEL_STRIDE_WIDTH, t.columns - 1, "the copies of KERNEL_WIDTH");
  r.require(DPU_RDMA::SRC_DMA_CFG::KERNEL_STRIDE_HEIGHT, t.rows - 1, "the copies of KERNEL_HEIGHT");
  r.require(DPU_RDMA::PAD_CFG::PAD_LEFT, 0, "padding is unknown");
  r.require(DPU_RDMA::PAD_CFG::PAD_TOP, 0, "padding is unknown");
  r.require(DPU::DATA_CUBE_WIDTH::WIDTH, t.width * t.columns, "width x copies");
  r.require(DPU::DATA_CUBE_HEIGHT::HEIGHT, t.height, "the rows of DPU_RDMA.DATA_CUBE_HEIGHT");
  r.require(DPU::DATA_CUBE_CHANNEL::CHANNEL, kLanes * t.rows, "a surface for each copy of a row");
  r.require(DPU::DATA_CUBE_CHANNEL::ORIG_CHANNEL, kLanes * t.rows, "CHANNEL");
  r.require(DPU::WDMA_SIZE_0::CHANNEL_WDMA, kLanes * t.rows, "CHANNEL");
  r.require(DPU::WDMA_SIZE_1::WIDTH_WDMA, t.width * t.columns, "DATA_CUBE_WIDTH");
  r.require(DPU::WDMA_SIZE_1::HEIGHT_WDMA, t.height, "DATA_CUBE_HEIGHT");
}

void decode_addresses(Registers& r, UnpoolTask& t) {
  t.src_address = r.get(DPU_RDMA::SRC_BASE_ADDR::SRC_BASE_ADDR);
  t.dst_address = r.get(DPU::DST_BASE_ADDR::DST_BASE_ADDR);
  t.dst_stride = r.get(DPU::DST_SURF_STRIDE::DST_SURF_STRIDE);
  const int64_t notch = r.get(DPU::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_0);
  r.require(DPU::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_1, notch, "NOTCH_ADDR_0");
  t.dst_line = t.width * t.columns + notch;
  const char* why = "atoms of a pixel - 1";
  r.require(DPU::BS_OW_CFG::SIZE_E_0, t.rows - 1, why);
  r.require(DPU::BS_OW_CFG::SIZE_E_1, t.rows - 1, why);
  r.require(DPU::BS_OW_CFG::SIZE_E_2, t.rows - 1, why);
  r.require(DPU::SURFACE_ADD::SURF_ADD, t.height * t.dst_line, "the output plane");
  if (t.src_address % kAtom != 0)
    r.refuse("DPU_RDMA.SRC_BASE_ADDR is {:#x}, must be a multiple of 16", t.src_address);
  if (t.dst_address % kAtom != 0)
    r.refuse("DPU.DST_BASE_ADDR is {:#x}, must be a multiple of 16", t.dst_address);
  if (t.dst_stride < t.width * t.columns || t.dst_line < t.rows * t.dst_stride)
    r.refuse("DPU.DATA_CUBE_NOTCH_ADDR {}, DST_SURF_STRIDE {}: {} copies of a row of {} atoms overlap", notch,
             t.dst_stride, t.rows, t.width * t.columns);
}

}  // namespace

bool asks_for_unpool(const RegisterFile& file) {
  const auto format = file.value(DPU::DATA_FORMAT::Reg::offset);
  return format && DPU::DATA_FORMAT::IN_PRECISION.get(*format) == 1;
}

Result<UnpoolTask> decode_unpool(const RegisterFile& file, int32_t index) {
  Registers r(file, index);
  UnpoolTask task;
  task.index = index;
  check_types(r);
  check_stages(r);
  decode_geometry(r, task);
  decode_addresses(r, task);
  PERAXIS_TRY(r.status());
  return task;
}

std::vector<Range> output_ranges(const UnpoolTask& t) {
  std::vector<Range> out;
  for (int64_t y = 0; y < t.height; ++y)
    for (int64_t copy = 0; copy < t.rows; ++copy) {
      const int64_t begin = t.dst_address + (copy * t.dst_stride + y * t.dst_line) * kAtom;
      out.push_back({begin, begin + t.width * t.columns * kAtom});
    }
  return out;
}

Status run_unpool(const UnpoolTask& t, Context& context) {
  const int64_t bytes = t.width * t.height * kAtom;
  const auto source = context.memory.read(t.src_address, bytes, "MRDMA");
  if (!source)
    return with_note(source.error(), fmt::format("task {}: the surface at DPU_RDMA.SRC_BASE_ADDR", t.index));
  context.report.bytes_read += bytes;
  context.reads.push_back({t.src_address, t.src_address + bytes});
  const std::vector<Range> ranges = output_ranges(t);
  PERAXIS_TRY(check_no_overwrite(t.index, ranges, context));
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Range& range = ranges[i];
    const auto row = context.memory.write(range.begin, range.end - range.begin, "WDMA");
    if (!row) return with_note(row.error(), fmt::format("task {}: row {} of the output", t.index, i));
    const uint8_t* from = source->data() + static_cast<int64_t>(i) / t.rows * t.width * kAtom;
    for (int64_t x = 0; x < t.width * t.columns; ++x)
      std::memcpy(row->data() + x * kAtom, from + x / t.columns * kAtom, kAtom);
    context.report.bytes_written += range.end - range.begin;
  }
  return {};
}

}  // namespace peraxis::machine

// PPU and PPU_RDMA, memory to memory (docs/hardware/ppu.md#the-program).
#include "emit/task.hpp"
#include "emit/writer.hpp"

namespace peraxis::emit {

using namespace rk3588;

namespace {

constexpr int64_t kAverage = 0, kMaximum = 1, kStorage8Bits = 1, kBurst = 3;
constexpr int64_t kOne = 65536;           // of the reciprocals
constexpr int64_t kLowestInt8 = 0x7FF80;  // -128 in 19 bits

}  // namespace

Result<Program> pooling(const PoolTask& t) {
  Writer w;
  w.write(PPU::S_POINTER::POINTER_PP_EN[1] | PPU::S_POINTER::EXECUTER_PP_EN[1] |
          PPU::S_POINTER::POINTER_PP_MODE[1]);
  w.write(PPU_RDMA::RDMA_S_POINTER::POINTER_PP_EN[1] | PPU_RDMA::RDMA_S_POINTER::EXECUTER_PP_EN[1] |
          PPU_RDMA::RDMA_S_POINTER::POINTER_PP_MODE[1]);
  w.write(PPU::DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH(t.in_width));
  w.write(PPU::DATA_CUBE_IN_HEIGHT::CUBE_IN_HEIGHT(t.in_height));
  w.write(PPU::DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL(t.channels));
  w.write(PPU::DATA_CUBE_OUT_WIDTH::CUBE_OUT_WIDTH(t.out_width));
  w.write(PPU::DATA_CUBE_OUT_HEIGHT::CUBE_OUT_HEIGHT(t.out_height));
  w.write(PPU::DATA_CUBE_OUT_CHANNEL::CUBE_OUT_CHANNEL(t.channels));
  w.write(PPU::OPERATION_MODE_CFG::POOLING_METHOD(t.average ? kAverage : kMaximum) |
          PPU::OPERATION_MODE_CFG::FLYING_MODE[1]);
  w.write(PPU::POOLING_KERNEL_CFG::KERNEL_WIDTH(t.kernel_width) |
          PPU::POOLING_KERNEL_CFG::KERNEL_HEIGHT(t.kernel_height) |
          PPU::POOLING_KERNEL_CFG::KERNEL_STRIDE_WIDTH(t.stride_x) |
          PPU::POOLING_KERNEL_CFG::KERNEL_STRIDE_HEIGHT(t.stride_y));
  w.write(PPU::RECIP_KERNEL_WIDTH::RECIP_KERNEL_WIDTH(t.average ? kOne / t.kernel_width : 0));
  w.write(PPU::RECIP_KERNEL_HEIGHT::RECIP_KERNEL_HEIGHT(t.average ? kOne / t.kernel_height : 0));
  w.write(PPU::POOLING_PADDING_CFG::PAD_LEFT(t.pad_left) | PPU::POOLING_PADDING_CFG::PAD_TOP(t.pad_top) |
          PPU::POOLING_PADDING_CFG::PAD_RIGHT(t.pad_right) |
          PPU::POOLING_PADDING_CFG::PAD_BOTTOM(t.pad_bottom));
  // Right whether padding takes part in a maximum or not; an average has none.
  w.write(PPU::PADDING_VALUE_1_CFG::PAD_VALUE_0(t.average ? 0 : kLowestInt8));
  w.write(PPU::PADDING_VALUE_2_CFG::PAD_VALUE_1[0]);
  w.address(PPU::DST_BASE_ADDR::DST_BASE_ADDR[0], t.output);
  w.write(PPU::DST_SURF_STRIDE::DST_SURF_STRIDE(t.out_plane));
  w.write(PPU::DATA_FORMAT::INDEX_ADD(t.out_plane));
  w.write(PPU::MISC_CTRL::BURST_LEN[kBurst]);
  w.write(PPU_RDMA::RDMA_CUBE_IN_WIDTH::CUBE_IN_WIDTH(t.in_width));
  w.write(PPU_RDMA::RDMA_CUBE_IN_HEIGHT::CUBE_IN_HEIGHT(t.in_height));
  w.write(PPU_RDMA::RDMA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL(t.channels));
  w.address(PPU_RDMA::RDMA_SRC_BASE_ADDR::SRC_BASE_ADDR[0], t.input);
  w.write(PPU_RDMA::RDMA_SRC_LINE_STRIDE::SRC_LINE_STRIDE(t.in_width));
  w.write(PPU_RDMA::RDMA_SRC_SURF_STRIDE::SRC_SURF_STRIDE(t.in_plane));
  w.write(PPU_RDMA::RDMA_DATA_FORMAT::IN_PRECISION[kStorage8Bits]);
  w.tail(0x60);  // PPU, PPU_RDMA
  return w.finish();
}

}  // namespace peraxis::emit

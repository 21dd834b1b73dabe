// What every task that ends in the DPU must keep: sizes of blocks that disagree hang the chip without an
// error (docs/hardware/pc.md#sizes-that-contradict-each-other), and operands must come from a reader that is
// on.
#include "machine/task.hpp"

namespace peraxis::machine {

using namespace rk3588;

void check_dpu_sizes(Registers& r, const DpuTask& t) {
  const CoreConfig& core = t.core;
  const DpuConfig& dpu = t.dpu;
  if (dpu.width != core.width || dpu.height != core.height || dpu.channels != core.channels)
    r.refuse("DPU.DATA_CUBE {} x {} x {} differs from CORE.DATAOUT_SIZE {} x {} x {}: hangs the chip",
             dpu.height, dpu.width, dpu.channels, core.height, core.width, core.channels);
  r.require(DPU::WDMA_SIZE_0::CHANNEL_WDMA, core.channels, "the channels of CORE.DATAOUT_SIZE_1");
  r.require(DPU::WDMA_SIZE_0::SIZE_C_WDMA, 0, "its effect is unknown");
  r.not_modelled(DPU::WDMA_SIZE_0::TP_PRECISION, 0, "transposed output");
  r.require(DPU::WDMA_SIZE_1::WIDTH_WDMA, core.width, "the width of CORE.DATAOUT_SIZE_0");
  r.require(DPU::WDMA_SIZE_1::HEIGHT_WDMA, core.height, "the height of CORE.DATAOUT_SIZE_0");
  if (t.rdma.on) {
    r.require(DPU_RDMA::DATA_CUBE_WIDTH::WIDTH, core.width, "the width of CORE.DATAOUT_SIZE_0");
    r.require(DPU_RDMA::DATA_CUBE_HEIGHT::HEIGHT, core.height, "the height of CORE.DATAOUT_SIZE_0");
    r.require(DPU_RDMA::DATA_CUBE_CHANNEL::CHANNEL, core.channels, "the channels of CORE.DATAOUT_SIZE_1");
  }
  if (dpu.width > 8191 || dpu.height > 8191 || dpu.channels > 8191)
    r.refuse("DPU.DATA_CUBE {} x {} x {}: the all-ones size 8192 misbehaves", dpu.height, dpu.width,
             dpu.channels);
  if (dpu.orig_channels > dpu.channels)
    r.refuse("DPU.DATA_CUBE_CHANNEL.ORIG_CHANNEL is {}, more than CHANNEL {}", dpu.orig_channels,
             dpu.channels);
}

void check_operands(Registers& r, const DpuTask& t) {
  const auto need = [&](bool used, int64_t bit, const char* field) {
    if (used && (t.rdma.data_use & bit) == 0)
      r.refuse("{} takes its operand from memory, but DPU_RDMA.BRDMA_CFG delivers none (DATA_USE {})", field,
               t.rdma.data_use);
  };
  need(t.dpu.bs.alu_memory, 1, "DPU.BS_CFG.BS_ALU_SRC");
  need(t.dpu.ow_memory, 2, "DPU.BS_OW_CFG.OW_SRC");
  need(t.dpu.bs.mul_memory, 4, "DPU.BS_MUL_CFG.BS_MUL_SRC");
  if (t.dpu.ew_memory && !t.rdma.ew.on)
    r.refuse("DPU.EW_CFG.EW_OP_SRC takes its operand from memory, but DPU_RDMA delivers none");
}

Status check_no_overwrite(int32_t task, const std::vector<Range>& output, const Context& context,
                          bool in_place) {
  for (const Range& out : output)
    for (const Range& in : context.reads) {
      if (in_place && out.begin == in.begin && out.end == in.end) continue;
      if (out.begin < in.end && in.begin < out.end)
        return fail(ErrorCode::Device,
                    "task {}: the output at {:#x}..{:#x} overwrites {:#x}..{:#x}, which the task reads", task,
                    out.begin, out.end, in.begin, in.end);
    }
  return {};
}

}  // namespace peraxis::machine

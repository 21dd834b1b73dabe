// One convolution task from its registers to its output: what each block makes of its registers is checked
// block against block, because sizes that disagree hang the chip without an error (npu/hardware.md 1.3).
#include "machine/task.hpp"

#include <algorithm>

#include "machine/fast.hpp"

namespace peraxis::machine {

using namespace rk3588;

namespace {

void check_sizes(Registers& r, const ConvTask& t) {
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
  r.require(CNA::DATA_SIZE2::DATAOUT_WIDTH, core.width, "the width of CORE.DATAOUT_SIZE_0");
  r.require(CNA::DATA_SIZE3::DATAOUT_ATOMICS, core.width * core.height,
            "width x height of CORE.DATAOUT_SIZE_0");
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

void check_modes(Registers& r, const ConvTask& t) {
  const int64_t mode = t.cna.depthwise ? 3 : 0;
  const char* why = "the mode of CNA.CONV_CON1";
  r.require(CORE::MISC_CFG::DW_EN, t.cna.depthwise ? 1 : 0, why);
  r.require(DPU::FEATURE_MODE_CFG::CONV_MODE, mode, why);
  if (t.rdma.on) r.require(DPU_RDMA::FEATURE_MODE_CFG::CONV_MODE, mode, why);
  if (t.dpu.int32_output) {
    if (t.cna.depthwise)
      r.refuse(
          "DPU.DATA_FORMAT.OUT_PRECISION is 4: depthwise with int32 output gives wrong data on the chip");
    r.require(CORE::MISC_CFG::QD_EN, 0, "the int32 writer");
    r.require(DPU::BS_OW_CFG::OD_BYPASS, 1, "CPEND does not work with int32 output");
  } else {
    r.require(CORE::MISC_CFG::QD_EN, 1, "the int8 writer");
  }
}

void check_operands(Registers& r, const ConvTask& t) {
  const auto need = [&](bool used, int64_t bit, const char* field) {
    if (used && (t.rdma.data_use & bit) == 0)
      r.refuse("{} takes its operand from memory, but DPU_RDMA.BRDMA_CFG delivers none (DATA_USE {})", field,
               t.rdma.data_use);
  };
  need(t.dpu.bs.alu_memory, 1, "DPU.BS_CFG.BS_ALU_SRC");
  need(t.dpu.ow_memory, 2, "DPU.BS_OW_CFG.OW_SRC");
  need(t.dpu.bs.mul_memory, 4, "DPU.BS_MUL_CFG.BS_MUL_SRC");
}

void check_writer(Registers& r, ConvTask& t) {
  const int64_t size_e = t.group() * (t.dpu.int32_output ? 4 : 1) / kAtom - 1;
  const char* why = "16-byte atoms of a kernel group - 1; other values hang the chip";
  r.require(DPU::BS_OW_CFG::SIZE_E_0, size_e, why);
  r.require(DPU::BS_OW_CFG::SIZE_E_1, size_e, why);
  r.require(DPU::BS_OW_CFG::SIZE_E_2, size_e, why);
  t.dpu.dst_address = r.get(DPU::DST_BASE_ADDR::DST_BASE_ADDR);
  t.dpu.dst_stride = r.get(DPU::DST_SURF_STRIDE::DST_SURF_STRIDE);
  r.require(DPU::SURFACE_ADD::SURF_ADD, (size_e + 1) * t.dpu.dst_stride,
            "(SIZE_E + 1) * DST_SURF_STRIDE; other values hang the chip");
  if (t.dpu.dst_address % kAtom != 0)
    r.refuse("DPU.DST_BASE_ADDR is {:#x}, must be a multiple of 16", t.dpu.dst_address);
  if (t.dpu.dst_stride < t.pixels())
    r.refuse("DPU.DST_SURF_STRIDE is {} atoms, a surface of the task has {}: surfaces would overlap",
             t.dpu.dst_stride, t.pixels());
}

void check_kernels(Registers& r, const ConvTask& t, const Switches& switches) {
  const CnaConfig& c = t.cna;
  const int64_t group = t.group();
  if (switches.refuse_partial_groups && t.core.channels % group != 0)
    r.refuse("CORE.DATAOUT_SIZE_1.DATAOUT_CHANNEL is {}: only whole kernel groups of {} complete",
             t.core.channels, group);
  const int64_t atom = t.dpu.int32_output ? 4 : kAtom;
  if (t.core.channels % atom != 0)
    r.refuse("CORE.DATAOUT_SIZE_1.DATAOUT_CHANNEL is {}, must be a multiple of {}", t.core.channels, atom);
  const int64_t kernels = c.depthwise ? c.channels : c.kernels;
  if (kernels > t.core.channels || kernels + group <= t.core.channels)
    r.refuse(
        "{} kernels (CNA.{}) for {} output channels (CORE.DATAOUT_SIZE_1): not the same kernel groups of {}",
        kernels, c.depthwise ? "DATA_SIZE1.DATAIN_CHANNEL" : "WEIGHT_SIZE2.WEIGHT_KERNELS", t.core.channels,
        group);
  if (c.depthwise && c.kernels != 1)
    r.refuse("CNA.WEIGHT_SIZE2.WEIGHT_KERNELS is {}, must be 1 in depthwise", c.kernels);
  r.require(CNA::WEIGHT_SIZE1::WEIGHT_BYTES_PER_KERNEL, c.taps() * c.channels,
            "kernel taps x input channels");
  r.require(CNA::WEIGHT_SIZE0::WEIGHT_BYTES, c.kernel_bytes * c.kernels, "bytes per kernel x kernels");
  const int64_t kernel_group = r.get(CNA::CONV_CON2::KERNEL_GROUP);
  if (kernel_group != 0 && kernel_group != t.core.channels / group - 1)
    r.refuse("CNA.CONV_CON2.KERNEL_GROUP is {}, must be 0 or kernel groups - 1 = {}", kernel_group,
             t.core.channels / group - 1);
}

// Right and bottom padding are implied: whatever the windows reach beyond the tile. A window without a
// single real row or column is no convolution any driver asks for.
void check_windows(Registers& r, const ConvTask& t) {
  const CnaConfig& c = t.cna;
  const int64_t last_y = (t.core.height - 1) * c.stride_y - c.pad_top;
  const int64_t last_x = (t.core.width - 1) * c.stride_x - c.pad_left;
  if (last_y >= c.height || last_x >= c.width)
    r.refuse("CORE.DATAOUT_SIZE_0 {} x {}: the last window starts at row {}, column {} of a tile of {} x {}",
             t.core.height, t.core.width, last_y, last_x, c.height, c.width);
  if (c.pad_top >= c.span_y() || c.pad_left >= c.span_x())
    r.refuse("CNA.PAD_CON0: the first window of {} x {} lies wholly in the padding of {} rows, {} columns",
             c.span_y(), c.span_x(), c.pad_top, c.pad_left);
  const int64_t columns = std::min(c.width, last_x + c.span_x());
  if (columns > c.dma_width)
    r.refuse(
        "CNA.DATA_SIZE0.DATAIN_WIDTH is {}: a window reads column {}, the DMA brings only {} (FC_DATA_SIZE0)",
        c.width, columns - 1, c.dma_width);
}

bool overlap(const Range& a, const Range& b) {
  return a.begin < b.end && b.begin < a.end;
}

Status check_no_overwrite(const ConvTask& task, const Context& context) {
  for (const Range& out : output_ranges(task))
    for (const Range& in : context.reads)
      if (overlap(out, in))
        return fail(ErrorCode::Device,
                    "task {}: the output at {:#x}..{:#x} (DPU.DST_BASE_ADDR {:#x}) overwrites {:#x}..{:#x}, "
                    "which the "
                    "task reads",
                    task.index, out.begin, out.end, task.dpu.dst_address, in.begin, in.end);
  return {};
}

}  // namespace

Result<ConvTask> decode_task(const RegisterFile& file, int32_t index, uint32_t enable,
                             const Options& options) {
  constexpr uint32_t kConv = 0x0D, kConvRdma = 0x1D;
  if (enable == 0x18)
    return fail(ErrorCode::Unsupported,
                "task {}: enable word 0x18: not modelled in this version: tasks of the DPU alone", index);
  if (enable == 0x60)
    return fail(ErrorCode::Unsupported, "task {}: enable word 0x60: not modelled in this version: pooling",
                index);
  if (enable != kConv && enable != kConvRdma)
    return fail(ErrorCode::Device, "task {}: enable word {:#x} is no known combination of blocks", index,
                enable);
  Registers r(file, index);
  ConvTask task;
  task.index = index;
  task.cna = decode_cna(r);
  task.core = decode_core(r);
  task.dpu = decode_dpu(r);
  task.rdma = decode_rdma(r, enable == kConvRdma);
  PERAXIS_TRY(r.status());
  if (options.switches.ignore_ow_op_with_records && task.rdma.data_use == 7 && !task.dpu.ow_memory)
    task.dpu.ow = 0;
  check_sizes(r, task);
  check_modes(r, task);
  check_operands(r, task);
  check_kernels(r, task, options.switches);
  check_windows(r, task);
  check_writer(r, task);
  PERAXIS_TRY(r.status());
  if (task.macs() > options.max_task_macs)
    return fail(ErrorCode::Device, "task {}: {} multiplications, the limit of this machine is {}", index,
                task.macs(), options.max_task_macs);
  PERAXIS_TRY(check_cbuf(task, options));
  return task;
}

Status run_conv(const ConvTask& task, Context& context) {
  PERAXIS_TRY(check_reuse(task, context.cbuf));
  PERAXIS_TRY(load_features(task, context));
  PERAXIS_TRY(load_weights(task, context));
  context.cbuf.data_banks = task.cna.data_banks;
  context.cbuf.weight_banks = task.cna.weight_banks;
  const Operands operands = PERAXIS_TRY(read_operands(task, context));
  PERAXIS_TRY(check_no_overwrite(task, context));
  const Switches& switches = context.options.switches;
  if (!context.options.plain) {
    const auto core = FastCore::make(task, context.cbuf, switches.pad_lanes, context.cache);
    if (core != nullptr) return run_fast(task, operands, *core, context);
  }
  Accumulators acc;
  for (int64_t first = 0; first < task.core.channels; first += task.group()) {
    run_core(task, context.cbuf, switches.pad_lanes, first, acc);
    run_dpu(task, operands, switches, acc, context.report);
    PERAXIS_TRY(write_output(task, first, acc, context));
  }
  return {};
}

}  // namespace peraxis::machine

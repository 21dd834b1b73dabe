// One convolution task from its registers to its output: what each block makes of its registers is checked
// block against block, because sizes that disagree hang the chip without an error
// (docs/hardware/pc.md#sizes-that-contradict-each-other).
#include "machine/task.hpp"

#include <algorithm>
#include <numeric>

#include "machine/fast.hpp"

namespace peraxis::machine {

using namespace rk3588;

namespace {

void check_sizes(Registers& r, const ConvTask& t) {
  check_dpu_sizes(r, t);
  r.require(CNA::DATA_SIZE2::DATAOUT_WIDTH, t.core.width, "the width of CORE.DATAOUT_SIZE_0");
  r.require(CNA::DATA_SIZE3::DATAOUT_ATOMICS, t.core.width * t.core.height,
            "width x height of CORE.DATAOUT_SIZE_0");
}

void check_modes(Registers& r, const ConvTask& t) {
  const int64_t mode = t.cna.depthwise ? 3 : 0;
  const char* why = "the mode of CNA.CONV_CON1";
  r.require(CORE::MISC_CFG::DW_EN, t.cna.depthwise ? 1 : 0, why);
  r.require(DPU::FEATURE_MODE_CFG::CONV_MODE, mode, why);
  if (t.rdma.on) r.require(DPU_RDMA::FEATURE_MODE_CFG::CONV_MODE, mode, why);
  if (t.cna.depthwise && t.dpu.ew_memory)
    r.not_modelled(DPU::EW_CFG::EW_OP_SRC, 0, "a tensor operand in depthwise");
  if (t.dpu.int32_output) {
    if (t.cna.depthwise)
      r.refuse(
          "DPU.DATA_FORMAT.OUT_PRECISION is 4: depthwise with int32 output gives wrong data on the chip");
    r.require(CORE::MISC_CFG::QD_EN, 0, "the int32 writer");
    if (t.dpu.ew_memory)
      r.refuse("DPU.EW_CFG.EW_OP_SRC is 1 with int32 output: the chip adds no tensor there");
    r.require(DPU::BS_OW_CFG::OD_BYPASS, 1, "CPEND does not work with int32 output");
  } else {
    r.require(CORE::MISC_CFG::QD_EN, 1, "the int8 writer");
  }
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
  if ((columns - 1) / c.deconv_x + 1 > c.dma_width)
    r.refuse(
        "CNA.DATA_SIZE0.DATAIN_WIDTH is {}: a window reads column {}, the DMA brings only {} (FC_DATA_SIZE0)",
        c.width, columns - 1, c.dma_width);
}

// What FastCore leaves out are kernels of zeros.
Accumulators whole_group(const ConvTask& task, const FastCore& core, int64_t first) {
  Accumulators live, out;
  core.group(first, live);
  const int64_t group = task.group();
  out.columns.resize(static_cast<size_t>(group));
  std::iota(out.columns.begin(), out.columns.end(), first);
  out.values.assign(static_cast<size_t>(task.pixels() * group), 0);
  for (int64_t p = 0; p < task.pixels(); ++p)
    for (int64_t i = 0; i < live.width(); ++i)
      out.values[static_cast<size_t>(p * group + live.columns[static_cast<size_t>(i)] - first)] =
          live.values[static_cast<size_t>(p * live.width() + i)];
  out.sums = std::move(live.sums);
  return out;
}

}  // namespace

Result<ConvTask> decode_conv(const RegisterFile& file, int32_t index, bool rdma, const Options& options) {
  Registers r(file, index);
  ConvTask task;
  task.index = index;
  task.cna = decode_cna(r);
  task.core = decode_core(r);
  task.dpu = decode_dpu(r, DpuSource::Convolution);
  task.rdma = decode_rdma(r, task, DpuSource::Convolution, options.switches, rdma);
  PERAXIS_TRY(r.status());
  if (options.switches.ignore_ow_op_with_records && task.rdma.data_use == 7 && !task.dpu.ow_memory)
    task.dpu.ow = 0;
  check_sizes(r, task);
  check_modes(r, task);
  check_operands(r, task);
  check_kernels(r, task, options.switches);
  check_windows(r, task);
  decode_writer(r, task.group() * (task.dpu.int32_output ? 4 : 1) / kAtom, task);
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
  const Operands operands = PERAXIS_TRY(read_operands(task, task.group(), context));
  PERAXIS_TRY(check_no_overwrite(task.index, output_ranges(task), context));
  const Switches& switches = context.options.switches;
  std::unique_ptr<FastCore> fast;
  if (!context.options.plain) fast = FastCore::make(task, context.cbuf, switches.pad_lanes, context.cache);
  // With a tensor operand no two pixels of a channel are alike, which the rest of the fast way builds on.
  if (fast != nullptr && !task.dpu.ew_memory) return run_fast(task, operands, *fast, context);
  Accumulators acc;
  for (int64_t first = 0; first < task.core.channels; first += task.group()) {
    if (fast != nullptr)
      acc = whole_group(task, *fast, first);
    else
      run_core(task, context.cbuf, switches.pad_lanes, first, acc);
    run_dpu(task, operands, switches, acc, context.report);
    PERAXIS_TRY(write_output(task, first, acc, context));
  }
  return {};
}

}  // namespace peraxis::machine

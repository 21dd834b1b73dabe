// A task of the DPU alone (enable word 0x18): MRDMA brings the main data, the stages work as in a
// convolution, ERDMA may bring a second tensor. Addition, subtraction, maximum, product of two tensors,
// requantization, copies for concatenation and splitting, look-up tables
// (docs/hardware/dpu.md#without-a-convolution).
#include <numeric>

#include "machine/task.hpp"

namespace peraxis::machine {

using namespace rk3588;

namespace {

constexpr int64_t kFlyingGroup = 16;  // channels of one atom

}  // namespace

Result<FlyingTask> decode_flying(const RegisterFile& file, int32_t index, const Options& options) {
  Registers r(file, index);
  FlyingTask task;
  task.index = index;
  task.dpu = decode_dpu(r, DpuSource::Memory);
  task.core.width = task.dpu.width;
  task.core.height = task.dpu.height;
  task.core.channels = task.dpu.channels;
  task.rdma = decode_rdma(r, task, DpuSource::Memory, options.switches, true);
  r.not_modelled(DPU::DATA_FORMAT::OUT_PRECISION, 0, "types other than int8 without a convolution");
  r.require(DPU::BS_OW_CFG::OD_BYPASS, 1, "without a convolution there is no window sum");
  r.not_modelled(DPU::FEATURE_MODE_CFG::CONV_MODE, 0, "depthwise order without a convolution");
  r.not_modelled(DPU_RDMA::FEATURE_MODE_CFG::CONV_MODE, 0, "depthwise order without a convolution");
  check_dpu_sizes(r, task);
  check_operands(r, task);
  if (task.dpu.orig_channels != task.dpu.channels)
    r.refuse("DPU.DATA_CUBE_CHANNEL.ORIG_CHANNEL is {}, must equal CHANNEL {}: otherwise lanes are wrong",
             task.dpu.orig_channels, task.dpu.channels);
  if (task.dpu.channels % kFlyingGroup != 0)
    r.refuse("DPU.DATA_CUBE_CHANNEL.CHANNEL is {}, must be a multiple of 16", task.dpu.channels);
  decode_writer(r, 1, task);
  if (task.pixels() * task.dpu.channels > options.max_task_macs)
    r.refuse("DPU.DATA_CUBE {} x {} x {}: {} values, the limit of this machine is {}", task.dpu.height,
             task.dpu.width, task.dpu.channels, task.pixels() * task.dpu.channels, options.max_task_macs);
  PERAXIS_TRY(r.status());
  return task;
}

Status run_flying(const FlyingTask& task, Context& context) {
  const Surfaces main = PERAXIS_TRY(read_main(task, context));
  const Operands operands = PERAXIS_TRY(read_operands(task, kFlyingGroup, context));
  // The vendor's blocks that load a look-up table copy an atom onto itself.
  PERAXIS_TRY(check_no_overwrite(task.index, output_ranges(task), context, true));
  Accumulators acc;
  acc.columns.resize(kFlyingGroup);
  for (int64_t first = 0; first < task.dpu.channels; first += kFlyingGroup) {
    std::iota(acc.columns.begin(), acc.columns.end(), first);
    const auto from = main.bytes.begin() + first * task.pixels();
    acc.values.assign(from, from + kFlyingGroup * task.pixels());
    run_dpu(task, operands, context.options.switches, acc, context.report);
    PERAXIS_TRY(write_output(task, first, acc, context));
  }
  return {};
}

}  // namespace peraxis::machine

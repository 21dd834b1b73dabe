#include "lower/layer_tasks.hpp"

#include <algorithm>
#include <span>

#include "lower/layouts.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;

ConvTask base_task(const Context& x, const TaskRun& p, const Parts& parts, const Part& part,
                   const DpuParams& dpu) {
  const Geometry& g = part.g;
  ConvTask task;
  task.depthwise = p.shape == TaskKind::Depthwise;
  task.in_width = g.in_w;
  task.in_plane = parts.in_plane;
  task.line = parts.line;
  if (x.input.pitch > 0) {
    task.packed = x.g.in_c;
    task.line = x.input.pitch;
    task.in_plane = x.g.in_rows() * x.input.pitch;
  }
  task.in_channels = p.in_channels;
  task.in_channels_real = p.in_channels_real;
  task.pad_left = g.pad_left;
  task.pad_value = x.layer.z_in;
  task.kernel_width = g.kernel_w;
  task.kernel_height = g.kernel_h;
  task.stride_x = g.stride_w;
  task.stride_y = g.stride_h;
  task.dilation_x = g.dilation_w;
  task.dilation_y = g.dilation_h;
  task.insert_x = g.insert_w;
  task.insert_y = g.insert_h;
  task.weight_zero_point = dpu.int32_output ? 0 : x.layer.z_w;
  task.out_width = g.out_w;
  task.out_plane = parts.out_plane;
  task.data_banks = parts.tiling.data_banks;
  task.weight_banks = parts.tiling.weight_banks;
  task.dpu = dpu;
  if (x.sum != nullptr) {
    const requant::ElementParams& sum = *x.sum;
    AddedTensor added;
    added.plane = parts.out_plane;
    added.factor = sum.factor;
    // BS counts from the lower end of the convolution's range, the sum from its zero point.
    added.constant = (dpu.out_offset + sum.addend) * sum.factor;
    added.offset = sum.operand_offset;
    added.operand_factor = sum.operand_factor;
    added.relu = sum.relu;
    added.out_scale = sum.scale;
    added.out_shift = sum.shift;
    added.out_offset = sum.offset;
    task.added = added;
  }
  return task;
}

// The first byte of a tile's first row.
int64_t input_offset(const Context& x, const Parts& parts, const Part& part, const RowTile& rows,
                     int64_t first_atom) {
  if (x.input.pitch > 0) return (part.in_first / part.g.in_w + rows.in_first) * x.input.pitch * x.g.in_c;
  const int64_t line = parts.line > 0 ? parts.line : part.g.in_w;
  return (first_atom + part.in_first + rows.in_first * line) * kAtomBytes;
}

}  // namespace

Status add_tasks(const Context& x, TaskRun&& p, const DpuParams& dpu, const Parts& parts) {
  const bool depthwise = p.shape == TaskKind::Depthwise;
  const Tiling& tiling = parts.tiling;
  const int64_t taps = parts.parts.front().g.kernel_h * parts.parts.front().g.kernel_w;
  const int32_t weights = x.memory.add_constant(std::move(p.packed_weights));
  int32_t operands = -1;
  const int64_t operand_bytes = dpu.records() ? kOperandRecordBytes / kOperandRecordChannels : 4;
  if (!dpu.int32_output)
    operands = x.memory.add_constant(x.pack ? pack_operands(p.slot_params, dpu.records(), x.layer.z_w)
                                            : std::vector<uint8_t>());
  const Region& region = x.out.regions[static_cast<size_t>(p.region)];
  const int64_t slots_per_atom = dpu.int32_output ? 4 : kAtomBytes;

  for (int64_t first = 0; first < p.out_slots; first += tiling.channels_per_task) {
    const int64_t slots = std::min(tiling.channels_per_task, p.out_slots - first);
    const auto params =
        std::span(p.slot_params).subspan(static_cast<size_t>(first), static_cast<size_t>(slots));
    const auto real = static_cast<int32_t>(slots - std::ranges::count(params, nullptr));
    // Between slots without a channel none may count as a dummy (docs/hardware/wdma.md#dummy-channels).
    const bool gaps = std::find(params.begin(), params.begin() + real, nullptr) != params.begin() + real;
    // A depthwise task reads the channels it computes.
    const int64_t in_atom = (p.first_in_slot + (depthwise ? first : 0)) / kAtomBytes * parts.in_plane;
    const int64_t out_atom = (p.first_out_slot + first) / slots_per_atom * parts.out_plane;
    bool loaded = false;
    for (const Part& part : parts.parts)
      for (RowTile rows : part.rows) {
        ConvTask task = base_task(x, p, parts, part, dpu);
        if (depthwise) {
          task.in_channels = std::min(slots, p.in_channels - first);
          task.in_channels_real = std::clamp<int64_t>(p.in_channels_real - first, 1, task.in_channels);
        }
        task.in_height = rows.in_rows;
        task.pad_top = rows.pad_top;
        task.input = {x.input.address.allocation,
                      x.input.address.offset + input_offset(x, parts, part, rows, in_atom)};
        task.kernels = depthwise ? 1 : slots;
        task.weight_bytes_per_kernel = taps * task.in_channels;
        task.weight_bytes = task.weight_bytes_per_kernel * task.kernels;
        task.weights = {weights, depthwise ? taps * first : taps * p.in_channels * first};
        task.weight_reuse = tiling.weights_resident && loaded;
        loaded = true;
        task.out_height = rows.rows;
        task.out_channels = slots;
        task.out_channels_real = gaps ? slots : std::max<int64_t>(real, 1);
        const int64_t first_byte = (out_atom + part.out_first + rows.first * part.g.out_w) * kAtomBytes;
        task.output = {region.allocation, region.offset + first_byte};
        if (task.added) task.added->address = {x.addend.allocation, x.addend.offset + first_byte};
        task.operands = {operands, operand_bytes * first};
        // Windows as lines: the part is one row of outputs, whatever the task calls it.
        rows.first = part.first_row + (p.windows ? 0 : rows.first);
        if (p.windows) rows.rows = 1;
        x.out.tasks.push_back({task, p.shape, rows, p.copies ? 0 : real, p.set, p.kernel_channels});
      }
  }
  return {};
}

Status add_tasks(const Context& x, TaskRun&& p, const DpuParams& dpu) {
  const Parts parts = PERAXIS_TRY(cut({x.g, p.in_channels, p.out_slots, p.shape == TaskKind::Depthwise, false,
                                       x.input.pitch > 0 ? x.g.in_c : 0},
                                      x.cutting.limits));
  return add_tasks(x, std::move(p), dpu, parts);
}

void add_region(const Context& x, int64_t slots, int32_t element_bytes) {
  Region region{-1, 0, x.g.out_rows(), x.g.out_w, slots, element_bytes};
  if (x.place.allocation >= 0) {
    region.allocation = x.place.allocation;
    region.offset =
        x.out.regions.empty() ? x.place.offset : x.out.regions.back().offset + x.out.regions.back().bytes();
  } else if (x.shared_output >= 0) {
    region.allocation = x.shared_output;
    if (!x.out.regions.empty()) region.offset = x.out.regions.back().offset + x.out.regions.back().bytes();
    x.memory.grow_activation(x.shared_output, region.bytes());
  } else {
    region.allocation = x.memory.add_activation(region.bytes());
  }
  x.out.regions.push_back(region);
}

}  // namespace peraxis::lower

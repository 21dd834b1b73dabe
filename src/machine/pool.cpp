// Maximum and minimum leave padded positions out (docs/hardware/ppu.md#maximum-and-minimum). The average
// counts them: the sum of the whole window times both reciprocals, shifted by 32
// (docs/hardware/ppu.md#average).
#include "machine/pool.hpp"

#include <algorithm>
#include <cstring>

#include "machine/stage.hpp"

namespace peraxis::machine {

using namespace rk3588;

namespace {

constexpr int kReciprocalShift = 32;  // two factors of 65536 / k

void refuse_other_modes(Registers& r) {
  r.not_modelled(PPU::OPERATION_MODE_CFG::FLYING_MODE, 1, "pooling what the DPU delivers");
  r.not_modelled(PPU::OPERATION_MODE_CFG::INDEX_EN, 0, "positions of maxima");
  r.not_modelled(PPU::DATA_FORMAT::PROC_PRECISION, 0, "types other than int8");
  r.not_modelled(PPU::DATA_FORMAT::DPU_FLYIN, 0, "pooling what the DPU delivers");
  r.not_modelled(PPU::MISC_CTRL::NONALIGN, 0, "non-aligned output");
  r.not_modelled(PPU::MISC_CTRL::MC_SURF_OUT, 0, "multi-surface output");
  r.require(PPU_RDMA::RDMA_DATA_FORMAT::IN_PRECISION, 1, "8-bit storage; others fail or work by accident");
}

void decode_sizes(Registers& r, PoolTask& t) {
  t.in_width = r.get(PPU::DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH);
  t.in_height = r.get(PPU::DATA_CUBE_IN_HEIGHT::CUBE_IN_HEIGHT);
  t.channels = r.get(PPU::DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL);
  t.out_width = r.get(PPU::DATA_CUBE_OUT_WIDTH::CUBE_OUT_WIDTH);
  t.out_height = r.get(PPU::DATA_CUBE_OUT_HEIGHT::CUBE_OUT_HEIGHT);
  r.require(PPU::DATA_CUBE_OUT_CHANNEL::CUBE_OUT_CHANNEL, t.channels, "the channels of DATA_CUBE_IN_CHANNEL");
  r.require(PPU_RDMA::RDMA_CUBE_IN_WIDTH::CUBE_IN_WIDTH, t.in_width, "the width of PPU.DATA_CUBE_IN_WIDTH");
  r.require(PPU_RDMA::RDMA_CUBE_IN_HEIGHT::CUBE_IN_HEIGHT, t.in_height,
            "the height of PPU.DATA_CUBE_IN_HEIGHT");
  r.require(PPU_RDMA::RDMA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL, t.channels,
            "the channels of PPU.DATA_CUBE_IN_CHANNEL");
  if (t.channels % kAtom != 0)
    r.refuse("PPU.DATA_CUBE_IN_CHANNEL.CUBE_IN_CHANNEL is {}, must be a multiple of 16", t.channels);
}

void decode_window(Registers& r, PoolTask& t) {
  const int64_t method = r.get(PPU::OPERATION_MODE_CFG::POOLING_METHOD);
  if (method > 2)
    r.refuse("PPU.OPERATION_MODE_CFG.POOLING_METHOD is {}, must be 0 (average), 1 (maximum) or 2 (minimum)",
             method);
  t.method = static_cast<PoolMethod>(std::min<int64_t>(method, 2));
  t.kernel_w = r.get(PPU::POOLING_KERNEL_CFG::KERNEL_WIDTH);
  t.kernel_h = r.get(PPU::POOLING_KERNEL_CFG::KERNEL_HEIGHT);
  t.stride_x = r.get(PPU::POOLING_KERNEL_CFG::KERNEL_STRIDE_WIDTH);
  t.stride_y = r.get(PPU::POOLING_KERNEL_CFG::KERNEL_STRIDE_HEIGHT);
  t.pad_left = r.get(PPU::POOLING_PADDING_CFG::PAD_LEFT);
  t.pad_top = r.get(PPU::POOLING_PADDING_CFG::PAD_TOP);
  t.pad_right = r.get(PPU::POOLING_PADDING_CFG::PAD_RIGHT);
  t.pad_bottom = r.get(PPU::POOLING_PADDING_CFG::PAD_BOTTOM);
  if (std::max(t.pad_left, t.pad_right) >= t.kernel_w || std::max(t.pad_top, t.pad_bottom) >= t.kernel_h)
    r.refuse("PPU.POOLING_PADDING_CFG: padding of {}, {} columns and {}, {} rows for a window of {} x {}",
             t.pad_left, t.pad_right, t.pad_top, t.pad_bottom, t.kernel_h, t.kernel_w);
  if ((t.out_width - 1) * t.stride_x + t.kernel_w > t.in_width + t.pad_left + t.pad_right ||
      (t.out_height - 1) * t.stride_y + t.kernel_h > t.in_height + t.pad_top + t.pad_bottom)
    r.refuse("PPU.DATA_CUBE_OUT {} x {}: the last window reaches beyond the {} x {} input and its padding",
             t.out_height, t.out_width, t.in_height, t.in_width);
  // What the last window needs beyond the input; the first one needs all of the left and top padding, being
  // larger.
  const int64_t columns = (t.out_width - 1) * t.stride_x + t.kernel_w - t.pad_left - t.in_width;
  const int64_t rows = (t.out_height - 1) * t.stride_y + t.kernel_h - t.pad_top - t.in_height;
  if (t.pad_right > std::max<int64_t>(columns, 0) || t.pad_bottom > std::max<int64_t>(rows, 0))
    r.refuse(
        "PPU.POOLING_PADDING_CFG: padding of {} columns on the right and {} rows below, windows of the {} x "
        "{} "
        "output reach {} and {}: no stream has more padding than its output uses",
        t.pad_right, t.pad_bottom, t.out_height, t.out_width, std::max<int64_t>(columns, 0),
        std::max<int64_t>(rows, 0));
  if (t.method != PoolMethod::Average) return;
  t.reciprocal_w = r.get(PPU::RECIP_KERNEL_WIDTH::RECIP_KERNEL_WIDTH);
  t.reciprocal_h = r.get(PPU::RECIP_KERNEL_HEIGHT::RECIP_KERNEL_HEIGHT);
  const int64_t low = r.get(PPU::PADDING_VALUE_1_CFG::PAD_VALUE_0);
  r.require(PPU::PADDING_VALUE_2_CFG::PAD_VALUE_1, 0, "bits above an int8 element");
  t.pad_value = rk3588::Sint::decode(static_cast<uint64_t>(low) & 0x7FFFF, 19);
  if (low >> 19 != 0 || t.pad_value < -128 || t.pad_value > 127)
    r.refuse("PPU.PADDING_VALUE_1_CFG.PAD_VALUE_0 is {:#x}: no int8 value in 19 bits", low);
}

void decode_addresses(Registers& r, const Options& options, PoolTask& t) {
  t.src_address = r.get(PPU_RDMA::RDMA_SRC_BASE_ADDR::SRC_BASE_ADDR);
  t.src_line = r.get(PPU_RDMA::RDMA_SRC_LINE_STRIDE::SRC_LINE_STRIDE);
  t.src_surface = r.get(PPU_RDMA::RDMA_SRC_SURF_STRIDE::SRC_SURF_STRIDE);
  t.dst_address = r.get(PPU::DST_BASE_ADDR::DST_BASE_ADDR) * kAtom;
  t.dst_surface = r.get(PPU::DST_SURF_STRIDE::DST_SURF_STRIDE);
  const int64_t notch = r.get(PPU::OPERATION_MODE_CFG::NOTCH_ADDR);
  if (notch != 0 && !options.switches.pool_notch_is_row_pitch)
    r.refuse("PPU.OPERATION_MODE_CFG.NOTCH_ADDR is {}, must be 0: others corrupt the results", notch);
  t.dst_line = t.out_width + notch;
  if (t.src_address % kAtom != 0)
    r.refuse("PPU_RDMA.RDMA_SRC_BASE_ADDR is {:#x}, must be a multiple of 16", t.src_address);
  if (t.src_line < t.in_width)
    r.refuse("PPU_RDMA.RDMA_SRC_LINE_STRIDE is {} atoms, a row has {}: rows would overlap", t.src_line,
             t.in_width);
  if (t.src_surface < (t.in_height - 1) * t.src_line + t.in_width)
    r.refuse("PPU_RDMA.RDMA_SRC_SURF_STRIDE is {} atoms for {} rows of {}: surfaces would overlap",
             t.src_surface, t.in_height, t.src_line);
  if (t.dst_surface < (t.out_height - 1) * t.dst_line + t.out_width)
    r.refuse("PPU.DST_SURF_STRIDE is {} atoms for {} rows of {}: surfaces would overlap", t.dst_surface,
             t.out_height, t.dst_line);
  const int64_t work = t.out_width * t.out_height * t.channels * t.kernel_w * t.kernel_h;
  if (work > options.max_task_macs)
    r.refuse("PPU.DATA_CUBE_OUT {} x {} x {}: {} values to compare or add, the limit of this machine is {}",
             t.out_height, t.out_width, t.channels, work, options.max_task_macs);
}

// One surface of the input, [row][column][16].
Result<std::vector<int8_t>> read_plane(const PoolTask& t, int64_t surface, Context& context) {
  std::vector<int8_t> plane;
  const int64_t bytes = t.in_width * kAtom;
  for (int64_t y = 0; y < t.in_height; ++y) {
    const int64_t address = t.src_address + (surface * t.src_surface + y * t.src_line) * kAtom;
    const auto row = context.memory.read(address, bytes, "PPU_RDMA");
    if (!row)
      return with_note(row.error(),
                       fmt::format("task {}: surface {}, row {} of the input at {:#x} (RDMA_SRC_BASE_ADDR)",
                                   t.index, surface, y, t.src_address));
    for (const uint8_t b : *row) plane.push_back(static_cast<int8_t>(b));
    context.report.bytes_read += bytes;
  }
  const int64_t first = t.src_address + surface * t.src_surface * kAtom;
  context.reads.push_back({first, first + ((t.in_height - 1) * t.src_line + t.in_width) * kAtom});
  return plane;
}

int64_t average(const PoolTask& t, int64_t sum, Ties ties) {
  const int64_t product = std::abs(sum) * t.reciprocal_w * t.reciprocal_h;
  // Ties to even: the magnitude is rounded and gets its sign back, as measured. The recorded vendor results
  // add half to the signed product.
  if (ties == Ties::Up) return shift_by(sum < 0 ? -product : product, kReciprocalShift, ties, false);
  const int64_t mean = shift_by(product, kReciprocalShift, ties, false);
  return num::saturate_int8(sum < 0 ? -mean : mean);
}

int64_t pool_one(const PoolTask& t, const std::vector<int8_t>& plane, int64_t y, int64_t x, int64_t lane,
                 const Switches& switches) {
  const int64_t top = y * t.stride_y - t.pad_top, left = x * t.stride_x - t.pad_left;
  const int64_t y0 = std::max<int64_t>(top, 0), y1 = std::min(top + t.kernel_h, t.in_height);
  const int64_t x0 = std::max<int64_t>(left, 0), x1 = std::min(left + t.kernel_w, t.in_width);
  int64_t sum = 0, low = 127, high = -128;
  for (int64_t iy = y0; iy < y1; ++iy)
    for (int64_t ix = x0; ix < x1; ++ix) {
      const int64_t v = plane[static_cast<size_t>((iy * t.in_width + ix) * kAtom + lane)];
      sum += v;
      low = std::min(low, v);
      high = std::max(high, v);
    }
  const int64_t padded = t.kernel_w * t.kernel_h - (y1 - y0) * (x1 - x0);
  if (padded > 0 && switches.pool_padding_competes) {
    low = std::min(low, t.pad_value);
    high = std::max(high, t.pad_value);
  }
  if (t.method == PoolMethod::Max) return high;
  if (t.method == PoolMethod::Min) return low;
  return average(t, sum + padded * t.pad_value, switches.pool_average_ties);
}

}  // namespace

Result<PoolTask> decode_pool(const RegisterFile& file, int32_t index, const Options& options) {
  Registers r(file, index);
  PoolTask task;
  task.index = index;
  refuse_other_modes(r);
  decode_sizes(r, task);
  decode_window(r, task);
  decode_addresses(r, options, task);
  PERAXIS_TRY(r.status());
  return task;
}

std::vector<Range> output_ranges(const PoolTask& t) {
  std::vector<Range> out;
  for (int64_t s = 0; s < t.channels / kAtom; ++s)
    for (int64_t y = 0; y < t.out_height; ++y) {
      const int64_t begin = t.dst_address + (s * t.dst_surface + y * t.dst_line) * kAtom;
      out.push_back({begin, begin + t.out_width * kAtom});
      if (t.dst_line != t.out_width) continue;  // rows follow each other: one range a surface
      out.back().end = begin + t.out_height * t.out_width * kAtom;
      break;
    }
  return out;
}

Status run_pool(const PoolTask& t, Context& context) {
  std::vector<std::vector<int8_t>> planes;
  for (int64_t s = 0; s < t.channels / kAtom; ++s) planes.push_back(PERAXIS_TRY(read_plane(t, s, context)));
  PERAXIS_TRY(check_no_overwrite(t.index, output_ranges(t), context));
  for (int64_t s = 0; s < t.channels / kAtom; ++s)
    for (int64_t y = 0; y < t.out_height; ++y) {
      const int64_t address = t.dst_address + (s * t.dst_surface + y * t.dst_line) * kAtom;
      const auto row = context.memory.write(address, t.out_width * kAtom, "PPU");
      if (!row)
        return with_note(
            row.error(),
            fmt::format("task {}: surface {}, row {} of the output (PPU.DST_BASE_ADDR)", t.index, s, y));
      for (int64_t i = 0; i < t.out_width * kAtom; ++i)
        (*row)[static_cast<size_t>(i)] = static_cast<uint8_t>(
            pool_one(t, planes[static_cast<size_t>(s)], y, i / kAtom, i % kAtom, context.options.switches));
      context.report.bytes_written += t.out_width * kAtom;
    }
  return {};
}

}  // namespace peraxis::machine

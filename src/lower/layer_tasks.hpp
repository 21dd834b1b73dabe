// What the shapes of convolution tasks have in common: a packed weight array and its operands become the
// tasks of all tiles. Only for convolution.cpp, which decides the shapes.
#pragma once

#include <vector>

#include "lower/convolution.hpp"
#include "lower/parts.hpp"

namespace peraxis::lower {

// The stored weights of the operator, in the int8 domain.
struct Weights {
  const uint8_t* data;
  int64_t out_c, in_c, kernel_h, kernel_w;
  int64_t offset;  // 128 for uint8
  bool depthwise;  // stored as [kh][kw][out]
  // Transposed: rows and columns of the kernel that the chip gets, turned by 180 degrees; else 0. Those
  // beyond the stored ones have no effect.
  int64_t turned_h, turned_w;

  bool has(int64_t ky, int64_t kx) const {
    return turned_h == 0 || (turned_h - 1 - ky < kernel_h && turned_w - 1 - kx < kernel_w);
  }
  // `in`: channel of the kernel's own.
  int64_t at(int64_t out, int64_t ky, int64_t kx, int64_t in) const {
    if (turned_h > 0) {
      ky = turned_h - 1 - ky;
      kx = turned_w - 1 - kx;
    }
    const int64_t index =
        depthwise ? (ky * kernel_w + kx) * out_c + out : ((out * kernel_h + ky) * kernel_w + kx) * in_c + in;
    return offset != 0 ? int64_t{data[index]} - offset : int64_t{static_cast<int8_t>(data[index])};
  }
};

struct Context {
  const Geometry& g;
  const requant::Layer& layer;
  const Weights& weights;
  const InputCube& input;
  const Cutting& cutting;
  MemoryPlan& memory;
  LoweredLayer& out;
  int32_t shared_output = -1;          // allocation of all regions; -1: one each
  bool pack = false;                   // false: only shapes, addresses and sizes; constants stay empty
  rk3588::SymbolicAddress place = {};  // of the first region, when it is given
  const requant::ElementParams* sum = nullptr;
  rk3588::SymbolicAddress addend = {};  // of the cube that is added, with `sum`
};

// One run of tasks: a packed weight array, its operands, and a range of output slots.
struct TaskRun {
  TaskKind shape = TaskKind::Direct;
  int64_t first_in_slot = 0;  // input channel slots it reads
  int64_t in_channels = 0;    // multiple of 16
  int64_t in_channels_real = 0;
  int64_t first_out_slot = 0;                              // in its region
  int64_t out_slots = 0;                                   // whole groups
  std::vector<const requant::ChannelParams*> slot_params;  // [out_slots], null: dummy
  std::vector<uint8_t> packed_weights;
  int32_t region = 0, set = 0;
  int64_t kernel_channels = 0;  // input channels that an output is a sum of
  bool windows = false;         // cut_windows
  bool copies = false;          // nothing of the layer's own is computed
};

// Adds the constants of the run and its tasks, one a range of channels, part and tile.
Status add_tasks(const Context& x, TaskRun&& p, const rk3588::DpuParams& dpu, const Parts& parts);
// The same for the parts that cut() makes of the operator.
Status add_tasks(const Context& x, TaskRun&& p, const rk3588::DpuParams& dpu);

// A region of its own, or behind the last one in the layer's shared allocation.
void add_region(const Context& x, int64_t slots, int32_t element_bytes);

}  // namespace peraxis::lower

// Convolution-like operators as tasks: parameter sets and tiles become ConvTasks over packed constants, and
// a map says where each logical output channel is found afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "lower/cube_layout.hpp"
#include "lower/geometry.hpp"
#include "lower/memory_plan.hpp"
#include "lower/tiling.hpp"
#include "requant/strategy.hpp"
#include "target/rk3588/conv_task.hpp"
#include "target/rk3588/cost.hpp"

namespace peraxis::lower {

struct LoweredTask {
  rk3588::ConvTask task;
  TaskKind shape = TaskKind::Direct;  // Direct, Depthwise or BlockDiagonal
  RowTile rows;
  int32_t real_output_channels = 0;
  int32_t set = 0;
  int64_t kernel_channels = 0;  // input channels that an output is a sum of
};

struct ChannelSource {
  int32_t region = 0, slot = 0;
  int32_t sum_slot = -1;  // slot of the window sum (int32 output with a weight zero point)
};

struct LoweredLayer {
  std::vector<LoweredTask> tasks;  // in chain order
  // Cubes that the tasks write. Those of one layer may lie one behind the other in one allocation.
  std::vector<Region> regions;  // one a set; with HostWork::None the single region is the output tensor
  std::vector<ChannelSource> channels;
};

// The input cube, [slots/16][in_h][in_w][16], or packed pixels, [in_h][pitch][channels].
struct InputCube {
  rk3588::SymbolicAddress address;
  Layout layout;
  int64_t pitch = 0;  // packed: pixels from one row to the next; 0: a cube
};
// The cube as a plain upload or a one-set layer makes it.
InputCube plain_input(const Geometry& geometry, rk3588::SymbolicAddress address);
// As a picture lies (lower/packed_input.hpp). Only where takes_packed_input.
InputCube packed_input(const Geometry& geometry, rk3588::SymbolicAddress address);

// Where the channels of a layer of several int8 sets are found when its regions are read as one cube, which
// begins with the first region. Only for HostWork::Gather.
Layout scattered_layout(const LoweredLayer& lowered, const Geometry& geometry);

// Whether the operator can read its input channels in any order: direct convolutions only.
bool takes_scattered_input(const Geometry& geometry);

// What decides how tasks are cut, beside the operator.
struct Cutting {
  TileLimits limits;
  const rk3588::CostConstants& cost;
};

// What is lowered, and where its data are.
struct LayerRequest {
  const ir::Graph& graph;
  size_t op = 0;
  const requant::Layer& layer;
  const requant::LayerParams& params;
  InputCube input;
  Cutting cutting;
  // False: the same tasks with the same sizes, but the constants stay empty; for estimates.
  bool pack = false;
  // Where the regions lie, one behind the other; nowhere: in new allocations.
  rk3588::SymbolicAddress output = {};
  // With params.sum: the cube that the tasks add. It has the output's shape, its channels in their order and,
  // of dummy channels, at least memory for as many slots as the output.
  rk3588::SymbolicAddress addend = {};
};

Result<LoweredLayer> lower_convolution(const LayerRequest& request, MemoryPlan& memory);

// Channel slots of the cube a plain (one set, int8) layer writes: whole kernel groups.
int64_t output_slots(const Geometry& geometry);

}  // namespace peraxis::lower

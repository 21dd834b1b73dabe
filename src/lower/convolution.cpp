// Three shapes of task. Direct: 32 kernels a group over all input channels. Depthwise: the chip's own mode,
// 64 channels a group. Block-diagonal: grouped convolutions (a depth multiplier is one of them), a block of
// kernels at a time as a direct convolution over the input channels their groups have, with no effect of the
// channels of other groups; so also depthwise with int32 output, which the chip's depthwise mode cannot write
// (docs/hardware/core.md#int32-output).
//
// TRANSPOSE_CONV is a direct convolution with its kernels turned, whose input the chip spreads out
// (docs/hardware/cna.md#transposed-convolution). Images of a batch lie one below the other, and no tile
// reaches from one into the next.
//
// Packed pixels become atoms on their way into CBUF: for the rest of the task they are a cube of one surface,
// whose other slots hold nothing that counts.
//
// With a weight zero point and int32 output the chip cannot subtract it (CPEND is unusable there): a kernel
// of ones delivers the window sum and the host subtracts.
#include "lower/convolution.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "ir/operands.hpp"
#include "lower/layer_tasks.hpp"
#include "lower/layouts.hpp"
#include "lower/packed_input.hpp"
#include "lower/parts.hpp"
#include "target/rk3588/cost.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;
using requant::ChannelParams;
using requant::ChannelSet;

Status lower_direct(const Context& x, const ChannelSet& set, int32_t set_index) {
  const bool sums = set.dpu.int32_output && x.layer.z_w != 0;
  const auto count = static_cast<int64_t>(set.channels.size());
  TaskRun p;
  p.set = p.region = set_index;
  p.in_channels = x.input.layout.slots;
  p.in_channels_real = x.input.layout.slot_of.empty() ? x.g.in_c : x.input.layout.slots;
  p.kernel_channels = x.g.in_c;
  p.out_slots = round_up(count + (sums ? 1 : 0), kKernelGroup);
  p.slot_params.resize(static_cast<size_t>(p.out_slots), nullptr);
  for (int64_t s = 0; s < count; ++s) {
    p.slot_params[static_cast<size_t>(s)] = &set.params[static_cast<size_t>(s)];
    x.out.channels[static_cast<size_t>(set.channels[static_cast<size_t>(s)])] = {
        set_index, static_cast<int32_t>(s), sums ? static_cast<int32_t>(count) : -1};
  }
  std::vector<int64_t> channel_in(static_cast<size_t>(p.in_channels), -1);  // by input slot
  for (int64_t c = 0; c < x.g.in_c; ++c)
    channel_in[static_cast<size_t>(
        x.input.layout.slot_of.empty() ? c : x.input.layout.slot_of[static_cast<size_t>(c)])] = c;
  // Dummy input channels hold whatever the cube holds: the weight that cancels CPEND's term.
  const int64_t neutral = set.dpu.int32_output ? 0 : x.layer.z_w;
  const auto weight = [&](int64_t slot, int64_t ky, int64_t kx, int64_t in) -> int64_t {
    const int64_t channel = channel_in[static_cast<size_t>(in)];
    const bool has = channel >= 0 && x.weights.has(ky, kx);
    if (slot == count && sums) return has ? 1 : 0;
    if (slot >= count) return 0;
    if (!has || set.params[static_cast<size_t>(slot)].drop_weights) return neutral;
    return x.weights.at(set.channels[static_cast<size_t>(slot)], ky, kx, channel);
  };
  add_region(x, p.out_slots, set.dpu.int32_output ? 4 : 1);
  if (cuts_into_windows(x.g, p.in_channels)) {
    // Every row of the kernel is 16 channels of its own.
    const int64_t in_channels = kAtomBytes * x.g.kernel_h;
    const Result<Parts> parts = cut_windows({x.g, in_channels, p.out_slots, false}, x.cutting.limits);
    if (!parts && parts.error().code != ErrorCode::Unsupported) return tl::make_unexpected(parts.error());
    if (parts) {  // else by the rows of the kernel
      p.in_channels = p.in_channels_real = in_channels;
      p.kernel_channels = x.g.in_c * x.g.kernel_h;
      p.windows = true;
      if (x.pack)
        p.packed_weights = pack_direct_weights(p.out_slots, in_channels, 1, x.g.kernel_w,
                                               [&](int64_t slot, int64_t, int64_t kx, int64_t in) {
                                                 return weight(slot, in / kAtomBytes, kx, in % kAtomBytes);
                                               });
      return add_tasks(x, std::move(p), set.dpu, *parts);
    }
  }
  if (x.pack)
    p.packed_weights = pack_direct_weights(p.out_slots, p.in_channels, x.g.kernel_h, x.g.kernel_w, weight);
  return add_tasks(x, std::move(p), set.dpu);
}

Status lower_depthwise(const Context& x, const ChannelSet& set, int32_t set_index) {
  // The groups from the first to the last that hold a channel of the set; others in between are dummies.
  const int64_t first = set.channels.empty() ? 0 : set.channels.front() / kDepthwiseGroup * kDepthwiseGroup;
  const int64_t last = set.channels.empty() ? 1 : set.channels.back() + 1;
  TaskRun p;
  p.shape = TaskKind::Depthwise;
  p.set = p.region = set_index;
  p.first_in_slot = first;
  p.out_slots = round_up(last, kDepthwiseGroup) - first;
  p.in_channels = std::min(p.out_slots, round_up(x.g.in_c, kAtomBytes) - first);
  p.in_channels_real = std::min(p.in_channels, x.g.in_c - first);
  p.kernel_channels = x.g.in_c;
  p.slot_params.resize(static_cast<size_t>(p.out_slots), nullptr);
  for (size_t i = 0; i < set.channels.size(); ++i) {
    const int64_t slot = set.channels[i] - first;
    p.slot_params[static_cast<size_t>(slot)] = &set.params[i];
    x.out.channels[static_cast<size_t>(set.channels[i])] = {set_index, static_cast<int32_t>(slot), -1};
  }
  if (x.pack)
    p.packed_weights = pack_depthwise_weights(
        p.in_channels, x.g.kernel_h, x.g.kernel_w, [&](int64_t slot, int64_t ky, int64_t kx) -> int64_t {
          const ChannelParams* params = p.slot_params[static_cast<size_t>(slot)];
          if (params == nullptr || params->drop_weights) return x.layer.z_w;
          return x.weights.at(first + slot, ky, kx, 0);
        });
  add_region(x, p.out_slots, 1);
  return add_tasks(x, std::move(p), set.dpu);
}

// Kernels of neighbouring groups, and the input channels those groups have.
struct Block {
  std::span<const int32_t> channels;
  std::span<const ChannelParams> params;
  int64_t first_in = 0, last_in = 0;
  std::vector<int64_t> groups;  // of the channels, without repetition
};

std::vector<Block> cut_blocks(const Context& x, const ChannelSet& set, int64_t most) {
  const int64_t groups = x.g.depthwise ? x.g.in_c : x.g.groups;
  const int64_t in = x.g.in_c / groups, out = x.g.out_c / groups;
  // What `most` neighbours reach at most: a set's channels may lie further apart.
  const int64_t reach = ceil_div(most, out) + 1;
  const std::span<const int32_t> channels = set.channels;
  std::vector<Block> blocks;
  for (size_t i = 0; i < channels.size();) {
    Block block;
    const int64_t first = channels[i] / out;
    size_t end = i;
    for (; end < channels.size() && static_cast<int64_t>(end - i) < most; ++end) {
      const int64_t group = channels[end] / out;
      if (group - first >= reach) break;
      if (block.groups.empty() || block.groups.back() != group) block.groups.push_back(group);
    }
    block.channels = channels.subspan(i, end - i);
    block.params = std::span(set.params).subspan(i, end - i);
    block.first_in = first * in / kAtomBytes * kAtomBytes;
    block.last_in = (block.groups.back() + 1) * in;
    blocks.push_back(std::move(block));
    i = end;
  }
  return blocks;
}

Status lower_block(const Context& x, const ChannelSet& set, int32_t set_index, const Block& block,
                   int64_t first_slot, int64_t slots) {
  const int64_t groups = x.g.depthwise ? x.g.in_c : x.g.groups;
  const int64_t in = x.g.in_c / groups, out = x.g.out_c / groups;
  const auto count = static_cast<int64_t>(block.channels.size());
  const bool sums = set.dpu.int32_output && x.layer.z_w != 0;  // a kernel of ones for every group
  TaskRun p;
  p.shape = TaskKind::BlockDiagonal;
  p.set = p.region = set_index;
  p.first_in_slot = block.first_in;
  p.in_channels = round_up(block.last_in, kAtomBytes) - block.first_in;
  p.in_channels_real = block.last_in - block.first_in;
  p.kernel_channels = in;
  p.first_out_slot = first_slot;
  p.out_slots = slots;
  p.slot_params.resize(static_cast<size_t>(slots), nullptr);
  for (int64_t s = 0; s < count; ++s) {
    const int32_t channel = block.channels[static_cast<size_t>(s)];
    const auto group = std::ranges::find(block.groups, channel / out) - block.groups.begin();
    p.slot_params[static_cast<size_t>(s)] = &block.params[static_cast<size_t>(s)];
    x.out.channels[static_cast<size_t>(channel)] = {
        set_index, static_cast<int32_t>(first_slot + s),
        sums ? static_cast<int32_t>(first_slot + count + group) : -1};
  }
  // Channels of other groups and dummies: the weight that cancels CPEND's term.
  const int64_t neutral = set.dpu.int32_output ? 0 : x.layer.z_w;
  const auto weight = [&](int64_t slot, int64_t ky, int64_t kx, int64_t in_slot) -> int64_t {
    const auto at = static_cast<size_t>(slot);
    const bool is_sum = slot >= count;
    if (is_sum && (!sums || at - block.channels.size() >= block.groups.size())) return 0;
    const int64_t group = is_sum ? block.groups[at - block.channels.size()] : block.channels[at] / out;
    const int64_t own = block.first_in + in_slot - group * in;  // channel of the group's own
    if (own < 0 || own >= in) return is_sum ? 0 : neutral;
    if (is_sum) return 1;
    return block.params[at].drop_weights ? neutral : x.weights.at(block.channels[at], ky, kx, own);
  };
  if (x.pack)
    p.packed_weights = pack_direct_weights(slots, p.in_channels, x.g.kernel_h, x.g.kernel_w, weight);
  return add_tasks(x, std::move(p), set.dpu);
}

// Blocks of up to `most` kernels.
Status lower_blocks(const Context& x, const ChannelSet& set, int32_t set_index, int64_t most) {
  const bool sums = set.dpu.int32_output && x.layer.z_w != 0;
  const auto slots_of = [&](const Block& block) {
    return round_up(static_cast<int64_t>(block.channels.size() + (sums ? block.groups.size() : 0)),
                    kKernelGroup);
  };
  const std::vector<Block> blocks = cut_blocks(x, set, most);
  int64_t slots = 0;
  for (const Block& block : blocks) slots += slots_of(block);
  add_region(x, slots, set.dpu.int32_output ? 4 : 1);
  int64_t first = 0;
  for (const Block& block : blocks) {
    PERAXIS_TRY(lower_block(x, set, set_index, block, first, slots_of(block)));
    first += slots_of(block);
  }
  return {};
}

// Small blocks multiply less by zero, large ones are fewer tasks: the cheaper.
Status lower_grouped(const Context& x, const ChannelSet& set, int32_t set_index) {
  int64_t best = kKernelGroup;
  double least = std::numeric_limits<double>::infinity();
  const auto count = static_cast<int64_t>(set.channels.size());
  for (int64_t most = kKernelGroup;; most *= 2) {
    MemoryPlan scratch;
    LoweredLayer trial;
    trial.channels.resize(x.out.channels.size());
    const Context y{.g = x.g,
                    .layer = x.layer,
                    .weights = x.weights,
                    .input = x.input,
                    .cutting = x.cutting,
                    .memory = scratch,
                    .out = trial};
    if (const Status fits = lower_blocks(y, set, 0, most); !fits) {
      // Blocks too large for CBUF are no candidate.
      if (fits.error().code != ErrorCode::Unsupported) return fits;
    } else {
      double ms = 0;
      for (const LoweredTask& t : trial.tasks)
        ms += estimated_ms(mac_cycles(t.task), bytes_moved(t.task, kConvWords), x.cutting.cost);
      if (ms < least) {
        least = ms;
        best = most;
      }
    }
    if (most >= count) break;
  }
  return lower_blocks(x, set, set_index, best);
}

// Copies the input into a cube with more padding around it than the chip's fields hold.
Result<InputCube> copy_with_margin(const Context& x, const Margin& margin) {
  InputCube cube = x.input;
  // The values go through unchanged: a weight of 1, no addend, no scale.
  requant::Layer identity;
  identity.z_in = x.layer.z_in;
  for (const Geometry& g : margin_copies(x.g, margin, cube.layout.slots)) {
    LoweredLayer copy;
    const int64_t ky = g.kernel_h - 1 - (g.kernel_h > 1 ? margin.top : 0);
    const int64_t kx = g.kernel_w - 1 - (g.kernel_w > 1 ? margin.left : 0);
    TaskRun p;
    p.shape = TaskKind::Depthwise;
    p.copies = true;
    p.in_channels = p.in_channels_real = cube.layout.slots;
    p.out_slots = round_up(cube.layout.slots, kDepthwiseGroup);
    p.slot_params.resize(static_cast<size_t>(p.out_slots), nullptr);
    if (x.pack)
      p.packed_weights = pack_depthwise_weights(
          p.in_channels, g.kernel_h, g.kernel_w,
          [&](int64_t, int64_t y, int64_t w) -> int64_t { return y == ky && w == kx ? 1 : 0; });
    const int64_t slots = p.out_slots;
    const Context y{.g = g,
                    .layer = identity,
                    .weights = x.weights,
                    .input = cube,
                    .cutting = x.cutting,
                    .memory = x.memory,
                    .out = copy,
                    .pack = x.pack};
    add_region(y, slots, 1);
    PERAXIS_TRY(add_tasks(y, std::move(p), {}));
    std::ranges::move(copy.tasks, std::back_inserter(x.out.tasks));
    cube.address = {copy.regions[0].allocation, 0};
  }
  return cube;
}

}  // namespace

InputCube plain_input(const Geometry& g, rk3588::SymbolicAddress address) {
  return {address, plain_layout(g.in_c)};
}

InputCube packed_input(const Geometry& g, rk3588::SymbolicAddress address) {
  return {address, plain_layout(g.in_c), packed_pitch(g.in_w)};
}

Layout scattered_layout(const LoweredLayer& lowered, const Geometry& g) {
  Layout out;
  std::vector<int64_t> first_slot;
  for (const Region& region : lowered.regions) {
    first_slot.push_back(out.slots);
    out.slots += region.slots;
  }
  for (int64_t c = 0; c < g.out_c; ++c) {
    const ChannelSource& source = lowered.channels[static_cast<size_t>(c)];
    out.slot_of.push_back(static_cast<int32_t>(first_slot[static_cast<size_t>(source.region)] + source.slot));
  }
  return out;
}

bool takes_scattered_input(const Geometry& g) {
  return !g.depthwise && g.groups == 1;
}

int64_t output_slots(const Geometry& g) {
  return round_up(g.out_c, g.depthwise ? kDepthwiseGroup : kKernelGroup);
}

Result<LoweredLayer> lower_convolution(const LayerRequest& request, MemoryPlan& memory) {
  const ir::Graph& graph = request.graph;
  const size_t op = request.op;
  const requant::LayerParams& params = request.params;
  const Geometry own = geometry(graph, op);
  const Margin margin = margin_of(own);
  const Geometry g = with_margin(own, margin);
  const ir::Tensor& tensor = graph.tensor(ir::conv_operands(graph.ops[op]).weights);
  const ir::OpKind kind = graph.ops[op].kind;
  const bool depthwise = kind == ir::OpKind::DepthwiseConv2D, transposed = kind == ir::OpKind::TransposeConv;
  const bool fully_connected = kind == ir::OpKind::FullyConnected;
  const Weights weights{tensor.data.data(),
                        g.out_c,
                        g.in_c / g.groups,
                        fully_connected ? 1 : tensor.shape[1],
                        fully_connected ? 1 : tensor.shape[2],
                        tensor.type == ir::DataType::UInt8 ? 128 : 0,
                        depthwise,
                        transposed ? g.kernel_h : 0,
                        transposed ? g.kernel_w : 0};
  LoweredLayer out;
  out.channels.resize(static_cast<size_t>(g.out_c));
  const bool together = params.host == requant::HostWork::Gather && request.output.allocation < 0;
  InputCube cube = request.input;
  if (margin.any()) {
    const Context whole{.g = own,
                        .layer = request.layer,
                        .weights = weights,
                        .input = request.input,
                        .cutting = request.cutting,
                        .memory = memory,
                        .out = out,
                        .pack = request.pack};
    cube = PERAXIS_TRY(copy_with_margin(whole, margin));
  }
  const Context x{.g = g,
                  .layer = request.layer,
                  .weights = weights,
                  .input = cube,
                  .cutting = request.cutting,
                  .memory = memory,
                  .out = out,
                  .shared_output = together ? memory.add_activation(0) : -1,
                  .pack = request.pack,
                  .place = request.output,
                  .sum = params.sum ? &*params.sum : nullptr,
                  .addend = request.addend};
  for (size_t s = 0; s < params.sets.size(); ++s) {
    const ChannelSet& set = params.sets[s];
    const auto index = static_cast<int32_t>(s);
    if (g.groups > 1)
      PERAXIS_TRY(lower_grouped(x, set, index));
    else if (!g.depthwise)
      PERAXIS_TRY(lower_direct(x, set, index));
    else if (set.dpu.int32_output)
      PERAXIS_TRY(lower_blocks(x, set, index, kKernelGroup));
    else
      PERAXIS_TRY(lower_depthwise(x, set, index));
  }
  return out;
}

}  // namespace peraxis::lower

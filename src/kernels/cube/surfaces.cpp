// Operators whose channels do not meet: a surface of a cube is a dense map of 16 channels, and the dense
// kernel runs on it where it is. Operands that lie otherwise (dense, channels in slots of their own, uint8)
// take the way over a map of one surface, which stays in cache.
#include <algorithm>
#include <array>

#include "ir/shape.hpp"
#include "kernels/context.hpp"
#include "kernels/cube/lanes.hpp"
#include "kernels/cube/mover.hpp"
#include "kernels/fast/widen.hpp"
#include "kernels/own_pool.hpp"

namespace peraxis::kernels::cube {
namespace {

using ir::OpKind;

constexpr size_t kMostOperands = 3;

// How many of the first inputs have channels; the others are parameters. 0: channels meet.
size_t operands_with_channels(OpKind kind) {
  switch (kind) {
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
    case OpKind::Maximum:
    case OpKind::Minimum:
    case OpKind::Prelu:
    case OpKind::SquaredDifference:
      return 2;
    case OpKind::AveragePool2D:
    case OpKind::MaxPool2D:
    case OpKind::ResizeBilinear:
    case OpKind::ResizeNearestNeighbor:
    case OpKind::MirrorPad:
    case OpKind::Mean:
    case OpKind::Sum:
    case OpKind::ReduceMax:
    case OpKind::ReduceMin:
    case OpKind::BatchToSpace:
    case OpKind::SpaceToBatch:
      return 1;
    case OpKind::DepthwiseConv2D:
      return kMostOperands;
    default:
      return 0;
  }
}

bool is_binary(OpKind kind) {
  return operands_with_channels(kind) == 2;
}

int64_t last_of(const ir::Tensor& t) {
  return t.shape.empty() ? 1 : t.shape.back();
}

// Whether the parameters leave every channel to itself.
bool keeps_channels_apart(const Call& call) {
  const auto rank = static_cast<int64_t>(call.input(0).shape.size());
  switch (call.op().kind) {
    case OpKind::MirrorPad: {
      const auto amounts = ir::pad_amounts(call.graph, call.op());
      return amounts && amounts->back().before == 0 && amounts->back().after == 0;
    }
    case OpKind::Mean:
    case OpKind::Sum:
    case OpKind::ReduceMax:
    case OpKind::ReduceMin: {
      const auto axes = ir::reduce_axes(call.graph, call.op());
      return axes && std::ranges::find(*axes, rank - 1) == axes->end();
    }
    case OpKind::BatchToSpace:
    case OpKind::SpaceToBatch:
      return rank == 4;
    default:
      return true;
  }
}

bool is_fixed(const Call& call, size_t i) {
  return call.input(i).is_constant &&
         static_cast<int64_t>(call.input(i).data.size()) == call.input(i).bytes();
}

// Of an operand that all channels share.
bool spreads(const Call& call, size_t i) {
  return call.input(i).shape.empty() || (last_of(call.input(i)) == 1 && last_of(call.output()) != 1);
}

// Copies entries [first, first + width) of the last dimension, of `bytes` bytes each.
std::vector<uint8_t> sliced_bytes(const std::vector<uint8_t>& data, int64_t last, int64_t bytes,
                                  int64_t first, int64_t width) {
  std::vector<uint8_t> out;
  for (size_t row = 0; row < data.size(); row += static_cast<size_t>(last * bytes)) {
    const auto from = data.begin() + static_cast<int64_t>(row) + first * bytes;
    out.insert(out.end(), from, from + width * bytes);
  }
  return out;
}

template <class T>
void slice(std::vector<T>& values, int64_t first, int64_t width) {
  values.assign(values.begin() + first, values.begin() + first + width);
}

// The tensor with `width` of its channels, of which `data` is all a constant's.
void narrow_tensor(ir::Tensor& t, const std::vector<uint8_t>& data, int64_t first, int64_t width) {
  if (t.is_constant) t.data = sliced_bytes(data, t.shape.back(), ir::data_type_bytes(t.type), first, width);
  if (t.quant.per_axis() && t.quant.quantized_dimension + 1 == static_cast<int32_t>(t.shape.size())) {
    slice(t.quant.scale, first, width);
    slice(t.quant.zero_point, first, width);
  }
  t.shape.back() = static_cast<int32_t>(width);
}

class Surfaces {
 public:
  Surfaces(const Call& call, const Options& options) : call_(call), options_(single_thread(options)) {
    operands_ = std::min(operands_with_channels(call.op().kind), call.op().inputs.size());
    channels_ = last_of(call.output());
    graph_ = alone(call);
    for (size_t i = 0; i < operands_; ++i) {
      if (!call.has_input(i)) continue;
      if (spreads(call, i))
        shared_[i] = shared(i);
      else
        std::vector<uint8_t>().swap(graph_.tensors[i].data);
    }
  }

  int64_t count() const { return (channels_ + kLanes - 1) / kLanes; }

  // Surfaces [first, last), one after the other.
  Status run(int64_t first, int64_t last) const {
    Work work{graph_, {}, {}, 0};
    for (int64_t s = first; s < last; ++s) PERAXIS_TRY(run_one(s, work));
    return {};
  }

 private:
  // What neighbouring surfaces have in common: the small graph, `width` channels wide, and memory.
  struct Work {
    ir::Graph graph;
    std::array<std::vector<uint8_t>, kMostOperands> scratch;
    std::vector<uint8_t> made;
    int64_t width;
  };

  Status run_one(int64_t surface, Work& work) const {
    const int64_t first = surface * kLanes;
    const int64_t real = std::min(kLanes, channels_ - first);
    const int64_t width = all_lanes(real) ? kLanes : real;
    const bool changed = width != work.width;
    work.width = width;
    std::array<Values, kMostOperands> bytes;
    for (size_t i = 0; i < operands_; ++i) {
      if (!call_.has_input(i)) continue;
      if (spreads(call_, i)) {
        bytes[i] = shared_[i];
        continue;
      }
      const ir::Tensor& whole = call_.input(i);
      ir::Tensor& t = work.graph.tensors[i];
      if (changed || whole.is_constant) {
        t = graph_.tensors[i];
        narrow_tensor(t, whole.data, first, width);
      }
      const Lanes lanes{whole.elements() / channels_, channels_, first, real, width};
      if (!whole.is_constant) bytes[i] = read_lanes(call_.inputs[i], lanes, work.scratch[i]);
    }
    const ir::Tensor& output = call_.output();
    if (changed) {
      work.graph.tensors.back() = graph_.tensors.back();
      narrow_tensor(work.graph.tensors.back(), {}, first, width);
    }
    const Lanes lanes{output.elements() / channels_, channels_, first, real, width};
    const std::span<uint8_t> to = lanes_to_write(call_.outputs[0], lanes, work.made);
    PERAXIS_TRY(run_alone(work.graph, std::span<const Values>(bytes.data(), operands_), to, options_));
    store_lanes(call_.outputs[0], lanes, work.made);
    return {};
  }

  // Whether slots that no channel has are computed too: what they hold must then make no kernel fail.
  bool all_lanes(int64_t real) const {
    if (real == kLanes) return true;
    const OpKind kind = call_.op().kind;
    for (size_t i = 0; i < operands_; ++i)
      if (call_.has_input(i) && call_.input(i).is_constant && !spreads(call_, i)) return false;
    return kind != OpKind::Div && (is_binary(kind) || 2 * real > kLanes);
  }

  // All of an operand with one channel.
  std::vector<uint8_t> shared(size_t i) const {
    if (call_.input(i).is_constant) return call_.input(i).data;
    const int64_t pixels = call_.input(i).elements();
    std::vector<uint8_t> out;
    const Values values = read_lanes(call_.inputs[i], {pixels, 1, 0, 1, 1}, out);
    return {values.begin(), values.end()};
  }

  const Call& call_;
  Options options_;
  ir::Graph graph_;  // without the constants that have channels
  size_t operands_ = 0;
  int64_t channels_ = 1;
  std::array<std::vector<uint8_t>, kMostOperands> shared_;
};

// Both operands and the result have one shape, and a result is a cube: the operator runs on all bytes at
// once. What does not lie as the result will is brought there first.
bool runs_at_once(const Call& call) {
  if (!is_binary(call.op().kind) || call.op().kind == OpKind::Div || !call.outputs[0].layout.cube())
    return false;
  for (size_t i = 0; i < 2; ++i)
    if (call.input(i).is_constant || call.input(i).shape != call.output().shape) return false;
  return true;
}

// Surfaces with channels in their order, not flipped.
Values values_in_order(const InputView& view, const Layout& out, std::vector<uint8_t>& scratch) {
  const auto size = static_cast<size_t>(out.bytes());
  if (view.layout.cube() && view.layout.plain() && !view.layout.flipped) return view.bytes.first(size);
  scratch.resize(size);
  for (int64_t first = 0; first < out.channels; first += kLanes)
    copy_lanes(view, {out.pixels, out.channels, first, std::min(kLanes, out.channels - first), kLanes},
               scratch.data() + slot_offset(first, out.pixels));
  return scratch;
}

Status run_at_once(const Call& call, const Options& options) {
  const Layout& out = call.outputs[0].layout;
  const auto size = static_cast<size_t>(out.bytes());
  ir::Graph graph = alone(call);
  for (ir::Tensor& t : graph.tensors) t.shape = {static_cast<int32_t>(size)};
  std::array<std::vector<uint8_t>, 2> scratch;
  const std::array<Values, 2> bytes{values_in_order(call.inputs[0], out, scratch[0]),
                                    values_in_order(call.inputs[1], out, scratch[1])};
  const std::span<uint8_t> to = call.outputs[0].bytes.first(size);
  PERAXIS_TRY(run_alone(graph, bytes, to, options));
  if (out.flipped)
    for (uint8_t& byte : to) byte ^= 0x80;
  return {};
}

}  // namespace

bool takes_surfaces(const Call& call) {
  const ir::Op& op = call.op();
  const size_t operands = operands_with_channels(op.kind);
  if (operands == 0 || op.outputs.size() != 1 || op.inputs.size() < std::min<size_t>(operands, 2))
    return false;
  for (size_t i = operands; i < op.inputs.size(); ++i)
    if (!parameter(call, i)) return false;
  const auto fits = [&](const ir::Tensor& t, const Layout& layout) {
    return is_8bit(t.type) && !t.shape.empty() && (!layout.cube() || layout.channels == last_of(t));
  };
  const int64_t channels = last_of(call.output());
  if (!fits(call.output(), call.outputs[0].layout)) return false;
  const bool depthwise = op.kind == OpKind::DepthwiseConv2D;
  for (size_t i = 0; i < std::min(operands, op.inputs.size()); ++i) {
    if (!call.has_input(i)) continue;
    const ir::Tensor& t = call.input(i);
    const bool weights = depthwise && i > 0;
    if (weights || t.is_constant) {
      if (!is_fixed(call, i)) return false;
      if (!weights && t.elements() == 1 && is_8bit(t.type)) continue;
    }
    if (weights ? t.shape.empty() : !fits(t, call.inputs[i].layout)) return false;
    const bool shared = last_of(t) == 1 && !depthwise && operands == 2;
    if (last_of(t) != channels && !shared) return false;
  }
  return keeps_channels_apart(call);
}

Status run_surfaces(const Call& call, const Options& options) {
  if (runs_at_once(call)) return run_at_once(call, options);
  const Surfaces surfaces(call, options);
  std::vector<Status> outcomes(static_cast<size_t>(surfaces.count()));  // by first surface of a piece
  fill_spare(call.outputs[0]);
  fast::Rows(options.pool, surfaces.count()).run([&](int64_t first, int64_t last) {
    outcomes[static_cast<size_t>(first)] = surfaces.run(first, last);
  });
  for (Status& outcome : outcomes) PERAXIS_TRY(std::move(outcome));
  return {};
}

}  // namespace peraxis::kernels::cube

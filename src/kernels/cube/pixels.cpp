// Operators whose pixels do not meet: blocks of pixels become dense rows of all their channels, small enough
// to stay in cache, on which the dense kernel runs.
#include <algorithm>

#include "ir/shape.hpp"
#include "kernels/context.hpp"
#include "kernels/cube/lanes.hpp"
#include "kernels/cube/mover.hpp"
#include "kernels/fast/widen.hpp"
#include "kernels/own_pool.hpp"

namespace peraxis::kernels::cube {
namespace {

using ir::OpKind;

constexpr int64_t kBlockBytes = 16384;

// The operator follows the last dimension of input 0 and nothing else.
bool follows_channels(const Call& call) {
  const auto rank = static_cast<int64_t>(call.input(0).shape.size());
  switch (call.op().kind) {
    case OpKind::Softmax:
    case OpKind::Quantize:
    case OpKind::Dequantize: {
      for (const ir::Tensor* t : {&call.input(0), &call.output()})
        if (t->quant.per_axis() && t->quant.quantized_dimension + 1 != rank) return false;
      return true;
    }
    case OpKind::ArgMax:
    case OpKind::ArgMin: {
      const auto axis = parameter(call, 1);
      return axis && ((*axis)[0] == rank - 1 || (*axis)[0] == -1);
    }
    case OpKind::Mean:
    case OpKind::Sum:
    case OpKind::ReduceMax:
    case OpKind::ReduceMin: {
      const auto axes = ir::reduce_axes(call.graph, call.op());
      return axes && *axes == std::vector<int64_t>{rank - 1};
    }
    default:
      return false;
  }
}

// The tensor with `pixels` of its pixels in the last dimension that counts them: `before_last` is 1 where the
// last dimension is the channels.
void shorten(ir::Tensor& t, int64_t pixels, size_t before_last) {
  const size_t kept = t.shape.size() - before_last;
  for (size_t d = 0; d < kept; ++d) t.shape[d] = d + 1 == kept ? static_cast<int32_t>(pixels) : 1;
}

}  // namespace

bool takes_pixels(const Call& call) {
  const ir::Op& op = call.op();
  if (op.inputs.empty() || op.outputs.size() != 1 || call.input(0).shape.size() < 2) return false;
  if (!follows_channels(call)) return false;
  const Layout& in = call.inputs[0].layout;
  const Layout& out = call.outputs[0].layout;
  const bool same_shape = call.output().shape == call.input(0).shape;
  return (!in.cube() || in.channels == call.input(0).shape.back()) &&
         (!out.cube() || (same_shape && out.channels == call.output().shape.back()));
}

Status run_pixels(const Call& call, const Options& options) {
  const ir::Tensor& input = call.input(0);
  const ir::Tensor& output = call.output();
  const int64_t channels = input.shape.back();
  const int64_t pixels = input.elements() / channels;
  const int64_t in_bytes = channels * ir::data_type_bytes(input.type);  // of a pixel
  const int64_t out_bytes = output.bytes() / pixels;
  const int64_t block = std::clamp<int64_t>(kBlockBytes / std::max(in_bytes, out_bytes), 1, pixels);
  const int64_t blocks = (pixels + block - 1) / block;
  const Options single = single_thread(options);
  fill_spare(call.outputs[0]);
  const auto run_block = [&](int64_t index) -> Status {
    const int64_t first = index * block;
    const int64_t count = std::min(block, pixels - first);
    ir::Graph graph = alone(call);
    shorten(graph.tensors[0], count, 1);
    shorten(graph.tensors.back(), count, output.shape.size() == input.shape.size() ? 1 : 0);
    const auto in_size = static_cast<size_t>(count * in_bytes),
               out_size = static_cast<size_t>(count * out_bytes);
    std::vector<uint8_t> given, made;
    Values from = call.inputs[0].bytes;
    if (call.inputs[0].layout.cube()) {
      given.resize(in_size);
      read_pixels(call.inputs[0], first, count, given.data());
      from = given;
    } else {
      from = from.subspan(static_cast<size_t>(first * in_bytes), in_size);
    }
    std::span<uint8_t> to = call.outputs[0].bytes;
    const bool cube = call.outputs[0].layout.cube();
    if (cube) {
      made.resize(out_size);
      to = made;
    } else {
      to = to.subspan(static_cast<size_t>(first * out_bytes), out_size);
    }
    PERAXIS_TRY(run_alone(graph, std::span<const Values>(&from, 1), to, single));
    if (cube) write_pixels(call.outputs[0], first, count, made.data());
    return {};
  };
  std::vector<Status> outcomes(static_cast<size_t>(blocks));
  fast::Rows(options.pool, blocks).run([&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) outcomes[static_cast<size_t>(i)] = run_block(i);
  });
  for (Status& outcome : outcomes) PERAXIS_TRY(std::move(outcome));
  return {};
}

}  // namespace peraxis::kernels::cube

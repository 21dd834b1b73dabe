#include "lower/geometry.hpp"

#include <algorithm>

#include "ir/operands.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

// The window of a transposed convolution over the wider plane is the kernel turned by 180 degrees, so its
// padding is what the kernel has beyond the operator's own (docs/hardware/cna.md#transposed-convolution,
// docs/arithmetic.md#transpose_conv).
int64_t transposed_pad(int64_t kernel, int64_t stride, int64_t dropped) {
  return std::max(kernel, stride) - 1 - dropped;
}

void set_transposed(const ir::TransposeConvAttributes& a, Geometry& g) {
  g.insert_h = a.stride_h;
  g.insert_w = a.stride_w;
  g.pad_top = transposed_pad(g.kernel_h, a.stride_h, a.pads.top);
  g.pad_left = transposed_pad(g.kernel_w, a.stride_w, a.pads.left);
  // No window without a pixel: a smaller kernel gets taps without effect.
  g.kernel_h = std::max<int64_t>(g.kernel_h, a.stride_h);
  g.kernel_w = std::max<int64_t>(g.kernel_w, a.stride_w);
}

// Where windows do not reach from one image into the next, the images are one map.
void join_images(Geometry& g) {
  const bool pointwise =
      g.kernel_h == 1 && g.stride_h == 1 && g.insert_h == 1 && g.pad_top == 0 && g.out_h == g.in_h;
  if (!pointwise || g.in_rows() > rk3588::kMaxCubeExtent) return;
  g.in_h = g.in_rows();
  g.out_h = g.out_rows();
  g.batch = 1;
}

}  // namespace

Geometry geometry(const ir::Graph& graph, size_t op_index) {
  const ir::Op& op = graph.ops[op_index];
  const ir::ConvOperands operands = ir::conv_operands(op);
  const ir::Tensor& input = graph.tensor(operands.input);
  const ir::Tensor& weights = graph.tensor(operands.weights);
  Geometry g;
  if (op.kind == ir::OpKind::FullyConnected) {
    g.in_c = weights.shape[1];
    g.in_w = g.out_w = 1;
    g.in_h = g.out_h = input.elements() / g.in_c;
    g.out_c = weights.shape[0];
    return g;
  }
  const ir::Nhwc in = ir::nhwc(input);
  const ir::Nhwc out = ir::nhwc(graph.tensor(op.outputs[0]));
  g.in_h = in.h;
  g.in_w = in.w;
  g.in_c = in.c;
  g.batch = in.n;
  g.out_h = out.h;
  g.out_w = out.w;
  g.out_c = out.c;
  g.kernel_h = weights.shape[1];
  g.kernel_w = weights.shape[2];
  if (const auto* transposed = std::get_if<ir::TransposeConvAttributes>(&op.attributes)) {
    set_transposed(*transposed, g);
    join_images(g);
    return g;
  }
  const auto& attributes = std::get<ir::ConvAttributes>(op.attributes);
  // Depthwise over a single channel is an ordinary convolution, whatever its depth multiplier; over several
  // with a multiplier it is one with a group for every input channel.
  if (op.kind == ir::OpKind::Conv2D)
    g.groups = in.c / weights.shape[3];
  else if (in.c > 1 && out.c == in.c)
    g.depthwise = true;
  else
    g.groups = in.c;
  g.stride_h = attributes.stride_h;
  g.stride_w = attributes.stride_w;
  g.dilation_h = attributes.dilation_h;
  g.dilation_w = attributes.dilation_w;
  const ir::SpatialAxes axes = ir::conv_axes(in, g.kernel_h, g.kernel_w, attributes);
  g.pad_top = axes.rows.before;
  g.pad_left = axes.columns.before;
  join_images(g);
  return g;
}

}  // namespace peraxis::lower

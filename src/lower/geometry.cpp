#include "lower/geometry.hpp"

namespace peraxis::lower {

Geometry geometry(const ir::Graph& graph, size_t op_index) {
  const ir::Op& op = graph.ops[op_index];
  const ir::Tensor& input = graph.tensor(op.inputs[0]);
  const ir::Tensor& weights = graph.tensor(op.inputs[1]);
  Geometry g;
  if (op.kind == ir::OpKind::FullyConnected) {
    g.in_c = weights.shape[1];
    g.in_w = g.out_w = 1;
    g.in_h = g.out_h = input.elements() / g.in_c;
    g.out_c = weights.shape[0];
    return g;
  }
  const auto& attributes = std::get<ir::ConvAttributes>(op.attributes);
  const ir::Nhwc in = ir::nhwc(input);
  const ir::Nhwc out = ir::nhwc(graph.tensor(op.outputs[0]));
  g.in_h = in.h;
  g.in_w = in.w;
  g.in_c = in.c;
  // Depthwise over a single channel is an ordinary convolution, whatever its depth multiplier.
  g.depthwise = op.kind == ir::OpKind::DepthwiseConv2D && in.c > 1;
  g.out_h = out.h;
  g.out_w = out.w;
  g.out_c = out.c;
  g.kernel_h = weights.shape[1];
  g.kernel_w = weights.shape[2];
  g.stride_h = attributes.stride_h;
  g.stride_w = attributes.stride_w;
  const ir::ConvAxes axes = ir::conv_axes(in.h, in.w, g.kernel_h, g.kernel_w, attributes);
  g.pad_top = axes.rows.before;
  g.pad_left = axes.columns.before;
  return g;
}

}  // namespace peraxis::lower

#include "passes/fold_pads.hpp"

#include <optional>

#include "ir/shape.hpp"
#include "passes/rewiring.hpp"

namespace peraxis::passes {
namespace {

// Padding that reaches further than a kernel would make outputs of nothing but padding; none is seen in
// models, and the chip's fields end at 15.
constexpr int32_t kMostPadding = 7;

std::optional<ir::Pads> pads_of(const ir::Graph& graph, const ir::Op& op) {
  if (op.kind != ir::OpKind::Pad || op.inputs.size() != 2) return std::nullopt;
  const ir::Tensor& in = graph.tensor(op.inputs[0]);
  const ir::Tensor& out = graph.tensor(op.outputs[0]);
  if (!is_8bit(in) || in.is_constant || in.type != out.type || in.quant.scale != out.quant.scale ||
      in.quant.zero_point != out.quant.zero_point || in.shape.size() != 4)
    return std::nullopt;
  const auto amounts = ir::pad_amounts(graph, op);
  if (!amounts || amounts->size() != 4) return std::nullopt;
  for (size_t i = 0; i < amounts->size(); ++i) {
    const int64_t most = i == 1 || i == 2 ? kMostPadding : 0;
    if ((*amounts)[i].before > most || (*amounts)[i].after > most) return std::nullopt;
  }
  const auto narrow = [&](int64_t amount) { return static_cast<int32_t>(amount); };
  return ir::Pads{narrow((*amounts)[1].before), narrow((*amounts)[1].after), narrow((*amounts)[2].before),
                  narrow((*amounts)[2].after)};
}

// Every window must hold something of the input: the chip has no windows of padding alone.
bool windows_touch(const ir::SpatialAxis& axis, int64_t in, int64_t kernel, int64_t stride,
                   int64_t dilation) {
  return axis.before < (kernel - 1) * dilation + 1 && (axis.out - 1) * stride - axis.before < in;
}

bool takes(const ir::Graph& graph, const ir::Op& op, int32_t input, const ir::ConvAttributes& conv) {
  const ir::Nhwc in = ir::nhwc(graph.tensor(input));
  const std::vector<int32_t>& kernel = graph.tensor(op.inputs[1]).shape;
  if (kernel.size() != 4) return false;
  const ir::SpatialAxes axes = ir::conv_axes(in, kernel[1], kernel[2], conv);
  return windows_touch(axes.rows, in.h, kernel[1], conv.stride_h, conv.dilation_h) &&
         windows_touch(axes.columns, in.w, kernel[2], conv.stride_w, conv.dilation_w);
}

}  // namespace

int64_t fold_pads(ir::Graph& graph) {
  std::vector<std::optional<ir::Pads>> made(
      graph.tensors.size());  // by tensor: what PAD put around its input
  std::vector<int32_t> source(graph.tensors.size(), -1);
  int64_t folded = 0;
  for (ir::Op& op : graph.ops) {
    if (const auto pads = pads_of(graph, op)) {
      made[static_cast<size_t>(op.outputs[0])] = pads;
      source[static_cast<size_t>(op.outputs[0])] = op.inputs[0];
      continue;
    }
    if (op.kind != ir::OpKind::Conv2D && op.kind != ir::OpKind::DepthwiseConv2D) continue;
    const auto input = static_cast<size_t>(op.inputs[0]);
    auto* conv = std::get_if<ir::ConvAttributes>(&op.attributes);
    if (!made[input] || conv == nullptr || graph.tensors[input].type != graph.tensor(op.outputs[0]).type)
      continue;
    ir::ConvAttributes padded = *conv;
    padded.pads.top += made[input]->top;
    padded.pads.bottom += made[input]->bottom;
    padded.pads.left += made[input]->left;
    padded.pads.right += made[input]->right;
    if (!takes(graph, op, source[input], padded)) continue;
    *conv = padded;
    op.inputs[0] = source[input];
    ++folded;
  }
  return folded;
}

}  // namespace peraxis::passes

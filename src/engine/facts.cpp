// See facts.hpp.
#include "engine/facts.hpp"

#include <algorithm>

#include "lower/geometry.hpp"

namespace peraxis::engine {
namespace {

constexpr size_t kWeights = 1;  // input number of the weights in all such operators

bool has_weights(const ir::Graph& graph, size_t op) {
  const ir::Op& o = graph.ops[op];
  return ir::is_convolution_like(o.kind) && o.inputs.size() > kWeights && o.inputs[kWeights] != ir::kAbsent &&
         !o.outputs.empty();
}

// True by channel of `dimension` when every weight of it is the stored zero.
std::vector<bool> dead_channels(const ir::Tensor& weights, size_t dimension) {
  int64_t inner = 1;
  for (size_t d = dimension + 1; d < weights.shape.size(); ++d) inner *= weights.shape[d];
  const int64_t channels = weights.shape[dimension];
  std::vector<bool> dead(static_cast<size_t>(channels), true);
  for (size_t i = 0; i < weights.data.size(); ++i)
    if (weights.data[i] != 0) dead[static_cast<size_t>(static_cast<int64_t>(i) / inner % channels)] = false;
  return dead;
}

}  // namespace

int64_t op_macs(const ir::Graph& graph, size_t op) {
  if (!has_weights(graph, op)) return 0;
  const ir::Tensor& weights = graph.tensor(graph.ops[op].inputs[kWeights]);
  if (graph.ops[op].kind == ir::OpKind::TransposeConv) return lower::geometry(graph, op).macs();
  const int64_t outputs = graph.tensor(graph.ops[op].outputs[0]).elements();
  const int64_t channels = graph.ops[op].kind == ir::OpKind::DepthwiseConv2D && !weights.shape.empty()
                               ? weights.shape.back()
                           : weights.shape.empty() ? 1
                                                   : weights.shape.front();
  return channels == 0 ? 0 : outputs * (weights.elements() / channels);
}

int64_t graph_macs(const ir::Graph& graph) {
  int64_t total = 0;
  for (size_t op = 0; op < graph.ops.size(); ++op) total += op_macs(graph, op);
  return total;
}

std::optional<ScaleSpread> scale_spread(const ir::Graph& graph, size_t op) {
  if (!has_weights(graph, op)) return std::nullopt;
  const ir::Tensor& weights = graph.tensor(graph.ops[op].inputs[kWeights]);
  const ir::QuantParams& quant = weights.quant;
  if (!quant.quantized()) return std::nullopt;
  ScaleSpread spread;
  spread.channels = static_cast<int64_t>(quant.scale.size());
  std::vector<bool> dead(quant.scale.size(), false);
  const auto dimension = static_cast<size_t>(std::max(quant.quantized_dimension, 0));
  if (quant.per_axis() && !weights.data.empty() && dimension < weights.shape.size() &&
      weights.shape[dimension] == spread.channels)
    dead = dead_channels(weights, dimension);
  bool any = false;
  for (size_t c = 0; c < quant.scale.size(); ++c) {
    if (dead[c]) {
      ++spread.dead;
      continue;
    }
    const double scale = quant.scale[c];
    spread.min = any ? std::min(spread.min, scale) : scale;
    spread.max = any ? std::max(spread.max, scale) : scale;
    any = true;
  }
  if (any && spread.min > 0) spread.ratio = spread.max / spread.min;
  return spread;
}

std::vector<bool> activations(const ir::Graph& graph) {
  std::vector<bool> out(graph.tensors.size(), false);
  const auto mark = [&](int32_t tensor) {
    if (tensor >= 0 && !graph.tensor(tensor).is_constant) out[static_cast<size_t>(tensor)] = true;
  };
  for (const int32_t tensor : graph.inputs) mark(tensor);
  for (const int32_t tensor : graph.outputs) mark(tensor);
  for (const ir::Op& op : graph.ops) {
    for (const int32_t tensor : op.inputs) mark(tensor);
    for (const int32_t tensor : op.outputs) mark(tensor);
  }
  return out;
}

}  // namespace peraxis::engine

#include "certificate_layers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/file.hpp"
#include "import/import.hpp"
#include "ir/operands.hpp"
#include "random_graphs.hpp"
#include "requant/layer.hpp"

namespace peraxis::property {
namespace {

namespace fs = std::filesystem;

// Channel scales further apart, both ways: so small that few outputs are left, so large that most clip.
void spread_scales(ir::Tensor& weights, double log2_ratio, base::Rng& rng) {
  for (float& scale : weights.quant.scale)
    scale *= static_cast<float>(std::exp2(rng.uniform_real(-log2_ratio / 2, log2_ratio / 2)));
}

// Weights and bias divided, scales multiplied: the same outputs from shorter sums.
void divide_weights(ir::Tensor& weights, ir::Tensor* bias, int64_t by) {
  const bool is_uint8 = weights.type == ir::DataType::UInt8;
  const int64_t zero = weights.quant.zero_point[0];
  for (uint8_t& byte : weights.data) {
    const int64_t value = is_uint8 ? int64_t{byte} : int64_t{static_cast<int8_t>(byte)};
    byte = static_cast<uint8_t>(zero + (value - zero) / by);
  }
  for (float& scale : weights.quant.scale) scale *= static_cast<float>(by);
  if (bias == nullptr) return;
  for (size_t at = 0; at + 4 <= bias->data.size(); at += 4) {
    int32_t value = 0;
    std::memcpy(&value, bias->data.data() + at, 4);
    value /= static_cast<int32_t>(by);
    std::memcpy(bias->data.data() + at, &value, 4);
  }
}

int64_t longest_range(const ir::Graph& graph) {
  int64_t longest = 1;
  const auto layer = requant::describe(graph, 0, num::Reference::LitertRef);
  if (!layer) return longest;
  for (const requant::Channel& channel : layer->channels)
    longest = std::max(longest, channel.raw_max - channel.raw_min + 1);
  return longest;
}

}  // namespace

CertificateLayer random_certificate_layer(uint64_t seed) {
  base::Rng rng(~seed);
  CertificateLayer out{fmt::format("random layer {:#x}", seed), random_layer(seed).graph, 0};
  const ir::Op& op = out.graph.ops[0];
  ir::Tensor& weights = out.graph.tensors[static_cast<size_t>(op.inputs[1])];
  ir::Tensor* bias = op.inputs.size() > 2 && op.inputs[2] != ir::kAbsent
                         ? &out.graph.tensors[static_cast<size_t>(op.inputs[2])]
                         : nullptr;
  if (rng.one_in(2)) spread_scales(weights, rng.one_in(2) ? 4 : 20, rng);
  if (!rng.one_in(8)) {
    const int64_t wanted = int64_t{1} << rng.uniform(11, 17);
    const int64_t by = std::clamp<int64_t>((longest_range(out.graph) + wanted - 1) / wanted, 1, 127);
    divide_weights(weights, bias, by);
  }
  if (bias != nullptr && bias->quant.scale.size() == weights.quant.scale.size()) {
    const float s_in = out.graph.tensor(op.inputs[0]).quant.scale[0];
    for (size_t c = 0; c < weights.quant.scale.size(); ++c)
      bias->quant.scale[c] = s_in * weights.quant.scale[c];
  }
  return out;
}

std::string shared_ops_folder() {
  const char* shared = std::getenv("PERAXIS_SHARED");
  return fs::path(shared != nullptr ? shared : "../shared") / "models" / "ops";
}

std::vector<CertificateLayer> shared_certificate_layers() {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(shared_ops_folder(), ignored))
    if (entry.path().extension() == ".tflite") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<CertificateLayer> out;
  for (const fs::path& file : files) {
    const auto bytes = base::read_file(file);
    if (!bytes) continue;
    const auto graph = import::import_tflite(*bytes, file.stem());
    if (!graph || !ir::verify(*graph)) continue;  // an operator we do not have, or int16 activations
    for (size_t op = 0; op < graph->ops.size(); ++op) {
      if (!ir::is_convolution_like(graph->ops[op].kind)) continue;
      const ir::ConvOperands operands = ir::conv_operands(graph->ops[op]);
      const ir::Tensor& weights = graph->tensor(operands.weights);
      const ir::Tensor& input = graph->tensor(operands.input);
      if (!weights.is_constant || weights.type != input.type) continue;
      if (input.type != ir::DataType::Int8 && input.type != ir::DataType::UInt8) continue;
      out.push_back({file.stem(), *graph, op});
    }
  }
  return out;
}

}  // namespace peraxis::property

// See calibration.hpp.
#include "engine/calibration.hpp"

#include <algorithm>

#include "engine/golden_sets.hpp"
#include "engine/inputs.hpp"
#include "kernels/kernels.hpp"

namespace peraxis::engine {

namespace {

// Adds the values of one tensor, whose channels are its last dimension.
void count_values(const ir::Tensor& tensor, std::span<const uint8_t> values, std::vector<int64_t>& counts) {
  const auto channels = static_cast<size_t>(tensor.shape.back());
  const bool is_uint8 = tensor.type == ir::DataType::UInt8;
  counts.resize(channels * 256);
  for (size_t i = 0; i < values.size(); ++i) {
    const int q = is_uint8 ? values[i] - 128 : static_cast<int8_t>(values[i]);
    ++counts[i % channels * 256 + static_cast<size_t>(q + 128)];
  }
}

// Operators that are functions of one or two 8-bit activations. How often each combination of them is seen.
class OperandCounts {
 public:
  OperandCounts(const ir::Graph& graph, std::map<int32_t, std::vector<int64_t>>& seen)
      : graph_(graph), seen_(seen), made_by_(graph.tensors.size(), -1), kept_(graph.tensors.size()) {
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      if (!counts(op)) continue;
      made_by_[static_cast<size_t>(graph.ops[op].outputs[0])] = static_cast<int32_t>(op);
      for (const int32_t t : activations(op)) kept_[static_cast<size_t>(t)] = true;
    }
  }

  // Called with every tensor as it is made, operands before what is made of them.
  void see(int32_t tensor, std::span<const uint8_t> values) {
    const auto at = static_cast<size_t>(tensor);
    if (const int32_t op = made_by_[at]; op >= 0) count(static_cast<size_t>(op));
    if (kept_[at]) values_[tensor].assign(values.begin(), values.end());
  }

 private:
  bool counts(size_t op) const {
    const auto& kinds = {ir::OpKind::Quantize, ir::OpKind::Relu, ir::OpKind::LeakyRelu, ir::OpKind::Prelu,
                         ir::OpKind::Add,      ir::OpKind::Sub,  ir::OpKind::Mul};
    if (std::ranges::find(kinds, graph_.ops[op].kind) == kinds.end()) return false;
    const std::vector<int32_t> tensors = activations(op);
    const auto is_byte = [&](int32_t index) {
      const ir::Tensor& t = graph_.tensor(index);
      return (t.type == ir::DataType::Int8 || t.type == ir::DataType::UInt8) && t.shape.size() <= 4;
    };
    return !tensors.empty() && std::ranges::all_of(tensors, is_byte);
  }

  std::vector<int32_t> activations(size_t op) const {
    std::vector<int32_t> out;
    for (const int32_t t : graph_.ops[op].inputs)
      if (t != ir::kAbsent && !graph_.tensor(t).is_constant) out.push_back(t);
    return out;
  }

  // By element of the output: which element of an operand it is made of; operands of one row, column or
  // channel are repeated.
  static size_t element(const ir::Nhwc& map, const ir::Nhwc& out, int64_t at) {
    const int64_t c = at % out.c, x = at / out.c % out.w, y = at / out.c / out.w % out.h,
                  n = at / out.c / out.w / out.h;
    const auto in = [](int64_t size, int64_t i) { return size == 1 ? 0 : i; };
    return static_cast<size_t>(((in(map.n, n) * map.h + in(map.h, y)) * map.w + in(map.w, x)) * map.c +
                               in(map.c, c));
  }

  void count(size_t op) {
    const std::vector<int32_t> tensors = activations(op);
    for (const int32_t t : tensors)
      if (!values_.contains(t)) return;
    std::vector<int64_t>& seen = seen_[static_cast<int32_t>(op)];
    seen.resize(tensors.size() == 1 ? 256 : 256 * 256);
    const ir::Nhwc out = ir::nhwc(graph_.tensor(graph_.ops[op].outputs[0]));
    const auto value = [&](int32_t t, int64_t at) {
      const ir::Tensor& tensor = graph_.tensor(t);
      const uint8_t byte = values_.at(t)[element(ir::nhwc(tensor), out, at)];
      return tensor.type == ir::DataType::UInt8 ? byte - 128 : int32_t{static_cast<int8_t>(byte)};
    };
    for (int64_t i = 0; i < out.elements(); ++i)
      ++seen[tensors.size() == 1 ? requant::seen_index(value(tensors[0], i))
                                 : requant::seen_index(value(tensors[0], i), value(tensors[1], i))];
  }

  const ir::Graph& graph_;
  std::map<int32_t, std::vector<int64_t>>& seen_;
  std::vector<int32_t> made_by_;  // by tensor: the operator to be counted that makes it, or -1
  std::vector<bool> kept_;        // by tensor: an operand of one
  std::map<int32_t, std::vector<uint8_t>> values_;
};

}  // namespace

Status calibrate(const ir::Graph& graph, std::span<const CalibrationSet> sets, int threads,
                 compiler::Options& build, const Progress& progress) {
  std::map<int32_t, int32_t> convolution_of;  // by the tensor it writes
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (ir::is_convolution_like(graph.ops[op].kind))
      convolution_of[graph.ops[op].outputs[0]] = static_cast<int32_t>(op);
  OperandCounts operands(graph, build.seen_operands);
  const auto observer = [&](int32_t tensor, std::span<const uint8_t> values) {
    operands.see(tensor, values);
    const auto op = convolution_of.find(tensor);
    if (op != convolution_of.end()) count_values(graph.tensor(tensor), values, build.histograms[op->second]);
  };
  kernels::Options options;
  options.reference = build.reference;
  options.threads = threads;
  for (size_t s = 0; s < sets.size(); ++s) {
    if (progress) progress(static_cast<int64_t>(s), static_cast<int64_t>(sets.size()));
    PERAXIS_TRY_NOTE(kernels::run_graph(graph, spans(*sets[s].inputs), options, observer),
                     "while calibrating with {}", sets[s].name);
  }
  return {};
}

Status calibrate(const ir::Graph& graph, const std::vector<std::string>& files, int threads,
                 compiler::Options& build, const Progress& progress) {
  for (const std::string& path : files) {
    const Goldens goldens = PERAXIS_TRY(read_goldens(path, graph));
    if (goldens.sets.empty())
      return fail(ErrorCode::InvalidArgument,
                  "'{}' has no input set to calibrate with: arrays i<set>_<input> are needed", path);
    std::vector<CalibrationSet> sets;
    for (const GoldenSet& set : goldens.sets)
      sets.push_back({&set.inputs, fmt::format("set {} of '{}'", set.number, path)});
    PERAXIS_TRY(calibrate(graph, sets, threads, build, progress));
  }
  return {};
}

}  // namespace peraxis::engine

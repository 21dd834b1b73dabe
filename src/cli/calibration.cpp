// See calibration.hpp.
#include "cli/calibration.hpp"

#include "base/progress.hpp"
#include "cli/golden_sets.hpp"
#include "cli/inputs.hpp"
#include "kernels/kernels.hpp"

namespace peraxis::cli {

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

}  // namespace

Status calibrate(const ir::Graph& graph, const std::vector<std::string>& files, int threads,
                 compiler::Options& build) {
  std::map<int32_t, int32_t> convolution_of;  // by the tensor it writes
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (ir::is_convolution_like(graph.ops[op].kind))
      convolution_of[graph.ops[op].outputs[0]] = static_cast<int32_t>(op);
  const auto observer = [&](int32_t tensor, std::span<const uint8_t> values) {
    const auto op = convolution_of.find(tensor);
    if (op != convolution_of.end()) count_values(graph.tensor(tensor), values, build.histograms[op->second]);
  };
  for (const std::string& path : files) {
    const Goldens goldens = PERAXIS_TRY(read_goldens(path, graph));
    if (goldens.sets.empty())
      return fail(ErrorCode::InvalidArgument,
                  "'{}' has no input set to calibrate with: arrays i<set>_<input> are needed", path);
    base::Progress progress("calibrating", static_cast<int64_t>(goldens.sets.size()));
    for (size_t s = 0; s < goldens.sets.size(); ++s) {
      progress.update(static_cast<int64_t>(s));
      kernels::Options options;
      options.reference = build.reference;
      options.threads = threads;
      PERAXIS_TRY_NOTE(kernels::run_graph(graph, spans(goldens.sets[s].inputs), options, observer),
                       "while calibrating with set {} of '{}'", goldens.sets[s].number, path);
    }
  }
  return {};
}

}  // namespace peraxis::cli

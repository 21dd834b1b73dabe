// See calibration.hpp.
#include "cli/calibration.hpp"

#include "base/progress.hpp"
#include "cli/golden_sets.hpp"
#include "kernels/kernels.hpp"

namespace peraxis::cli {

void add_histograms(const ir::Graph& graph, int32_t tensor, std::span<const uint8_t> values,
                    std::map<int32_t, std::vector<int64_t>>& histograms) {
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (!ir::is_convolution_like(graph.ops[op].kind) || graph.ops[op].outputs[0] != tensor) continue;
    const ir::Tensor& t = graph.tensor(tensor);
    const auto channels = static_cast<size_t>(t.shape.back());
    const bool is_uint8 = t.type == ir::DataType::UInt8;
    std::vector<int64_t>& counts = histograms[static_cast<int32_t>(op)];
    counts.resize(channels * 256);
    for (size_t i = 0; i < values.size(); ++i) {
      const int q = is_uint8 ? values[i] - 128 : static_cast<int8_t>(values[i]);
      ++counts[i % channels * 256 + static_cast<size_t>(q + 128)];
    }
  }
}

Status calibrate(const ir::Graph& graph, const std::vector<std::string>& files, int threads,
                 compiler::Options& build) {
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
      const std::vector<std::span<const uint8_t>> inputs(goldens.sets[s].inputs.begin(),
                                                         goldens.sets[s].inputs.end());
      PERAXIS_TRY_NOTE(kernels::run_graph(graph, inputs, options,
                                          [&](int32_t tensor, std::span<const uint8_t> values) {
                                            add_histograms(graph, tensor, values, build.histograms);
                                          }),
                       "while calibrating with set {} of '{}'", goldens.sets[s].number, path);
    }
  }
  return {};
}

}  // namespace peraxis::cli

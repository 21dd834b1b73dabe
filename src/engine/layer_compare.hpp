// The compiled model against the reference kernels, operator by operator: isolated (every operator gets the
// reference's inputs, so its own error shows) and accumulated (the whole compiled model runs, errors add up).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compile.hpp"
#include "device/device.hpp"
#include "engine/difference.hpp"
#include "engine/run.hpp"
#include "kernels/kernels.hpp"
#include "runtime/session.hpp"

namespace peraxis::engine {

// Activations by the model's tensor index.
using TensorMap = std::map<int32_t, std::vector<uint8_t>>;

Result<TensorMap> reference_activations(const ir::Graph& graph, InputSpans inputs,
                                        const kernels::Options& options);

// A compiled model on a machine model of its own, run as often as needed.
class CompiledModel {
 public:
  static Result<CompiledModel> create(const ir::Graph& graph, const compiler::Options& build,
                                      const plan::Plan& plan, int threads);
  // Runs once; with `activations`, every tensor that the run completes is stored there.
  Result<std::vector<std::vector<uint8_t>>> run(InputSpans inputs, TensorMap* activations);
  void reset_states() { session_->reset_states(); }
  const std::vector<exe::LayerPlan>& layers() const { return layers_; }
  const runtime::RunCounters& counters() const { return session_->counters(); }

 private:
  std::vector<exe::LayerPlan> layers_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<runtime::Session> session_;
  std::shared_ptr<TensorMap*> sink_;  // where the observer writes; shared with it
};

// One operator.
struct LayerComparison {
  size_t op = 0;
  exe::LayerPlan plan;                    // convolutions as recorded; of others the device and the tasks
  std::optional<Difference> isolated;     // of operators on the NPU
  std::optional<Difference> accumulated;  // none when the run did not keep the tensor
};

// The operator alone, compiled as the whole model's plan has it, and run with the reference's activations. A
// convolution that does the ADD behind it is compared by the sum, and the ADD has no comparison of its own.
Result<LayerComparison> compare_isolated(const ir::Graph& graph, size_t op, const TensorMap& reference,
                                         const compiler::Options& build, const plan::Plan& plan, int threads);

// Of all outputs of the operator, as far as both maps have them.
std::optional<Difference> compare_outputs(const ir::Graph& graph, size_t op, const TensorMap& got,
                                          const TensorMap& want);
std::optional<Difference> compare_tensor(const ir::Graph& graph, int32_t tensor, const TensorMap& got,
                                         const TensorMap& want);

}  // namespace peraxis::engine

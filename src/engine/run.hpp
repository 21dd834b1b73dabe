// One run of a model or executable on one device, and what a report wants to know about it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compile.hpp"
#include "engine/progress.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"
#include "kernels/kernels.hpp"

namespace peraxis::engine {

using Observer = std::function<void(int32_t tensor, std::span<const uint8_t>)>;
using InputSpans = std::span<const std::span<const uint8_t>>;

struct Execution {
  std::string device;  // "sim" or "cpu"
  std::vector<std::vector<uint8_t>> outputs;
  std::vector<exe::LayerPlan> layers;  // one a convolution-like operator
  int64_t tasks = 0;                   // of the NPU
  std::optional<int64_t> macs = 0;     // of the NPU; none: the device does not count them
  double npu_ms = 0, cpu_ms = 0, run_ms = 0;
  int64_t upload_bytes = 0;  // written for the NPU from host arrays
  double upload_ms = 0;      // of cpu_ms
};

// Plans and compiles; `progress` counts operators.
Result<compiler::Compiled> build(const ir::Graph& graph, compiler::Options options,
                                 const Progress& progress = {});

// What a run tells while it goes on.
struct Watching {
  Observer observer = {};  // of activations; may be empty
  Progress progress = {};  // counts activations of about as many as the graph has operators
};

// On the CPU kernels alone.
Result<Execution> run_on_cpu(const ir::Graph& graph, InputSpans inputs, const kernels::Options& options,
                             const Watching& watching = {});

// On a device of its own, "sim".
Result<Execution> run_on_device(const std::string& device, exe::Executable executable, InputSpans inputs,
                                int threads, const Watching& watching = {});

}  // namespace peraxis::engine

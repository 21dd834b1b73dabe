// The plan of an executable's layers as JSON and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "compiler/compile.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"

namespace peraxis::cli {

// {"op", "kind", "name", "device", "strategy", "reason"}; the layer's operator is one of the graph's.
Json layer_head_json(const ir::Graph& graph, const exe::LayerPlan& layer);
// [{"op", "kind", "name", "device", "strategy", "reason", "tasks", "macs", "certificate"}]
Json layers_json(const ir::Graph& graph, const std::vector<exe::LayerPlan>& layers);

// Of the certificate: the share of reachable accumulators whose output differs, and the largest difference.
std::pair<std::string, std::string> certificate_cells(const exe::LayerPlan& layer);

// How an operator is named in reports: its first output.
std::string op_output_name(const ir::Graph& graph, size_t op);

// "33 hw-multiply, 3 exact": layers of the NPU by strategy, in the order they first appear.
std::string strategies_text(const std::vector<exe::LayerPlan>& layers);

// One line a layer that is on the CPU or not run as asked, with the reason; empty when there is none.
std::string fallback_text(const ir::Graph& graph, const std::vector<exe::LayerPlan>& layers);

// "12 of 18 other operators run on the NPU", and one line for all that share a kind and a reason.
std::string operators_text(const ir::Graph& graph, const std::vector<exe::OperatorPlan>& operators);
// [{"op", "kind", "name", "device", "reason"}]
Json operators_json(const ir::Graph& graph, const std::vector<exe::OperatorPlan>& operators);

// {"tasks", "macs", "mac_share"}: multiplications that executed tasks did, of `all` of the convolutions; null
// where the device does not count them.
Json npu_json(int64_t tasks, std::optional<int64_t> macs, int64_t all);
std::string npu_text(int64_t tasks, std::optional<int64_t> macs, int64_t all);  // the same, as a line

// How the operators alternate between CPU and NPU in the order of execution. A view (SPLIT, a CONCATENATION
// written in place) counts where its data were made; requantization by the CPU belongs to its layer.
struct Partitions {
  int64_t npu = 0;        // runs of neighbouring operators on the NPU
  int64_t crossings = 0;  // changes of the device, the model's inputs and outputs counted as the CPU's
};
Partitions partitions(const std::vector<exe::LayerPlan>& layers,
                      const std::vector<exe::OperatorPlan>& operators, const std::vector<int32_t>& order);
// Arrays that a run turns from one form into the other.
struct Conversions {
  int64_t uploads = 0;    // host arrays that become cubes
  int64_t downloads = 0;  // cubes that become host arrays
  int64_t on_cubes = 0;   // operators of the CPU that read or write cubes where they are
  int64_t dense = 0;      // those that have dense operands only
};
Conversions conversions(const exe::Executable& executable);

// "execution_order" (of operators), "partitions", "crossings", "conversions": {"uploads", "downloads",
// "cpu_operators_on_cubes", "cpu_operators_dense"} and "memory": {"device_bytes", "activation_bytes",
// "largest_live_bytes"} into `out`.
void add_splitting(Json& out, const compiler::Compiled& compiled);
std::string splitting_text(const compiler::Compiled& compiled);  // the same, as a line

}  // namespace peraxis::cli

// CPU kernels of the quantized operators: what runs where the NPU cannot, and the yardstick the machine
// model is measured with. The reference path is plain and follows LiteRT's BUILTIN_REF to the bit; the
// fast path gives the same bytes sooner.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "ir/graph.hpp"
#include "num/reference.hpp"

namespace peraxis::base {
class ThreadPool;
}

namespace peraxis::kernels {

enum class Path { Reference, Fast };

// How accumulators of conv_2d, depthwise_conv_2d and fully_connected become stored values.
using Reference = num::Reference;

struct Options {
  Path path = Path::Fast;
  Reference reference = Reference::LitertRef;
  int threads = 1;  // fast path only; results do not depend on it
  // Whose threads run the loops, in place of `threads` started for this one call. Who calls often keeps one.
  base::ThreadPool* pool = nullptr;
};

using Values = std::span<const uint8_t>;  // dense, shape order, little-endian; any alignment

// Runs one operator. inputs[i] belongs to op.inputs[i] (constants too) and is empty for an absent
// optional input; outputs[i] belongs to op.outputs[i]. Every span has exactly Tensor::bytes() bytes.
// The graph is expected to be verified; sizes, types and attributes are checked again, so that a wrong
// call is an error and never an access out of bounds.
Status run_op(const ir::Graph& graph, size_t op_index, std::span<const Values> inputs,
              std::span<const std::span<uint8_t>> outputs, const Options& options);

// Sees every activation, the graph's inputs first, then each operator's outputs as they are made.
using Observer = std::function<void(int32_t tensor, Values values)>;

// Runs a whole graph on host memory; returns the graph's outputs in order. Activations are freed after
// their last use.
Result<std::vector<std::vector<uint8_t>>> run_graph(const ir::Graph& graph, std::span<const Values> inputs,
                                                    const Options& options, const Observer& observer = {});

}  // namespace peraxis::kernels

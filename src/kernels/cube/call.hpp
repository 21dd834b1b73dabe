// One operator with views as operands, and small graphs in which the dense kernels do its arithmetic.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "kernels/view.hpp"

namespace peraxis::kernels::cube {

using ByteTable = std::array<uint8_t, 256>;

// The operator has passed ir::verify_op, and layouts fit its tensors. Views have no bytes while it is only
// asked whether the operator takes them.
struct Call {
  const ir::Graph& graph;
  size_t op_index;
  std::span<const InputView> inputs;
  std::span<const OutputView> outputs;

  const ir::Op& op() const { return graph.ops[op_index]; }
  bool has_input(size_t i) const { return i < op().inputs.size() && op().inputs[i] != ir::kAbsent; }
  const ir::Tensor& input(size_t i) const { return graph.tensor(op().inputs[i]); }
  const ir::Tensor& output(size_t i = 0) const { return graph.tensor(op().outputs[i]); }
};

// The values of a constant int32 or int64 operand; none when the graph does not have them.
std::optional<std::vector<int64_t>> parameter(const Call& call, size_t input);

// The operator alone, with copies of its tensors: tensor i is input i, the outputs follow. Shapes and data
// are then made smaller.
ir::Graph alone(const Call& call);

// Runs the only operator of `graph`. bytes[i] belongs to input i; empty ones are taken from the graph.
Status run_alone(const ir::Graph& graph, std::span<const Values> bytes, std::span<uint8_t> output,
                 const Options& options);

// What the operator makes of each stored value of input `input`, the only one kept. It must treat all
// elements alike.
Result<ByteTable> value_table(const Call& call, size_t input);

// The three ways. Each `takes` says whether its way is one for these operands; run_moves() finds that out
// itself and gives nothing where it is not.
// Operators that move stored values, and those that are a function of one value: cube/moves.cpp.
bool takes_moves(const Call& call);
std::optional<Status> run_moves(const Call& call, const Options& options);
// Operators whose channels do not meet, surface by surface: cube/surfaces.cpp.
bool takes_surfaces(const Call& call);
Status run_surfaces(const Call& call, const Options& options);
// Operators whose pixels do not meet, block of pixels by block: cube/pixels.cpp.
bool takes_pixels(const Call& call);
Status run_pixels(const Call& call, const Options& options);

}  // namespace peraxis::kernels::cube

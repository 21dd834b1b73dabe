// What passes share: who reads a tensor, what a chain of operators makes of every 8-bit value, constants.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace peraxis::passes {

// Who makes and who reads each tensor of a graph, at the time of construction.
struct Uses {
  std::vector<int32_t> maker;                // by tensor: operator, -1 for inputs and constants
  std::vector<std::vector<size_t>> readers;  // by tensor: operators, each once
  std::vector<bool> is_output;               // by tensor: of the graph

  explicit Uses(const ir::Graph& graph);
  // The one operator that reads the tensor, when nothing else needs it.
  std::optional<size_t> only_reader(int32_t tensor) const;
};

// Which tensor stands for another. Operators are visited in order, so that chains of stand-ins collapse.
class StandIns {
 public:
  // `tensor` has the bytes and the meaning of `other`.
  void set(int32_t tensor, int32_t other);
  // Lets the operator read the stand-ins, unless its rule refuses them.
  void apply(ir::Graph& graph, size_t op) const;

 private:
  std::vector<int32_t> other_;  // by tensor, -1: itself; shorter than the graph's
};

// Appends a constant of the type; the graph's tensors keep their indices.
int32_t add_constant(ir::Graph& graph, std::string name, std::span<const int32_t> values);

// The int32 values of a constant operand; none when it is not one, or cut short.
std::optional<std::vector<int32_t>> int32_values(const ir::Graph& graph, int32_t tensor);

// Of a TRANSPOSE by a constant: output dimension i is input dimension [i], none negative. Else none.
std::optional<std::vector<int32_t>> transpose_order(const ir::Graph& graph, const ir::Op& op);

bool is_8bit(const ir::Tensor& tensor);                       // int8 or uint8
bool same_meaning(const ir::Tensor& a, const ir::Tensor& b);  // type, scales and zero points

// What operators of one activation each, one behind the other, make of the 256 values of their 8-bit input:
// bytes of the last output, which must be of 8 bits. None where the reference kernels refuse.
std::optional<std::vector<uint8_t>> table_of(const ir::Graph& graph, std::span<const ir::Op* const> chain);
// The stored value that byte `b` of a tensor means.
int32_t stored(const ir::Tensor& tensor, uint8_t b);

}  // namespace peraxis::passes

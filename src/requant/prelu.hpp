// PRELU with a constant slope tensor. One slope: the BN stage's own PReLU. Several: two tasks, as the chip
// reads slopes from memory only as an operand of EW. The first multiplies what is negative, the second adds
// what is not: an input is in one of both, so that nothing is rounded twice.
#pragma once

#include <vector>

#include "requant/element.hpp"

namespace peraxis::requant {

struct PreluParams {
  // One task of x; or: a = x, b = slope; then a = x, b = the first task's output.
  std::vector<ElementParams> tasks;
  // Against the reference: 256 inputs with every slope that occurs.
  int64_t inputs = 0, differing = 0;
  int32_t max = 0;
};

Result<PreluParams> prelu_parameters(const ir::Graph& graph, size_t op);
// What is proved of its tasks.
Result<OperatorCertificate> certify_prelu(const ir::Graph& graph, size_t op,
                                          const std::vector<ElementParams>& tasks, SeenOperands seen);

}  // namespace peraxis::requant

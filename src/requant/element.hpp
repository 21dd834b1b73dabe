// ADD, SUB, MUL, MAXIMUM, MINIMUM, RELU, LEAKY_RELU and QUANTIZE between 8-bit types as one task of the DPU
// alone: parameters, and what is proved of them by trying every pair of input values against the reference's
// arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ir/graph.hpp"
#include "requant/operator_certificate.hpp"

namespace peraxis::requant {

// In the int8 domain (uint8 values less 128):
//   v = (max(0, )?)((a + addend) * factor + constant), combined with (b + operand_offset) * operand_factor
//   y = sat8(round_half_away((max(0, )?)(v) * scale / 2^shift) + offset)
struct ElementParams {
  enum class Combine : uint8_t { Add, Multiply, Maximum, Minimum };

  int32_t addend = 0, factor = 1;
  int32_t operand_offset = 0, operand_factor = 0;  // factor 0: there is no operand
  int32_t prelu_factor = 0, prelu_shift = 0;       // factor 0: negative values are like others
  Combine combine = Combine::Add;
  int32_t constant = 0;
  bool relu_first = false;  // before the operand
  bool relu = false;
  int32_t scale = 1, shift = 0, offset = 0;
  // Against the reference, over all inputs: 65536 pairs, or 256 values.
  int64_t inputs = 0, differing = 0;
  int32_t max = 0;
};

// Parameters with the fewest differences; an error says why the task cannot express the operator.
// `relu`, `leaky_relu` and `quantize` of int8 or uint8 activations with one scale each.
Result<ElementParams> element_parameters(const ir::Graph& graph, size_t op);
// `add`, `sub`, `mul`, `maximum` and `minimum`; a is input `main`. The other input may be a constant: only
// its values count then, and a single one needs no operand.
Result<ElementParams> pair_parameters(const ir::Graph& graph, size_t op, size_t main);

// What is proved of parameters that were found so.
Result<OperatorCertificate> certify_element(const ir::Graph& graph, size_t op, const ElementParams& params,
                                            SeenOperands seen);
Result<OperatorCertificate> certify_pair(const ir::Graph& graph, size_t op, size_t main,
                                         const ElementParams& params, SeenOperands seen);

// What the reference makes of every pair of activations, int8 domain: [a + 128][b + 128], a of input `main`.
Result<std::vector<int8_t>> pair_reference(const ir::Graph& graph, size_t op, size_t main);

}  // namespace peraxis::requant

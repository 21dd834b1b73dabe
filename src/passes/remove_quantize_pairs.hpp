// Changes of scale that change nothing: QUANTIZE to the scale a tensor has, DEQUANTIZE and QUANTIZE one after
// the other, chains of QUANTIZE. What is taken out is proved by running the reference kernels over all 256
// values.
#pragma once

#include <cstdint>

#include "ir/graph.hpp"

namespace peraxis::passes {

// Readers of a QUANTIZE whose 8-bit values are those of its source (through at most one DEQUANTIZE or
// QUANTIZE, with equal type, scale and zero point) read the source. Where another QUANTIZE of the source
// gives the same 256 values as the pair, it replaces the pair. Operators and tensors keep their indices; what
// nobody reads any more is dead. Returns how many QUANTIZE were taken out or shortened.
int64_t remove_quantize_pairs(ir::Graph& graph);

}  // namespace peraxis::passes

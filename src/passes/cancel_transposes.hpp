// Permutation propagation: operators of single values between a TRANSPOSE and the one that undoes it work in
// the order of the first input. Exporters of NCHW models leave such islands.
#pragma once

#include <cstdint>

#include "ir/graph.hpp"

namespace peraxis::passes {

// For every TRANSPOSE followed by a chain of operators of single values (nothing else reads between them;
// other operands are constants, which are transposed too) up to a TRANSPOSE back: the chain takes the first
// input and makes the last output. Both TRANSPOSE are then dead. Tensors between get counterparts of the
// other shape, behind the graph's tensors. Returns how many pairs were taken out.
int64_t cancel_transposes(ir::Graph& graph);

}  // namespace peraxis::passes

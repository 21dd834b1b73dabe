// Two operands spread over one output by the trailing-dimension rule: a dimension of size 1, or one that
// is missing in front, repeats.
#pragma once

#include "kernels/context.hpp"
#include "kernels/walk.hpp"

namespace peraxis::kernels::reference {

struct Broadcast {
  std::vector<int64_t> shape;  // of the output
  Offsets first, second;
};

// Offsets of an operand of `shape` in an output of that rank.
Offsets spread(const std::vector<int32_t>& shape, size_t rank);

// Checks that the output has exactly the broadcast shape.
Result<Broadcast> broadcast(const Context& context);

}  // namespace peraxis::kernels::reference

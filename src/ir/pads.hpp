// Padding in amounts. A file may have a rule for it; what the rule makes of the shapes is settled here, once,
// by the importer or, where shapes are open, with them.
#pragma once

#include "ir/graph.hpp"

namespace peraxis::ir {

inline constexpr int32_t kMostPadding = 2147483647;  // of one side

// The operator's padding; null when its kind has none.
const Pads* pads_of(const Op& op);
Pads* pads_of(Op& op);

// As many as make ceil(size / stride) outputs; halves before and behind, the odd one behind. The rule stays
// where that is more than kMostPadding.
Pads even_pads(const Nhwc& in, int64_t kernel_h, int64_t kernel_w, const ConvAttributes& attributes);
Pads even_pads(const Nhwc& in, const PoolAttributes& attributes);
// What makes `out` of a transposed convolution: halves of what is too much (Even), or all of it behind.
Pads transposed_pads(const Nhwc& in, const Nhwc& out, int64_t kernel_h, int64_t kernel_w,
                     const TransposeConvAttributes& attributes);

// Puts amounts where operator `op_index` has a rule, when the shapes it needs are stated. What breaks the
// operator's own rule and amounts beyond kMostPadding stay, for the verifier.
void state_pads(Graph& graph, size_t op_index);

}  // namespace peraxis::ir

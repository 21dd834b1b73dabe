// Any operator whose output depends on one 8-bit value alone, as a look-up table of the chip.
#pragma once

#include <memory>
#include <span>

#include "base/result.hpp"
#include "ir/graph.hpp"
#include "target/rk3588/look_up.hpp"

namespace peraxis::requant {

// The table of `ops`, which follow each other in graph order and together make one 8-bit activation, the
// output of the last, from the 8-bit activation `input`. Entries are what the reference kernels make of all
// 256 values; the lookup, computed as the chip does it, has been compared with them for each. An error says
// why the operators are no such function, or which value the kernels refuse.
Result<std::shared_ptr<const rk3588::LookUpTable>> make_table(const ir::Graph& graph,
                                                              std::span<const size_t> ops, int32_t input);

}  // namespace peraxis::requant

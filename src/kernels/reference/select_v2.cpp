// SELECT_V2: of two values the one that the condition says; all three spread over the output.
#include "kernels/elements.hpp"
#include "kernels/reference/broadcast.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status select_v2(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const std::vector<int32_t>& shape = context.output().shape;
  const std::vector<int64_t> sizes(shape.begin(), shape.end());
  const Offsets condition = spread(context.input(0).shape, shape.size());
  const int64_t bytes = ir::data_type_bytes(context.output().type);
  uint8_t* const to = context.outputs[0].data();
  const uint8_t* const chosen = context.inputs[0].data();
  // The first choice everywhere, then the second where the condition is false.
  int64_t at = 0;
  const uint8_t* from = context.inputs[1].data();
  walk(sizes, spread(context.input(1).shape, shape.size()), condition, [&](int64_t i, int64_t) {
    std::memcpy(to + bytes * at++, from + bytes * i, static_cast<size_t>(bytes));
  });
  at = 0;
  from = context.inputs[2].data();
  walk(sizes, spread(context.input(2).shape, shape.size()), condition, [&](int64_t i, int64_t c) {
    if (chosen[c] == 0) std::memcpy(to + bytes * at, from + bytes * i, static_cast<size_t>(bytes));
    ++at;
  });
  return {};
}

}  // namespace peraxis::kernels::reference

// TILE writes the input again and again along every dimension. Multipliers computed at run time must give the
// shape the model states.
#include "kernels/elements.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {
namespace {

// The bytes of dimensions `d` and up of the input at `from`, tiled, to `to`; returns the end of what it
// wrote.
uint8_t* write_tiles(const Context& context, const std::vector<int64_t>& counts, size_t d,
                     const uint8_t*& from, uint8_t* to) {
  const std::vector<int32_t>& shape = context.input(0).shape;
  const int64_t size = ir::data_type_bytes(context.input(0).type);
  uint8_t* const start = to;
  if (d + 1 >= shape.size()) {
    const int64_t row = (shape.empty() ? 1 : shape.back()) * size;
    std::memcpy(to, from, static_cast<size_t>(row));
    from += row;
    to += row;
  } else {
    for (int32_t i = 0; i < shape[d]; ++i) to = write_tiles(context, counts, d + 1, from, to);
  }
  const std::ptrdiff_t once = to - start;
  for (int64_t i = 1; d < counts.size() && i < counts[d]; ++i, to += once)
    std::memcpy(to, start, static_cast<size_t>(once));
  return to;
}

}  // namespace

Status tile(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const std::vector<int64_t> counts = integers(context, 1);
  const std::vector<int32_t>& in = context.input(0).shape;
  const std::vector<int32_t>& out = context.output().shape;
  for (size_t d = 0; d < in.size(); ++d) {
    if (out[d] % in[d] == 0 && counts[d] == out[d] / in[d]) continue;
    return fail(ErrorCode::Unsupported,
                "{}: the multipliers computed at run time are {}, which does not make {} of {}",
                context.label(), shape_text(counts), shape_text(out), shape_text(in));
  }
  const uint8_t* from = context.inputs[0].data();
  write_tiles(context, counts, 0, from, context.outputs[0].data());
  return {};
}

}  // namespace peraxis::kernels::reference

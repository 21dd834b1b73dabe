// TANH: the C library's float32 function on float32 tensors, a table on 8-bit ones; int16 takes the table of
// LOGISTIC.
#include "kernels/reference/float_table.hpp"
#include "kernels/reference/sigmoid_table.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {
namespace {

Status int16_tanh(const Context& context) {
  const auto table = sigmoid_table();
  const SigmoidScale scale = sigmoid_scale(context.input(0).quant.scale[0], true);
  return map_elements<int16_t>(context, [&](int16_t q) {
    const int32_t x = scale(q);
    const uint32_t magnitude = x < 0 ? 0U - static_cast<uint32_t>(x) : static_cast<uint32_t>(x);
    const int32_t value = interpolated_sigmoid(table, magnitude, 8, 0xFFFF * 256);
    return (x >= 0 ? value - (1 << 23) + 128 : -value + (1 << 23) + 127) >> 8;
  });
}

}  // namespace

Status tanh(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto function = [](float x) { return std::tanh(x); };
  if (context.output().type == ir::DataType::Float32) return map_elements<float>(context, function);
  if (context.output().type == ir::DataType::Int16) return int16_tanh(context);
  // The double function, rounded, does not depend on the C library's float one.
  return tabulate_8_bit(context,
                        [](float x) { return static_cast<float>(std::tanh(static_cast<double>(x))); });
}

}  // namespace peraxis::kernels::reference

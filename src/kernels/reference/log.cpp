// LOG: the natural logarithm. Quantized, what is not above 0 becomes the lowest value.
#include "kernels/reference/float_table.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status log(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const ir::Tensor& out = context.output();
  if (out.type == ir::DataType::Float32)
    return map_elements<float>(context, [](float x) { return std::log(x); });
  const Quant y = quant_of(out);
  const float lowest = static_cast<float>(ir::type_range(out.type).low - y.zero_point) * y.scale;
  // The double function, rounded, does not depend on the C library's float one.
  return tabulate(context, [&](float x) {
    return x <= 0.0F ? lowest : static_cast<float>(std::log(static_cast<double>(x)));
  });
}

}  // namespace peraxis::kernels::reference

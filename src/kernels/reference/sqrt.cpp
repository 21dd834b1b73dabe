// SQRT of quantized values truncates. A negative input is refused, as LiteRT does.
#include <algorithm>
#include <cmath>

#include "kernels/reference/unary.hpp"
#include "kernels/registry.hpp"
#include "num/rounding.hpp"

namespace peraxis::kernels::reference {

Status sqrt(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  if (context.output().type == ir::DataType::Float32) {
    return map_elements<float>(context, [](float x) { return std::sqrt(x); });
  }
  const Quant x = quant_of(context.input(0));
  const Quant y = quant_of(context.output());
  const ir::StoredRange range = ir::type_range(context.output().type);
  return with_type<int8_t, int16_t>(context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
    bool negative = false;
    const Status done = map_elements<T>(context, [&](T q) {
      negative = negative || q < x.zero_point;
      const float root = std::sqrt(x.scale * static_cast<float>(std::max(q - x.zero_point, 0)));
      const int64_t steps = float_to_int32(std::trunc(static_cast<double>(root / y.scale)));
      return clamp_to<T>(num::wrap_int32(steps + y.zero_point), range);
    });
    if (negative) return fail(ErrorCode::InvalidArgument, "{}: an input is negative", context.label());
    return done;
  });
}

}  // namespace peraxis::kernels::reference

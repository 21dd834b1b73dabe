// MINIMUM compares stored values; quantization is ignored.
#include "kernels/reference/combine.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status minimum(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return with_type<float, int32_t, int64_t, int8_t, uint8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) {
        return combine<T>(context, [](T a, T b) { return a < b ? a : b; });
      });
}

}  // namespace peraxis::kernels::reference

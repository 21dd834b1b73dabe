// RANGE: start, start + step, ... up to the limit. The length follows from values known at run time; it must
// be the one the model states.
#include "kernels/elements.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status range(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return with_type<float, int32_t, int64_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        const T start = Reader<T>(context.inputs[0])[0];
        const T limit = Reader<T>(context.inputs[1])[0];
        const T step = Reader<T>(context.inputs[2])[0];
        const double count = ir::range_length(start, limit, step);
        if (count != static_cast<double>(context.output().shape[0])) {
          return fail(ErrorCode::Unsupported, "{}: {} to {} by {} gives {} values, the model states {}",
                      context.label(), start, limit, step, count, context.output().shape[0]);
        }
        const Writer<T> out(context.outputs[0]);
        T value = start;
        for (int64_t i = 0; i < context.output().shape[0]; ++i) {
          out.set(i, value);
          if (i + 1 < context.output().shape[0]) value = static_cast<T>(value + step);
        }
        return {};
      });
}

}  // namespace peraxis::kernels::reference

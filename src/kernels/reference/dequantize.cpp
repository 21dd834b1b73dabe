// DEQUANTIZE: one product in double, rounded to float32. Half floats become what they are.
#include "kernels/elements.hpp"
#include "kernels/reference/channels.hpp"
#include "kernels/registry.hpp"
#include "num/half.hpp"

namespace peraxis::kernels::reference {

Status dequantize(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  if (context.input(0).type == ir::DataType::Float16) {
    const Reader<uint16_t> in(context.inputs[0]);
    const Writer<float> out(context.outputs[0]);
    for (int64_t i = 0; i < context.output().elements(); ++i) out.set(i, num::float_from_half(in[i]));
    return {};
  }
  const ir::QuantParams& quant = context.input(0).quant;
  const Channels channels(context.input(0));
  return with_type<int8_t, uint8_t, int16_t>(
      context, context.input(0), [&]<class T>(std::type_identity<T>) -> Status {
        const Reader<T> in(context.inputs[0]);
        const Writer<float> out(context.outputs[0]);
        for (int64_t i = 0; i < context.output().elements(); ++i) {
          const size_t channel = channels.of(i);
          const auto centred = static_cast<double>(in[i] - quant.zero_point[channel]);
          out.set(i, static_cast<float>(static_cast<double>(quant.scale[channel]) * centred));
        }
        return {};
      });
}

}  // namespace peraxis::kernels::reference

// FULLY_CONNECTED: one dot product an output value; leading dimensions of the input are the batch.
#include "kernels/convolution.hpp"
#include "kernels/reference/wide_convolution.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status fully_connected(const Context& context) {
  if (!takes_bytes(context)) return wide_fully_connected(context);
  const FullyConnected fc = PERAXIS_TRY(prepare_fully_connected(context));
  uint8_t* out = fc.output_values;
  for (int64_t batch = 0; batch < fc.batches; ++batch) {
    for (int64_t unit = 0; unit < fc.units; ++unit) {
      const uint8_t* in = fc.input_values + batch * fc.depth;
      const uint8_t* weights = fc.weight_values + unit * fc.depth;
      auto sum = static_cast<uint32_t>(fc.bias[static_cast<size_t>(unit)]);
      for (int64_t d = 0; d < fc.depth; ++d) {
        sum += static_cast<uint32_t>((stored(in[d], fc.type) - fc.input_zero) *
                                     (stored(weights[d], fc.type) - fc.weight_zero));
      }
      *out++ = fc.store(static_cast<int32_t>(sum), static_cast<size_t>(unit));
    }
  }
  return {};
}

}  // namespace peraxis::kernels::reference

// TRANSPOSE_CONV as a sum for every output value over the inputs that reach it, in LiteRT's order: rows and
// columns of the input, then channels. The shape of the output is input 0, weights are input 1, the map
// input 2.
#include <algorithm>

#include "kernels/reference/accumulator.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {
namespace {

struct Shape {
  ir::Nhwc input, output;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_top = 0, pad_left = 0;
};

Shape make_shape(const Context& context, const ir::TransposeConvAttributes& a) {
  Shape shape{ir::nhwc(context.input(2)), ir::nhwc(context.output())};
  shape.kernel_h = context.input(1).shape[1];
  shape.kernel_w = context.input(1).shape[2];
  shape.stride_h = a.stride_h;
  shape.stride_w = a.stride_w;
  shape.pad_top = a.pads.top;
  shape.pad_left = a.pads.left;
  return shape;
}

// The input positions whose kernel covers output position `at` of one axis.
struct Reach {
  int64_t first, last;
};
Reach reach(int64_t at, int64_t kernel, int64_t stride, int64_t pad, int64_t in) {
  const int64_t from = at + pad - kernel + 1;
  const int64_t first = from <= 0 ? 0 : (from + stride - 1) / stride;
  return {first, std::min((at + pad) / stride, in - 1)};
}

// Calls take(input element, weight element) for every product of one output value.
template <class Take>
void visit_taps(const Shape& s, int64_t n, int64_t y, int64_t x, int64_t channel, Take take) {
  const Reach rows = reach(y, s.kernel_h, s.stride_h, s.pad_top, s.input.h);
  const Reach cols = reach(x, s.kernel_w, s.stride_w, s.pad_left, s.input.w);
  for (int64_t row = rows.first; row <= rows.last; ++row) {
    const int64_t ky = y + s.pad_top - row * s.stride_h;
    for (int64_t col = cols.first; col <= cols.last; ++col) {
      const int64_t kx = x + s.pad_left - col * s.stride_w;
      const int64_t pixel = ((n * s.input.h + row) * s.input.w + col) * s.input.c;
      const int64_t weight = ((channel * s.kernel_h + ky) * s.kernel_w + kx) * s.input.c;
      for (int64_t d = 0; d < s.input.c; ++d) take(pixel + d, weight + d);
    }
  }
}

template <class Value>
void visit_outputs(const Shape& s, Value value) {
  int64_t at = 0;
  for (int64_t n = 0; n < s.output.n; ++n) {
    for (int64_t y = 0; y < s.output.h; ++y) {
      for (int64_t x = 0; x < s.output.w; ++x) {
        for (int64_t c = 0; c < s.output.c; ++c) value(at++, n, y, x, c);
      }
    }
  }
}

Status wide(const Context& context, const Shape& shape, const ir::TransposeConvAttributes& a) {
  return with_sum(context, 2, a.activation, a.int32_bias, shape.output.c, [&]<class Rule>(const Rule& rule) {
    const auto bias = bias_values<typename Rule::Bias>(context, 3, shape.output.c);
    const Reader<typename Rule::Weight> weights(context.inputs[1]);
    const Reader<typename Rule::Input> input(context.inputs[2]);
    const Writer<typename Rule::Input> out(context.outputs[0]);
    visit_outputs(shape, [&](int64_t at, int64_t n, int64_t y, int64_t x, int64_t c) {
      typename Rule::Sum sum{0};
      visit_taps(shape, n, y, x, c,
                 [&](int64_t i, int64_t w) { sum = accumulate(sum, input[i], weights[w]); });
      const auto channel = static_cast<size_t>(c);
      out.set(at, rule.store(add_bias(sum, bias[channel]), channel));
    });
    return Status{};
  });
}

Status bytes(const Context& context, const Shape& shape, const ir::TransposeConvAttributes& a) {
  const Quant in = quant_of(context.input(2));
  const Quant out = quant_of(context.output());
  const auto channels = static_cast<size_t>(shape.output.c);
  const ir::DataType type = context.output().type;
  const int32_t weight_zero = quant_of(context.input(1)).zero_point;
  const auto bias = bias_values<int32_t>(context, 3, shape.output.c);
  const Requantize requantize{convolution_multipliers(context, channels, in, out), out.zero_point,
                              ir::activation_range(context.output(), a.activation),
                              context.options.reference};
  visit_outputs(shape, [&](int64_t at, int64_t n, int64_t y, int64_t x, int64_t c) {
    int32_t sum = bias[static_cast<size_t>(c)];
    visit_taps(shape, n, y, x, c, [&](int64_t i, int64_t w) {
      sum = accumulate(sum, stored(context.inputs[2][static_cast<size_t>(i)], type) - in.zero_point,
                       stored(context.inputs[1][static_cast<size_t>(w)], type) - weight_zero);
    });
    context.outputs[0][static_cast<size_t>(at)] = requantize(sum, static_cast<size_t>(c));
  });
  return {};
}

}  // namespace

Status transpose_conv(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* a = PERAXIS_TRY(attributes<ir::TransposeConvAttributes>(context));
  const Shape shape = make_shape(context, *a);
  return is_8bit(context.output().type) ? bytes(context, shape, *a) : wide(context, shape, *a);
}

}  // namespace peraxis::kernels::reference

// SVDF: every filter multiplies the input into one value, remembers the last ones, and weighs them; `rank`
// filters make a unit. int8 keeps the values as int16.
#include <algorithm>

#include "kernels/elements.hpp"
#include "kernels/reference/combine.hpp"
#include "kernels/reference/lanes.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

struct Sizes {
  int64_t batch, depth, filters, memory, rank;
};

Sizes sizes_of(const Context& context, const ir::SvdfAttributes& a) {
  return {context.input(0).shape[0], context.input(0).shape[1], context.input(1).shape[0],
          context.input(2).shape[1], a.rank};
}

// How float32 and int8 differ: the types, and the steps between them.
struct FloatSvdf {
  using Data = float;
  using State = float;
  using Sum = float;
  Bounds<float> bounds;

  template <class Weights, class In>
  static float products(int64_t count, Weights weight, In value) {
    return add_in_lanes(0.0F, count, [&](int64_t i) { return weight(i) * value(i); });
  }
  float remembered(float sum) const { return sum; }
  float stored(float sum) const { return bounds(sum); }
};

struct Int8Svdf {
  using Data = int8_t;
  using State = int16_t;
  using Sum = int32_t;
  int32_t input_zero, output_zero;
  num::Multiplier to_state, to_output;

  int32_t centred(int8_t value) const { return value - input_zero; }
  static int32_t centred(int16_t value) { return value; }
  template <class Weights, class In>
  int32_t products(int64_t count, Weights weight, In value) const {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += int32_t{weight(i)} * centred(value(i));
    return num::wrap_int32(sum);
  }
  int16_t remembered(int32_t sum) const {
    return clamp_to<int16_t>(num::multiply_two_roundings(sum, to_state), {-32768, 32767});
  }
  int8_t stored(int32_t sum) const {
    return clamp_to<int8_t>(int64_t{num::multiply_two_roundings(sum, to_output)} + output_zero, {-128, 127});
  }
};

template <class Rule>
Status run_svdf(const Context& context, const Sizes& s, const Rule& rule) {
  using Sum = typename Rule::Sum;
  const Reader<typename Rule::Data> in(context.inputs[0]), feature(context.inputs[1]);
  const Reader<typename Rule::State> time(context.inputs[2]), before(context.inputs[4]);
  const Writer<typename Rule::Data> out(context.outputs[0]);
  const Writer<typename Rule::State> after(context.outputs[1]);
  const int64_t units = s.filters / s.rank;
  std::vector<typename Rule::State> line(static_cast<size_t>(s.memory));
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t unit = 0; unit < units; ++unit) {
      const Sum bias = context.has_input(3) ? Reader<Sum>(context.inputs[3])[unit] : Sum{0};
      Sum total{0};
      for (int64_t f = unit * s.rank; f < (unit + 1) * s.rank; ++f) {
        const int64_t at = (b * s.filters + f) * s.memory;
        for (int64_t m = 0; m < s.memory; ++m) line[static_cast<size_t>(m)] = before[at + m];
        line.back() = rule.remembered(rule.products(
            s.depth, [&](int64_t d) { return feature[f * s.depth + d]; },
            [&](int64_t d) { return in[b * s.depth + d]; }));
        const Sum weighed = rule.products(
            s.memory, [&](int64_t m) { return time[f * s.memory + m]; },
            [&](int64_t m) { return line[static_cast<size_t>(m)]; });
        total = arithmetic<Sum>(total, weighed, '+');
        // The oldest value goes; the newest place is free for the next run.
        for (int64_t m = 0; m < s.memory; ++m)
          after.set(at + m, m + 1 < s.memory ? line[static_cast<size_t>(m + 1)] : typename Rule::State{0});
      }
      out.set(b * units + unit, rule.stored(arithmetic<Sum>(bias, total, '+')));
    }
  }
  return {};
}

}  // namespace

Status svdf(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* a = PERAXIS_TRY(attributes<ir::SvdfAttributes>(context));
  const Sizes sizes = sizes_of(context, *a);
  if (context.output().type == ir::DataType::Float32)
    return run_svdf(context, sizes, FloatSvdf{activation_bounds<float>(a->activation)});
  const Quant x = quant_of(context.input(0)), y = quant_of(context.output());
  const Quant feature = quant_of(context.input(1)), time = quant_of(context.input(2)),
              state = quant_of(context.input(4));
  // Products and quotients in float32, as LiteRT has them.
  const float inner = x.scale * feature.scale;
  const float outer = state.scale * time.scale;
  return run_svdf(
      context, sizes,
      Int8Svdf{x.zero_point, y.zero_point, num::quantize_multiplier(static_cast<double>(inner / state.scale)),
               num::quantize_multiplier(static_cast<double>(outer / y.scale))});
}

}  // namespace peraxis::kernels::reference

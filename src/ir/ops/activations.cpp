// Operators of one tensor; their arithmetic is in docs/arithmetic.md#operators, each under its name.
#include <algorithm>
#include <cmath>

#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

constexpr float kProbabilityScale = 1.0F / 256.0F;
constexpr float kInt16Step = 1.0F / 32768.0F;

Status expect_scale(const Operand& output, float scale, const char* text) {
  if (output.tensor->quant.scale[0] == scale) return {};
  return fail(ErrorCode::InvalidModel, "{} has the scale {:.9g}; LiteRT takes exactly {}", output.text(),
              output.tensor->quant.scale[0], text);
}

// LiteRT aborts on a finer input.
Status expect_softmax_scale(const Operand& input, float beta) {
  const double multiplier =
      std::min(static_cast<double>(beta) * static_cast<double>(input.tensor->quant.scale[0]) * (1 << 26),
               2147483647.0);
  if (multiplier > 1.0) return {};
  return fail(ErrorCode::InvalidModel, "beta {:.9g} * input scale {:.9g} is not above 2^-26: LiteRT aborts",
              beta, input.tensor->quant.scale[0]);
}

}  // namespace

Status verify_logistic(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const Operand output = view.output();
  PERAXIS_TRY(verify_same(view.input(0), output, kReal));
  if (output.tensor->type == DataType::Float32) return {};
  if (output.tensor->type == DataType::Int16) return expect_scale(output, kInt16Step, "1/32768");
  return expect_scale(output, kProbabilityScale, "1/256");
}

Status verify_tanh(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  PERAXIS_TRY(verify_same(view.input(0), view.output(), kReal));
  if (view.output().tensor->type != DataType::Int16) return {};
  return expect_scale(view.output(), kInt16Step, "1/32768");
}

// LiteRT's kernels never look at the output's parameters, and check them for int8 and int16 inputs only. From
// 8 bits to int16 they always give scale 1/65536 and zero point -32768, whatever the file states.
Status verify_softmax(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const auto attributes = PERAXIS_TRY(view.attributes<SoftmaxAttributes>());
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  const bool wide = output.tensor->type == DataType::Int16;
  const bool widened = wide && input.tensor->type != DataType::Int16;
  if (widened) {
    PERAXIS_TRY(expect_numbers(input, k8Bit));
    PERAXIS_TRY(expect_same_shape(input, output));
    return expect_softmax_scale(input, attributes.beta);
  }
  PERAXIS_TRY(verify_same(input, output, kReal));
  if (input.tensor->type == DataType::Float32) return {};
  const QuantParams& quant = output.tensor->quant;
  const int64_t zero_point = wide ? 0 : type_range(output.tensor->type).low;
  const float scale = wide ? kInt16Step : kProbabilityScale;
  if (std::fabs(quant.scale[0] - scale) > 0.001F * scale || quant.zero_point[0] != zero_point) {
    return fail(ErrorCode::InvalidModel, "{} has scale {:.9g} and zero point {}; softmax gives {} and {}",
                output.text(), quant.scale[0], quant.zero_point[0], wide ? "1/32768" : "1/256", zero_point);
  }
  return wide ? Status{} : expect_softmax_scale(input, attributes.beta);
}

Status verify_leaky_relu(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const auto attributes = PERAXIS_TRY(view.attributes<LeakyReluAttributes>());
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(verify_same(input, output, kReal));
  if (!std::isfinite(attributes.alpha)) {
    return fail(ErrorCode::InvalidModel, "alpha is {}; it must be finite", attributes.alpha);
  }
  return {};
}

Status verify_rectifier(const OpView& view) {
  const Types kNarrow = {DataType::Float32, DataType::Int8, DataType::UInt8};
  PERAXIS_TRY(verify_alike(view, view.op().kind == OpKind::ReluN1To1 ? kNarrow : kReal));
  return {};
}

// LiteRT's fixed-point form steps from the output to a 128 times finer input.
Status verify_hard_swish(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::Int8, DataType::UInt8};
  PERAXIS_TRY(verify_alike(view, kTypes));
  if (view.output().tensor->type == DataType::Float32) return {};
  const float fine = view.input(0).tensor->quant.scale[0] / 128.0F;
  PERAXIS_TRY(expect_multiplier(static_cast<double>(fine / (3.0F / 32768.0F)), "256/3 of the input scale"));
  const float out = view.output().tensor->quant.scale[0];
  if (static_cast<double>(fine / out) >= 1.0) {
    return fail(ErrorCode::InvalidModel,
                "{} has the scale {:.9g}; LiteRT takes more than the input's {:.9g} / 128",
                view.output().text(), out, view.input(0).tensor->quant.scale[0]);
  }
  return {};
}

Status verify_root(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::Int8, DataType::Int16};
  PERAXIS_TRY(view.expect_counts(1, 1));
  return verify_same(view.input(0), view.output(), kTypes);
}

// NEG negates stored values and ignores the quantization; ABS rescales.
Status verify_sign(const OpView& view) {
  if (view.op().kind == OpKind::Abs) {
    const Types kTypes = {DataType::Float32, DataType::Int32, DataType::Int8, DataType::Int16};
    return verify_alike(view, kTypes);
  }
  const Types kTypes = {DataType::Float32, DataType::Int32, DataType::Int64, DataType::Int8};
  PERAXIS_TRY(view.expect_counts(1, 1));
  PERAXIS_TRY(expect_type(view.input(0), kTypes));
  PERAXIS_TRY(expect_same_type(view.input(0), view.output()));
  return expect_same_shape(view.input(0), view.output());
}

}  // namespace peraxis::ir::rules

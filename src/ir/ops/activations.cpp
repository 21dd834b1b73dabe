// LOGISTIC, SOFTMAX and LEAKY_RELU (litert-arithmetic.md 4 and 5).
#include <algorithm>
#include <cmath>

#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

constexpr float kProbabilityScale = 1.0F / 256.0F;

Status verify_same(const Operand& input, const Operand& output) {
  PERAXIS_TRY(expect_quantized(input));
  PERAXIS_TRY(expect_quantized(output));
  PERAXIS_TRY(expect_same_type(input, output));
  return expect_same_shape(input, output);
}

}  // namespace

Status verify_logistic(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const Operand output = view.output();
  PERAXIS_TRY(verify_same(view.input(0), output));
  if (output.tensor->quant.scale[0] != kProbabilityScale) {
    return fail(ErrorCode::InvalidModel, "{} has the scale {:.9g}; LiteRT takes exactly 1/256", output.text(),
                output.tensor->quant.scale[0]);
  }
  return {};
}

// LiteRT's uint8 kernel never looks at the output's parameters: it always gives scale 1/256, zero point 0.
Status verify_softmax(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const auto attributes = PERAXIS_TRY(view.attributes<SoftmaxAttributes>());
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(verify_same(input, output));
  PERAXIS_TRY(expect_rank(input, 1, 4));
  const QuantParams& quant = output.tensor->quant;
  const int64_t zero_point = type_range(output.tensor->type).low;
  constexpr float kTolerance = 0.001F * kProbabilityScale;
  if (std::fabs(quant.scale[0] - kProbabilityScale) > kTolerance || quant.zero_point[0] != zero_point) {
    return fail(ErrorCode::InvalidModel, "{} has scale {:.9g} and zero point {}; softmax gives 1/256 and {}",
                output.text(), quant.scale[0], quant.zero_point[0], zero_point);
  }
  const double multiplier = std::min(
      static_cast<double>(attributes.beta) * static_cast<double>(input.tensor->quant.scale[0]) * (1 << 26),
      2147483647.0);
  if (!(multiplier > 1.0)) {
    return fail(ErrorCode::InvalidModel, "beta {:.9g} * input scale {:.9g} is not above 2^-26: LiteRT aborts",
                attributes.beta, input.tensor->quant.scale[0]);
  }
  return {};
}

Status verify_leaky_relu(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const auto attributes = PERAXIS_TRY(view.attributes<LeakyReluAttributes>());
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(verify_same(input, output));
  const float in = input.tensor->quant.scale[0];
  const float out = output.tensor->quant.scale[0];
  PERAXIS_TRY(expect_multiplier(static_cast<double>(in / out), "input scale / output scale"));
  const float slope = in * attributes.alpha;
  return expect_multiplier(static_cast<double>(slope / out), "input scale * alpha / output scale");
}

}  // namespace peraxis::ir::rules

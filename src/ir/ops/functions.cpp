// Functions of one value (SIN, COS, LOG, ELU, GELU), and the normalizations along the last dimension that
// LiteRT ties to one output scale: L2_NORMALIZATION and LOG_SOFTMAX (docs/arithmetic.md#l2_normalization).
#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

// The one scale and zero point that LiteRT takes for a quantized output.
Status expect_output(const Operand& output, float scale, const char* scale_text, int64_t zero_point) {
  const QuantParams& quant = output.tensor->quant;
  if (quant.scale[0] == scale && quant.zero_point[0] == zero_point) return {};
  return fail(ErrorCode::InvalidModel,
              "{} has scale {:.9g} and zero point {}; LiteRT takes exactly {} and {}", output.text(),
              quant.scale[0], quant.zero_point[0], scale_text, zero_point);
}

}  // namespace

Status verify_function(const OpView& view) {
  const Types kFloat = {DataType::Float32};
  const Types kElu = {DataType::Float32, DataType::Int8};
  const Types kLog = {DataType::Float32, DataType::Int8, DataType::Int16};
  switch (view.op().kind) {
    case OpKind::Elu:
      return verify_alike(view, kElu);
    case OpKind::Log:
      return verify_alike(view, kLog);
    case OpKind::Gelu:
      PERAXIS_TRY(view.attributes<GeluAttributes>());
      return verify_alike(view, kReal);
    default:
      return verify_alike(view, kFloat);
  }
}

Status verify_l2_normalization(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::Int8, DataType::UInt8};
  PERAXIS_TRY(verify_alike(view, kTypes));
  const Operand output = view.output();
  PERAXIS_TRY(expect_rank(output, 1, kMaxRank));
  if (output.tensor->type == DataType::Float32) return {};
  return expect_output(output, 1.0F / 128.0F, "1/128", output.tensor->type == DataType::Int8 ? 0 : 128);
}

Status verify_log_softmax(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::Int8, DataType::UInt8};
  PERAXIS_TRY(verify_alike(view, kTypes));
  const Operand output = view.output();
  PERAXIS_TRY(expect_rank(output, 1, kMaxRank));
  if (output.tensor->type == DataType::Float32) return {};
  PERAXIS_TRY(expect_output(output, 1.0F / 16.0F, "1/16", output.tensor->type == DataType::Int8 ? 127 : 255));
  const float scale = view.input(0).tensor->quant.scale[0];
  if (static_cast<double>(scale) * (1 << 26) > 1.0) return {};
  return fail(ErrorCode::InvalidModel, "{} has the scale {:.9g}, not above 2^-26: LiteRT aborts",
              view.input(0).text(), scale);
}

}  // namespace peraxis::ir::rules

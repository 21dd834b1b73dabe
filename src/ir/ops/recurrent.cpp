// SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM: operators with states, which they read as inputs and write as
// outputs behind their own. Float32, or int8 with the types LiteRT fixes for what lies inside.
#include <cmath>

#include "ir/operands.hpp"
#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

// A tensor of that type and shape, constant where it is a parameter.
Status expect_parameter(const OpView& view, size_t slot, const char* role, DataType type,
                        const std::vector<int32_t>& shape) {
  const Operand operand = view.input(slot, role);
  PERAXIS_TRY(expect_type(operand, {type}));
  PERAXIS_TRY(expect_rank(operand, shape.size(), shape.size()));
  PERAXIS_TRY(expect_shape(operand, shape));
  PERAXIS_TRY(expect_constant(operand));
  const bool scaled = type == DataType::Int8 || type == DataType::Int16;
  return scaled ? expect_quantization(operand) : Status{};
}

// The state in input `slot` and output `out`.
Status expect_state(const OpView& view, size_t slot, size_t out, DataType type, int64_t elements) {
  const Operand before = view.input(slot, "the state");
  const Operand after = view.output(out, "the state after");
  PERAXIS_TRY(expect_type(before, {type}));
  if (before.tensor->elements() != elements) {
    return fail(ErrorCode::InvalidModel, "{} of shape {} has {} elements; it must have {}", before.text(),
                shape_text(before.tensor->shape), before.tensor->elements(), elements);
  }
  PERAXIS_TRY(verify_same(before, after, {type}));
  if (before.tensor->quant == after.tensor->quant) return {};
  return fail(ErrorCode::InvalidModel, "{} and {} have different scales", before.text(), after.text());
}

Status expect_int_or_float(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::Int8};
  PERAXIS_TRY(expect_numbers(view.input(0), kTypes));
  PERAXIS_TRY(expect_numbers(view.output(), kTypes));
  return expect_same_type(view.input(0), view.output());
}

}  // namespace

Status verify_svdf(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(3, 5, 2));
  const auto attributes = PERAXIS_TRY(view.attributes<SvdfAttributes>());
  if (!view.has_input(4)) return fail(ErrorCode::InvalidModel, "{} inputs; it takes 5", view.inputs());
  PERAXIS_TRY(expect_int_or_float(view));
  const Operand input = view.input(0);
  const bool wide = input.tensor->type == DataType::Float32;
  PERAXIS_TRY(expect_rank(input, 2, 2));
  const Operand feature = view.input(1, "the feature weights");
  const Operand time = view.input(2, "the time weights");
  PERAXIS_TRY(expect_rank(feature, 2, 2));
  PERAXIS_TRY(expect_rank(time, 2, 2));
  const int32_t batch = input.tensor->shape[0];
  const int32_t filters = feature.tensor->shape[0];
  const int32_t memory = time.tensor->shape[1];
  if (attributes.rank < 1 || filters % attributes.rank != 0) {
    return fail(ErrorCode::InvalidModel, "rank {} does not divide the {} filters of {}", attributes.rank,
                filters, feature.text());
  }
  const int32_t units = filters / attributes.rank;
  PERAXIS_TRY(expect_parameter(view, 1, "the feature weights", wide ? DataType::Float32 : DataType::Int8,
                               {filters, input.tensor->shape[1]}));
  PERAXIS_TRY(expect_parameter(view, 2, "the time weights", wide ? DataType::Float32 : DataType::Int16,
                               {filters, memory}));
  if (view.has_input(3)) {
    PERAXIS_TRY(expect_parameter(view, 3, "the bias", wide ? DataType::Float32 : DataType::Int32, {units}));
  }
  const auto kept = static_cast<int64_t>(memory) * filters;
  if (kept > kMaxElements)
    return fail(ErrorCode::Unsupported, "{} filters of {} values are too many", filters, memory);
  PERAXIS_TRY(expect_rank(view.input(4, "the state"), 2, 2));
  PERAXIS_TRY(
      expect_shape(view.input(4, "the state"), std::vector<int32_t>{batch, static_cast<int32_t>(kept)}));
  PERAXIS_TRY(expect_state(view, 4, 1, wide ? DataType::Float32 : DataType::Int16, batch * kept));
  PERAXIS_TRY(expect_shape(view.output(), std::vector<int32_t>{batch, units}));
  if (wide || attributes.activation == Activation::Relu) return {};
  return fail(ErrorCode::InvalidModel, "the activation {}; LiteRT takes RELU only of int8",
              activation_name(attributes.activation));
}

namespace {

struct LstmSizes {
  int32_t batch = 1, input = 1, cells = 1, outputs = 1;
};

Result<LstmSizes> lstm_sizes(const OpView& view, bool time_major) {
  const Operand input = view.input(0);
  PERAXIS_TRY(expect_rank(input, 3, 3));
  const Operand weights = view.input(kLstmInputWeights + kOutputGate, "the output gate's weights");
  const Operand recurrent =
      view.input(kLstmRecurrentWeights + kOutputGate, "the output gate's recurrent weights");
  PERAXIS_TRY(expect_rank(weights, 2, 2));
  PERAXIS_TRY(expect_rank(recurrent, 2, 2));
  const std::vector<int32_t>& shape = input.tensor->shape;
  return LstmSizes{shape[time_major ? 1 : 0], shape[2], weights.tensor->shape[0], recurrent.tensor->shape[1]};
}

// The weights, biases and peephole weights of one gate.
Status verify_gate(const OpView& view, size_t gate, const LstmSizes& sizes, bool wide, bool peephole) {
  const DataType type = wide ? DataType::Float32 : DataType::Int8;
  for (const size_t slot : {kLstmInputWeights + gate, kLstmRecurrentWeights + gate, kLstmBias + gate})
    if (!view.has_input(slot)) return fail(ErrorCode::InvalidModel, "input {} is absent", slot);
  PERAXIS_TRY(
      expect_parameter(view, kLstmInputWeights + gate, "a gate's weights", type, {sizes.cells, sizes.input}));
  PERAXIS_TRY(expect_parameter(view, kLstmRecurrentWeights + gate, "a gate's recurrent weights", type,
                               {sizes.cells, sizes.outputs}));
  PERAXIS_TRY(expect_parameter(view, kLstmBias + gate, "a gate's bias",
                               wide ? DataType::Float32 : DataType::Int32, {sizes.cells}));
  if (gate == kCellGate || !peephole) return {};
  const size_t slot = lstm_peephole(gate);
  if (!view.has_input(slot))
    return fail(ErrorCode::InvalidModel, "input {} is absent, other peephole weights are not", slot);
  return expect_parameter(view, slot, "peephole weights", wide ? DataType::Float32 : DataType::Int16,
                          {sizes.cells});
}

Status verify_projection(const OpView& view, const LstmSizes& sizes, bool wide) {
  if (!view.has_input(kLstmProjection)) {
    if (view.has_input(kLstmProjectionBias))
      return fail(ErrorCode::InvalidModel, "a bias of a projection without its weights");
    if (sizes.cells == sizes.outputs) return {};
    return fail(ErrorCode::InvalidModel, "{} cells but {} outputs without a projection", sizes.cells,
                sizes.outputs);
  }
  PERAXIS_TRY(expect_parameter(view, kLstmProjection, "the projection's weights",
                               wide ? DataType::Float32 : DataType::Int8, {sizes.outputs, sizes.cells}));
  if (!view.has_input(kLstmProjectionBias)) return {};
  return expect_parameter(view, kLstmProjectionBias, "the projection's bias",
                          wide ? DataType::Float32 : DataType::Int32, {sizes.outputs});
}

// What the int8 arithmetic demands beyond types.
Status verify_lstm_scales(const OpView& view, const LstmAttributes& attributes, const LstmSizes& sizes,
                          bool peephole) {
  const float cell = view.input(kLstmCellState, "the cell state").tensor->quant.scale[0];
  int exponent = 0;
  const bool power = std::frexp(cell, &exponent) == 0.5F;
  if (!power || exponent - 1 < -15 || exponent - 1 > -9) {
    return fail(ErrorCode::InvalidModel,
                "the cell state has the scale {:.9g}; it must be a power of two from 2^-15 to 2^-9", cell);
  }
  const bool hidden = std::isfinite(attributes.hidden_scale) && attributes.hidden_scale > 0.0F &&
                      attributes.hidden_zero_point >= -128 && attributes.hidden_zero_point <= 127;
  if (!hidden) {
    return fail(ErrorCode::InvalidModel,
                "the file states the scale {:.9g} and zero point {} of the output before a projection "
                "(intermediate tensor 4); a scale above 0 is needed",
                attributes.hidden_scale, attributes.hidden_zero_point);
  }
  if (peephole && sizes.cells != sizes.outputs)
    return fail(ErrorCode::Unsupported,
                "int8 peephole weights with {} cells and {} outputs: LiteRT mixes them up", sizes.cells,
                sizes.outputs);
  return {};
}

}  // namespace

Status verify_sequence_lstm(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 24, 3));
  const auto attributes = PERAXIS_TRY(view.attributes<LstmAttributes>());
  if (view.inputs() != 20 && view.inputs() != 24)
    return fail(ErrorCode::InvalidModel, "{} inputs; it takes 20 or 24", view.inputs());
  for (size_t slot = kLstmNormalization; slot < view.inputs(); ++slot)
    if (view.has_input(slot))
      return fail(ErrorCode::Unsupported, "layer normalization (input {}) is not supported", slot);
  for (const size_t slot : {kLstmInputWeights + kOutputGate, kLstmRecurrentWeights + kOutputGate,
                            kLstmOutputState, kLstmCellState})
    if (!view.has_input(slot)) return fail(ErrorCode::InvalidModel, "input {} is absent", slot);
  PERAXIS_TRY(expect_int_or_float(view));
  if (!(attributes.cell_clip >= 0.0F) || !(attributes.proj_clip >= 0.0F)) {
    return fail(ErrorCode::InvalidModel, "the clips {} and {} must be 0 or more", attributes.cell_clip,
                attributes.proj_clip);
  }
  const LstmSizes sizes = PERAXIS_TRY(lstm_sizes(view, attributes.time_major));
  const bool wide = view.input(0).tensor->type == DataType::Float32;
  const bool peephole = view.has_input(lstm_peephole(kOutputGate));
  // Without an input gate it is what the forget gate leaves.
  const bool coupled = !view.has_input(kLstmInputWeights + kInputGate);
  for (const size_t slot :
       {kLstmInputWeights + kInputGate, kLstmRecurrentWeights + kInputGate, kLstmBias + kInputGate})
    if (coupled && view.has_input(slot))
      return fail(ErrorCode::InvalidModel, "input {} of the input gate without its weights", slot);
  for (size_t gate = coupled ? kForgetGate : kInputGate; gate <= kOutputGate; ++gate)
    PERAXIS_TRY(verify_gate(view, gate, sizes, wide, peephole));
  PERAXIS_TRY(verify_projection(view, sizes, wide));
  PERAXIS_TRY(expect_state(view, kLstmOutputState, 1, wide ? DataType::Float32 : DataType::Int8,
                           int64_t{sizes.batch} * sizes.outputs));
  PERAXIS_TRY(expect_state(view, kLstmCellState, 2, wide ? DataType::Float32 : DataType::Int16,
                           int64_t{sizes.batch} * sizes.cells));
  std::vector<int32_t> expected = view.input(0).tensor->shape;
  expected.back() = sizes.outputs;
  PERAXIS_TRY(expect_shape(view.output(), expected));
  return wide ? Status{} : verify_lstm_scales(view, attributes, sizes, peephole);
}

}  // namespace peraxis::ir::rules

// CONCATENATION copies. uint8 inputs with other parameters than the output are requantized in float32;
// int8 ones are refused, as LiteRT does.
#include <array>
#include <cmath>

#include "kernels/registry.hpp"
#include "num/rounding.hpp"

namespace peraxis::kernels::reference {
namespace {

struct Layout {
  size_t outer = 1;          // slices before the axis
  size_t out_row = 0;        // bytes of one slice of the output
  std::vector<size_t> rows;  // bytes of one slice of each input
};

Result<Layout> make_layout(const Context& context, size_t axis) {
  const ir::Tensor& out = context.output();
  Layout layout;
  auto inner = static_cast<size_t>(ir::data_type_bytes(out.type));
  for (size_t d = 0; d < axis; ++d) layout.outer *= static_cast<size_t>(out.shape[d]);
  for (size_t d = axis + 1; d < out.shape.size(); ++d) inner *= static_cast<size_t>(out.shape[d]);
  int64_t along_axis = 0;
  for (size_t i = 0; i < context.op().inputs.size(); ++i) {
    const ir::Tensor& in = context.input(i);
    std::vector<int32_t> expected = out.shape;
    if (in.shape.size() == out.shape.size()) expected[axis] = in.shape[axis];
    if (in.shape != expected || in.type != out.type) {
      return fail(ErrorCode::InvalidModel, "{}: input {} is {} {}, it does not fit into {} {} along axis {}",
                  context.label(), i, ir::data_type_name(in.type), shape_text(in.shape),
                  ir::data_type_name(out.type), shape_text(out.shape), axis);
    }
    along_axis += in.shape[axis];
    layout.rows.push_back(static_cast<size_t>(in.shape[axis]) * inner);
  }
  if (along_axis != out.shape[axis]) {
    return fail(ErrorCode::InvalidModel, "{}: the inputs have {} entries along axis {}, the output {}",
                context.label(), along_axis, axis, out.shape[axis]);
  }
  layout.out_row = static_cast<size_t>(along_axis) * inner;
  return layout;
}

// What each stored value of a uint8 input becomes; the identity when the parameters are equal.
Result<std::array<uint8_t, 256>> value_table(const Context& context, size_t i) {
  std::array<uint8_t, 256> table{};
  for (size_t q = 0; q < table.size(); ++q) table[q] = static_cast<uint8_t>(q);
  const ir::Tensor& in = context.input(i);
  const ir::Tensor& out = context.output();
  const bool equal = in.quant.scale == out.quant.scale && in.quant.zero_point == out.quant.zero_point;
  if (equal || !is_8bit(out.type)) return table;
  if (out.type == ir::DataType::Int8) {
    return fail(ErrorCode::Unsupported, "{}: int8 input {} has other quantization parameters than the output",
                context.label(), i);
  }
  const Quant x = PERAXIS_TRY(byte_quant(context, in));
  const Quant y = PERAXIS_TRY(byte_quant(context, out));
  const float inverse = 1.0F / y.scale;
  const float factor = x.scale * inverse;
  const float offset = static_cast<float>(-x.zero_point) * factor;
  for (size_t q = 0; q < table.size(); ++q) {
    const float scaled = static_cast<float>(q) * factor;
    const float rounded = std::round(scaled + offset);
    const int32_t shifted =
        num::wrap_int32(int64_t{float_to_int32(static_cast<double>(rounded))} + y.zero_point);
    table[q] = clamp_to_byte(shifted, ir::type_range(out.type));
  }
  return table;
}

}  // namespace

Status concatenation(const Context& context) {
  const size_t count = context.op().inputs.size();
  PERAXIS_TRY(check_arity(context, count, count));
  const auto* a = PERAXIS_TRY(attributes<ir::ConcatenationAttributes>(context));
  if (a->activation != ir::Activation::None) {
    return fail(ErrorCode::Unsupported, "{}: a fused activation is not supported", context.label());
  }
  const size_t axis = PERAXIS_TRY(normalized_axis(context, a->axis, context.output().shape.size()));
  const Layout layout = PERAXIS_TRY(make_layout(context, axis));
  uint8_t* destination = context.outputs[0].data();
  for (size_t i = 0; i < count; ++i) {
    const auto table = PERAXIS_TRY(value_table(context, i));
    const bool copies = !is_8bit(context.output().type) || context.input(i).quant == context.output().quant;
    for (size_t slice = 0; slice < layout.outer; ++slice) {
      const Values source = context.inputs[i].subspan(slice * layout.rows[i], layout.rows[i]);
      uint8_t* to = destination + slice * layout.out_row;
      if (copies) {
        if (!source.empty()) std::memcpy(to, source.data(), source.size());
      } else {
        for (size_t b = 0; b < source.size(); ++b) to[b] = table[source[b]];
      }
    }
    destination += layout.rows[i];
  }
  return {};
}

}  // namespace peraxis::kernels::reference

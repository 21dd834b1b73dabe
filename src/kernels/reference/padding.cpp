#include "kernels/reference/padding.hpp"

#include <algorithm>

#include "kernels/walk.hpp"

namespace peraxis::kernels::reference {

std::vector<uint8_t> zero_of(const ir::Tensor& tensor) {
  std::vector<uint8_t> value(static_cast<size_t>(ir::data_type_bytes(tensor.type)), 0);
  if (tensor.quant.zero_point.empty()) return value;
  if (is_8bit(tensor.type)) value[0] = static_cast<uint8_t>(tensor.quant.zero_point[0]);
  return value;  // int16 takes the zero point 0
}

void fill_with(const Context& context, const std::vector<uint8_t>& value) {
  const std::span<uint8_t> out = context.outputs[0];
  if (value.size() == 1) {
    std::ranges::fill(out, value[0]);
    return;
  }
  for (size_t i = 0; i < out.size(); i += value.size())
    std::memcpy(out.data() + i, value.data(), value.size());
}

Status pad_with(const Context& context, const std::vector<uint8_t>& value) {
  const ir::Tensor& in = context.input(0);
  const ir::Tensor& out = context.output();
  const std::vector<ir::AxisPadding> paddings =
      PERAXIS_TRY_NOTE(ir::pad_amounts(context.graph, context.op()), "in {}", context.label());
  Offsets to{0, dense_strides(out.shape)};
  const Offsets from{0, dense_strides(in.shape)};
  for (size_t d = 0; d < paddings.size(); ++d) to.base += paddings[d].before * to.strides[d];
  fill_with(context, value);
  // The last dimension lies in one piece on both sides.
  const auto size = static_cast<int64_t>(value.size());
  const auto run = static_cast<size_t>(in.shape.back()) * value.size();
  const uint8_t* source = context.inputs[0].data();
  uint8_t* destination = context.outputs[0].data();
  std::vector<int64_t> rows(in.shape.begin(), in.shape.end());
  rows.back() = 1;
  walk(rows, from, to,
       [&](int64_t i, int64_t o) { std::memcpy(destination + o * size, source + i * size, run); });
  return {};
}

}  // namespace peraxis::kernels::reference

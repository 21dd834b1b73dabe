#include "ir/pads.hpp"

#include <algorithm>
#include <optional>

#include "ir/layouts.hpp"
#include "ir/operands.hpp"
#include "ir/shape.hpp"

namespace peraxis::ir {

namespace {

struct Sides {
  int64_t before, behind;
};

Sides even_sides(int64_t in, int64_t kernel, int64_t stride, int64_t dilation) {
  const int64_t out = (in + stride - 1) / stride;
  const int64_t total = std::max<int64_t>(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - in);
  return {total / 2, total - total / 2};
}

Sides transposed_sides(int64_t in, int64_t out, int64_t kernel, int64_t stride, Pads::Rule rule) {
  const int64_t total = (in - 1) * stride + kernel - out;
  const int64_t before = rule == Pads::Rule::Even ? std::max<int64_t>(0, total) / 2 : 0;
  return {before, total - before};
}

Pads joined(Sides rows, Sides columns, Pads::Rule rule) {
  int32_t sides[4];
  int32_t* to = sides;
  for (const int64_t amount : {rows.before, rows.behind, columns.before, columns.behind}) {
    if (amount < -int64_t{kMostPadding} || amount > kMostPadding) return {0, 0, 0, 0, rule};
    *to++ = static_cast<int32_t>(amount);
  }
  return {sides[0], sides[1], sides[2], sides[3]};
}

// Null where the operand is absent, open or no map.
const Tensor* map_of(const Graph& graph, int32_t index) {
  if (index < 0 || static_cast<size_t>(index) >= graph.tensors.size()) return nullptr;
  const Tensor& tensor = graph.tensor(index);
  const bool stated = !tensor.open_shape && tensor.shape.size() == 4 && check_shape(tensor.shape).has_value();
  return stated ? &tensor : nullptr;
}

template <class Attributes>
bool steps(const Attributes& a) {
  bool positive = a.stride_h > 0 && a.stride_w > 0;
  if constexpr (requires { a.dilation_h; }) positive = positive && a.dilation_h > 0 && a.dilation_w > 0;
  if constexpr (requires { a.filter_h; }) positive = positive && a.filter_h > 0 && a.filter_w > 0;
  return positive;
}

std::optional<Pads> amounts(const Graph& graph, const Op& op) {
  const bool pool = std::holds_alternative<PoolAttributes>(op.attributes);
  const bool transposed = std::holds_alternative<TransposeConvAttributes>(op.attributes);
  if (op.inputs.size() < (pool ? 1 : transposed ? 3 : 2)) return std::nullopt;
  const Tensor* input = map_of(graph, op.inputs[transposed ? 2 : 0]);
  if (input == nullptr) return std::nullopt;
  if (pool) {
    const auto& a = std::get<PoolAttributes>(op.attributes);
    return steps(a) ? std::optional(even_pads(nhwc(*input), a)) : std::nullopt;
  }
  const Tensor* weights = map_of(graph, op.inputs[1]);
  if (weights == nullptr) return std::nullopt;
  const int64_t kernel_h = weights->shape[kConvWeights.rows], kernel_w = weights->shape[kConvWeights.columns];
  if (const auto* a = std::get_if<ConvAttributes>(&op.attributes))
    return steps(*a) ? std::optional(even_pads(nhwc(*input), kernel_h, kernel_w, *a)) : std::nullopt;
  const auto* a = std::get_if<TransposeConvAttributes>(&op.attributes);
  const auto shape = constant_int32(graph, op.inputs[0], "the shape input");
  if (a == nullptr || !steps(*a) || !shape || shape->size() != 4 || !check_shape(*shape)) return std::nullopt;
  const Nhwc out{(*shape)[kImages], (*shape)[kRows], (*shape)[kColumns], (*shape)[kChannels]};
  return transposed_pads(nhwc(*input), out, kernel_h, kernel_w, *a);
}

}  // namespace

const Pads* pads_of(const Op& op) {
  return std::visit(
      [](const auto& attributes) -> const Pads* {
        if constexpr (requires { attributes.pads; }) return &attributes.pads;
        return nullptr;
      },
      op.attributes);
}

Pads* pads_of(Op& op) {
  return const_cast<Pads*>(pads_of(static_cast<const Op&>(op)));
}

Pads even_pads(const Nhwc& in, int64_t kernel_h, int64_t kernel_w, const ConvAttributes& a) {
  return joined(even_sides(in.h, kernel_h, a.stride_h, a.dilation_h),
                even_sides(in.w, kernel_w, a.stride_w, a.dilation_w), Pads::Rule::Even);
}

Pads even_pads(const Nhwc& in, const PoolAttributes& a) {
  return joined(even_sides(in.h, a.filter_h, a.stride_h, 1), even_sides(in.w, a.filter_w, a.stride_w, 1),
                Pads::Rule::Even);
}

Pads transposed_pads(const Nhwc& in, const Nhwc& out, int64_t kernel_h, int64_t kernel_w,
                     const TransposeConvAttributes& a) {
  return joined(transposed_sides(in.h, out.h, kernel_h, a.stride_h, a.pads.rule),
                transposed_sides(in.w, out.w, kernel_w, a.stride_w, a.pads.rule), a.pads.rule);
}

void state_pads(Graph& graph, size_t op_index) {
  Op& op = graph.ops[op_index];
  Pads* pads = pads_of(op);
  if (pads == nullptr || pads->rule == Pads::Rule::Stated) return;
  if (const auto stated = amounts(graph, op)) *pads = *stated;
}

}  // namespace peraxis::ir

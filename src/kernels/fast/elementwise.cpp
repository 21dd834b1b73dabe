// ADD, SUB and MUL of 8-bit tensors by rows of the last dimension: what each of 256 stored values contributes
// to a sum is a table, and the step to the output's scale takes several values at a time.
#include "num/elementwise.hpp"

#include <array>

#include "kernels/elements.hpp"
#include "kernels/fast/requantize.hpp"
#include "kernels/fast/widen.hpp"
#include "kernels/reference/broadcast.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::fast {
namespace {

constexpr int64_t kBlock = 64;           // values that are combined before they are stored
constexpr int64_t kShortestRow = 4;      // below it the walk costs more than the arithmetic
constexpr int kLargestMulExponent = 14;  // 255 * 255 * 2^14 is an int32, so nothing wraps

using Table = std::array<int32_t, 256>;

// Two operands over the output, as rows of `length` elements; a stride of 0 repeats one element along a row.
struct Rowwise {
  reference::Broadcast rows;
  int64_t length = 1, step_a = 1, step_b = 1;
};

Result<Rowwise> rowwise(const Context& context) {
  Rowwise out;
  out.rows = PERAXIS_TRY(reference::broadcast(context));
  if (context.input(0).shape == context.input(1).shape) {
    out.length = context.output().elements();
    out.rows.shape.clear();
    return out;
  }
  out.length = out.rows.shape.back();
  out.step_a = out.rows.first.strides.back();
  out.step_b = out.rows.second.strides.back();
  out.rows.shape.back() = 1;
  return out;
}

// out = requantize(combine(a, b)) for every element.
template <class Combine>
void run_rows(const Context& context, const Rowwise& shape, const Requantize& requantize, Combine combine) {
  const uint8_t* a = context.inputs[0].data();
  const uint8_t* b = context.inputs[1].data();
  uint8_t* out = context.outputs[0].data();
  const auto row = [&](int64_t of_a, int64_t of_b) {
    for (int64_t first = 0; first < shape.length; first += kBlock) {
      const int64_t count = std::min(kBlock, shape.length - first);
      int32_t sums[kBlock];
      for (int64_t i = 0; i < count; ++i)
        sums[i] = combine(a[of_a + (first + i) * shape.step_a], b[of_b + (first + i) * shape.step_b]);
      requantize_row(requantize, sums, 0, count, out);
      out += count;
    }
  };
  walk(shape.rows.shape, shape.rows.first, shape.rows.second, row);
}

// One multiplier for all values.
Requantize uniform(const Context& context, num::Multiplier multiplier, ir::Activation activation) {
  Requantize requantize;
  requantize.multipliers.assign(kBlock, multiplier);
  requantize.zero_point = quant_of(context.output()).zero_point;
  requantize.range = ir::activation_range(context.output(), activation);
  return requantize;
}

// Whether the rule of the operator holds for 8-bit operands; the reference says what is wrong.
bool plain_bytes(const Context& context) {
  return takes_bytes(context) && check_rule(context).has_value() && !context.output().shape.empty();
}

// What the operand's values add to a sum; `multiplier`: of_a or of_b of num::AddSub.
Table contributions(const ir::Tensor& tensor, num::Multiplier multiplier, int sign) {
  const int32_t zero_point = quant_of(tensor).zero_point;
  Table table{};
  for (size_t byte = 0; byte < table.size(); ++byte) {
    const int32_t centred = stored(static_cast<uint8_t>(byte), tensor.type) - zero_point;
    table[byte] = sign * num::multiply_two_roundings(centred * (1 << num::kFractionBits8), multiplier);
  }
  return table;
}

bool add_or_subtract(const Context& context, int sign) {
  const auto* a = std::get_if<ir::BinaryAttributes>(&context.op().attributes);
  if (a == nullptr || !plain_bytes(context)) return false;
  const auto shape = rowwise(context);
  if (!shape || shape->length < kShortestRow) return false;
  const num::AddSub sum(quant_of(context.input(0)).scale, quant_of(context.input(1)).scale,
                        quant_of(context.output()).scale, num::kFractionBits8);
  if (!sum.in_range) return false;
  const Table of_a = contributions(context.input(0), sum.of_a, 1);
  const Table of_b = contributions(context.input(1), sum.of_b, sign);
  const Requantize requantize = uniform(context, sum.of_output, a->activation);
  run_rows(context, *shape, requantize, [&](uint8_t p, uint8_t q) { return of_a[p] + of_b[q]; });
  return true;
}

bool multiply_rows(const Context& context) {
  const auto* a = std::get_if<ir::BinaryAttributes>(&context.op().attributes);
  if (a == nullptr || !plain_bytes(context)) return false;
  const auto shape = rowwise(context);
  if (!shape || shape->length < kShortestRow) return false;
  const Quant x = quant_of(context.input(0));
  const Quant z = quant_of(context.input(1));
  const float product = x.scale * z.scale;
  const float ratio = product / quant_of(context.output()).scale;
  const Requantize requantize =
      uniform(context, num::quantize_multiplier(static_cast<double>(ratio)), a->activation);
  if (requantize.multipliers[0].exponent > kLargestMulExponent) return false;
  const ir::DataType type = context.output().type;
  run_rows(context, *shape, requantize, [&](uint8_t p, uint8_t q) {
    return (stored(p, type) - x.zero_point) * (stored(q, type) - z.zero_point);
  });
  return true;
}

}  // namespace

Status add(const Context& context) {
  return add_or_subtract(context, 1) ? Status{} : reference::add(context);
}

Status sub(const Context& context) {
  return add_or_subtract(context, -1) ? Status{} : reference::sub(context);
}

Status mul(const Context& context) {
  return multiply_rows(context) ? Status{} : reference::mul(context);
}

}  // namespace peraxis::kernels::fast

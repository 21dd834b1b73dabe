// The operators run on a map of 256 pixels, one of each value, with the reference kernels.
#include "requant/table.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.hpp"
#include "num/rounding.hpp"

namespace peraxis::requant {
namespace {

constexpr int32_t kValues = 256;

// How far stored values are from the int8 domain.
int32_t offset_of(const ir::Tensor& t) {
  return t.type == ir::DataType::UInt8 ? 128 : 0;
}

Status check_activation(const ir::Tensor& t, const std::vector<int32_t>& shape) {
  if (t.type != ir::DataType::Int8 && t.type != ir::DataType::UInt8)
    return fail(ErrorCode::Unsupported, "'{}' is {}, a table has 8-bit values", t.name,
                ir::data_type_name(t.type));
  if (t.quant.scale.size() != 1 || t.quant.zero_point.size() != 1 || !(t.quant.scale[0] > 0) ||
      !std::isfinite(t.quant.scale[0]))
    return fail(ErrorCode::Unsupported, "'{}' has not one positive scale", t.name);
  if (t.shape != shape)
    return fail(ErrorCode::Unsupported, "'{}' has another shape than '{}'", t.name, "the input");
  return {};
}

// The operators alone, every activation with one pixel a value.
Result<ir::Graph> one_of_each(const ir::Graph& graph, std::span<const size_t> ops, int32_t input) {
  const std::vector<int32_t> shape = graph.tensor(input).shape;
  ir::Graph out;
  out.tensors.resize(graph.tensors.size());
  std::vector<bool> known(graph.tensors.size());
  const auto add = [&](int32_t t) -> Status {
    PERAXIS_TRY(check_activation(graph.tensor(t), shape));
    ir::Tensor& copy = out.tensors[static_cast<size_t>(t)];
    copy = graph.tensor(t);
    copy.shape = {1, 1, kValues, 1};
    known[static_cast<size_t>(t)] = true;
    return {};
  };
  PERAXIS_TRY(add(input));
  for (const size_t index : ops) {
    const ir::Op& op = graph.ops[index];
    for (const int32_t t : op.inputs) {
      if (t != ir::kAbsent && known[static_cast<size_t>(t)]) continue;
      if (t == ir::kAbsent || !graph.tensor(t).is_constant)
        return fail(ErrorCode::Unsupported, "it has more than one activation as input");
      if (graph.tensor(t).elements() != 1)
        return fail(ErrorCode::Unsupported, "'{}' has {} elements: not all pixels are treated alike",
                    graph.tensor(t).name, graph.tensor(t).elements());
      out.tensors[static_cast<size_t>(t)] = graph.tensor(t);
    }
    if (op.outputs.size() != 1) return fail(ErrorCode::Unsupported, "it has {} outputs", op.outputs.size());
    PERAXIS_TRY(add(op.outputs[0]));
    out.ops.push_back(op);
  }
  out.inputs = {input};
  out.outputs = {graph.ops[ops.back()].outputs[0]};
  return out;
}

// What the task makes of value q (docs/hardware/dpu.md#look-up-table).
int32_t looked_up(const rk3588::LookUpTable& table, int32_t q) {
  const int32_t x = q * rk3588::kLookUpFactor + rk3588::kLookUpAddend;
  const auto& entries = x < 0 ? table.le : table.lo;
  const int32_t from_start = x < 0 ? x + rk3588::kLookUpReach : x;
  const auto i = static_cast<size_t>(from_start >> rk3588::kLookUpSelect);
  const int32_t rest = from_start & ((1 << rk3588::kLookUpSelect) - 1);
  const int32_t half = 1 << (rk3588::kLookUpSelect - 1);
  const int32_t y = entries[i] + (((entries[i + 1] - entries[i]) * rest + half) >> rk3588::kLookUpSelect);
  return static_cast<int32_t>(
      std::clamp<int64_t>(num::shift_ties_away(y, rk3588::kLookUpShift) + rk3588::kLookUpOffset, -128, 127));
}

}  // namespace

Result<std::shared_ptr<const rk3588::LookUpTable>> make_table(const ir::Graph& graph,
                                                              std::span<const size_t> ops, int32_t input) {
  const ir::Graph alone = PERAXIS_TRY(one_of_each(graph, ops, input));
  const ir::Tensor& in = alone.tensor(input);
  const ir::Tensor& out = alone.tensor(alone.outputs[0]);
  std::array<uint8_t, kValues> values{};
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<uint8_t>(static_cast<int32_t>(i) - 128 + offset_of(in));
  const kernels::Values given = values;
  const auto made = PERAXIS_TRY(kernels::run_graph(alone, {&given, 1}, {kernels::Path::Reference}));
  std::array<int8_t, kValues> outputs{};
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = static_cast<int8_t>(static_cast<uint8_t>(made[0][i] - offset_of(out)));
  auto table = std::make_shared<const rk3588::LookUpTable>(rk3588::look_up_table(outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int32_t q = static_cast<int32_t>(i) - 128;
    if (looked_up(*table, q) != outputs[i])
      return fail(ErrorCode::Internal, "the table gives {} for the value {}, the reference {}",
                  looked_up(*table, q), q, outputs[i]);
  }
  return table;
}

}  // namespace peraxis::requant

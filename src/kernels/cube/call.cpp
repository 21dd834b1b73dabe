#include "kernels/cube/call.hpp"

#include <algorithm>
#include <cstring>

#include "ir/shape.hpp"
#include "kernels/context.hpp"
#include "kernels/own_pool.hpp"

namespace peraxis::kernels::cube {

std::optional<std::vector<int64_t>> parameter(const Call& call, size_t input) {
  if (!call.has_input(input) || !call.input(input).is_constant) return std::nullopt;
  const ir::Tensor& t = call.input(input);
  if (static_cast<int64_t>(t.data.size()) != t.bytes()) return std::nullopt;
  auto values = ir::constant_integers(call.graph, call.op().inputs[input], "a parameter");
  if (!values) return std::nullopt;
  return std::move(*values);
}

ir::Graph alone(const Call& call) {
  ir::Graph out;
  out.name = call.graph.name;
  ir::Op op;
  op.kind = call.op().kind;
  op.attributes = call.op().attributes;
  for (const auto& [from, to] : {std::pair{&call.op().inputs, &op.inputs}, {&call.op().outputs, &op.outputs}})
    for (const int32_t t : *from) {
      if (t == ir::kAbsent) {
        to->push_back(ir::kAbsent);
        out.tensors.emplace_back();
        continue;
      }
      to->push_back(static_cast<int32_t>(out.tensors.size()));
      out.tensors.push_back(call.graph.tensor(t));
    }
  out.ops.push_back(std::move(op));
  return out;
}

Status run_alone(const ir::Graph& graph, std::span<const Values> bytes, std::span<uint8_t> output,
                 const Options& options) {
  const ir::Op& op = graph.ops[0];
  std::vector<Values> inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] == ir::kAbsent)
      inputs.emplace_back();
    else if (i < bytes.size() && !bytes[i].empty())
      inputs.push_back(bytes[i]);
    else
      inputs.emplace_back(graph.tensor(op.inputs[i]).data);
  }
  return kernels::run_op(graph, 0, inputs, std::span<const std::span<uint8_t>>(&output, 1), options);
}

Result<ByteTable> value_table(const Call& call, size_t input) {
  ir::Graph graph = alone(call);
  ir::Op& op = graph.ops[0];
  op.inputs = {op.inputs[input]};
  for (const int32_t t : {op.inputs[0], op.outputs[0]}) {
    ir::Tensor& tensor = graph.tensors[static_cast<size_t>(t)];
    tensor.shape = {256};
    tensor.is_constant = false;
    tensor.data.clear();
  }
  if (auto* join = std::get_if<ir::ConcatenationAttributes>(&op.attributes)) join->axis = 0;
  ByteTable values{}, table{};
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i);
  const Values given = values;
  std::span<uint8_t> made = table;
  PERAXIS_TRY(kernels::run_op(graph, 0, std::span<const Values>(&given, 1),
                              std::span<const std::span<uint8_t>>(&made, 1), {Path::Reference}));
  return table;
}

}  // namespace peraxis::kernels::cube

namespace peraxis::kernels {
namespace {

Status check_layout(const ir::Graph& graph, int32_t index, const Layout& layout, bool written) {
  if (!layout.cube()) return {};
  if (index == ir::kAbsent) return fail(ErrorCode::InvalidArgument, "a missing operand has no cube");
  const ir::Tensor& tensor = graph.tensor(index);
  if (!is_8bit(tensor.type))
    return fail(ErrorCode::Unsupported, "tensor '{}' is {}, cubes hold int8 and uint8", tensor.name,
                ir::data_type_name(tensor.type));
  const int64_t elements = tensor.elements();
  if (layout.channels < 1 || layout.channels > elements || layout.pixels > elements ||
      layout.pixels * layout.channels != elements)
    return fail(ErrorCode::InvalidArgument,
                "a cube of {} pixels and {} channels for tensor '{}' of {} elements", layout.pixels,
                layout.channels, tensor.name, elements);
  if (layout.plain()) return {};
  if (written || static_cast<int64_t>(layout.slot_of.size()) != layout.channels)
    return fail(ErrorCode::InvalidArgument, "tensor '{}': {} slots of {} channels{}", tensor.name,
                layout.slot_of.size(), layout.channels, written ? ", of an output" : "");
  if (std::ranges::any_of(layout.slot_of, [](int32_t slot) { return slot < 0; }))
    return fail(ErrorCode::InvalidArgument, "tensor '{}': a slot below 0", tensor.name);
  return {};
}

// The operator and its operands fit together, but for their bytes. False when all operands are dense.
Result<bool> check_call(const ir::Graph& graph, size_t op_index, std::span<const InputView> inputs,
                        std::span<const OutputView> outputs) {
  if (op_index >= graph.ops.size())
    return fail(ErrorCode::InvalidArgument, "operator {} does not exist, the graph has {}", op_index,
                graph.ops.size());
  const ir::Op& op = graph.ops[op_index];
  if (inputs.size() != op.inputs.size() || outputs.size() != op.outputs.size())
    return fail(ErrorCode::InvalidArgument,
                "operator {}: called with {} inputs and {} outputs, it has {} and {}", op_index,
                inputs.size(), outputs.size(), op.inputs.size(), op.outputs.size());
  const auto dense = [](const auto& view) { return !view.layout.cube(); };
  if (std::ranges::all_of(inputs, dense) && std::ranges::all_of(outputs, dense)) return false;
  PERAXIS_TRY(ir::verify_op(graph, op_index));
  for (size_t i = 0; i < inputs.size(); ++i)
    PERAXIS_TRY_NOTE(check_layout(graph, op.inputs[i], inputs[i].layout, false), "in {}",
                     graph.op_label(op_index));
  for (size_t i = 0; i < outputs.size(); ++i)
    PERAXIS_TRY_NOTE(check_layout(graph, op.outputs[i], outputs[i].layout, true), "in {}",
                     graph.op_label(op_index));
  return true;
}

// Bytes of a view: all of a dense tensor, or a cube and anything behind it.
Status check_bytes(const ir::Graph& graph, int32_t index, const Layout& layout, size_t given) {
  if (index == ir::kAbsent) return {};
  const ir::Tensor& tensor = graph.tensor(index);
  const auto needed = static_cast<size_t>(layout.cube() ? layout.bytes() : tensor.bytes());
  if (layout.cube() ? given >= needed : given == needed) return {};
  return fail(ErrorCode::InvalidArgument, "'{}' has {} bytes, expected {}", tensor.name, given, needed);
}

}  // namespace

int64_t Layout::bytes() const {
  int64_t slots = channels;
  if (!plain()) slots = int64_t{*std::ranges::max_element(slot_of)} + 1;
  return (slots + kLanes - 1) / kLanes * kLanes * pixels;
}

bool takes_layouts(const ir::Graph& graph, size_t op_index, std::span<const Layout> inputs,
                   std::span<const Layout> outputs) {
  std::vector<InputView> in;
  for (const Layout& layout : inputs) in.push_back({{}, layout});
  std::vector<OutputView> out;
  for (const Layout& layout : outputs) out.push_back({{}, layout});
  const auto cubes = check_call(graph, op_index, in, out);
  if (!cubes || !*cubes) return cubes.has_value();
  const cube::Call call{graph, op_index, in, out};
  return cube::takes_moves(call) || cube::takes_surfaces(call) || cube::takes_pixels(call);
}

Status run_op(const ir::Graph& graph, size_t op_index, std::span<const InputView> inputs,
              std::span<const OutputView> outputs, const Options& options) {
  const bool cubes = PERAXIS_TRY(check_call(graph, op_index, inputs, outputs));
  const cube::Call call{graph, op_index, inputs, outputs};
  if (!cubes) {
    std::vector<Values> in;
    for (const InputView& view : inputs) in.push_back(view.bytes);
    std::vector<std::span<uint8_t>> out;
    for (const OutputView& view : outputs) out.push_back(view.bytes);
    return run_op(graph, op_index, in, out, options);
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    PERAXIS_TRY_NOTE(check_bytes(graph, call.op().inputs[i], inputs[i].layout, inputs[i].bytes.size()),
                     "in {}", graph.op_label(op_index));
  for (size_t i = 0; i < outputs.size(); ++i)
    PERAXIS_TRY_NOTE(check_bytes(graph, call.op().outputs[i], outputs[i].layout, outputs[i].bytes.size()),
                     "in {}", graph.op_label(op_index));
  const OwnPool pool(options);
  if (auto moved = cube::run_moves(call, pool.options())) return std::move(*moved);
  if (cube::takes_surfaces(call)) return cube::run_surfaces(call, pool.options());
  if (cube::takes_pixels(call)) return cube::run_pixels(call, pool.options());
  return fail(ErrorCode::Unsupported, "{}: does not run on cubes that lie so", graph.op_label(op_index));
}

}  // namespace peraxis::kernels

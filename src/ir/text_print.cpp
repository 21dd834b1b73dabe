// The text form, one line a tensor or operator, in the order of the graph (without the empty lines):
//
//   graph "yolo"
//   %0 = tensor int8 [1,80,80,32] scale(0.0235294122) zero_point(-128) "images"
//   %1 = tensor int8 [16,3,3,32] scale(0.01,...) zero_point(0,...) axis(0) const bytes(4608) hash(8f...) "w"
//
//   conv_2d(%0, %1, %2) -> (%3) pads(0,1,0,1) stride_h(2) ... activation(relu)
//
//   inputs(%0)
//
//   outputs(%3)
//
// A graph that keeps values between runs ends with states(%4, %9), each tensor that is read and the one that
// is written for the next run.
//
// Pads are those at the top, bottom, left and right; a word in their place is a rule of the file for shapes
// that are open. `open` behind a shape: the file leaves the shape to the operator. An absent optional input
// is `_`. Names are bytes: whatever is not printable ASCII is written \xHH. Floats have nine digits, which
// give back the very same float32.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.hpp"
#include "ir/shape.hpp"
#include "ir/text_cursor.hpp"
#include "ir/text_fields.hpp"

namespace peraxis::ir {

namespace {

using text::quoted;

std::string field_text(float value) {
  return fmt::format("{:.9g}", value);
}
std::string field_text(bool value) {
  return value ? "true" : "false";
}
std::string field_text(int32_t value) {
  return fmt::format("{}", value);
}
std::string field_text(int64_t value) {
  return fmt::format("{}", value);
}
std::string field_text(const std::vector<int32_t>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}
std::string field_text(const Pads& value) {
  if (value.rule != Pads::Rule::Stated) return pad_rule_name(value.rule);
  return fmt::format("{},{},{},{}", value.top, value.bottom, value.left, value.right);
}
std::string field_text(Activation value) {
  return activation_name(value);
}

template <class T>
std::string list_field(const char* name, const std::vector<T>& values) {
  std::string out = fmt::format(" {}(", name);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ',';
    out += field_text(values[i]);
  }
  return out + ")";
}

std::string tensor_list(const std::vector<int32_t>& indices) {
  std::string out = "(";
  for (size_t i = 0; i < indices.size(); ++i) {
    if (i != 0) out += ", ";
    out += indices[i] == kAbsent ? std::string("_") : fmt::format("%{}", indices[i]);
  }
  return out + ")";
}

std::string hex(const std::vector<uint8_t>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out(bytes.size() * 2, '0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    out[2 * i] = kDigits[bytes[i] >> 4];
    out[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return out;
}

std::string tensor_line(size_t index, const Tensor& tensor, bool with_data) {
  std::string line =
      fmt::format("%{} = tensor {} {}", index, data_type_name(tensor.type), shape_text(tensor.shape));
  if (tensor.open_shape) line += " open";
  const QuantParams& quant = tensor.quant;
  if (!quant.scale.empty()) line += list_field("scale", quant.scale);
  if (!quant.zero_point.empty()) line += list_field("zero_point", quant.zero_point);
  if (quant.quantized_dimension != 0) line += fmt::format(" axis({})", quant.quantized_dimension);
  if (tensor.is_constant) {
    line += fmt::format(" const bytes({}) hash({:016x})", tensor.data.size(), base::hash64(tensor.data));
    if (with_data) line += fmt::format(" data({})", hex(tensor.data));
  }
  return fmt::format("{} {}\n", line, quoted(tensor.name));
}

std::string op_line(const Op& op) {
  std::string line =
      fmt::format("{}{} -> {}", op_name(op.kind), tensor_list(op.inputs), tensor_list(op.outputs));
  const auto add = [&](const char* name, const auto& value) {
    line += fmt::format(" {}({})", name, field_text(value));
  };
  std::visit([&](const auto& attributes) { text::visit_fields(add, attributes); }, op.attributes);
  return line + "\n";
}

}  // namespace

std::string print(const Graph& graph, bool with_data) {
  std::string out = "graph " + quoted(graph.name) + "\n";
  for (size_t i = 0; i < graph.tensors.size(); ++i) out += tensor_line(i, graph.tensors[i], with_data);
  for (const Op& op : graph.ops) out += op_line(op);
  out += "inputs" + tensor_list(graph.inputs) + "\n";
  out += "outputs" + tensor_list(graph.outputs) + "\n";
  std::vector<int32_t> states;
  for (const KeptState& state : graph.states) states.insert(states.end(), {state.before, state.after});
  if (!states.empty()) out += "states" + tensor_list(states) + "\n";
  return out;
}

}  // namespace peraxis::ir

// Parser of the text form that text_print.cpp describes. It reads structure only: whether the graph makes
// sense is verify()'s question. Blank lines and lines that begin with # are skipped; everything the parser
// builds is bounded by the length of the text.
#include <algorithm>

#include "base/hash.hpp"
#include "ir/text_cursor.hpp"
#include "ir/text_fields.hpp"

namespace peraxis::ir {

namespace {

using text::Cursor;

Status expect_end(Cursor& cursor) {
  if (cursor.at_end()) return {};
  return cursor.unexpected("the end of the line");
}

// After an opening parenthesis: numbers separated by commas, and the closing one.
template <class T>
Result<std::vector<T>> take_list(Cursor& cursor, char closing) {
  std::vector<T> out;
  if (cursor.accept(closing)) return out;
  do {
    out.push_back(PERAXIS_TRY(cursor.take_number<T>()));
  } while (cursor.accept(','));
  if (!cursor.accept(closing)) return cursor.unexpected(std::string("a comma or ") + closing);
  return out;
}

Result<std::vector<int32_t>> take_tensors(Cursor& cursor) {
  PERAXIS_TRY(cursor.take("("));
  std::vector<int32_t> out;
  if (cursor.accept(')')) return out;
  do {
    if (cursor.accept('_')) {
      out.push_back(kAbsent);
    } else {
      PERAXIS_TRY(cursor.take("%"));
      out.push_back(PERAXIS_TRY(cursor.take_number<int32_t>()));
    }
  } while (cursor.accept(','));
  PERAXIS_TRY(cursor.take(")"));
  return out;
}

Result<uint64_t> parse_hash(std::string_view digits) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    return fail(ErrorCode::InvalidModel, "'{}' is no hexadecimal hash", digits.substr(0, 20));
  }
  return value;
}

Result<std::vector<uint8_t>> parse_hex(std::string_view digits) {
  if (digits.size() % 2 != 0)
    return fail(ErrorCode::InvalidModel, "data has {} digits, not pairs", digits.size());
  std::vector<uint8_t> out(digits.size() / 2);
  for (size_t i = 0; i < out.size(); ++i) {
    const int high = text::hex_digit(digits[2 * i]);
    const int low = text::hex_digit(digits[2 * i + 1]);
    if (high < 0 || low < 0) return fail(ErrorCode::InvalidModel, "data byte {} is not hexadecimal", i);
    out[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return out;
}

// What a constant's line says about its bytes; compared once all fields are read.
struct StatedData {
  std::optional<int64_t> bytes;
  std::optional<uint64_t> hash;
  bool present = false;
};

Status check_data(const Tensor& tensor, const StatedData& stated) {
  if (!stated.present) return {};
  if (stated.bytes && *stated.bytes != static_cast<int64_t>(tensor.data.size())) {
    return fail(ErrorCode::InvalidModel, "bytes({}) but data has {} bytes", *stated.bytes,
                tensor.data.size());
  }
  const uint64_t hash = base::hash64(tensor.data);
  if (stated.hash && *stated.hash != hash) {
    return fail(ErrorCode::InvalidModel, "hash({:016x}) but data has {:016x}", *stated.hash, hash);
  }
  return {};
}

Status take_tensor_field(Cursor& cursor, std::string_view name, Tensor& tensor, StatedData& stated) {
  if (name == "open") {
    tensor.open_shape = true;
    return {};
  }
  if (name == "const") {
    tensor.is_constant = true;
    return {};
  }
  PERAXIS_TRY(cursor.take("("));
  if (name == "scale") {
    tensor.quant.scale = PERAXIS_TRY(take_list<float>(cursor, ')'));
    return {};
  }
  if (name == "zero_point") {
    tensor.quant.zero_point = PERAXIS_TRY(take_list<int64_t>(cursor, ')'));
    return {};
  }
  if (name == "axis") {
    tensor.quant.quantized_dimension = PERAXIS_TRY(cursor.take_number<int32_t>());
    return cursor.take(")");
  }
  if (name == "bytes") {
    stated.bytes = PERAXIS_TRY(cursor.take_number<int64_t>());
    return cursor.take(")");
  }
  const std::string_view value = PERAXIS_TRY(cursor.take_to_parenthesis());
  if (name == "hash") {
    stated.hash = PERAXIS_TRY(parse_hash(value));
    return {};
  }
  if (name == "data") {
    stated.present = true;
    tensor.data = PERAXIS_TRY(parse_hex(value));
    return {};
  }
  return fail(ErrorCode::InvalidModel, "a tensor has no field '{}'", name.substr(0, 40));
}

// %12 = tensor int8 [1,80,80,32] scale(0.0235) zero_point(-128) "name"
Status take_tensor(Cursor& cursor, Graph& graph) {
  PERAXIS_TRY(cursor.take("%"));
  const auto index = PERAXIS_TRY(cursor.take_number<int64_t>());
  if (index != static_cast<int64_t>(graph.tensors.size())) {
    return fail(ErrorCode::InvalidModel, "tensor %{} where %{} comes next", index, graph.tensors.size());
  }
  PERAXIS_TRY(cursor.take("="));
  PERAXIS_TRY(cursor.take("tensor"));
  Tensor tensor;
  const std::string_view type = PERAXIS_TRY(cursor.take_word());
  const auto known = data_type_from_name(type);
  if (!known)
    return fail(ErrorCode::InvalidModel, "tensor type '{}' is not known; valid are {}", type.substr(0, 40),
                data_types_listed());
  tensor.type = *known;
  PERAXIS_TRY(cursor.take("["));
  tensor.shape = PERAXIS_TRY(take_list<int32_t>(cursor, ']'));
  StatedData stated;
  while (!cursor.next_is('"')) {
    const std::string_view name = PERAXIS_TRY(cursor.take_word());
    PERAXIS_TRY(take_tensor_field(cursor, name, tensor, stated));
  }
  tensor.name = PERAXIS_TRY(cursor.take_quoted());
  PERAXIS_TRY(check_data(tensor, stated));
  graph.tensors.push_back(std::move(tensor));
  return {};
}

template <class T>
Status parse_number(std::string_view value, T& out) {
  Cursor cursor(value);
  out = PERAXIS_TRY(cursor.take_number<T>());
  return expect_end(cursor);
}
Status parse_field(std::string_view value, int32_t& out) {
  return parse_number(value, out);
}
Status parse_field(std::string_view value, float& out) {
  return parse_number(value, out);
}
Status parse_field(std::string_view value, std::vector<int32_t>& out) {
  out.clear();
  Cursor cursor(value);
  if (cursor.at_end()) return {};
  do {
    out.push_back(PERAXIS_TRY(cursor.take_number<int32_t>()));
  } while (cursor.accept(','));
  return expect_end(cursor);
}
Status parse_field(std::string_view value, bool& out) {
  if (value != "true" && value != "false")
    return fail(ErrorCode::InvalidModel, "'{}' is not true or false", value.substr(0, 40));
  out = value == "true";
  return {};
}
Status parse_field(std::string_view value, Pads& out) {
  for (const Pads::Rule rule : {Pads::Rule::Even, Pads::Rule::Behind}) {
    if (value != pad_rule_name(rule)) continue;
    out = {};
    out.rule = rule;
    return {};
  }
  std::vector<int32_t> sides;
  PERAXIS_TRY(parse_field(value, sides));
  if (sides.size() != 4) {
    return fail(ErrorCode::InvalidModel, "{} pads; there are four, top, bottom, left and right",
                sides.size());
  }
  out = {sides[0], sides[1], sides[2], sides[3]};
  return {};
}
Status parse_field(std::string_view value, Activation& out) {
  std::string known;
  for (const Activation activation :
       {Activation::None, Activation::Relu, Activation::ReluN1To1, Activation::Relu6}) {
    known += (known.empty() ? "" : ", ") + std::string(activation_name(activation));
    if (value != activation_name(activation)) continue;
    out = activation;
    return {};
  }
  return fail(ErrorCode::InvalidModel, "activation '{}' is not known; valid are {}", value.substr(0, 40),
              known);
}

// Sets the one field called `name`.
Status set_attribute(Attributes& attributes, std::string_view name, std::string_view value) {
  Status status = fail(ErrorCode::InvalidModel, "the operator has no attribute '{}'", name.substr(0, 40));
  const auto set = [&](const char* field, auto& out) {
    if (name == field) status = parse_field(value, out);
  };
  std::visit([&](auto& held) { text::visit_fields(set, held); }, attributes);
  return status;
}

// conv_2d(%0, %1, _) -> (%3) pads(0,1,0,1) stride_h(2)
Status take_op(Cursor& cursor, std::string_view name, Graph& graph) {
  const auto kind = op_kind_from_name(name);
  if (!kind)
    return fail(ErrorCode::InvalidModel, "operator '{}' is not known; valid are {}", name.substr(0, 40),
                operators_listed());
  Op op;
  op.kind = *kind;
  op.attributes = text::default_attributes(*kind);
  op.inputs = PERAXIS_TRY(take_tensors(cursor));
  PERAXIS_TRY(cursor.take("->"));
  op.outputs = PERAXIS_TRY(take_tensors(cursor));
  while (!cursor.at_end()) {
    const std::string_view field = PERAXIS_TRY(cursor.take_word());
    PERAXIS_TRY(cursor.take("("));
    const std::string_view value = PERAXIS_TRY(cursor.take_to_parenthesis());
    PERAXIS_TRY_NOTE(set_attribute(op.attributes, field, value), "in {}", op_name(op.kind));
  }
  graph.ops.push_back(std::move(op));
  return {};
}

Status take_line(std::string_view line, bool first, Graph& graph) {
  Cursor cursor(line);
  if (first) {
    PERAXIS_TRY(cursor.take("graph"));
    graph.name = PERAXIS_TRY(cursor.take_quoted());
    return expect_end(cursor);
  }
  if (cursor.next_is('%')) {
    PERAXIS_TRY(take_tensor(cursor, graph));
    return expect_end(cursor);
  }
  const std::string_view word = PERAXIS_TRY(cursor.take_word());
  if (word == "inputs") {
    graph.inputs = PERAXIS_TRY(take_tensors(cursor));
  } else if (word == "outputs") {
    graph.outputs = PERAXIS_TRY(take_tensors(cursor));
  } else if (word == "states") {
    const std::vector<int32_t> pairs = PERAXIS_TRY(take_tensors(cursor));
    if (pairs.size() % 2 != 0)
      return fail(ErrorCode::InvalidModel, "states of {} tensors; they are pairs", pairs.size());
    for (size_t i = 0; i < pairs.size(); i += 2) graph.states.push_back({pairs[i], pairs[i + 1]});
  } else {
    PERAXIS_TRY(take_op(cursor, word, graph));
  }
  return expect_end(cursor);
}

}  // namespace

Result<Graph> parse(std::string_view text) {
  Graph graph;
  bool first = true;
  size_t number = 0;
  while (!text.empty()) {
    const size_t length = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    Cursor start(line);
    if (start.at_end() || start.next_is('#')) continue;
    PERAXIS_TRY_NOTE(take_line(line, first, graph), "in line {} of the graph text", number);
    first = false;
  }
  if (first) return fail(ErrorCode::InvalidModel, "the graph text is empty; it begins with graph \"name\"");
  return graph;
}

}  // namespace peraxis::ir

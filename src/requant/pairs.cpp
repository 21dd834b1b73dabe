// Two operands. ADD, SUB: the operand of the larger gain gets a factor of 14 to 15 bits, the other one in
// proportion. MUL: one factor as large as 32 bits of product allow. OUT_CVT brings the result to the output's
// scale. Several factors are tried: which of them rounds well depends on the scales. MAXIMUM and MINIMUM
// compare stored values and need no arithmetic. An operand that is one constant goes into registers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "num/elementwise.hpp"
#include "requant/element_output.hpp"

namespace peraxis::requant {
namespace {

constexpr int32_t kLargestFactor = 32767;
constexpr int kTries = 24;
constexpr int64_t kInt32Max = INT32_MAX;

struct Operand {
  float scale = 0;
  int32_t zero_point = 0;       // int8 domain
  std::vector<int32_t> values;  // that occur, int8 domain
  bool constant = false;

  bool one_value() const { return constant && values.size() == 1; }
  // The largest distance of a value from the zero point, at least 1.
  int64_t reach() const {
    int64_t most = 1;
    for (const int32_t v : values) most = std::max<int64_t>(most, std::abs(v - zero_point));
    return most;
  }
};

struct Problem {
  ir::OpKind kind = ir::OpKind::Add;
  std::array<Operand, 2> in;
  Operand y;
  size_t main = 0;                 // the operand that MRDMA brings
  int32_t low = -128, high = 127;  // int8 domain

  const Operand& a() const { return in[main]; }
  const Operand& b() const { return in[1 - main]; }
  // Of the main operand and of the other one.
  int sign(size_t operand) const { return kind == ir::OpKind::Sub && operand == 1 ? -1 : 1; }
  bool compares() const { return kind == ir::OpKind::Maximum || kind == ir::OpKind::Minimum; }
  num::AddSub add_sub() const { return {in[0].scale, in[1].scale, y.scale, num::kFractionBits8}; }
  // In float32 (docs/arithmetic.md#mul).
  double product_ratio() const {
    const float product = in[0].scale * in[1].scale;
    return static_cast<double>(product / y.scale);
  }
};

// The reference for int8-domain values of the first and the second input.
class Reference {
 public:
  explicit Reference(const Problem& p)
      : p_(p), add_sub_(p.add_sub()), multiplier_(num::quantize_multiplier(p.product_ratio())) {}

  int32_t operator()(int32_t first, int32_t second) const {
    if (p_.kind == ir::OpKind::Maximum) return std::max(first, second);
    if (p_.kind == ir::OpKind::Minimum) return std::min(first, second);
    const int32_t v = first - p_.in[0].zero_point, w = second - p_.in[1].zero_point;
    const int64_t steps = p_.kind == ir::OpKind::Mul ? num::multiply_two_roundings(v * w, multiplier_)
                                                     : add_sub_(v, w, p_.sign(1));
    return static_cast<int32_t>(std::clamp<int64_t>(steps + p_.y.zero_point, p_.low, p_.high));
  }

 private:
  const Problem& p_;
  num::AddSub add_sub_;
  num::Multiplier multiplier_;
};

Result<Operand> operand(const ir::Graph& graph, size_t op, int32_t index) {
  const ir::Tensor& t = graph.tensor(index);
  if (t.type != ir::DataType::Int8 && t.type != ir::DataType::UInt8)
    return fail(ErrorCode::Unsupported, "{}: '{}' is {}, the task works on 8-bit values", graph.op_label(op),
                t.name, ir::data_type_name(t.type));
  if (t.quant.scale.size() != 1 || t.quant.zero_point.size() != 1 || !(t.quant.scale[0] > 0) ||
      !std::isfinite(t.quant.scale[0]))
    return fail(ErrorCode::Unsupported, "{}: '{}' has not one positive scale", graph.op_label(op), t.name);
  const int32_t domain = t.type == ir::DataType::UInt8 ? 128 : 0;
  Operand out{t.quant.scale[0], static_cast<int32_t>(t.quant.zero_point[0]) - domain, {}, t.is_constant};
  if (!t.is_constant) {
    out.values.resize(256);
    std::iota(out.values.begin(), out.values.end(), -128);
    return out;
  }
  std::array<bool, 256> seen{};
  for (const uint8_t byte : t.data) seen[static_cast<uint8_t>(byte ^ (domain != 0 ? 0 : 0x80))] = true;
  for (size_t v = 0; v < seen.size(); ++v)
    if (seen[v]) out.values.push_back(static_cast<int32_t>(v) - 128);
  return out;
}

Result<Problem> problem(const ir::Graph& graph, size_t index, size_t main) {
  const ir::Op& op = graph.ops[index];
  Problem p;
  p.kind = op.kind;
  p.main = main;
  for (const size_t i : {size_t{0}, size_t{1}}) p.in[i] = PERAXIS_TRY(operand(graph, index, op.inputs[i]));
  p.y = PERAXIS_TRY(operand(graph, index, op.outputs[0]));
  const auto* binary = std::get_if<ir::BinaryAttributes>(&op.attributes);
  const ir::Tensor& out = graph.tensor(op.outputs[0]);
  const ir::StoredRange range =
      ir::activation_range(out, binary != nullptr ? binary->activation : ir::Activation::None);
  const int32_t domain = out.type == ir::DataType::UInt8 ? 128 : 0;
  p.low = range.low - domain;
  p.high = range.high - domain;
  return p;
}

// The reference's outputs for all pairs, by the main operand first.
std::vector<int32_t> wanted(const Problem& p) {
  const Reference reference(p);
  std::vector<int32_t> out;
  out.reserve(p.a().values.size() * p.b().values.size());
  for (const int32_t qa : p.a().values)
    for (const int32_t qb : p.b().values) out.push_back(p.main == 0 ? reference(qa, qb) : reference(qb, qa));
  return out;
}

void count(const Problem& p, const std::vector<int32_t>& want, ElementParams& e) {
  e.inputs = e.differing = e.max = 0;
  size_t at = 0;
  for (const int32_t qa : p.a().values)
    for (const int32_t qb : p.b().values) {
      const int32_t apart = std::abs(element_output(e, qa, qb) - want[at++]);
      ++e.inputs;
      e.differing += apart != 0 ? 1 : 0;
      e.max = std::max(e.max, apart);
    }
}

// What all forms have: the main operand less its zero point, the output converter for `gain`.
std::optional<ElementParams> with_gain(const Problem& p, double gain) {
  if (!(gain > 0) || gain > kLargestFactor) return std::nullopt;
  ElementParams e;
  e.addend = -p.a().zero_point;
  e.offset = p.y.zero_point;
  e.relu = p.low > -128;
  const OutCvt out = nearest_out_cvt(gain);
  e.scale = out.scale;
  e.shift = out.shift;
  if (e.shift < 1 || e.shift > 62) return std::nullopt;
  return e;
}

std::optional<ElementParams> sum_with_factor(const Problem& p, int32_t f) {
  const double gain_a = static_cast<double>(p.a().scale) / static_cast<double>(p.y.scale);
  const double gain_b = static_cast<double>(p.b().scale) / static_cast<double>(p.y.scale);
  const int sign_a = p.sign(p.main), sign_b = p.sign(1 - p.main);
  if (p.b().one_value()) {
    // The constant is added between BS and OUT_CVT, in 32 bits.
    const double step = gain_b / gain_a * (p.b().values[0] - p.b().zero_point);
    const double factor = std::min<double>(f, 1e9 / std::max(std::abs(step), 1.0));
    if (factor < 1) return std::nullopt;
    auto e = with_gain(p, gain_a / std::floor(factor));
    if (!e) return e;
    e->factor = sign_a * static_cast<int32_t>(factor);
    e->constant = static_cast<int32_t>(std::lround(sign_b * step * std::floor(factor)));
    return e;
  }
  const double largest = std::max(gain_a, gain_b);
  auto e = with_gain(p, largest / f);
  if (!e) return e;
  e->factor = sign_a * static_cast<int32_t>(std::lround(gain_a / largest * f));
  e->operand_offset = -p.b().zero_point;
  e->operand_factor = sign_b * static_cast<int32_t>(std::lround(gain_b / largest * f));
  return e;
}

std::optional<ElementParams> product_with_factor(const Problem& p, int32_t f) {
  const double gain = p.product_ratio();
  if (p.b().one_value()) {
    const int32_t k = p.b().values[0] - p.b().zero_point;
    if (k == 0) {  // the zero point, whatever the input
      auto e = with_gain(p, 0.5);
      e->factor = 0;
      return e;
    }
    auto e = with_gain(p, gain * std::abs(k) / f);
    if (e) e->factor = k < 0 ? -f : f;
    return e;
  }
  const auto most =
      static_cast<int32_t>(std::min<int64_t>(f, (kInt32Max - 1) / (p.a().reach() * p.b().reach())));
  auto e = with_gain(p, gain / most);
  if (!e) return e;
  e->combine = ElementParams::Combine::Multiply;
  e->factor = most;
  e->operand_offset = -p.b().zero_point;
  e->operand_factor = 1;
  return e;
}

// Of stored values. One constant k: max(a, k) = max(a - k, 0) + k, min(a, k) = k - max(k - a, 0).
ElementParams comparison(const Problem& p) {
  const bool maximum = p.kind == ir::OpKind::Maximum;
  ElementParams e;
  if (!p.b().one_value()) {
    e.combine = maximum ? ElementParams::Combine::Maximum : ElementParams::Combine::Minimum;
    e.operand_factor = 1;
    return e;
  }
  const int32_t k = p.b().values[0];
  e.addend = -k;
  e.factor = maximum ? 1 : -1;
  e.relu = true;
  e.scale = maximum ? 1 : -1;
  e.offset = k;
  return e;
}

}  // namespace

Result<ElementParams> pair_parameters(const ir::Graph& graph, size_t op, size_t main) {
  const Problem p = PERAXIS_TRY(problem(graph, op, main));
  if (p.high < 127 || (p.low > -128 && p.low != p.y.zero_point))
    return fail(ErrorCode::Unsupported,
                "{}: outputs are kept in {}..{}; the task has ReLU and the type's ends only",
                graph.op_label(op), p.low, p.high);
  if (p.compares()) {
    ElementParams e = comparison(p);
    count(p, wanted(p), e);
    return e;
  }
  const bool product = p.kind == ir::OpKind::Mul;
  if (!product && !p.add_sub().in_range)
    return fail(ErrorCode::Unsupported, "{}: the output scale is too fine", graph.op_label(op));
  const std::vector<int32_t> want = wanted(p);
  std::optional<ElementParams> best;
  for (int i = 0; i < kTries; ++i) {
    const int32_t f = kLargestFactor - i * (kLargestFactor / 2 / kTries);
    auto e = product ? product_with_factor(p, f) : sum_with_factor(p, f);
    if (!e) continue;
    count(p, want, *e);
    if (!best || std::pair(e->max, e->differing) < std::pair(best->max, best->differing)) best = e;
    if (best->differing == 0) break;
  }
  if (!best)
    return fail(ErrorCode::Unsupported, "{}: the ratio of the scales leaves OUT_CVT's shift of 1 to 62",
                graph.op_label(op));
  return *best;
}

Result<OperatorCertificate> certify_pair(const ir::Graph& graph, size_t op, size_t main,
                                         const ElementParams& params, SeenOperands seen) {
  const Problem p = PERAXIS_TRY(problem(graph, op, main));
  const std::vector<int32_t> want = wanted(p);
  // By the operator's first activation, then its second.
  const auto place = [&](int32_t qa, int32_t qb) {
    if (p.b().constant) return seen_index(qa);
    return main == 0 ? seen_index(qa, qb) : seen_index(qb, qa);
  };
  // Values of a constant are as frequent as they are.
  const auto crowd = [&](int32_t qa, int32_t qb) {
    return crowding(qa, p.a().zero_point) * (p.b().constant ? 1 : crowding(qb, p.b().zero_point));
  };
  return count_combinations(
      [&](const TieReading& ties, const auto& take) {
        size_t at = 0;
        for (const int32_t qa : p.a().values)
          for (const int32_t qb : p.b().values)
            take(Combination{place(qa, qb), crowd(qa, qb), element_output(params, qa, qb, ties), want[at++]});
      },
      seen);
}

Result<std::vector<int8_t>> pair_reference(const ir::Graph& graph, size_t op, size_t main) {
  const Problem p = PERAXIS_TRY(problem(graph, op, main));
  if (p.a().constant || p.b().constant)
    return fail(ErrorCode::Unsupported, "{}: an operand is constant", graph.op_label(op));
  const std::vector<int32_t> want = wanted(p);
  return std::vector<int8_t>(want.begin(), want.end());
}

}  // namespace peraxis::requant

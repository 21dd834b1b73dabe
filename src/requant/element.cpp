// One operand: it gets a factor of 14 to 15 bits, and OUT_CVT brings it to the output's scale. Several
// factors are tried: which of them rounds well depends on the scales.
#include "requant/element.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "num/multiplier.hpp"
#include "requant/element_output.hpp"

namespace peraxis::requant {
namespace {

constexpr int32_t kLargestFactor = 32767;
constexpr int kTries = 24;

struct Operand {
  float scale = 0;
  int32_t zero_point = 0;  // int8 domain
};

struct Problem {
  Operand a, y;
  int32_t low = -128, high = 127;  // int8 domain
  std::optional<float> alpha;      // LEAKY_RELU

  // The reference's output for an int8-domain value.
  int32_t reference(const num::Multiplier& requantize, int32_t qa) const {
    const int32_t v = qa - a.zero_point;
    int64_t steps = num::multiply_two_roundings(v, alpha && v < 0 ? leak() : requantize);
    if (alpha && v < 0 && *alpha < 0) steps = -steps;
    return static_cast<int32_t>(std::clamp<int64_t>(steps + y.zero_point, low, high));
  }
  // LEAKY_RELU and RELU divide their scales in float32 (docs/arithmetic.md#leaky_relu), QUANTIZE in double
  // (docs/arithmetic.md#quantize).
  num::Multiplier pass() const {
    const float narrow = a.scale / y.scale;
    return num::quantize_multiplier(alpha ? static_cast<double>(narrow)
                                          : static_cast<double>(a.scale) / static_cast<double>(y.scale));
  }
  num::Multiplier leak() const {
    const float scaled = a.scale * std::fabs(*alpha);
    const float ratio = scaled / y.scale;
    return num::quantize_multiplier(static_cast<double>(ratio));
  }
};

Result<Operand> operand(const ir::Graph& graph, size_t op, int32_t index) {
  const ir::Tensor& t = graph.tensor(index);
  if (t.type != ir::DataType::Int8 && t.type != ir::DataType::UInt8)
    return fail(ErrorCode::Unsupported, "{}: '{}' is {}, the task works on 8-bit values", graph.op_label(op),
                t.name, ir::data_type_name(t.type));
  if (t.quant.scale.size() != 1 || t.quant.zero_point.size() != 1 || !(t.quant.scale[0] > 0) ||
      !std::isfinite(t.quant.scale[0]))
    return fail(ErrorCode::Unsupported, "{}: '{}' has not one positive scale", graph.op_label(op), t.name);
  return Operand{t.quant.scale[0],
                 static_cast<int32_t>(t.quant.zero_point[0]) - (t.type == ir::DataType::UInt8 ? 128 : 0)};
}

Result<Problem> problem(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  Problem p;
  p.a = PERAXIS_TRY(operand(graph, index, op.inputs[0]));
  p.y = PERAXIS_TRY(operand(graph, index, op.outputs[0]));
  const ir::Tensor& out = graph.tensor(op.outputs[0]);
  const ir::StoredRange range =
      ir::activation_range(out, op.kind == ir::OpKind::Relu ? ir::Activation::Relu : ir::Activation::None);
  if (const auto* leaky = std::get_if<ir::LeakyReluAttributes>(&op.attributes)) p.alpha = leaky->alpha;
  const int32_t domain = out.type == ir::DataType::UInt8 ? 128 : 0;
  p.low = range.low - domain;
  p.high = range.high - domain;
  return p;
}

void count(const Problem& p, ElementParams& e) {
  const num::Multiplier requantize = p.pass();
  e.inputs = e.differing = e.max = 0;
  for (int32_t qa = -128; qa < 128; ++qa) {
    const int32_t apart = std::abs(element_output(e, qa, 0) - p.reference(requantize, qa));
    ++e.inputs;
    e.differing += apart != 0 ? 1 : 0;
    e.max = std::max(e.max, apart);
  }
}

std::optional<ElementParams> with_factor(const Problem& p, int32_t f) {
  const double largest = static_cast<double>(p.a.scale) / static_cast<double>(p.y.scale);
  ElementParams e;
  e.addend = -p.a.zero_point;
  e.factor = f;
  if (p.alpha) {
    if (!set_slope(static_cast<double>(*p.alpha), e)) return std::nullopt;
  }
  e.offset = p.y.zero_point;
  e.relu = p.low > -128;
  const double gain = largest / f;
  if (!(gain > 0) || gain > kLargestFactor) return std::nullopt;
  const OutCvt out = nearest_out_cvt(gain);
  e.scale = out.scale;
  e.shift = out.shift;
  if (e.shift < 1 || e.shift > 62) return std::nullopt;
  return e;
}

}  // namespace

bool set_slope(double slope, ElementParams& e) {
  e.prelu_shift = 14;
  while (e.prelu_shift > 0 && std::ldexp(std::abs(slope), e.prelu_shift) > kLargestFactor) --e.prelu_shift;
  const double factor = std::round(std::ldexp(slope, e.prelu_shift));
  if (!(std::abs(factor) >= 1 && std::abs(factor) <= kLargestFactor)) return false;
  e.prelu_factor = static_cast<int32_t>(factor);
  return true;
}

Result<OperatorCertificate> certify_element(const ir::Graph& graph, size_t op, const ElementParams& params,
                                            SeenOperands seen) {
  const Problem p = PERAXIS_TRY(problem(graph, op));
  const num::Multiplier requantize = p.pass();
  return count_combinations(
      [&](const TieReading& ties, const auto& take) {
        for (int32_t qa = -128; qa < 128; ++qa)
          take(Combination{seen_index(qa), crowding(qa, p.a.zero_point), element_output(params, qa, 0, ties),
                           p.reference(requantize, qa)});
      },
      seen);
}

Result<ElementParams> element_parameters(const ir::Graph& graph, size_t op) {
  const Problem p = PERAXIS_TRY(problem(graph, op));
  if (p.high < 127 || (p.low > -128 && p.low != p.y.zero_point))
    return fail(ErrorCode::Unsupported,
                "{}: outputs are kept in {}..{}; the task has ReLU and the type's ends only",
                graph.op_label(op), p.low, p.high);
  std::optional<ElementParams> best;
  for (int i = 0; i < kTries; ++i) {
    auto e = with_factor(p, kLargestFactor - i * (kLargestFactor / 2 / kTries));
    if (!e) continue;
    count(p, *e);
    if (!best || std::pair(e->max, e->differing) < std::pair(best->max, best->differing)) best = e;
    if (best->differing == 0) break;
  }
  if (!best)
    return fail(ErrorCode::Unsupported, "{}: the ratio of the scales leaves OUT_CVT's shift of 1 to 62",
                graph.op_label(op));
  return *best;
}

}  // namespace peraxis::requant

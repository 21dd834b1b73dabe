// GELU: x times the share of a normal distribution below x, around the complementary error function or,
// approximately, around tanh.
#include "kernels/reference/float_table.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {
namespace {

// Around the double functions, rounded, which do not depend on the C library's float ones.
float around_erfc(float x) {
  constexpr float kMinusRootHalf = -0.707106781186547524F;
  const float argument = x * kMinusRootHalf;
  return 0.5F * x * static_cast<float>(std::erfc(static_cast<double>(argument)));
}

float around_tanh(float x) {
  constexpr float kRootTwoOverPi = 0.797884560802865406F;
  const float argument = kRootTwoOverPi * (x + 0.044715F * x * x * x);
  return 0.5F * x * (1.0F + static_cast<float>(std::tanh(static_cast<double>(argument))));
}

}  // namespace

// On float32 tensors LiteRT takes polynomials of another library; this is within some last bits of them.
Status gelu(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* how = PERAXIS_TRY(attributes<ir::GeluAttributes>(context));
  const auto function = how->approximate ? around_tanh : around_erfc;
  if (context.output().type == ir::DataType::Float32) return map_elements<float>(context, function);
  return tabulate(context, function);
}

}  // namespace peraxis::kernels::reference

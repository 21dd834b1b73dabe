// The type lists that kernels.def names. ir/ops/ refuses all others; tests/unit/kernels/facts_test.cpp holds
// the two together.
#include "kernels/facts.hpp"

#include <array>

namespace peraxis::kernels {
namespace {

using enum ir::DataType;

constexpr std::array kEvery = {Float32, Bool, Int8, UInt8, Int16, Int32, Int64};
constexpr std::array kReal = {Float32, Int8, UInt8, Int16};
constexpr std::array kNarrowReal = {Float32, Int8, UInt8};
constexpr std::array kNarrowSigned = {Float32, Int8};
constexpr std::array kSignedReal = {Float32, Int8, Int16};
constexpr std::array kRealInt32 = {Float32, Int8, UInt8, Int16, Int32};
constexpr std::array kNumbers = {Float32, Int8, UInt8, Int16, Int32, Int64};
constexpr std::array kQuantized = {Int8, UInt8, Int16};
constexpr std::array kFloor = {Float32, Int8, Int16, Int32};
constexpr std::array kFloorMod = {Float32, Int8, Int16, Int32, Int64};
constexpr std::array kSignedNarrow = {Float32, Int8, Int32};
constexpr std::array kAbs = {Float32, Int8, Int16, Int32};
constexpr std::array kNeg = {Float32, Int8, Int32, Int64};
constexpr std::array kArg = {Float32, Int8, UInt8, Int32};
constexpr std::array kRange = {Float32, Int32, Int64};
constexpr std::array kFloat = {Float32};
constexpr std::array kSignedByte = {Float32, Int8};
constexpr std::array kScattered = {Float32, Bool, Int8, UInt8, Int32, Int64};
constexpr std::array kDetection = {Float32, UInt8};

}  // namespace

KernelFacts kernel_facts(ir::OpKind kind) {
  switch (kind) {
#define PERAXIS_KERNEL(kind, name, types, note) \
  case ir::OpKind::kind:                        \
    return {types, note};
#include "kernels/kernels.def"
  }
  return {{}, ""};
}

std::string types_text(std::span<const ir::DataType> types) {
  if (types.size() == kEvery.size()) return "every type";
  std::string out;
  for (const ir::DataType type : types)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", ir::data_type_name(type));
  return out;
}

}  // namespace peraxis::kernels

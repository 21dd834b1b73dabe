// See difference.hpp.
#include "engine/difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace peraxis::engine {
namespace {

template <class T>
Difference compare_as(std::span<const uint8_t> got, std::span<const uint8_t> want) {
  Difference out;
  const size_t count = std::min(got.size(), want.size()) / sizeof(T);
  out.elements = static_cast<int64_t>(count);
  for (size_t i = 0; i < count; ++i) {
    T a{}, b{};
    std::memcpy(&a, got.data() + i * sizeof(T), sizeof(T));
    std::memcpy(&b, want.data() + i * sizeof(T), sizeof(T));
    const double delta = static_cast<double>(a) - static_cast<double>(b);
    const size_t bucket = delta <= -1.5 ? 0 : delta < 0 ? 1 : delta > 1.5 ? 4 : delta > 0 ? 3 : 2;
    ++out.histogram[bucket];
    if (delta == 0) continue;
    ++out.differing;  // NaN, too
    out.max = std::max(out.max, std::fabs(delta));
    out.sum += std::fabs(delta);
  }
  return out;
}

}  // namespace

void Difference::add(const Difference& other) {
  elements += other.elements;
  differing += other.differing;
  max = std::max(max, other.max);
  sum += other.sum;
  for (size_t i = 0; i < histogram.size(); ++i) histogram[i] += other.histogram[i];
}

Difference difference(ir::DataType type, std::span<const uint8_t> got, std::span<const uint8_t> want) {
  switch (type) {
    case ir::DataType::Float32:
      return compare_as<float>(got, want);
    case ir::DataType::Int32:
      return compare_as<int32_t>(got, want);
    case ir::DataType::Int64:
      return compare_as<int64_t>(got, want);
    case ir::DataType::Float16:  // no activation has it; its bits order like numbers of one sign
    case ir::DataType::Int16:
      return compare_as<int16_t>(got, want);
    case ir::DataType::Int8:
      return compare_as<int8_t>(got, want);
    case ir::DataType::UInt8:
    case ir::DataType::Bool:
      return compare_as<uint8_t>(got, want);
  }
  return {};
}

}  // namespace peraxis::engine

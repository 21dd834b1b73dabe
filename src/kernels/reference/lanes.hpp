// Sums of float32 products in the order LiteRT has on x86 and Arm: four sums side by side, added up one after
// the other, then what is left over.
#pragma once

#include <array>
#include <cstdint>

namespace peraxis::kernels::reference {

// `start` plus the sum of product(i) for i in [0, count).
template <class Product>
float add_in_lanes(float start, int64_t count, Product product) {
  constexpr int64_t kLanesOfSum = 4;
  const int64_t whole = count / kLanesOfSum * kLanesOfSum;
  std::array<float, kLanesOfSum> lanes{};
  for (int64_t i = 0; i < whole; ++i) lanes[static_cast<size_t>(i % kLanesOfSum)] += product(i);
  float sum = lanes[0];
  for (size_t lane = 1; lane < lanes.size(); ++lane) sum += lanes[lane];
  float total = start + sum;
  for (int64_t i = whole; i < count; ++i) total += product(i);
  return total;
}

}  // namespace peraxis::kernels::reference

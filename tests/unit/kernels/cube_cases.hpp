// Random operators over 8-bit maps for the test of operands in cubes, one maker an operator.
#pragma once

#include <functional>

#include "base/rng.hpp"
#include "graphs.hpp"

namespace peraxis::kernels {

struct CubeCase {
  const char* name;
  std::function<ir::Graph(base::Rng&)> make;
  std::vector<size_t> activations{0};  // inputs that may be cubes
  bool dense_output = false;           // of a type that no cube has
};

const std::vector<CubeCase>& cube_cases();

}  // namespace peraxis::kernels

// Windows that reach over the border average fewer pixels. A task divides by one number, so that there is a
// map for each number of pixels, right where that number holds; masks put them together.
#pragma once

#include <vector>

#include "lower/window_sums.hpp"

namespace peraxis::lower {

// How many pixels of the map the windows hold.
struct BorderCounts {
  std::vector<int64_t> rows, columns;  // by output row and column; a window holds the product
  std::vector<int64_t> counts;         // the different products, largest first
};
BorderCounts border_counts(const Windows& windows);

// One set of parameters for each number. Every map is limited to its pixels by a minimum with 127 there and
// -128 elsewhere; the maximum of all is the output.
struct BorderedAverage {
  const Windows& windows;
  const BorderCounts& counts;
  int64_t channels = 0;
  const std::vector<requant::AverageParams>& params;
};
Status add_bordered(const BorderedAverage& average, const CubeAt& in, const CubeAt& out,
                    const TaskList& list);

}  // namespace peraxis::lower

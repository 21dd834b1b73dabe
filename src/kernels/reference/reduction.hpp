// Reductions over axes: each input element belongs to one output element, and inputs are visited in order.
#pragma once

#include "kernels/elements.hpp"
#include "kernels/walk.hpp"

namespace peraxis::kernels::reference {

struct Reduction {
  int64_t count = 1;  // elements behind one output value
  Offsets input;      // dense
  Offsets output;     // where an input element goes
  std::vector<int64_t> shape;
};

// Of the operator's input 0 along the axes of input 1.
Result<Reduction> make_reduction(const Context& context);

// Starts every output at `start` and folds every input into it: total = function(total, value).
template <class T, class Total, class Function>
std::vector<Total> fold(const Context& context, const Reduction& reduction, Total start, Function function) {
  std::vector<Total> totals(static_cast<size_t>(context.output().elements()), start);
  const Reader<T> in(context.inputs[0]);
  walk(reduction.shape, reduction.input, reduction.output, [&](int64_t i, int64_t o) {
    Total& total = totals[static_cast<size_t>(o)];
    total = static_cast<Total>(function(total, in[i]));
  });
  return totals;
}

// The whole of REDUCE_MAX (sign +1) and REDUCE_MIN (-1): stored values are compared.
Status reduce_extremum(const Context& context, int sign);

}  // namespace peraxis::kernels::reference

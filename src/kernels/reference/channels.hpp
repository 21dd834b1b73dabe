// Which scale of a per-axis tensor an element has.
#pragma once

#include "ir/graph.hpp"

namespace peraxis::kernels::reference {

class Channels {
 public:
  // The tensor has one scale, or one for each index of its quantized dimension.
  explicit Channels(const ir::Tensor& tensor) : count_(static_cast<int64_t>(tensor.quant.scale.size())) {
    if (count_ == 1) return;
    for (size_t d = static_cast<size_t>(tensor.quant.quantized_dimension) + 1; d < tensor.shape.size(); ++d)
      inner_ *= tensor.shape[d];
  }
  size_t of(int64_t element) const {
    return count_ == 1 ? 0 : static_cast<size_t>(element / inner_ % count_);
  }

 private:
  int64_t count_;
  int64_t inner_ = 1;
};

}  // namespace peraxis::kernels::reference

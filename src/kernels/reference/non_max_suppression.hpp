// Shared body of NON_MAX_SUPPRESSION_V4 and V5.
#pragma once

#include "kernels/context.hpp"

namespace peraxis::kernels::reference {

struct SuppressionLimits {
  float overlap, score, sigma;
};

// Writes all outputs of the operator. `soft`: V5, which gives scores too.
Status suppress_boxes(const Context& context, const SuppressionLimits& limits, bool soft);

}  // namespace peraxis::kernels::reference

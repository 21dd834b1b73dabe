// groups: channels by position in groups of 16, each group an operation of its own with its own weights,
// operands and OUT_CVT gain (its largest). The chip computes at least 32 channels, so half of every task is
// dummies and the result is gathered. What an earlier open implementation did: ratios inside a group stay
// as large as they are, and clip.
#include "requant/out_cvt_groups.hpp"

namespace peraxis::requant {

Result<LayerParams> groups(const Layer& layer, const StrategyOptions& options) {
  if (options.multiply)
    return multiply_groups(layer, Strategy::Groups, options, positional_groups(layer, options));
  return out_cvt_groups(layer, Strategy::Groups, options, positional_groups(layer, options));
}

}  // namespace peraxis::requant

// A convolution and the ADD behind it in the same tasks, without another arithmetic than the two have one
// after the other: BS multiplies every channel down to whole steps of the convolution's own output, where its
// rounding is (an OUT_CVT of 1), and keeps it to the output's range; BN, EW and OUT_CVT are then the task of
// the ADD (requant/element.hpp). What is left of a difference: BS has one factor of 15 bits a channel and
// rounds once, and its addend, which moves the range's lower end to 0, is whole.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "requant/certificate.hpp"
#include "requant/element.hpp"
#include "requant/strategy.hpp"

namespace peraxis::requant {

// The largest difference, in steps of the sum, that a fused pair may have from the reference's two operators.
inline constexpr int32_t kMostSumDifference = 2;

struct FusedSum {
  LayerParams params;
  // Of the sum, over every reachable accumulator and every value of the other operand. `differing` is the
  // number of such pairs over the 256 values, rounded up, so that it compares with the accumulators.
  LayerCertificate certificate;
};

// `layer` is the convolution, `sum` the parameters of the ADD with the convolution's output as `a`,
// `reference` its pair_reference. `readings` as in certify. Unsupported, with the reason, when the chip
// cannot express the pair or a difference is above kMostSumDifference.
Result<FusedSum> fuse_sum(const Layer& layer, const ElementParams& sum, const std::vector<int8_t>& reference,
                          bool readings);

}  // namespace peraxis::requant

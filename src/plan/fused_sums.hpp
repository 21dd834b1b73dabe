// Convolutions that add a second tensor in their own tasks: which pairs of a convolution and an ADD become
// one.
#pragma once

#include "plan/candidates.hpp"

namespace peraxis::plan {

// Changes the layers of `plan` whose ADD is to be done by their tasks: LayerPlan::sum and addend, params,
// certificate and Plan::summed_by. The layers' costs must be those of their parameters. A pair is fused when
//  - both run on the NPU, under `auto` or hw-multiply, not `exact`, and PlannerOptions::fused_adds; the
//    convolution is direct, without groups (depthwise tasks that add a tensor are in no recorded stream);
//  - nothing else reads the convolution's output, and both operands of the ADD are activations of its shape;
//  - one set of channels expresses it within requant::kMostSumDifference;
//  - its estimate is below that of the two operators;
//  - of its outputs a share is expected to differ that is at most 1.5 times that of the convolution's before,
//    or 1.5 kFastMismatch; with a budget (max_mismatch) not more than before, and the ADD equals the
//    reference.
Status fuse_sums(const Network& network, Plan& plan);

}  // namespace peraxis::plan

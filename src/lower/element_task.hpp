// Parameters of an element-wise operator as a task of the DPU alone.
#pragma once

#include "lower/device_op.hpp"

namespace peraxis::lower {

// `operand`: the second tensor, where the parameters have a factor for one.
rk3588::ElementTask element_task(const requant::ElementParams& params, const ir::Nhwc& map,
                                 const CubeAt& input, const CubeAt& output, const CubeAt& operand);

}  // namespace peraxis::lower

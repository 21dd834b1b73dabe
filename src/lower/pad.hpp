// PAD and PADV2, for the list in device_op.cpp.
#pragma once

#include "lower/device_op.hpp"

namespace peraxis::lower {

extern const DeviceOp kPad, kPadV2;

}  // namespace peraxis::lower

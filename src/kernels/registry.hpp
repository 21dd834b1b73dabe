// Declares every kernel of kernels.def.
#pragma once

#include "kernels/context.hpp"

namespace peraxis::kernels {

namespace reference {
#define PERAXIS_KERNEL(kind, name, types, note) Status name(const Context& context);
#include "kernels/kernels.def"
}  // namespace reference

namespace fast {
#define PERAXIS_FAST_KERNEL(kind, name) Status name(const Context& context);
#include "kernels/kernels.def"
}  // namespace fast

}  // namespace peraxis::kernels

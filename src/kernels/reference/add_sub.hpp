// Shared body of ADD and SUB.
#pragma once

#include "kernels/context.hpp"

namespace peraxis::kernels::reference {

// sign +1 adds, -1 subtracts.
Status add_or_subtract(const Context& context, int sign);

}  // namespace peraxis::kernels::reference

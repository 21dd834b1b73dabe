#include "kernels/reference/rectify.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status relu(const Context& context) {
  return rectify(context, ir::Activation::Relu);
}

}  // namespace peraxis::kernels::reference

#include "kernels/reference/rectify.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status relu6(const Context& context) {
  return rectify(context, ir::Activation::Relu6);
}

}  // namespace peraxis::kernels::reference

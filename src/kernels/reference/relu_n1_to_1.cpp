#include "kernels/reference/rectify.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status relu_n1_to_1(const Context& context) {
  return rectify(context, ir::Activation::ReluN1To1);
}

}  // namespace peraxis::kernels::reference

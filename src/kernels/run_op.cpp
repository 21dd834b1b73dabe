// Checks the caller's spans against the tensors, then picks the kernel.
#include "kernels/own_pool.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels {
namespace {

using Kernel = Status (*)(const Context&);

Kernel reference_kernel(ir::OpKind kind) {
  switch (kind) {
#define PERAXIS_KERNEL(kind, name, types, note) \
  case ir::OpKind::kind:                        \
    return reference::name;
#include "kernels/kernels.def"
  }
  return nullptr;
}

Kernel fast_kernel(ir::OpKind kind) {
  switch (kind) {
#define PERAXIS_FAST_KERNEL(kind, name) \
  case ir::OpKind::kind:                \
    return fast::name;
#include "kernels/kernels.def"
    default:
      return reference_kernel(kind);
  }
}

Status check_tensor(const ir::Graph& graph, size_t op_index, int32_t tensor_index, const char* role,
                    size_t position, size_t given_bytes) {
  if (tensor_index < 0 || static_cast<size_t>(tensor_index) >= graph.tensors.size()) {
    return fail(ErrorCode::InvalidModel, "operator {}: {} {} is tensor {}, the graph has {}", op_index, role,
                position, tensor_index, graph.tensors.size());
  }
  const ir::Tensor& tensor = graph.tensor(tensor_index);
  // A product of dimensions that is checked on the way: elements() trusts the shape.
  int64_t elements = 1;
  for (const int32_t dimension : tensor.shape) {
    if (dimension < 0 || (dimension != 0 && elements > (int64_t{1} << 40) / dimension)) {
      return fail(ErrorCode::InvalidModel, "operator {}: tensor '{}' has the impossible shape {}", op_index,
                  tensor.name, shape_text(tensor.shape));
    }
    elements *= dimension;
  }
  const auto expected = static_cast<size_t>(elements * ir::data_type_bytes(tensor.type));
  if (given_bytes != expected) {
    return fail(ErrorCode::InvalidArgument, "{}: {} {} ('{}') has {} bytes, expected {}",
                graph.op_label(op_index), role, position, tensor.name, given_bytes, expected);
  }
  return {};
}

}  // namespace

Status run_op(const ir::Graph& graph, size_t op_index, std::span<const Values> inputs,
              std::span<const std::span<uint8_t>> outputs, const Options& options) {
  if (op_index >= graph.ops.size()) {
    return fail(ErrorCode::InvalidArgument, "operator {} does not exist, the graph has {}", op_index,
                graph.ops.size());
  }
  const ir::Op& op = graph.ops[op_index];
  if (inputs.size() != op.inputs.size() || outputs.size() != op.outputs.size()) {
    return fail(ErrorCode::InvalidArgument,
                "operator {}: called with {} inputs and {} outputs, it has {} and {}", op_index,
                inputs.size(), outputs.size(), op.inputs.size(), op.outputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (op.inputs[i] == ir::kAbsent) continue;
    PERAXIS_TRY(check_tensor(graph, op_index, op.inputs[i], "input", i, inputs[i].size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    PERAXIS_TRY(check_tensor(graph, op_index, op.outputs[i], "output", i, outputs[i].size()));
  }
  const Kernel kernel = options.path == Path::Fast ? fast_kernel(op.kind) : reference_kernel(op.kind);
  if (kernel == nullptr) {
    return fail(ErrorCode::Internal, "operator {}: no CPU kernel for kind {}", op_index,
                static_cast<int>(op.kind));
  }
  const OwnPool pool(options);
  return kernel(Context{graph, op_index, inputs, outputs, pool.options()});
}

}  // namespace peraxis::kernels

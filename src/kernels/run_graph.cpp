// Executes a graph operator by operator on host memory. An activation lives from the operator that makes
// it to the last one that reads it; graph outputs live to the end.
#include <algorithm>

#include "kernels/context.hpp"
#include "kernels/own_pool.hpp"

namespace peraxis::kernels {
namespace {

constexpr size_t kForever = SIZE_MAX;

struct Store {
  std::vector<Values> values;                  // what each tensor currently holds
  std::vector<bool> defined;                   // constants, graph inputs, results so far
  std::vector<std::vector<uint8_t>> owned;     // activations made here
  std::vector<std::vector<int32_t>> last_use;  // by operator: the activations to free after it
};

Status check_indices(const ir::Graph& graph) {
  const auto count = static_cast<int64_t>(graph.tensors.size());
  const auto valid = [&](int32_t index) { return index >= 0 && index < count; };
  if (!std::ranges::all_of(graph.inputs, valid) || !std::ranges::all_of(graph.outputs, valid)) {
    return fail(ErrorCode::InvalidModel, "an input or output of the graph is not one of its {} tensors",
                count);
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const ir::Op& op = graph.ops[i];
    const bool inputs_valid =
        std::ranges::all_of(op.inputs, [&](int32_t index) { return index == ir::kAbsent || valid(index); });
    if (!inputs_valid || !std::ranges::all_of(op.outputs, valid)) {
      return fail(ErrorCode::InvalidModel, "operator {} names a tensor that is not one of the graph's {}", i,
                  count);
    }
  }
  return {};
}

Result<Store> make_store(const ir::Graph& graph, std::span<const Values> inputs) {
  PERAXIS_TRY(check_indices(graph));
  if (inputs.size() != graph.inputs.size()) {
    return fail(ErrorCode::InvalidArgument, "{} inputs were given, the graph has {}", inputs.size(),
                graph.inputs.size());
  }
  Store store;
  store.values.resize(graph.tensors.size());
  store.defined.resize(graph.tensors.size());
  store.owned.resize(graph.tensors.size());
  store.last_use.resize(graph.ops.size());
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (!graph.tensors[i].is_constant) continue;
    store.values[i] = graph.tensors[i].data;
    store.defined[i] = true;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::Tensor& tensor = graph.tensor(graph.inputs[i]);
    if (static_cast<int64_t>(inputs[i].size()) != tensor.bytes()) {
      return fail(ErrorCode::InvalidArgument, "input {} ('{}') has {} bytes, expected {}", i, tensor.name,
                  inputs[i].size(), tensor.bytes());
    }
    store.values[static_cast<size_t>(graph.inputs[i])] = inputs[i];
    store.defined[static_cast<size_t>(graph.inputs[i])] = true;
  }
  std::vector<size_t> last(graph.tensors.size(), 0);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    for (const int32_t tensor : graph.ops[i].inputs) {
      if (tensor != ir::kAbsent) last[static_cast<size_t>(tensor)] = i;
    }
    for (const int32_t tensor : graph.ops[i].outputs) last[static_cast<size_t>(tensor)] = i;
  }
  for (const int32_t tensor : graph.outputs) last[static_cast<size_t>(tensor)] = kForever;
  for (size_t i = 0; i < last.size() && !graph.ops.empty(); ++i) {
    if (last[i] != kForever) store.last_use[last[i]].push_back(static_cast<int32_t>(i));
  }
  return store;
}

Status run_one(const ir::Graph& graph, size_t op_index, Store& store, const Options& options) {
  const ir::Op& op = graph.ops[op_index];
  std::vector<Values> inputs;
  for (const int32_t tensor : op.inputs) {
    if (tensor == ir::kAbsent) {
      inputs.emplace_back();
      continue;
    }
    if (!store.defined[static_cast<size_t>(tensor)]) {
      return fail(ErrorCode::InvalidModel, "operator {} reads tensor {} before anything has written it",
                  op_index, tensor);
    }
    inputs.push_back(store.values[static_cast<size_t>(tensor)]);
  }
  std::vector<std::span<uint8_t>> outputs;
  for (const int32_t tensor : op.outputs) {
    const auto slot = static_cast<size_t>(tensor);
    if (store.defined[slot]) {
      return fail(ErrorCode::InvalidModel, "operator {} writes tensor {}, which already has a value",
                  op_index, tensor);
    }
    const int64_t bytes = graph.tensor(tensor).bytes();
    if (bytes < 0) return fail(ErrorCode::InvalidModel, "tensor {} has a negative size", tensor);
    store.owned[slot].assign(static_cast<size_t>(bytes), 0);
    store.values[slot] = store.owned[slot];
    store.defined[slot] = true;
    outputs.emplace_back(store.owned[slot]);
  }
  return run_op(graph, op_index, inputs, outputs, options);
}

}  // namespace

Result<std::vector<std::vector<uint8_t>>> run_graph(const ir::Graph& graph, std::span<const Values> inputs,
                                                    const Options& options, const Observer& observer) {
  Store store = PERAXIS_TRY(make_store(graph, inputs));
  const OwnPool pool(options);
  const auto observe = [&](int32_t tensor) {
    if (observer) observer(tensor, store.values[static_cast<size_t>(tensor)]);
  };
  for (const int32_t tensor : graph.inputs) observe(tensor);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    PERAXIS_TRY(run_one(graph, i, store, pool.options()));
    for (const int32_t tensor : graph.ops[i].outputs) observe(tensor);
    for (const int32_t tensor : store.last_use[i]) {
      std::vector<uint8_t>().swap(store.owned[static_cast<size_t>(tensor)]);
    }
  }
  std::vector<std::vector<uint8_t>> results;
  for (const int32_t tensor : graph.outputs) {
    const auto slot = static_cast<size_t>(tensor);
    if (!store.defined[slot]) {
      return fail(ErrorCode::InvalidModel, "output tensor {} is never written", tensor);
    }
    results.emplace_back(store.values[slot].begin(), store.values[slot].end());
  }
  return results;
}

}  // namespace peraxis::kernels

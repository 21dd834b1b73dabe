// From the types inside to those of the public interface.
#pragma once

#include "base/result.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"
#include "peraxis/engine.hpp"

namespace peraxis::api {

Failure failure(const Error& error);
template <class... Args>
Failure failure(FailureKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return {kind, fmt::format(format, std::forward<Args>(args)...)};
}

TensorInfo tensor_info(const ir::Tensor& tensor);
std::vector<TensorInfo> tensor_infos(const ir::Graph& graph, const std::vector<int32_t>& tensors);

// What there must be of each tensor; `what` is "input" or "output".
template <class Byte>
std::optional<Failure> misfit(const std::vector<TensorInfo>& tensors,
                              std::span<const std::span<Byte>> buffers, const char* what) {
  if (buffers.size() != tensors.size())
    return failure(FailureKind::InvalidArgument, "{} {}s given, the model has {}", buffers.size(), what,
                   tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (static_cast<int64_t>(buffers[i].size()) != tensors[i].bytes)
      return failure(FailureKind::InvalidArgument, "{} {} '{}' has {} bytes, {} are given", what, i,
                     tensors[i].name, tensors[i].bytes, buffers[i].size());
  return std::nullopt;
}

OperatorInfo operator_info(const ir::Graph& graph, int32_t op);
// Of an executable: every operator in the graph's order.
std::vector<OperatorInfo> operator_infos(const ir::Graph& graph, const exe::Executable& executable);

}  // namespace peraxis::api

// Returns the value, or the failure from the enclosing function.
#define PERAXIS_API_TRY(expression)                                              \
  ({                                                                             \
    auto peraxis_result = (expression);                                          \
    if (!peraxis_result) return ::peraxis::api::failure(peraxis_result.error()); \
    ::peraxis::detail::take(peraxis_result);                                     \
  })

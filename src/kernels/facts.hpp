// What the list of kernels says of each operator, for reports: the types its data may have.
#pragma once

#include <span>

#include "ir/graph.hpp"

namespace peraxis::kernels {

struct KernelFacts {
  std::span<const ir::DataType>
      types;         // of the data: the first input that is no constant, condition or index
  const char* note;  // what the types alone do not say; may be empty
};

KernelFacts kernel_facts(ir::OpKind kind);
// kernel_facts(kind).types: "float32, int8, uint8"; "every type" for all of them.
std::string types_text(std::span<const ir::DataType> types);

}  // namespace peraxis::kernels

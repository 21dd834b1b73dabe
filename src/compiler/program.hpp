// A placed program as an executable: emits the command words, links the chains, and writes down placements,
// steps and work of the host in the executable's terms. Nothing is decided here.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"
#include "program/program.hpp"

namespace peraxis::compiler {

inline constexpr int32_t kCommandBuffer = 0, kConstantBuffer = 1, kActivationBuffer = 2;

// `constants`: the bytes of the program's constant allocations. What describes the model is left out.
Result<exe::Executable> assemble(const ir::Graph& graph, const program::Program& program,
                                 std::vector<uint8_t> constants);

}  // namespace peraxis::compiler

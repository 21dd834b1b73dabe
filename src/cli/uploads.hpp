// What an executable's runs upload, and in which form, as JSON and as text.
#pragma once

#include <string>

#include "cli/output.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"

namespace peraxis::cli {

// [{"tensor", "name", "form": "packed" or "cube", "bytes"}], one an upload step.
Json uploads_json(const ir::Graph& graph, const exe::Executable& executable);

// One line; empty when nothing is uploaded.
std::string uploads_text(const ir::Graph& graph, const exe::Executable& executable);

}  // namespace peraxis::cli

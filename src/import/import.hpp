// Model files to the graph. The importer checks everything about the file (structure, indices, sizes, types
// it cannot hold); whether the graph makes sense to LiteRT is ir::verify's question, asked by the caller.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.hpp"
#include "ir/graph.hpp"

namespace peraxis::import {

// True when the bytes carry the identifier of a TensorFlow Lite file; nothing else is looked at.
bool looks_like_tflite(std::span<const uint8_t> bytes);

// `name` becomes the graph's name; messages do not repeat it. Tensor i of the graph is tensor i of the file,
// operator i is operator i. The bytes are not needed afterwards.
Result<ir::Graph> import_tflite(std::span<const uint8_t> bytes, std::string name);

}  // namespace peraxis::import

// Model files to the graph. The importer checks everything about the file (structure, indices, sizes, types
// it cannot hold); whether the graph makes sense to LiteRT is ir::verify's question, asked by the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "ir/graph.hpp"

namespace peraxis::import {

// True when the bytes carry the identifier of a TensorFlow Lite file; nothing else is looked at.
bool looks_like_tflite(std::span<const uint8_t> bytes);

struct ImportOptions {
  std::string signature;  // the key of the signature whose subgraph is read; empty: the first subgraph
  // Sizes of inputs in place of the declared ones: by name, or by position ("0"). With any, all shapes that
  // are computed from them are open.
  std::vector<std::pair<std::string, std::vector<int32_t>>> shapes = {};
};

// Shapes that the file does not declare, or declares with dynamic sizes, are open: ir::infer_shapes() states
// them. An input has its declared size. `name` becomes the graph's name; messages do not repeat it. Tensor i
// of the graph is tensor i of the file's subgraph, operator i is operator i. The bytes are not needed
// afterwards.
Result<ir::Graph> import_tflite(std::span<const uint8_t> bytes, std::string name,
                                const ImportOptions& options = {});

// What a file says of an operator, and what the importer makes of it.
struct OperatorCode {
  std::string name;  // "CONV_2D" or a custom operator's name; empty: an unknown builtin
  bool custom = false;
  int32_t code = 0, version = 1;
  std::optional<ir::OpKind> kind;
  std::string refusal;  // why it is not read; empty: it is read
};
struct OperatorCount : OperatorCode {
  int64_t count = 0;
  size_t first = 0;  // the first operator of this kind
};
// The code of an operator in TFLite files; custom operators share one.
int32_t operator_code(ir::OpKind kind);

// The operators of the subgraph that import_tflite would read, each kind and version once, read or not.
Result<std::vector<OperatorCount>> count_operators(std::span<const uint8_t> bytes,
                                                   const ImportOptions& options = {});

// What an application can call in a file.
struct Signature {
  std::string key;
  uint32_t subgraph = 0;
};
// An input whose file says that other sizes fit as well, a free batch apart.
struct DynamicInput {
  size_t index = 0;
  std::string name;
  std::vector<int32_t> declared, signature;  // of the same rank or not; -1: any size
};
// What a file offers beside the graph that import_tflite reads.
struct Entries {
  std::vector<Signature> signatures;
  std::vector<DynamicInput>
      dynamic_inputs;  // of that subgraph; none where ImportOptions::shapes states sizes
};
Result<Entries> read_entries(std::span<const uint8_t> bytes, const ImportOptions& options = {});

}  // namespace peraxis::import

// Shared by the parts of the TFLite importer; not for other folders.
#pragma once

#include <tflite_generated.h>

#include <cstdint>
#include <string>

#include "ir/graph.hpp"

namespace peraxis::import {

// Tables of a FlatBuffers file can be shared: a few bytes may name the same long vector a million times, and
// the graph copies it every time. The budget bounds all copies by the file's size.
class CopyBudget {
 public:
  explicit CopyBudget(size_t file_bytes) : left_(static_cast<int64_t>(file_bytes) * kCopiesOfFile) {}
  Status take(int64_t bytes) {
    if (bytes > left_) {
      return fail(ErrorCode::InvalidModel, "the tensors together are more than {} times as large as the file",
                  kCopiesOfFile);
    }
    left_ -= bytes;
    return {};
  }

 private:
  static constexpr int64_t kCopiesOfFile = 64;
  int64_t left_;
};

std::string tensor_name(const tfl::Tensor& tensor);

// The name, type, shape, quantization and constant data of one tensor.
Result<ir::Tensor> read_tensor(const tfl::Model& model, const tfl::Tensor& tensor, CopyBudget& budget);

// The options of TFLite_Detection_PostProcess.
Result<ir::Attributes> read_detection(const tfl::Operator& op);

// Links the variable tensors of SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM: each operator gets another output,
// which holds the state after it, and the graph a state. A variable tensor that anything else uses is
// refused. LSTM attributes get what the file states of the operator's inner tensors.
Status link_states(ir::Graph& graph, const tfl::SubGraph& subgraph);

// Operator `index` with its kind, tensors and attributes. Indices are checked against `tensor_count`.
Result<ir::Op> read_operator(const tfl::Model& model, const tfl::Operator& op, size_t index,
                             size_t tensor_count);

}  // namespace peraxis::import

// Shared by the parts of the TFLite importer; not for other folders.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "import/file.hpp"
#include "import/import.hpp"
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

// Which shape a tensor gets that is no constant: the file's, open where the file leaves it open, unless ...
struct ShapeUse {
  bool input = false;  // ... it is an input, which has what the file declares, unless ...
  const std::vector<int32_t>* given = nullptr;  // ... somebody gave it another;
  bool open = false;                            // ... an input has another shape: open.
};
// The name, type, shape, quantization and constant data of one tensor.
// Whether the declared size is not the last word.
bool is_dynamic(const tfl::Tensor& tensor);
Result<ir::Tensor> read_tensor(const File& file, const tfl::Tensor& tensor, const ShapeUse& use,
                               CopyBudget& budget);

// Bits a value of the type takes in a file, where they are fewer than 8; else 8.
int bits_of(tfl::TensorType type);
// The bytes of the constant `tensor`, dense and unpacked, from those in the file. Its type and shape are set.
Result<std::vector<uint8_t>> read_data(const tfl::Tensor& source, std::span<const uint8_t> data,
                                       const ir::Tensor& tensor, CopyBudget& budget);

// The shape in a RESHAPE's options, where LiteRT takes it from there: without a second input, or with one
// that is no int32 vector. None when the options have none.
std::optional<std::vector<int32_t>> reshape_option(const tfl::Operator& op, const ir::Graph& graph);

// The options of TFLite_Detection_PostProcess.
Result<ir::Attributes> read_detection(std::span<const uint8_t> bytes);

// What the operator's code says. `index`: of the operator, for the message.
Result<OperatorCode> read_code(const File& file, const tfl::Operator& op, size_t index);
Result<std::vector<OperatorCount>> count_codes(const File& file, const tfl::SubGraph& subgraph);
// Refuses a subgraph with operators that are not read, and names all of them.
Status check_codes(const File& file, const tfl::SubGraph& subgraph);

// The subgraph of the signature with this key, the first one when it is empty.
Result<const tfl::SubGraph*> choose_subgraph(const File& file, const std::string& signature);

// Links the variable tensors of SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM: each operator gets another output,
// which holds the state after it, and the graph a state. A variable tensor that anything else uses is
// refused. LSTM attributes get what the file states of the operator's inner tensors.
Status link_states(ir::Graph& graph, const tfl::SubGraph& subgraph);

// Operator `index` with its kind, tensors and attributes. Indices are checked against `tensor_count`.
Result<ir::Op> read_operator(const File& file, const tfl::Operator& op, size_t index, size_t tensor_count);

}  // namespace peraxis::import

// What the rules of single operators share; only for verify.cpp and the files beside this one. A rule's
// message starts at the tensor: verify() puts the operator's label in front.
#pragma once

#include <span>
#include <string>

#include "ir/graph.hpp"
#include "ir/shape.hpp"

namespace peraxis::ir::rules {

// One input or output of the operator under test, with the word its messages use.
struct Operand {
  const Tensor* tensor = nullptr;
  int32_t index = kAbsent;
  const char* role = "";
  std::string text() const;  // "weights (tensor 7 'conv/w')"
};

class OpView {
 public:
  OpView(const Graph& graph, const Op& op) : graph_(graph), op_(op) {}
  const Graph& graph() const { return graph_; }
  const Op& op() const { return op_; }
  size_t inputs() const { return op_.inputs.size(); }
  size_t outputs() const { return op_.outputs.size(); }
  bool has_input(size_t slot) const { return slot < inputs() && op_.inputs[slot] != kAbsent; }

  // Number of inputs and outputs; slots 0..least-1 must not be absent.
  Status expect_counts(size_t least, size_t most, size_t outputs = 1) const;
  Operand input(size_t slot, const char* role = "the input") const;
  Operand output(size_t slot = 0, const char* role = "the output") const;

  template <class T>
  Result<T> attributes() const {
    const T* found = std::get_if<T>(&op_.attributes);
    if (found == nullptr)
      return fail(ErrorCode::InvalidModel, "it carries the attributes of another operator");
    return *found;
  }

 private:
  const Graph& graph_;
  const Op& op_;
};

// int8 or uint8; int16, float32 and the rest are refused by name.
Status expect_8_bit(const Operand& operand);
// The above plus one scale above 0.
Status expect_quantized(const Operand& operand);
Status expect_constant(const Operand& operand);
Status expect_same_type(const Operand& a, const Operand& b);
Status expect_rank(const Operand& operand, size_t least, size_t most);
Status expect_shape(const Operand& operand, std::span<const int32_t> shape);
Status expect_same_shape(const Operand& a, const Operand& b);

// A real multiplier LiteRT's integer arithmetic can represent: finite and below 2^31.
Status expect_multiplier(double multiplier, const char* formula);

Status verify_convolution(const OpView& view);  // conv_2d, depthwise_conv_2d
Status verify_fully_connected(const OpView& view);
// The rules of a bias shared by the two above; `channels` values.
Status verify_bias(const OpView& view, const Operand& input, const Operand& weights, const Operand& output,
                   int64_t channels);
// Types of input, weights and output shared by the two above.
Status verify_weighted_types(const Operand& input, const Operand& weights, const Operand& output);

Status verify_binary(const OpView& view);  // add, sub, mul
Status verify_concatenation(const OpView& view);
Status verify_quantize(const OpView& view);
Status verify_logistic(const OpView& view);
Status verify_softmax(const OpView& view);
Status verify_leaky_relu(const OpView& view);
Status verify_pool(const OpView& view);  // average_pool_2d, max_pool_2d
Status verify_mean(const OpView& view);
Status verify_resize(const OpView& view);
Status verify_reshape(const OpView& view);
Status verify_transpose(const OpView& view);
Status verify_pad(const OpView& view);
Status verify_strided_slice(const OpView& view);
Status verify_split(const OpView& view);

}  // namespace peraxis::ir::rules

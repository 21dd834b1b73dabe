// Each rule: a valid graph passes, and with one thing broken it is refused with the sentence that names it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "graphs.hpp"

namespace peraxis::ir {
namespace {

using test::constant_int32;

struct Break {
  const char* what;
  std::function<Graph()> valid;
  std::function<void(Graph&)> change;
  ErrorCode code;
  const char* message;  // a part of it
};

template <class T>
T& attributes(Graph& graph) {
  return std::get<T>(graph.ops[0].attributes);
}

void make_type(Graph& graph, DataType type) {
  for (Tensor& tensor : graph.tensors) {
    if (!tensor.is_constant) {
      tensor.type = type;
      tensor.quant.zero_point = {0};
    }
  }
}

class Valid : public testing::TestWithParam<OpKind> {};

TEST_P(Valid, Passes) {
  const Status status = verify(test::valid(GetParam()));
  EXPECT_TRUE(status) << status.error().text();
}

// Every operator either takes a type or names it.
TEST_P(Valid, OtherTypesAreTakenOrRefusedByName) {
  for (const DataType type : {DataType::Int16, DataType::Float32, DataType::Int64, DataType::Bool}) {
    Graph graph = test::valid(GetParam());
    make_type(graph, type);
    const Status status = verify(graph);
    if (status || status.error().code != ErrorCode::Unsupported) continue;
    EXPECT_THAT(status.error().message, testing::HasSubstr(data_type_name(type)));
    EXPECT_THAT(status.error().message, testing::StartsWith(graph.op_label(0)));
  }
}

TEST_P(Valid, WrongOutputShapeIsRefused) {
  if (GetParam() == OpKind::Range) GTEST_SKIP() << "the values decide the length; the kernel compares it";
  Graph graph = test::valid(GetParam());
  graph.tensors[static_cast<size_t>(graph.ops[0].outputs[0])].shape.back() += 1;
  const Status status = verify(graph);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::InvalidModel);
}

TEST_P(Valid, WrongCountsAndAttributesAreRefused) {
  Graph many = test::valid(GetParam());
  for (int i = 0; i < 5; ++i) many.ops[0].inputs.push_back(0);
  EXPECT_FALSE(verify(many));
  Graph none = test::valid(GetParam());
  none.ops[0].inputs.clear();
  EXPECT_FALSE(verify(none));
  Graph absent = test::valid(GetParam());
  absent.ops[0].inputs[0] = kAbsent;
  EXPECT_FALSE(verify(absent));
  Graph outputs = test::valid(GetParam());
  outputs.tensors.push_back(outputs.tensors.back());
  outputs.ops[0].outputs.push_back(static_cast<int32_t>(outputs.tensors.size()) - 1);
  EXPECT_FALSE(verify(outputs));
  Graph foreign = test::valid(GetParam());
  const bool plain = std::holds_alternative<NoAttributes>(foreign.ops[0].attributes);
  if (!plain) {
    foreign.ops[0].attributes = NoAttributes{};
    const Status status = verify(foreign);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, testing::HasSubstr("attributes of another operator"));
  }
}

INSTANTIATE_TEST_SUITE_P(AllOperators, Valid, testing::ValuesIn(test::kAllKinds),
                         [](const auto& param) { return std::string(op_name(param.param)); });

TEST(Verify, Uint8ConvolutionPasses) {
  const Status status = verify(test::conv_2d_uint8());
  EXPECT_TRUE(status) << status.error().text();
}

TEST(Verify, AbsentBiasOfFullyConnectedPasses) {
  Graph graph = test::fully_connected();
  graph.ops[0].inputs[2] = kAbsent;
  EXPECT_TRUE(verify(graph));
  graph.ops[0].inputs.pop_back();
  EXPECT_TRUE(verify(graph));
}

TEST(Verify, DepthwiseWithTwoInputsPasses) {
  Graph graph = test::depthwise_conv_2d();
  graph.ops[0].inputs.pop_back();
  EXPECT_TRUE(verify(graph));
}

TEST(Verify, Uint8ConcatenationMayRequantize) {
  Graph graph = test::concatenation();
  make_type(graph, DataType::UInt8);
  graph.tensors[0].quant.scale = {0.125F};
  EXPECT_TRUE(verify(graph));
}

class Refused : public testing::TestWithParam<Break> {};

TEST_P(Refused, WithItsSentence) {
  const Break& test = GetParam();
  Graph graph = test.valid();
  test.change(graph);
  const Status status = verify(graph);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, test.code) << status.error().text();
  EXPECT_THAT(status.error().message, testing::HasSubstr(test.message));
}

constexpr auto kInvalid = ErrorCode::InvalidModel;
constexpr auto kUnsupported = ErrorCode::Unsupported;

std::string break_name(const testing::TestParamInfo<Break>& info) {
  return info.param.what;
}

INSTANTIATE_TEST_SUITE_P(
    GraphRules, Refused,
    testing::Values(
        Break{"input_index", test::conv_2d, [](Graph& g) { g.ops[0].inputs[1] = 99; }, kInvalid,
              "conv_2d 0 'out': input 1 is tensor 99, the graph has 4"},
        Break{"negative_input", test::conv_2d, [](Graph& g) { g.ops[0].inputs[1] = -2; }, kInvalid,
              "tensor -2"},
        Break{"output_index", test::conv_2d, [](Graph& g) { g.ops[0].outputs[0] = 4; }, kInvalid,
              "conv_2d 0: output 0 is tensor 4"},
        Break{"graph_input_index", test::conv_2d, [](Graph& g) { g.inputs[0] = -1; }, kInvalid,
              "graph: input 0 is tensor -1"},
        Break{"graph_output_index", test::conv_2d, [](Graph& g) { g.outputs[0] = 7; }, kInvalid,
              "graph: output 0 is tensor 7"},
        Break{"no_outputs", test::conv_2d, [](Graph& g) { g.outputs.clear(); }, kInvalid, "no outputs"},
        Break{"output_of_nobody", test::conv_2d,
              [](Graph& g) {
                g.tensors.push_back(g.tensors[0]);
                g.outputs[0] = 4;
              },
              kInvalid, "graph output 0: tensor 4 'in' is written by no operator"},
        Break{"cycle", test::leaky_relu,
              [](Graph& g) {
                g.inputs.clear();
                g.ops.push_back(g.ops[0]);
                std::swap(g.ops[1].inputs, g.ops[1].outputs);
              },
              kInvalid, "input 0, tensor 0 'in', is read before any operator writes it"},
        Break{"written_twice", test::leaky_relu, [](Graph& g) { g.ops.push_back(g.ops[0]); }, kInvalid,
              "leaky_relu 1 'out': tensor 1 'out' is written a second time"},
        Break{"constant_written", test::conv_2d, [](Graph& g) { g.ops[0].outputs[0] = 2; }, kInvalid,
              "tensor 2 'bias' is written but is a constant"},
        Break{"constant_input", test::conv_2d, [](Graph& g) { g.inputs[0] = 1; }, kInvalid,
              "graph input 0: tensor 1 'weights' is written but is a constant"},
        Break{"input_twice", test::conv_2d, [](Graph& g) { g.inputs.push_back(0); }, kInvalid,
              "graph input 1: tensor 0 'in' is written a second time"},
        Break{"short_constant", test::conv_2d, [](Graph& g) { g.tensors[2].data.pop_back(); }, kInvalid,
              "tensor 2 'bias': the constant has 15 data bytes, int32 of shape [4] needs 16"},
        Break{"data_without_constant", test::conv_2d, [](Graph& g) { g.tensors[0].data = {1}; }, kInvalid,
              "is no constant"},
        Break{"zero_dimension", test::conv_2d, [](Graph& g) { g.tensors[0].shape[2] = 0; }, kInvalid,
              "tensor 0 'in': shape [1,7,0,3] has the dimension 0"},
        Break{"negative_dimension", test::conv_2d, [](Graph& g) { g.tensors[0].shape[2] = -9; }, kInvalid,
              "the dimension -9"},
        Break{"huge", test::conv_2d,
              [](Graph& g) { g.tensors[0].shape.assign(8, std::numeric_limits<int32_t>::max()); },
              kUnsupported, "more than 2147483647 elements"},
        Break{"rank_9", test::conv_2d, [](Graph& g) { g.tensors[0].shape.assign(9, 1); }, kUnsupported,
              "rank 9 is above the limit of 8"},
        Break{"nan_scale", test::conv_2d,
              [](Graph& g) { g.tensors[0].quant.scale = {std::numeric_limits<float>::quiet_NaN()}; },
              kInvalid, "the scale nan"},
        Break{"negative_scale", test::conv_2d, [](Graph& g) { g.tensors[0].quant.scale = {-0.5F}; }, kInvalid,
              "the scale -0.5"},
        Break{"zero_point_range", test::conv_2d, [](Graph& g) { g.tensors[0].quant.zero_point = {128}; },
              kInvalid, "the zero point 128 is outside -128..127 of int8"},
        Break{"zero_point_count", test::conv_2d, [](Graph& g) { g.tensors[1].quant.zero_point = {0}; },
              kInvalid, "4 scales but 1 zero points"},
        Break{"scale_count", test::conv_2d,
              [](Graph& g) {
                g.tensors[1].quant.scale.pop_back();
                g.tensors[1].quant.zero_point.pop_back();
              },
              kInvalid, "3 scales for dimension 0 of size 4"},
        Break{"bias_dimension_3", test::conv_2d, [](Graph& g) { g.tensors[2].quant = {{1.0F}, {0}, 3}; },
              kInvalid, "tensor 2 'bias': quantized_dimension 3 is outside the rank of 1"}),
    break_name);

INSTANTIATE_TEST_SUITE_P(
    Convolutions, Refused,
    testing::Values(
        Break{"conv_without_bias", test::conv_2d, [](Graph& g) { g.ops[0].inputs.pop_back(); }, kInvalid,
              "2 inputs; it takes 3"},
        Break{"conv_absent_bias", test::conv_2d, [](Graph& g) { g.ops[0].inputs[2] = kAbsent; }, kInvalid,
              "input 2 is absent"},
        Break{"depthwise_absent_bias", test::depthwise_conv_2d,
              [](Graph& g) { g.ops[0].inputs[2] = kAbsent; }, kInvalid, "the bias is absent (index -1)"},
        Break{"int16_output", test::conv_2d, [](Graph& g) { g.tensors[3].type = DataType::Int16; },
              kUnsupported, "times out on silicon"},
        Break{"fc_int16_output", test::fully_connected, [](Graph& g) { g.tensors[3].type = DataType::Int16; },
              kUnsupported, "times out on silicon"},
        Break{"uint8_output", test::conv_2d,
              [](Graph& g) {
                g.tensors[3].type = DataType::UInt8;
                g.tensors[3].quant.zero_point = {5};
              },
              kInvalid, "they must be the same"},
        Break{"uint8_weights", test::conv_2d, [](Graph& g) { g.tensors[1].type = DataType::UInt8; },
              kUnsupported, "the weights (tensor 1 'weights') are uint8 for an int8 input"},
        Break{"hybrid", test::conv_2d, [](Graph& g) { make_type(g, DataType::Float32); }, kUnsupported,
              "are int8 beside a float32 input: the model is quantized dynamically (hybrid)"},
        Break{"weights_computed", test::conv_2d,
              [](Graph& g) {
                g.tensors[1].is_constant = false;
                g.tensors[1].data.clear();
                g.inputs.push_back(1);
              },
              kUnsupported, "the weights (tensor 1 'weights') is computed at run time"},
        Break{"no_weight_scale", test::conv_2d, [](Graph& g) { g.tensors[1].quant = {}; }, kInvalid,
              "have no scale"},
        Break{"no_input_scale", test::conv_2d, [](Graph& g) { g.tensors[0].quant = {}; }, kInvalid,
              "has no scale"},
        Break{"zero_output_scale", test::conv_2d, [](Graph& g) { g.tensors[3].quant.scale = {0.0F}; },
              kInvalid, "it must be above 0"},
        Break{"per_axis_input", test::conv_2d,
              [](Graph& g) { g.tensors[0].quant = {{1, 1, 1}, {0, 0, 0}, 3}; }, kUnsupported,
              "per-axis quantization is for weights only"},
        Break{"weight_zero_point", test::conv_2d, [](Graph& g) { g.tensors[1].quant.zero_point[2] = 1; },
              kInvalid, "have the zero point 1; it must be 0"},
        Break{"depthwise_zero_point", test::depthwise_conv_2d,
              [](Graph& g) { g.tensors[1].quant.zero_point[2] = 1; }, kInvalid, "have the zero point 1"},
        Break{"weight_dimension", test::conv_2d,
              [](Graph& g) { g.tensors[1].quant = {{1, 1, 1}, {0, 0, 0}, 3}; }, kInvalid,
              "have quantized_dimension 3; the output channels are dimension 0"},
        Break{"uint8_per_axis", test::conv_2d_uint8,
              [](Graph& g) { g.tensors[1].quant = {{.1F, .1F, .1F, .1F}, {1, 1, 1, 1}, 0}; }, kInvalid,
              "LiteRT takes one"},
        Break{"uint8_bias_scale", test::conv_2d_uint8, [](Graph& g) { g.tensors[2].quant.scale = {0.06F}; },
              kInvalid, "apart by 0.04 of the output scale, the limit is 0.02"},
        Break{"multiplier", test::conv_2d, [](Graph& g) { g.tensors[3].quant.scale = {1e-12F}; }, kInvalid,
              "undefined from 2^31 on"},
        Break{"bias_type", test::conv_2d,
              [](Graph& g) {
                g.tensors[2].type = DataType::Int64;
                g.tensors[2].data.resize(32);
              },
              kInvalid, "the bias (tensor 2 'bias') is int64; it must be int32"},
        Break{"bias_zero_point", test::conv_2d, [](Graph& g) { g.tensors[2].quant = {{1.0F}, {1}, 0}; },
              kInvalid, "has the zero point 1; it must be 0"},
        Break{"bias_count", test::conv_2d,
              [](Graph& g) { g.tensors[2] = constant_int32("bias", {3}, {1, 2, 3}); }, kInvalid,
              "has 3 values for 4 output channels"},
        Break{"weight_rank", test::conv_2d, [](Graph& g) { g.tensors[1].shape = {4, 6, 3}; }, kInvalid,
              "has rank 3; it must be 4"},
        Break{"weight_depth", test::conv_2d, [](Graph& g) { g.tensors[1].shape = {4, 3, 3, 2}; }, kInvalid,
              "have depth 2, which does not divide the input's 3 channels"},
        Break{"groups", test::conv_2d, [](Graph& g) { g.tensors[1].shape = {4, 6, 3, 1}; }, kInvalid,
              "4 output channels in 3 groups"},
        Break{"depthwise_first", test::depthwise_conv_2d, [](Graph& g) { g.tensors[1].shape = {3, 3, 1, 4}; },
              kInvalid, "the first dimension must be 1"},
        Break{"depthwise_multiple", test::depthwise_conv_2d, [](Graph& g) { g.tensors[0].shape[3] = 3; },
              kInvalid, "have 4 channels, no multiple of the input's 3"},
        Break{"stride_0", test::conv_2d, [](Graph& g) { attributes<ConvAttributes>(g).stride_w = 0; },
              kInvalid, "strides 2x0"},
        Break{"dilation_negative", test::conv_2d,
              [](Graph& g) { attributes<ConvAttributes>(g).dilation_h = -1; }, kInvalid, "dilations -1x1"},
        Break{"kernel_larger", test::depthwise_conv_2d,
              [](Graph& g) { attributes<ConvAttributes>(g).dilation_h = 2000000000; }, kInvalid,
              "are larger than"},
        Break{"output_shape", test::conv_2d, [](Graph& g) { g.tensors[3].shape = {1, 4, 9, 5}; }, kInvalid,
              "the output (tensor 3 'out') has shape [1,4,9,5]; the operator gives [1,4,9,4]"},
        Break{"fc_dimension", test::fully_connected,
              [](Graph& g) { g.tensors[1].quant = {{1, 1, 1, 1, 1}, {0, 0, 0, 0, 0}, 1}; }, kInvalid,
              "have quantized_dimension 1; it must be 0"},
        Break{"fc_zero_point", test::fully_connected, [](Graph& g) { g.tensors[1].quant.zero_point[0] = 1; },
              kInvalid, "LiteRT ignores it"},
        Break{"fc_columns", test::fully_connected, [](Graph& g) { g.tensors[0].shape = {2, 3, 7}; }, kInvalid,
              "has 42 elements, no multiple of the 5 columns"},
        Break{"fc_keep_dims", test::fully_connected,
              [](Graph& g) { attributes<FullyConnectedAttributes>(g).keep_num_dims = true; }, kInvalid,
              "the operator gives [2,3,4]"},
        Break{"fc_bias_scale", test::fully_connected, [](Graph& g) { g.tensors[1].quant = {{0.1F}, {4}, 0}; },
              kInvalid, "of the output scale, the limit"}),
    break_name);

INSTANTIATE_TEST_SUITE_P(
    Arithmetic, Refused,
    testing::Values(
        Break{"add_types", [] { return test::binary(OpKind::Add); },
              [](Graph& g) { g.tensors[1].type = DataType::UInt8; }, kInvalid, "they must be the same"},
        Break{"add_shapes", [] { return test::binary(OpKind::Add); },
              [](Graph& g) { g.tensors[1].shape = {7, 2}; }, kInvalid, "do not broadcast: 3 against 2"},
        Break{"add_rank", [] { return test::binary(OpKind::Add); },
              [](Graph& g) {
                g.tensors[0].shape.insert(g.tensors[0].shape.begin(), 3, 1);
                g.tensors[2].shape.insert(g.tensors[2].shape.begin(), 3, 1);
              },
              kUnsupported, "has rank 7; it must be 0 to 6"},
        Break{"add_abort", [] { return test::binary(OpKind::Add); },
              [](Graph& g) { g.tensors[2].quant.scale = {0.5F / (1 << 19)}; }, kInvalid, "LiteRT aborts"},
        Break{"sub_abort", [] { return test::binary(OpKind::Sub); },
              [](Graph& g) { g.tensors[2].quant.scale = {0.4F / (1 << 19)}; }, kInvalid, "LiteRT aborts"},
        Break{"concat_scale", test::concatenation, [](Graph& g) { g.tensors[1].quant.scale = {0.50000006F}; },
              kInvalid, "input 1 (tensor 1 'b') has scale 0.50000006 and zero point 3"},
        Break{"concat_zero_point", test::concatenation, [](Graph& g) { g.tensors[1].quant.zero_point = {4}; },
              kInvalid, "int8 needs them equal"},
        Break{"concat_activation", test::concatenation,
              [](Graph& g) { attributes<ConcatenationAttributes>(g).activation = Activation::Relu; },
              kInvalid, "the fused activation relu"},
        Break{"concat_axis", test::concatenation,
              [](Graph& g) { attributes<ConcatenationAttributes>(g).axis = 3; }, kInvalid,
              "axis 3 is outside -3..2"},
        Break{"concat_shapes", test::concatenation, [](Graph& g) { g.tensors[1].shape = {1, 6, 4}; },
              kInvalid, "they may differ only in dimension 2"},
        Break{"quantize_int32", test::quantize, [](Graph& g) { g.tensors[0].type = DataType::Int32; },
              kUnsupported, "is int32 and the output (tensor 1 'out') is uint8; LiteRT has no such"},
        Break{"logistic_scale", test::logistic, [](Graph& g) { g.tensors[1].quant.scale = {0.0039F}; },
              kInvalid, "LiteRT takes exactly 1/256"},
        Break{"softmax_scale", test::softmax, [](Graph& g) { g.tensors[1].quant.scale = {0.0039F}; },
              kInvalid, "softmax gives 1/256 and -128"},
        Break{"softmax_zero_point", test::softmax, [](Graph& g) { g.tensors[1].quant.zero_point = {0}; },
              kInvalid, "zero point 0; softmax gives"},
        Break{"softmax_beta", test::softmax, [](Graph& g) { attributes<SoftmaxAttributes>(g).beta = 1e-8F; },
              kInvalid, "LiteRT aborts"},
        Break{"leaky_alpha", test::leaky_relu,
              [](Graph& g) {
                attributes<LeakyReluAttributes>(g).alpha = std::numeric_limits<float>::infinity();
              },
              kInvalid, "alpha is inf; it must be finite"},
        Break{"pool_stride", [] { return test::pool(OpKind::MaxPool2D); },
              [](Graph& g) { attributes<PoolAttributes>(g).stride_h = 0; }, kInvalid, "strides 0x2"},
        Break{"pool_filter", [] { return test::pool(OpKind::AveragePool2D); },
              [](Graph& g) { attributes<PoolAttributes>(g).filter_w = 10; }, kInvalid,
              "the filter 3x10 is larger"},
        Break{"mean_axis", test::mean, [](Graph& g) { g.tensors[1] = constant_int32("axes", {1}, {4}); },
              kInvalid, "axis 4 is outside -4..3"}),
    break_name);

void computed(Graph& graph, size_t tensor) {
  graph.tensors[tensor].is_constant = false;
  graph.tensors[tensor].data.clear();
  graph.inputs.push_back(static_cast<int32_t>(tensor));
}

INSTANTIATE_TEST_SUITE_P(
    Movement, Refused,
    testing::Values(
        Break{"reshape_count", test::reshape,
              [](Graph& g) { g.tensors[1] = constant_int32("shape", {2}, {7, 26}); }, kInvalid,
              "does not hold the 189 elements"},
        Break{"reshape_two_open", test::reshape,
              [](Graph& g) { g.tensors[1] = constant_int32("shape", {2}, {-1, -1}); }, kInvalid,
              "more than one -1"},
        Break{"reshape_computed", test::reshape,
              [](Graph& g) {
                computed(g, 1);
                g.tensors[2].shape = {7, 26};
              },
              kInvalid, "does not hold the 189 elements"},
        Break{"reshape_int64", test::reshape,
              [](Graph& g) {
                g.tensors[1].type = DataType::Int64;
                g.tensors[1].data.resize(16);
              },
              kUnsupported, "is int64; only int32"},
        Break{"mean_computed", test::mean, [](Graph& g) { computed(g, 1); }, kUnsupported, "the axes input"},
        Break{"pad_computed", test::pad, [](Graph& g) { computed(g, 1); }, kUnsupported,
              "the paddings input"},
        Break{"pad_negative", test::pad,
              [](Graph& g) { g.tensors[1] = constant_int32("paddings", {4, 2}, {0, 0, 1, -2, 0, 0, 0, 0}); },
              kInvalid, "the padding [1,-2] of dimension 1 is negative"},
        Break{"pad_count", test::pad,
              [](Graph& g) { g.tensors[1] = constant_int32("paddings", {1, 2}, {0, 0}); }, kInvalid,
              "2 padding amounts for a tensor of rank 4; it needs 8"},
        Break{"transpose_computed", test::transpose, [](Graph& g) { computed(g, 1); }, kUnsupported,
              "the permutation input"},
        Break{"transpose_twice", test::transpose,
              [](Graph& g) { g.tensors[1] = constant_int32("permutation", {4}, {0, 1, 1, 2}); }, kInvalid,
              "[0,1,1,2] is not a permutation of 0..3"},
        Break{"resize_computed", test::resize, [](Graph& g) { computed(g, 1); }, kUnsupported,
              "the size input"},
        Break{"resize_count", test::resize,
              [](Graph& g) { g.tensors[1] = constant_int32("size", {1}, {14}); }, kInvalid,
              "the size input has 1 values, not 2"},
        Break{"split_computed", test::split, [](Graph& g) { computed(g, 0); }, kUnsupported,
              "the axis input"},
        Break{"split_count", test::split, [](Graph& g) { attributes<SplitAttributes>(g).num_splits = 3; },
              kInvalid, "num_splits is 3, it has 2 outputs"},
        Break{"split_uneven", test::split, [](Graph& g) { g.tensors[1].shape = {1, 7, 5}; }, kInvalid,
              "is 5, which does not divide into 2 parts"},
        Break{"slice_computed", test::strided_slice, [](Graph& g) { computed(g, 2); }, kUnsupported,
              "the end input"},
        Break{"slice_stride_0", test::strided_slice,
              [](Graph& g) { g.tensors[3] = constant_int32("strides", {4}, {1, 0, 1, 1}); }, kInvalid,
              "the stride is 0"},
        Break{"slice_empty", test::strided_slice,
              [](Graph& g) { g.tensors[2] = constant_int32("end", {4}, {0, 1, 0, 3}); }, kInvalid,
              "leave nothing"},
        Break{"slice_index", test::strided_slice,
              [](Graph& g) { g.tensors[1] = constant_int32("begin", {4}, {0, 1, -1, 3}); }, kInvalid,
              "index 3 is outside the dimension of size 3"},
        Break{"slice_ellipsis", test::strided_slice,
              [](Graph& g) { attributes<StridedSliceAttributes>(g).ellipsis_mask = 3; }, kInvalid,
              "2 entries and 2 ellipses (ellipsis_mask 3"},
        Break{"slice_counts", test::strided_slice,
              [](Graph& g) { g.tensors[3] = constant_int32("strides", {3}, {1, 1, 1}); }, kInvalid,
              "have 4, 4 and 3 entries"}),
    break_name);

}  // namespace
}  // namespace peraxis::ir

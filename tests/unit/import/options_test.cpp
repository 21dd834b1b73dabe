// The options of every operator arrive in its attributes, each field with a value of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/import.hpp"
#include "model_file.hpp"

namespace peraxis::import {
namespace {

using test::Builder;

struct OptionsCase {
  const char* name;
  int32_t code;
  tfl::BuiltinOptions type;
  std::function<flatbuffers::Offset<void>(Builder&)> options;
  ir::OpKind kind;
  ir::Attributes attributes;
};

class Options : public testing::TestWithParam<OptionsCase> {};

TEST_P(Options, BecomeAttributes) {
  const OptionsCase& test = GetParam();
  test::ModelSpec model = test::conv_model();
  model.codes = {{static_cast<int8_t>(test.code), test.code, ""}};
  model.ops[0].options_type = test.type;
  model.ops[0].options = test.options;
  const auto graph = import_tflite(test::build(model), "options");
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(graph->ops[0].kind, test.kind);
  EXPECT_EQ(graph->ops[0].attributes, test.attributes);
}

using A = tfl::ActivationFunctionType;
using O = tfl::BuiltinOptions;
using P = tfl::Padding;
using Kind = ir::OpKind;

INSTANTIATE_TEST_SUITE_P(
    AllOperators, Options,
    testing::Values(
        OptionsCase{"add", 0, O::AddOptions,
                    [](Builder& b) { return tfl::CreateAddOptions(b, A::RELU).Union(); }, Kind::Add,
                    ir::BinaryAttributes{ir::Activation::Relu}},
        OptionsCase{"add_without", 0, O::NONE, nullptr, Kind::Add, ir::BinaryAttributes{}},
        OptionsCase{"sub", 41, O::SubOptions,
                    [](Builder& b) { return tfl::CreateSubOptions(b, A::RELU6).Union(); }, Kind::Sub,
                    ir::BinaryAttributes{ir::Activation::Relu6}},
        OptionsCase{"mul", 18, O::MulOptions,
                    [](Builder& b) { return tfl::CreateMulOptions(b, A::RELU_N1_TO_1).Union(); }, Kind::Mul,
                    ir::BinaryAttributes{ir::Activation::ReluN1To1}},
        OptionsCase{
            "average_pool", 1, O::Pool2DOptions,
            [](Builder& b) { return tfl::CreatePool2DOptions(b, P::VALID, 2, 3, 4, 5, A::RELU).Union(); },
            Kind::AveragePool2D, ir::PoolAttributes{ir::Padding::Valid, 3, 2, 5, 4, ir::Activation::Relu}},
        OptionsCase{
            "max_pool", 17, O::Pool2DOptions,
            [](Builder& b) { return tfl::CreatePool2DOptions(b, P::SAME, 2, 3, 4, 5, A::NONE).Union(); },
            Kind::MaxPool2D, ir::PoolAttributes{ir::Padding::Same, 3, 2, 5, 4, ir::Activation::None}},
        OptionsCase{"concatenation", 2, O::ConcatenationOptions,
                    [](Builder& b) { return tfl::CreateConcatenationOptions(b, -2, A::RELU).Union(); },
                    Kind::Concatenation, ir::ConcatenationAttributes{-2, ir::Activation::Relu}},
        OptionsCase{
            "conv", 3, O::Conv2DOptions,
            [](Builder& b) { return tfl::CreateConv2DOptions(b, P::SAME, 2, 3, A::RELU, 4, 5).Union(); },
            Kind::Conv2D, ir::ConvAttributes{ir::Padding::Same, 3, 2, 5, 4, ir::Activation::Relu}},
        OptionsCase{"depthwise", 4, O::DepthwiseConv2DOptions,
                    [](Builder& b) {
                      return tfl::CreateDepthwiseConv2DOptions(b, P::VALID, 2, 3, 9, A::RELU6, 4, 5).Union();
                    },
                    Kind::DepthwiseConv2D,
                    ir::ConvAttributes{ir::Padding::Valid, 3, 2, 5, 4, ir::Activation::Relu6}},
        OptionsCase{"fully_connected", 9, O::FullyConnectedOptions,
                    [](Builder& b) { return tfl::CreateFullyConnectedOptions(b, A::RELU, {}, true).Union(); },
                    Kind::FullyConnected, ir::FullyConnectedAttributes{ir::Activation::Relu, true}},
        OptionsCase{"softmax", 25, O::SoftmaxOptions,
                    [](Builder& b) { return tfl::CreateSoftmaxOptions(b, 0.75F).Union(); }, Kind::Softmax,
                    ir::SoftmaxAttributes{0.75F}},
        OptionsCase{"mean", 40, O::ReducerOptions,
                    [](Builder& b) { return tfl::CreateReducerOptions(b, true).Union(); }, Kind::Mean,
                    ir::ReduceAttributes{true}},
        OptionsCase{"strided_slice", 45, O::StridedSliceOptions,
                    [](Builder& b) { return tfl::CreateStridedSliceOptions(b, 1, 2, 3, 4, 5, true).Union(); },
                    Kind::StridedSlice, ir::StridedSliceAttributes{1, 2, 3, 4, 5, true}},
        OptionsCase{"split", 49, O::SplitOptions,
                    [](Builder& b) { return tfl::CreateSplitOptions(b, 6).Union(); }, Kind::Split,
                    ir::SplitAttributes{6}},
        OptionsCase{
            "resize_align", 97, O::ResizeNearestNeighborOptions,
            [](Builder& b) { return tfl::CreateResizeNearestNeighborOptions(b, true, false).Union(); },
            Kind::ResizeNearestNeighbor, ir::ResizeAttributes{true, false}},
        OptionsCase{
            "resize_half", 97, O::ResizeNearestNeighborOptions,
            [](Builder& b) { return tfl::CreateResizeNearestNeighborOptions(b, false, true).Union(); },
            Kind::ResizeNearestNeighbor, ir::ResizeAttributes{false, true}},
        OptionsCase{"leaky_relu", 98, O::LeakyReluOptions,
                    [](Builder& b) { return tfl::CreateLeakyReluOptions(b, 0.2F).Union(); }, Kind::LeakyRelu,
                    ir::LeakyReluAttributes{0.2F}},
        OptionsCase{"logistic", 14, O::NONE, nullptr, Kind::Logistic, ir::NoAttributes{}},
        OptionsCase{"reshape", 22, O::NONE, nullptr, Kind::Reshape, ir::NoAttributes{}},
        OptionsCase{"pad", 34, O::NONE, nullptr, Kind::Pad, ir::NoAttributes{}},
        OptionsCase{"transpose", 39, O::NONE, nullptr, Kind::Transpose, ir::NoAttributes{}},
        OptionsCase{"quantize", 114, O::NONE, nullptr, Kind::Quantize, ir::NoAttributes{}}),
    [](const testing::TestParamInfo<OptionsCase>& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace peraxis::import

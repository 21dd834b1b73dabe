// The options of every operator arrive in its attributes, each field with a value of its own.
#include <flatbuffers/flexbuffers.h>
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

// Without the map that would make amounts of it.
constexpr ir::Pads kBehind{0, 0, 0, 0, ir::Pads::Rule::Behind};

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
            Kind::AveragePool2D, ir::PoolAttributes{{}, 3, 2, 5, 4, ir::Activation::Relu}},
        OptionsCase{
            // A pixel under a window of 5x4.
            "max_pool", 17, O::Pool2DOptions,
            [](Builder& b) { return tfl::CreatePool2DOptions(b, P::SAME, 2, 3, 4, 5, A::NONE).Union(); },
            Kind::MaxPool2D, ir::PoolAttributes{{2, 2, 1, 2}, 3, 2, 5, 4, ir::Activation::None}},
        OptionsCase{"concatenation", 2, O::ConcatenationOptions,
                    [](Builder& b) { return tfl::CreateConcatenationOptions(b, -2, A::RELU).Union(); },
                    Kind::Concatenation, ir::ConcatenationAttributes{-2, ir::Activation::Relu}},
        OptionsCase{
            // A pixel under a kernel of 1x1: none.
            "conv", 3, O::Conv2DOptions,
            [](Builder& b) { return tfl::CreateConv2DOptions(b, P::SAME, 2, 3, A::RELU, 4, 5).Union(); },
            Kind::Conv2D, ir::ConvAttributes{{}, 3, 2, 5, 4, ir::Activation::Relu}},
        OptionsCase{"depthwise", 4, O::DepthwiseConv2DOptions,
                    [](Builder& b) {
                      return tfl::CreateDepthwiseConv2DOptions(b, P::VALID, 2, 3, 9, A::RELU6, 4, 5).Union();
                    },
                    Kind::DepthwiseConv2D,
                    ir::ConvAttributes{{}, 3, 2, 5, 4, ir::Activation::Relu6}},
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
        OptionsCase{"add_general", 0, O::AddOptions,
                    [](Builder& b) { return tfl::CreateAddOptions(b, A::NONE, false).Union(); }, Kind::Add,
                    ir::BinaryAttributes{ir::Activation::None, false}},
        OptionsCase{"div", 42, O::DivOptions,
                    [](Builder& b) { return tfl::CreateDivOptions(b, A::RELU).Union(); }, Kind::Div,
                    ir::BinaryAttributes{ir::Activation::Relu}},
        OptionsCase{"conv_int32_bias", 3, O::Conv2DOptions,
                    [](Builder& b) {
                      return tfl::CreateConv2DOptions(b, P::SAME, 2, 3, A::RELU, 4, 5, tfl::TensorType::INT32)
                          .Union();
                    },
                    Kind::Conv2D,
                    ir::ConvAttributes{{}, 3, 2, 5, 4, ir::Activation::Relu, true}},
        OptionsCase{"fully_connected_int32_bias", 9, O::FullyConnectedOptions,
                    [](Builder& b) {
                      return tfl::CreateFullyConnectedOptions(b, A::NONE, {}, false, false,
                                                              tfl::TensorType::INT32)
                          .Union();
                    },
                    Kind::FullyConnected,
                    ir::FullyConnectedAttributes{ir::Activation::None, false, true}},
        OptionsCase{"transpose_conv", 67, O::TransposeConvOptions,
                    [](Builder& b) {
                      return tfl::CreateTransposeConvOptions(b, P::VALID, 2, 3, A::RELU,
                                                             tfl::TensorType::INT32)
                          .Union();
                    },
                    Kind::TransposeConv,
                    ir::TransposeConvAttributes{kBehind, 3, 2, ir::Activation::Relu, true}},
        OptionsCase{"resize_bilinear", 23, O::ResizeBilinearOptions,
                    [](Builder& b) { return tfl::CreateResizeBilinearOptions(b, false, true).Union(); },
                    Kind::ResizeBilinear, ir::ResizeAttributes{false, true}},
        OptionsCase{"depth_to_space", 5, O::DepthToSpaceOptions,
                    [](Builder& b) { return tfl::CreateDepthToSpaceOptions(b, 3).Union(); }, Kind::DepthToSpace,
                    ir::BlockAttributes{3}},
        OptionsCase{"space_to_depth", 26, O::SpaceToDepthOptions,
                    [](Builder& b) { return tfl::CreateSpaceToDepthOptions(b, 4).Union(); }, Kind::SpaceToDepth,
                    ir::BlockAttributes{4}},
        OptionsCase{"gather", 36, O::GatherOptions,
                    [](Builder& b) { return tfl::CreateGatherOptions(b, -2, 1).Union(); }, Kind::Gather,
                    ir::GatherAttributes{-2, 1}},
        OptionsCase{"gather_without", 36, O::NONE, nullptr, Kind::Gather, ir::GatherAttributes{}},
        OptionsCase{"pack", 83, O::PackOptions,
                    [](Builder& b) { return tfl::CreatePackOptions(b, 3, -1).Union(); }, Kind::Pack,
                    ir::PackAttributes{-1, 3}},
        OptionsCase{"unpack", 88, O::UnpackOptions,
                    [](Builder& b) { return tfl::CreateUnpackOptions(b, 3, -1).Union(); }, Kind::Unpack,
                    ir::PackAttributes{-1, 3}},
        OptionsCase{"squeeze", 43, O::SqueezeOptions,
                    [](Builder& b) {
                      return tfl::CreateSqueezeOptions(b, b.CreateVector(std::vector<int32_t>{0, -1})).Union();
                    },
                    Kind::Squeeze, ir::SqueezeAttributes{{0, -1}}},
        OptionsCase{"mirror_pad", 100, O::MirrorPadOptions,
                    [](Builder& b) {
                      return tfl::CreateMirrorPadOptions(b, tfl::MirrorPadMode::SYMMETRIC).Union();
                    },
                    Kind::MirrorPad, ir::MirrorPadAttributes{true}},
        OptionsCase{"split_v", 102, O::SplitVOptions,
                    [](Builder& b) { return tfl::CreateSplitVOptions(b, 6).Union(); }, Kind::SplitV,
                    ir::SplitAttributes{6}},
        OptionsCase{"batch_matmul", 126, O::BatchMatMulOptions,
                    [](Builder& b) { return tfl::CreateBatchMatMulOptions(b, false, true).Union(); },
                    Kind::BatchMatmul, ir::BatchMatmulAttributes{false, true}},
        OptionsCase{"svdf", 27, O::SVDFOptions,
                    [](Builder& b) { return tfl::CreateSVDFOptions(b, 3, A::RELU).Union(); }, Kind::Svdf,
                    ir::SvdfAttributes{3, ir::Activation::Relu}},
        OptionsCase{"lstm", 44, O::UnidirectionalSequenceLSTMOptions,
                    [](Builder& b) {
                      return tfl::CreateUnidirectionalSequenceLSTMOptions(b, A::TANH, 1.5F, 2.5F, true).Union();
                    },
                    Kind::SequenceLstm, ir::LstmAttributes{1.5F, 2.5F, true, 0.0F, 0}},
        OptionsCase{"cumsum", 128, O::CumsumOptions,
                    [](Builder& b) { return tfl::CreateCumsumOptions(b, false, true).Union(); }, Kind::CumSum,
                    ir::CumSumAttributes{false, true}},
        OptionsCase{"cumsum_without", 128, O::NONE, nullptr, Kind::CumSum, ir::CumSumAttributes{}},
        OptionsCase{"gelu", 150, O::GeluOptions,
                    [](Builder& b) { return tfl::CreateGeluOptions(b, true).Union(); }, Kind::Gelu,
                    ir::GeluAttributes{true}},
        OptionsCase{"l2_normalization", 11, O::L2NormOptions,
                    [](Builder& b) { return tfl::CreateL2NormOptions(b).Union(); }, Kind::L2Normalization,
                    ir::NoAttributes{}},
        OptionsCase{"reduce_max", 82, O::ReducerOptions,
                    [](Builder& b) { return tfl::CreateReducerOptions(b, true).Union(); }, Kind::ReduceMax,
                    ir::ReduceAttributes{true}},
        OptionsCase{"maximum", 55, O::NONE, nullptr, Kind::Maximum, ir::NoAttributes{}},
        OptionsCase{"logistic", 14, O::NONE, nullptr, Kind::Logistic, ir::NoAttributes{}},
        OptionsCase{"reshape", 22, O::NONE, nullptr, Kind::Reshape, ir::NoAttributes{}},
        OptionsCase{"pad", 34, O::NONE, nullptr, Kind::Pad, ir::NoAttributes{}},
        OptionsCase{"transpose", 39, O::NONE, nullptr, Kind::Transpose, ir::NoAttributes{}},
        OptionsCase{"quantize", 114, O::NONE, nullptr, Kind::Quantize, ir::NoAttributes{}}),
    [](const testing::TestParamInfo<OptionsCase>& param) { return std::string(param.param.name); });

std::vector<uint8_t> detection_options(const std::function<void(flexbuffers::Builder&)>& more = {}) {
  flexbuffers::Builder builder;
  builder.Map([&] {
    builder.Int("max_detections", 7);
    builder.Int("max_classes_per_detection", 2);
    builder.Bool("use_regular_nms", true);
    builder.Float("nms_score_threshold", 0.25F);
    builder.Float("nms_iou_threshold", 0.5F);
    builder.Float("y_scale", 10.0F);
    builder.Float("x_scale", 11.0F);
    builder.Float("h_scale", 5.0F);
    builder.Float("w_scale", 6.0F);
    if (more) more(builder);
  });
  builder.Finish();
  return builder.GetBuffer();
}

Result<ir::Graph> import_detection(std::vector<uint8_t> custom_options) {
  test::ModelSpec model = test::conv_model();
  model.codes = {{32, 32, "TFLite_Detection_PostProcess"}};
  model.ops[0].options_type = O::NONE;
  model.ops[0].options = nullptr;
  model.ops[0].custom_options = std::move(custom_options);
  return import_tflite(test::build(model), "detection");
}

TEST(DetectionOptions, BecomeAttributes) {
  const auto graph =
      import_detection(detection_options([](flexbuffers::Builder& b) { b.Int("num_classes", 3); }));
  ASSERT_TRUE(graph) << graph.error().text();
  ir::DetectionAttributes expected;
  expected.max_detections = 7;
  expected.max_classes_per_detection = 2;
  expected.num_classes = 3;
  expected.use_regular_nms = true;
  expected.nms_score_threshold = 0.25F;
  expected.y_scale = 10.0F;
  expected.x_scale = 11.0F;
  expected.h_scale = 5.0F;
  expected.w_scale = 6.0F;
  EXPECT_EQ(graph->ops[0].attributes, ir::Attributes{expected});
}

TEST(DetectionOptions, MissingAndWrongOnesAreNamed) {
  const auto message = [](std::vector<uint8_t> bytes) {
    return import_detection(std::move(bytes)).error().message;
  };
  EXPECT_THAT(message(detection_options()), testing::HasSubstr("the option num_classes is missing"));
  EXPECT_THAT(message(detection_options([](flexbuffers::Builder& b) { b.String("num_classes", "3"); })),
              testing::HasSubstr("the option num_classes is no number"));
  EXPECT_THAT(
      message(detection_options([](flexbuffers::Builder& b) { b.Int("num_classes", int64_t{1} << 40); })),
      testing::HasSubstr("no int32"));
  EXPECT_THAT(message(detection_options([](flexbuffers::Builder& b) { b.Double("num_classes", 4.6e228); })),
              testing::HasSubstr("no int32"));
  EXPECT_THAT(message({1, 2, 3}), testing::HasSubstr("its options (3 bytes) are damaged"));
}

TEST(DetectionOptions, DamagedBytesNeverCrash) {
  const std::vector<uint8_t> good =
      detection_options([](flexbuffers::Builder& b) { b.Int("num_classes", 3); });
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int value : {0, 1, 127, 128, 255}) {
      std::vector<uint8_t> bytes = good;
      bytes[at] = static_cast<uint8_t>(value);
      (void)import_detection(bytes);
      bytes.resize(at + 1);
      (void)import_detection(bytes);
    }
  }
}

}  // namespace
}  // namespace peraxis::import

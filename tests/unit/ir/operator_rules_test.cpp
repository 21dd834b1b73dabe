// The rules of the operators that run on the CPU only: with one thing broken they are refused with the
// sentence that names it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "graphs.hpp"

namespace peraxis::ir {
namespace {

using test::constant_int32;

struct RuleBreak {
  const char* what;
  OpKind kind;
  std::function<void(Graph&)> change;
  const char* message;  // a part of it
};

template <class T>
T& attributes_in(Graph& graph) {
  return std::get<T>(graph.ops[0].attributes);
}

class OperatorRules : public testing::TestWithParam<RuleBreak> {};

TEST_P(OperatorRules, RefuseWithASentence) {
  const RuleBreak& test = GetParam();
  Graph graph = test::valid(test.kind);
  ASSERT_TRUE(verify(graph)) << verify(graph).error().text();
  test.change(graph);
  const Status status = verify(graph);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, testing::HasSubstr(test.message));
  const Status alone = verify_op(graph, 0);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().message, status.error().message);
}

std::string rule_break_name(const testing::TestParamInfo<RuleBreak>& info) {
  return info.param.what;
}

constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();

INSTANTIATE_TEST_SUITE_P(
    Hostile, OperatorRules,
    testing::Values(
        RuleBreak{"block_0", OpKind::SpaceToDepth,
                  [](Graph& g) { attributes_in<BlockAttributes>(g).block_size = 0; },
                  "the block size 0 does not divide"},
        RuleBreak{"block_huge", OpKind::DepthToSpace,
                  [](Graph& g) { attributes_in<BlockAttributes>(g).block_size = kMost; },
                  "the block size 2147483647"},
        RuleBreak{"block_negative", OpKind::DepthToSpace,
                  [](Graph& g) { attributes_in<BlockAttributes>(g).block_size = kLeast; },
                  "the block size -2147483648"},
        RuleBreak{"batch_block_0", OpKind::SpaceToBatch,
                  [](Graph& g) { g.tensors[1] = constant_int32("block", {2}, {0, 3}); }, "block size 0"},
        RuleBreak{"batch_block_huge", OpKind::BatchToSpace,
                  [](Graph& g) { g.tensors[1] = constant_int32("block", {2}, {kMost, kMost}); },
                  "does not divide"},
        RuleBreak{"crops_huge", OpKind::BatchToSpace,
                  [](Graph& g) { g.tensors[2] = constant_int32("crops", {2, 2}, {kMost, kMost, 0, 0}); },
                  "dimension 1 of the input"},
        RuleBreak{"paddings_negative", OpKind::SpaceToBatch,
                  [](Graph& g) { g.tensors[2] = constant_int32("paddings", {2, 2}, {-1, 0, 0, 0}); },
                  "amounts [-1,0]"},
        RuleBreak{"mirror_too_far", OpKind::MirrorPad,
                  [](Graph& g) { g.tensors[1] = constant_int32("paddings", {2, 2}, {0, 2, 0, 0}); },
                  "exceeds 1, what it can mirror"},
        RuleBreak{"padv2_two_values", OpKind::PadV2,
                  [](Graph& g) {
                    g.tensors[2].shape = {2};
                    g.tensors[2].data = {1, 2};
                  },
                  "has 2 values, not 1"},
        RuleBreak{"padv2_scale", OpKind::PadV2, [](Graph& g) { g.tensors[2].quant.scale = {0.25F}; },
                  "different scales or zero points"},
        RuleBreak{"slice_outside", OpKind::Slice,
                  [](Graph& g) { g.tensors[1] = constant_int32("begin", {2}, {4, 0}); },
                  "begin 4 and size 2 do not fit dimension 0 of size 4"},
        RuleBreak{"slice_negative", OpKind::Slice,
                  [](Graph& g) { g.tensors[1] = constant_int32("begin", {2}, {kLeast, 0}); },
                  "begin -2147483648"},
        RuleBreak{"slice_size", OpKind::Slice,
                  [](Graph& g) { g.tensors[2] = constant_int32("size", {2}, {2, kMost}); },
                  "size 2147483647"},
        RuleBreak{"split_sizes", OpKind::SplitV,
                  [](Graph& g) { g.tensors[1] = constant_int32("sizes", {2}, {kMost, -1}); },
                  "the part size 2147483647"},
        RuleBreak{"split_two_open", OpKind::SplitV,
                  [](Graph& g) { g.tensors[1] = constant_int32("sizes", {2}, {-1, -1}); },
                  "the part size -1"},
        RuleBreak{"split_nothing_left", OpKind::SplitV,
                  [](Graph& g) { g.tensors[1] = constant_int32("sizes", {2}, {5, -1}); },
                  "parts of 5 entries"},
        RuleBreak{"split_count", OpKind::SplitV,
                  [](Graph& g) { attributes_in<SplitAttributes>(g).num_splits = -2; }, "num_splits is -2"},
        RuleBreak{"pack_count", OpKind::Pack, [](Graph& g) { attributes_in<PackAttributes>(g).count = 3; },
                  "values_count is 3, it has 2 inputs"},
        RuleBreak{"pack_axis", OpKind::Pack, [](Graph& g) { attributes_in<PackAttributes>(g).axis = 3; },
                  "axis 3 is outside -3..2"},
        RuleBreak{"unpack_count", OpKind::Unpack,
                  [](Graph& g) { attributes_in<PackAttributes>(g).count = kMost; }, "num is 2147483647"},
        RuleBreak{"gather_batch", OpKind::Gather,
                  [](Graph& g) { attributes_in<GatherAttributes>(g).batch_dims = 3; },
                  "batch_dims 3 with indices of rank 2"},
        RuleBreak{"gather_batch_negative", OpKind::Gather,
                  [](Graph& g) { attributes_in<GatherAttributes>(g).batch_dims = kLeast; },
                  "batch_dims -2147483648"},
        RuleBreak{"gather_axis", OpKind::Gather,
                  [](Graph& g) { attributes_in<GatherAttributes>(g).axis = kMost; },
                  "axis 2147483647 is outside"},
        RuleBreak{"gather_float_indices", OpKind::Gather,
                  [](Graph& g) { g.tensors[1].type = DataType::Float32; },
                  "is float32; supported here: int32, int64"},
        RuleBreak{"gather_nd_depth", OpKind::GatherNd, [](Graph& g) { g.tensors[1].shape = {7, 4}; },
                  "name 4 dimensions"},
        RuleBreak{"squeeze_not_1", OpKind::Squeeze,
                  [](Graph& g) { attributes_in<SqueezeAttributes>(g).dims = {1}; },
                  "dimension 1 of shape [1,5,1] is to be dropped but is not 1"},
        RuleBreak{"squeeze_axis", OpKind::Squeeze,
                  [](Graph& g) { attributes_in<SqueezeAttributes>(g).dims = {-4}; }, "axis -4 is outside"},
        RuleBreak{"expand_axis", OpKind::ExpandDims,
                  [](Graph& g) { g.tensors[1] = constant_int32("axis", {}, {3}); },
                  "axis 3 is outside -3..2"},
        RuleBreak{"topk_0", OpKind::TopK, [](Graph& g) { g.tensors[1] = constant_int32("k", {}, {0}); },
                  "k has 1 values (0); one from 1 to 7"},
        RuleBreak{"topk_large", OpKind::TopK, [](Graph& g) { g.tensors[1] = constant_int32("k", {}, {8}); },
                  "(8); one from 1 to 7"},
        RuleBreak{"arg_axis", OpKind::ArgMax,
                  [](Graph& g) { g.tensors[1] = constant_int32("axis", {}, {-4}); }, "axis -4 is outside"},
        RuleBreak{"reduce_scale", OpKind::ReduceMax, [](Graph& g) { g.tensors[2].quant.scale = {0.25F}; },
                  "different scales or zero points"},
        RuleBreak{"matmul_depth", OpKind::BatchMatmul,
                  [](Graph& g) { attributes_in<BatchMatmulAttributes>(g).adj_y = false; },
                  "5 columns against 7 rows"},
        RuleBreak{"matmul_rank", OpKind::BatchMatmul, [](Graph& g) { g.tensors[0].shape = {5}; },
                  "has rank 1"},
        RuleBreak{"matmul_batch", OpKind::BatchMatmul, [](Graph& g) { g.tensors[1].shape = {3, 7, 5}; },
                  "do not broadcast: 2 against 3"},
        RuleBreak{"conv_negative_pad", OpKind::Conv2D,
                  [](Graph& g) { attributes_in<ConvAttributes>(g).pads.left = -1; },
                  "padding of -1 left; it must be 0..2147483647"},
        RuleBreak{"conv_pad_behind", OpKind::Conv2D,
                  [](Graph& g) { attributes_in<ConvAttributes>(g).pads.bottom = 3; },
                  "the operator gives [1,5,9,4]"},
        RuleBreak{"conv_pads_open", OpKind::Conv2D,
                  [](Graph& g) { attributes_in<ConvAttributes>(g).pads.rule = Pads::Rule::Even; },
                  "its padding is a rule (even) whose shapes are not stated"},
        RuleBreak{"pool_negative_pad", OpKind::MaxPool2D,
                  [](Graph& g) { attributes_in<PoolAttributes>(g).pads.bottom = -2; }, "padding of -2 below"},
        RuleBreak{"pool_padding_above", OpKind::AveragePool2D,
                  [](Graph& g) { attributes_in<PoolAttributes>(g).pads = {3, 0, 0, 0}; },
                  "some windows 3x2 hold padding alone"},
        RuleBreak{"pool_padding_right", OpKind::MaxPool2D,
                  [](Graph& g) { attributes_in<PoolAttributes>(g).pads = {0, 0, 0, 3}; },
                  "some windows 3x2 hold padding alone"},
        RuleBreak{"pool_counted_maximum", OpKind::MaxPool2D,
                  [](Graph& g) { attributes_in<PoolAttributes>(g).counts_padding = true; },
                  "only averages count"},
        RuleBreak{"transpose_conv_pads", OpKind::TransposeConv,
                  [](Graph& g) { attributes_in<TransposeConvAttributes>(g).pads = {1, 0, 0, 0}; },
                  "make 13 rows and 27 columns of it"},
        RuleBreak{"transpose_conv_negative_pad", OpKind::TransposeConv,
                  [](Graph& g) { attributes_in<TransposeConvAttributes>(g).pads = {-1, 1, 0, 0}; },
                  "padding of -1 above"},
        RuleBreak{"transpose_conv_shape", OpKind::TransposeConv,
                  [](Graph& g) { g.tensors[0] = constant_int32("shape", {4}, {1, 14, 27, 5}); },
                  "the operator gives [1,14,27,5]"},
        RuleBreak{"transpose_conv_stride", OpKind::TransposeConv,
                  [](Graph& g) { attributes_in<TransposeConvAttributes>(g).stride_w = 0; }, "strides 2x0"},
        RuleBreak{"transpose_conv_depth", OpKind::TransposeConv,
                  [](Graph& g) {
                    g.tensors[1].shape = {4, 2, 3, 2};
                    g.tensors[1].data.resize(48);
                  },
                  "have depth 2, the input has 3 channels"},
        RuleBreak{"broadcast_shrinks", OpKind::BroadcastTo,
                  [](Graph& g) { g.tensors[1] = constant_int32("shape", {2}, {1, 4}); },
                  "does not spread over"},
        RuleBreak{"broadcast_negative", OpKind::BroadcastTo,
                  [](Graph& g) { g.tensors[1] = constant_int32("shape", {2}, {3, -1}); },
                  "the operator gives [3,0]"},
        RuleBreak{"fill_shape", OpKind::Fill,
                  [](Graph& g) { g.tensors[0] = constant_int32("dims", {2}, {5, kMost}); },
                  "the operator gives [5,2147483647]"},
        RuleBreak{"fill_value", OpKind::Fill, [](Graph& g) { g.tensors[1].shape = {2}; },
                  "has 2 values, not 1"},
        RuleBreak{"shape_count", OpKind::Shape, [](Graph& g) { g.tensors[1].shape = {3}; },
                  "the operator gives [2]"},
        RuleBreak{"prelu_shape", OpKind::Prelu, [](Graph& g) { g.tensors[1].shape = {2, 5, 7, 3}; },
                  "the operator gives [2,5,7,3]"},
        RuleBreak{"hard_swish_scale", OpKind::HardSwish,
                  [](Graph& g) { g.tensors[1].quant.scale = {0.003F}; },
                  "LiteRT takes more than the input's 0.5 / 128"},
        RuleBreak{"tanh_int16_scale", OpKind::Tanh,
                  [](Graph& g) {
                    for (Tensor& tensor : g.tensors) {
                      tensor.type = DataType::Int16;
                      tensor.quant.zero_point = {0};
                    }
                  },
                  "LiteRT takes exactly 1/32768"},
        RuleBreak{"int16_zero_point", OpKind::Relu,
                  [](Graph& g) {
                    for (Tensor& tensor : g.tensors) tensor.type = DataType::Int16;
                  },
                  "has the zero point 3; int16 takes 0"},
        RuleBreak{"detection_classes", OpKind::DetectionPostProcess,
                  [](Graph& g) { attributes_in<DetectionAttributes>(g).num_classes = 5; },
                  "has 3 columns for 5 classes"},
        RuleBreak{"detection_huge", OpKind::DetectionPostProcess,
                  [](Graph& g) { attributes_in<DetectionAttributes>(g).max_detections = kMost; },
                  "max_detections 2147483647"},
        RuleBreak{"detection_negative", OpKind::DetectionPostProcess,
                  [](Graph& g) { attributes_in<DetectionAttributes>(g).max_classes_per_detection = -1; },
                  "max_classes_per_detection -1"},
        RuleBreak{"detection_anchors", OpKind::DetectionPostProcess,
                  [](Graph& g) { g.tensors[2].shape = {8, 4}; }, "do not fit together"},
        RuleBreak{"detection_threshold", OpKind::DetectionPostProcess,
                  [](Graph& g) { attributes_in<DetectionAttributes>(g).nms_iou_threshold = 0.0F; },
                  "nms_iou_threshold 0"}),
    rule_break_name);

INSTANTIATE_TEST_SUITE_P(
    HostileSequences, OperatorRules,
    testing::Values(
        RuleBreak{"tile_0", OpKind::Tile,
                  [](Graph& g) { g.tensors[1] = constant_int32("counts", {2}, {0, 4}); },
                  "is repeated 0 times; 1 to 1073741823 is possible"},
        RuleBreak{"tile_negative", OpKind::Tile,
                  [](Graph& g) { g.tensors[1] = constant_int32("counts", {2}, {1, kLeast}); },
                  "is repeated -2147483648 times"},
        RuleBreak{"tile_huge", OpKind::Tile,
                  [](Graph& g) { g.tensors[1] = constant_int32("counts", {2}, {kMost, 1}); },
                  "dimension 0 of the input (tensor 0 'in') of shape [2,3] is repeated 2147483647 times"},
        RuleBreak{"tile_product", OpKind::Tile,
                  [](Graph& g) { g.tensors[1] = constant_int32("counts", {2}, {1 << 29, 1 << 29}); },
                  "the operator gives [1073741824,1610612736]"},
        RuleBreak{"tile_counts", OpKind::Tile,
                  [](Graph& g) { g.tensors[1] = constant_int32("counts", {3}, {1, 1, 4}); },
                  "has 3 values for the input (tensor 0 'in') of rank 2"},
        RuleBreak{"reverse_axis", OpKind::Reverse,
                  [](Graph& g) { g.tensors[1] = constant_int32("axes", {1}, {3}); },
                  "axis 3 is outside -3..2"},
        RuleBreak{"reverse_gap", OpKind::Reverse,
                  [](Graph& g) { g.tensors[1] = constant_int32("axes", {2}, {0, 2}); },
                  "the axes [0,2] are not neighbours"},
        RuleBreak{"reverse_twice", OpKind::Reverse,
                  [](Graph& g) { g.tensors[1] = constant_int32("axes", {2}, {1, -2}); },
                  "the axes [1,1] are not neighbours"},
        RuleBreak{"reverse_scalar", OpKind::Reverse,
                  [](Graph& g) { g.tensors[1] = constant_int32("axes", {}, {1}); }, "has rank 0"},
        RuleBreak{"select_condition", OpKind::Select, [](Graph& g) { g.tensors[0].type = DataType::Int8; },
                  "is int8; supported here: bool"},
        RuleBreak{"select_types", OpKind::Select, [](Graph& g) { g.tensors[2].type = DataType::Int16; },
                  "they must be the same"},
        RuleBreak{"select_shape", OpKind::Select, [](Graph& g) { g.tensors[0].shape = {4, 1}; },
                  "the operator gives [2,4,3]"},
        RuleBreak{"cumsum_axis", OpKind::CumSum,
                  [](Graph& g) { g.tensors[1] = constant_int32("axis", {}, {2}); },
                  "axis 2 is outside -2..1"},
        RuleBreak{"cumsum_axes", OpKind::CumSum,
                  [](Graph& g) { g.tensors[1] = constant_int32("axis", {2}, {0, 1}); },
                  "has 2 values, not 1"},
        RuleBreak{"cumsum_type", OpKind::CumSum,
                  [](Graph& g) { g.tensors[0].type = g.tensors[2].type = DataType::Int8; }, "is int8"},
        RuleBreak{"scatter_depth", OpKind::ScatterNd, [](Graph& g) { g.tensors[0].shape = {4, 4}; },
                  "name 4 dimensions"},
        RuleBreak{"scatter_updates", OpKind::ScatterNd, [](Graph& g) { g.tensors[1].shape = {3, 5}; },
                  "have shape [3,5]; the indices and the output make it [4,5]"},
        RuleBreak{"scatter_shape", OpKind::ScatterNd,
                  [](Graph& g) { g.tensors[2] = constant_int32("shape", {3}, {2, kMost, 5}); },
                  "the operator gives [2,2147483647,5]"},
        RuleBreak{"nms_most", OpKind::NonMaxSuppressionV4,
                  [](Graph& g) { g.tensors[2] = constant_int32("most", {}, {kMost}); },
                  "the operator gives [2147483647]"},
        RuleBreak{"nms_none", OpKind::NonMaxSuppressionV5,
                  [](Graph& g) { g.tensors[2] = constant_int32("most", {}, {0}); }, "it must be 1 or more"},
        RuleBreak{"nms_boxes", OpKind::NonMaxSuppressionV4, [](Graph& g) { g.tensors[0].shape = {9, 5}; },
                  "the operator gives [9,4]"},
        RuleBreak{"nms_scores", OpKind::NonMaxSuppressionV4, [](Graph& g) { g.tensors[1].shape = {8}; },
                  "the operator gives [9]"},
        RuleBreak{"l2_scale", OpKind::L2Normalization,
                  [](Graph& g) { g.tensors[1].quant.scale = {1.0F / 127.0F}; },
                  "LiteRT takes exactly 1/128 and 0"},
        RuleBreak{"log_softmax_zero", OpKind::LogSoftmax,
                  [](Graph& g) { g.tensors[1].quant.zero_point = {126}; },
                  "LiteRT takes exactly 1/16 and 127"},
        RuleBreak{"log_softmax_fine", OpKind::LogSoftmax,
                  [](Graph& g) { g.tensors[0].quant.scale = {1e-9F}; }, "not above 2^-26: LiteRT aborts"}),
    rule_break_name);

TEST(OperatorRules, FullyConnectedTakesComputedWeightsAndAConvolutionDoesNot) {
  Graph dense = test::valid(OpKind::FullyConnected);
  dense.tensors[1].is_constant = false;
  dense.tensors[1].data.clear();
  dense.inputs.push_back(1);
  EXPECT_TRUE(verify(dense)) << verify(dense).error().text();
  Graph conv = test::conv_2d();
  conv.tensors[1].is_constant = false;
  conv.tensors[1].data.clear();
  conv.inputs.push_back(1);
  EXPECT_THAT(verify(conv).error().message, testing::HasSubstr("is computed at run time"));
}

TEST(OperatorRules, SoftmaxGives16BitsFrom8WhateverTheOutputStates) {
  Graph graph = test::valid(OpKind::Softmax);
  graph.tensors[1].type = DataType::Int16;
  graph.tensors[1].quant = {{0.1F}, {5}, 0};
  EXPECT_TRUE(verify(graph)) << verify(graph).error().text();
  graph.tensors[0].quant.scale = {1e-9F};
  EXPECT_THAT(verify(graph).error().message, testing::HasSubstr("LiteRT aborts"));
}

TEST(OperatorRules, DeadScalesOfElementwiseOperatorsAreTaken) {
  for (const OpKind kind : {OpKind::Mul, OpKind::Div, OpKind::Quantize, OpKind::Relu, OpKind::Abs}) {
    Graph graph = test::valid(kind);
    graph.tensors[static_cast<size_t>(graph.ops[0].outputs[0])].quant.scale = {1e-35F};
    EXPECT_TRUE(verify(graph)) << op_name(kind) << verify(graph).error().text();
  }
}

TEST(OperatorRules, Int16ConvolutionsTakeTheBiasTheirOptionsName) {
  Graph graph = test::conv_2d();
  for (const size_t i : {size_t{0}, size_t{3}}) {
    graph.tensors[i].type = DataType::Int16;
    graph.tensors[i].quant.zero_point = {0};
  }
  EXPECT_THAT(verify(graph).error().message, testing::HasSubstr("is int32; it must be int64"));
  std::get<ConvAttributes>(graph.ops[0].attributes).int32_bias = true;
  EXPECT_TRUE(verify(graph)) << verify(graph).error().text();
  graph.tensors[3].quant.scale = {1e-5F};
  EXPECT_THAT(verify(graph).error().message, testing::HasSubstr("the int16 kernels take less than 128"));
}

TEST(OperatorRules, FiveDimensionsAndTensorsOfOneValue) {
  Graph graph = test::valid(OpKind::Maximum);
  graph.tensors[0].shape = {2, 1, 3, 1, 4};
  graph.tensors[1].shape = {};
  graph.tensors[2].shape = {2, 1, 3, 1, 4};
  EXPECT_TRUE(verify(graph));
  graph.tensors[0].shape = {0, 1, 3};
  EXPECT_THAT(verify(graph).error().message, testing::HasSubstr("has the dimension 0"));
}

}  // namespace
}  // namespace peraxis::ir

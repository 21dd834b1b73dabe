// What keeps a convolution off the NPU, and what no longer does: the sentence names the value and the limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/pads.hpp"
#include "lower/geometry.hpp"

namespace peraxis::lower {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

int32_t add(ir::Graph& g, std::vector<int32_t> shape, bool constant = false) {
  ir::Tensor t;
  t.name = fmt::format("t{}", g.tensors.size());
  t.type = ir::DataType::Int8;
  t.shape = std::move(shape);
  t.quant = {{0.1F}, {constant ? 0 : -3}, 0};
  t.is_constant = constant;
  g.tensors.push_back(std::move(t));
  return static_cast<int32_t>(g.tensors.size() - 1);
}

// The refusal of a convolution of `in` with weights [out, kh, kw, depth].
std::string convolution(const std::vector<int32_t>& in, const std::vector<int32_t>& weights,
                        ir::ConvAttributes a) {
  if (a.pads.rule == ir::Pads::Rule::Even)
    a.pads = ir::even_pads({in[0], in[1], in[2], in[3]}, weights[1], weights[2], a);
  ir::Graph g;
  const ir::SpatialAxes axes = ir::conv_axes({in[0], in[1], in[2], in[3]}, weights[1], weights[2], a);
  const std::vector<int32_t> out{in[0], static_cast<int32_t>(axes.rows.out),
                                 static_cast<int32_t>(axes.columns.out), weights[0]};
  const int32_t x = add(g, in), w = add(g, weights, true), y = add(g, out);
  g.ops.push_back({ir::OpKind::Conv2D, {x, w}, {y}, a});
  return npu_refusal(g, 0);
}

std::string transposed(const std::vector<int32_t>& in, const std::vector<int32_t>& weights,
                       const std::vector<int32_t>& out, int32_t stride, ir::Pads pads) {
  ir::Graph g;
  const int32_t shape = add(g, {4}, true), w = add(g, weights, true), x = add(g, in), y = add(g, out);
  g.ops.push_back({ir::OpKind::TransposeConv,
                   {shape, w, x},
                   {y},
                   ir::TransposeConvAttributes{pads, stride, stride, ir::Activation::None, false}});
  return npu_refusal(g, 0);
}

ir::ConvAttributes attributes(int32_t stride, int32_t dilation_h = 1, int32_t dilation_w = 1) {
  ir::ConvAttributes a;
  a.stride_h = a.stride_w = stride;
  a.dilation_h = dilation_h;
  a.dilation_w = dilation_w;
  a.pads.rule = ir::Pads::Rule::Even;
  return a;
}

TEST(Refusals, FormsThatRun) {
  EXPECT_THAT(convolution({3, 20, 30, 16}, {8, 3, 3, 16}, attributes(1)), IsEmpty());
  EXPECT_THAT(convolution({1, 20, 30, 16}, {8, 3, 3, 4}, attributes(1)), IsEmpty());
  EXPECT_THAT(convolution({1, 65, 65, 256}, {256, 3, 3, 256}, attributes(1, 18, 18)), IsEmpty());
  EXPECT_THAT(convolution({1, 40, 40, 16}, {8, 3, 3, 16}, attributes(1, 30, 30)), IsEmpty());
  EXPECT_THAT(convolution({1, 224, 224, 3}, {768, 16, 16, 3}, attributes(16)), IsEmpty());
  EXPECT_THAT(convolution({1, 2, 5000, 16}, {8, 1, 3, 16}, attributes(1)), IsEmpty());
  EXPECT_THAT(transposed({1, 7, 7, 32}, {16, 2, 2, 32}, {1, 14, 14, 16}, 2, {}), IsEmpty());
  EXPECT_THAT(transposed({1, 7, 7, 32}, {16, 1, 1, 32}, {1, 13, 13, 16}, 2, {}), IsEmpty());
}

TEST(Refusals, Convolutions) {
  EXPECT_THAT(convolution({1, 90, 90, 16}, {8, 3, 3, 16}, attributes(1, 1, 33)),
              HasSubstr("dilation 1x33 exceeds 32"));
  EXPECT_THAT(convolution({1, 90, 90, 16}, {8, 3, 3, 16}, attributes(1, 31, 1)),
              HasSubstr("padding 31 above, 1 left exceeds twice 15"));
  EXPECT_THAT(convolution({1, 90, 90, 16}, {8, 32, 3, 16}, attributes(1)),
              HasSubstr("kernel 32x3 exceeds 31"));
  EXPECT_THAT(convolution({1, 2000, 2000, 32}, {8, 3, 3, 32}, attributes(8)),
              HasSubstr("stride 8 makes a task of each of 62500 outputs, more than 16384"));
  EXPECT_THAT(convolution({1, 2, 9000, 16}, {8, 1, 3, 16}, attributes(1)),
              HasSubstr("a map 9000 wide exceeds 8191"));
  // A size of 8192, minus one, is all ones in the 13 bits of DATA_CUBE_WIDTH and HEIGHT; 8191 is not.
  EXPECT_THAT(convolution({1, 2, 8191, 16}, {8, 1, 3, 16}, attributes(1)), IsEmpty());
  EXPECT_THAT(convolution({1, 2, 8192, 16}, {8, 1, 3, 16}, attributes(1)),
              HasSubstr("a map 8192 wide exceeds 8191 columns"));
  EXPECT_THAT(convolution({1, 8191, 2, 16}, {8, 3, 1, 16}, attributes(1)), IsEmpty());
  EXPECT_THAT(convolution({1, 8192, 2, 16}, {8, 3, 1, 16}, attributes(1)),
              HasSubstr("a map 8192 high exceeds 8191 rows"));
  EXPECT_THAT(convolution({1, 2, 2, 16}, {8127, 1, 1, 16}, attributes(1)), IsEmpty());
  EXPECT_THAT(convolution({1, 2, 2, 16}, {8128, 1, 1, 16}, attributes(1)),
              HasSubstr("8128 output channels exceed 8127"));
  EXPECT_THAT(convolution({1, 20, 20, 4096}, {64, 3, 3, 4096}, attributes(1)),
              HasSubstr("4096 input channels with a 3x3 kernel"));
}

TEST(Refusals, TransposedConvolutions) {
  EXPECT_THAT(transposed({1, 7, 7, 32}, {16, 3, 3, 32}, {1, 21, 21, 16}, 3, {}),
              HasSubstr("stride 3x3 of a transposed convolution"));
  EXPECT_THAT(transposed({1, 7, 7, 32}, {16, 3, 3, 32}, {1, 2, 2, 16}, 2, {6, 7, 6, 7}),
              HasSubstr("drops more than a 3x3 kernel"));
  EXPECT_THAT(transposed({1, 2, 1100, 16}, {8, 2, 2, 16}, {1, 4, 2200, 8}, 2, {}),
              HasSubstr("a map 2200 wide of a transposed convolution exceeds 2047"));
  // More rows than the input reaches: those hold the bias alone.
  EXPECT_THAT(transposed({1, 4, 4, 16}, {8, 3, 3, 16}, {1, 12, 12, 8}, 2, {0, -3, 0, -3}),
              HasSubstr("hold padding alone"));
}

}  // namespace
}  // namespace peraxis::lower

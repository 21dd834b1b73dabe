// Shape rules against LiteRT: the slices below were run in its reference interpreter (2.3.0), the sizes and
// paddings are worked out from the definition by walking the window, not by the formula under test.
#include "ir/shape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graphs.hpp"
#include "ir/pads.hpp"

namespace peraxis::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct SliceCase {
  std::vector<int32_t> input, begin, end, strides;
  StridedSliceAttributes attributes;
  std::vector<int32_t> shape;
  std::vector<int> values;  // of an input that counts 0, 1, 2, ...; empty: LiteRT gives an empty tensor
};

const std::vector<SliceCase>& slices() {
  static const std::vector<SliceCase> kCases{
      // clang-format off
    {{5}, {3}, {1}, {3}, {1, 1, 0, 0, 0, false}, {2}, {0, 3}},
    {{5, 1}, {-2, 5}, {-1, 8}, {2, 1}, {1, 0, 0, 0, 0, false}, {}, {}},
    {{1, 2, 2}, {0}, {4}, {-2}, {0, 1, 0, 0, 0, false}, {1, 2, 2}, {0, 1, 2, 3}},
    {{3, 3, 1}, {-2, -7}, {5, -5}, {1, 1}, {2, 0, 0, 0, 2, false}, {2, 1}, {3, 6}},
    {{2, 6, 2}, {3, -1}, {-5, 4}, {3, 1}, {1, 0, 0, 0, 2, false}, {}, {}},
    {{4}, {-7}, {-4}, {1}, {0, 1, 0, 0, 0, false}, {4}, {0, 1, 2, 3}},
    {{4, 1}, {-6}, {-2}, {-1}, {0, 1, 0, 0, 0, false}, {}, {}},
    {{4, 2, 5}, {6, 2}, {-4, 4}, {1, -2}, {1, 2, 0, 0, 1, false}, {1, 5}, {5, 6, 7, 8, 9}},
    {{2, 6, 4}, {2, -6}, {5, -7}, {1, 1}, {1, 1, 0, 0, 1, false}, {}, {}},
    {{4, 3, 5}, {7}, {-6}, {1}, {1, 0, 0, 0, 0, false}, {}, {}},
    {{1, 3, 2}, {4}, {-8}, {1}, {1, 0, 0, 0, 1, false}, {3, 2}, {0, 1, 2, 3, 4, 5}},
    {{3}, {1}, {-4}, {1}, {0, 0, 0, 0, 0, false}, {}, {}},
    {{2, 5, 1}, {0}, {3}, {-2}, {0, 1, 0, 0, 0, false}, {1, 5, 1}, {0, 1, 2, 3, 4}},
    {{4}, {4}, {1}, {2}, {1, 1, 0, 0, 0, false}, {2}, {0, 2}},
    {{6, 1}, {5}, {2}, {2}, {1, 0, 0, 0, 1, false}, {1}, {0}},
    {{4}, {3}, {3}, {1}, {0, 1, 0, 0, 0, false}, {1}, {3}},
    {{4, 2}, {-1}, {8}, {2}, {0, 0, 0, 0, 1, false}, {2}, {6, 7}},
    {{6, 6, 1}, {-4}, {4}, {1}, {0, 0, 0, 0, 0, false}, {2, 6, 1},
     {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
    {{3, 6}, {-2}, {8}, {1}, {1, 0, 0, 0, 0, false}, {3, 6},
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}},
    {{5, 1}, {2}, {4}, {1}, {0, 1, 0, 0, 0, false}, {3, 1}, {2, 3, 4}},
    {{6, 1}, {-5}, {6}, {1}, {0, 0, 0, 0, 0, false}, {5, 1}, {1, 2, 3, 4, 5}},
    {{3, 4, 2}, {-2, -7, 3}, {-7, -2, -3}, {3, 3, 2}, {4, 5, 0, 0, 0, false}, {1, 1, 1}, {8}},
    {{4}, {7}, {2}, {-1}, {0, 0, 0, 0, 0, false}, {1}, {3}},
    {{2, 6}, {-6}, {2}, {2}, {0, 1, 0, 0, 0, false}, {1, 6}, {0, 1, 2, 3, 4, 5}},
    {{5, 1}, {2}, {-5}, {-2}, {1, 0, 0, 0, 0, false}, {2, 1}, {4, 2}},
    {{6}, {-7}, {-5}, {2}, {1, 0, 0, 0, 0, false}, {1}, {0}},
    {{4}, {-1}, {7}, {1}, {0, 0, 0, 0, 0, false}, {1}, {3}},
    {{1, 2}, {-2}, {8}, {1}, {1, 0, 0, 0, 0, false}, {1, 2}, {0, 1}},
    {{5, 3}, {-2, 5}, {8, -4}, {2, -2}, {1, 0, 0, 0, 0, false}, {3, 2}, {2, 0, 8, 6, 14, 12}},
    {{3, 5}, {3}, {0}, {1}, {1, 1, 0, 0, 0, false}, {3, 5},
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}},
    {{2}, {-6}, {-6}, {-2}, {1, 1, 0, 0, 0, false}, {1}, {1}},
    {{4, 3}, {-2}, {2}, {3}, {0, 0, 0, 0, 1, false}, {3}, {6, 7, 8}},
    {{6}, {4}, {1}, {3}, {0, 0, 0, 0, 1, false}, {}, {4}},
    {{5}, {-5}, {-6}, {3}, {0, 1, 0, 0, 1, false}, {}, {0}},
      // clang-format on
  };
  return kCases;
}

std::vector<int> read_slice(const ResolvedSlice& slice, const std::vector<int32_t>& shape) {
  std::vector<int> positions{0};
  for (size_t i = 0; i < shape.size(); ++i) {
    std::vector<int> next;
    for (const int base : positions) {
      for (int64_t k = 0; k < slice.axes[i].size; ++k) {
        const int64_t index = slice.axes[i].begin + k * slice.axes[i].stride;
        EXPECT_GE(index, 0);
        EXPECT_LT(index, shape[i]);
        next.push_back(base * shape[i] + static_cast<int>(index));
      }
    }
    positions = next;
  }
  return positions;
}

TEST(StridedSlice, AgreesWithLiteRt) {
  int empty = 0;
  for (size_t i = 0; i < slices().size(); ++i) {
    const SliceCase& test = slices()[i];
    const auto slice = resolve_strided_slice(test.input, test.begin, test.end, test.strides, test.attributes);
    if (test.values.empty()) {
      ++empty;
      ASSERT_FALSE(slice) << i;
      EXPECT_THAT(slice.error().message, HasSubstr("leave nothing")) << i;
      continue;
    }
    ASSERT_TRUE(slice) << i << ": " << slice.error().text();
    EXPECT_EQ(slice->output_shape, test.shape) << i;
    EXPECT_EQ(read_slice(*slice, test.input), test.values) << i;
  }
  EXPECT_GT(empty, 0);
}

TEST(StridedSlice, ExtremeIndicesDoNotOverflow) {
  constexpr int32_t kLow = std::numeric_limits<int32_t>::min();
  constexpr int32_t kHigh = std::numeric_limits<int32_t>::max();
  const std::vector<int32_t> input{5};
  const auto forward =
      resolve_strided_slice(input, std::vector{kLow}, std::vector{kHigh}, std::vector{kHigh}, {});
  ASSERT_TRUE(forward);
  EXPECT_EQ(forward->axes[0], (SliceAxis{0, kHigh, 1, false}));
  const auto back =
      resolve_strided_slice(input, std::vector{kHigh}, std::vector{kLow}, std::vector{kLow}, {});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->axes[0], (SliceAxis{4, kLow, 1, false}));
}

// Output o reads the positions o * stride - before + k * dilation of an input between paddings: all of them
// exist, and those of one more output would not. Even padding: one output for every stride, as little padding
// as covers the last window.
TEST(SpatialAxis, MatchesTheWindowsWalk) {
  for (int32_t in = 1; in <= 17; ++in)
    for (int32_t kernel = 1; kernel <= 5; ++kernel)
      for (int32_t stride = 1; stride <= 4; ++stride)
        for (int32_t dilation = 1; dilation <= 3; ++dilation) {
          const int64_t reach = (kernel - 1) * dilation;
          int64_t valid = 0;
          while (valid * stride + reach < in) ++valid;
          ConvAttributes a;
          a.stride_h = a.stride_w = stride;
          a.dilation_h = a.dilation_w = dilation;
          const SpatialAxis plain = conv_axes({1, in, in, 1}, kernel, kernel, a).rows;
          EXPECT_EQ(plain.out, valid);
          EXPECT_EQ(plain.before + plain.after, 0);
          a.pads = even_pads({1, in, in, 1}, kernel, kernel, a);
          EXPECT_EQ(std::pair(a.pads.top, a.pads.bottom), std::pair(a.pads.left, a.pads.right));
          const SpatialAxis same = conv_axes({1, in, in, 1}, kernel, kernel, a).columns;
          int64_t outs = 0;
          while (outs * stride < in) ++outs;
          EXPECT_EQ(same.out, outs);
          const int64_t missing = std::max<int64_t>(0, (outs - 1) * stride + reach - (in - 1));
          EXPECT_EQ(same.before + same.after, missing);
          EXPECT_TRUE(same.after == same.before || same.after == same.before + 1);
          EXPECT_EQ(a.pads.left + a.pads.right, missing);
        }
}

TEST(SpatialAxis, AnyPads) {
  for (int32_t in = 1; in <= 6; ++in)
    for (int32_t kernel = 1; kernel <= 4; ++kernel)
      for (int32_t stride = 1; stride <= 4; ++stride)
        for (int32_t before = 0; before <= 5; ++before)
          for (int32_t behind = 0; behind <= 5; ++behind) {
            int64_t outs = 0;
            while (outs * stride - before + kernel <= in + behind) ++outs;
            const int64_t reached = outs == 0 ? 0 : (outs - 1) * stride - before + kernel - in;
            PoolAttributes a;
            a.pads = {before, behind, 1, 2};
            a.filter_h = kernel;
            a.filter_w = 2;
            a.stride_h = stride;
            a.stride_w = 1;
            const SpatialAxes axes = pool_axes({1, in, 7, 1}, a);
            EXPECT_EQ(axes.rows.out, outs);
            EXPECT_EQ(axes.rows.before, before);
            EXPECT_EQ(axes.rows.after, std::max<int64_t>(0, reached));
            EXPECT_EQ(axes.columns.out, 9);
          }
}

TEST(ActivationRange, IsRoundedInFloat32AndClamped) {
  const auto range = [](float scale, int64_t zero_point, Activation activation,
                        DataType type = DataType::Int8) {
    const StoredRange r = activation_range(test::activation("t", {1}, scale, zero_point, type), activation);
    return std::pair{r.low, r.high};
  };
  EXPECT_EQ(range(0.5F, 3, Activation::None), (std::pair{-128, 127}));
  EXPECT_EQ(range(0.5F, 3, Activation::Relu), (std::pair{3, 127}));
  EXPECT_EQ(range(0.5F, 3, Activation::Relu6), (std::pair{3, 15}));
  EXPECT_EQ(range(0.5F, 3, Activation::ReluN1To1), (std::pair{1, 5}));
  EXPECT_EQ(range(6.0F / 255, -128, Activation::Relu6), (std::pair{-128, 127}));
  EXPECT_EQ(range(6.0F / 255, 0, Activation::Relu6, DataType::UInt8), (std::pair{0, 255}));
  EXPECT_EQ(range(0.4F, 0, Activation::ReluN1To1), (std::pair{-3, 3}));  // 2.5 in float32: away from zero
  EXPECT_EQ(range(4.0F, 0, Activation::Relu6), (std::pair{0, 2}));       // 1.5 -> 2
  EXPECT_EQ(range(1e-30F, 0, Activation::Relu6), (std::pair{0, 127}));
  EXPECT_EQ(range(1e-45F, 0, Activation::ReluN1To1), (std::pair{-128, 127}));  // the quotient is infinite
}

TEST(Shapes, NormalizeAxis) {
  EXPECT_EQ(*normalize_axis(-1, 4), 3);
  EXPECT_EQ(*normalize_axis(-4, 4), 0);
  EXPECT_EQ(*normalize_axis(3, 4), 3);
  EXPECT_FALSE(normalize_axis(4, 4));
  EXPECT_FALSE(normalize_axis(-5, 4));
  EXPECT_FALSE(normalize_axis(0, 0));
}

TEST(Shapes, Broadcast) {
  const std::vector<int32_t> none, a{1, 5, 1, 3}, b{7, 1};
  EXPECT_THAT(*broadcast_shape(a, b), ElementsAre(1, 5, 7, 3));
  EXPECT_THAT(*broadcast_shape(b, a), ElementsAre(1, 5, 7, 3));
  EXPECT_THAT(*broadcast_shape(none, b), ElementsAre(7, 1));
  EXPECT_FALSE(broadcast_shape(std::vector<int32_t>{2}, std::vector<int32_t>{3}));
}

TEST(Shapes, Reduce) {
  const std::vector<int32_t> input{2, 7, 9, 3};
  const auto axes = reduce_axes(std::vector<int32_t>{2, -3, 2}, 4);
  ASSERT_TRUE(axes);
  EXPECT_THAT(*axes, ElementsAre(1, 2));
  EXPECT_THAT(reduced_shape(input, *axes, true), ElementsAre(2, 1, 1, 3));
  EXPECT_THAT(reduced_shape(input, *axes, false), ElementsAre(2, 3));
}

TEST(Shapes, Reshape) {
  const std::vector<int32_t> input{2, 6};
  EXPECT_THAT(*reshape_shape(input, std::vector<int32_t>{3, -1}), ElementsAre(3, 4));
  EXPECT_THAT(*reshape_shape(input, std::vector<int32_t>{-1}), ElementsAre(12));
  EXPECT_FALSE(reshape_shape(input, std::vector<int32_t>{5, -1}));
  EXPECT_FALSE(reshape_shape(input, std::vector<int32_t>{0, -1}));
  EXPECT_FALSE(reshape_shape(input, std::vector<int32_t>{}));
  EXPECT_TRUE(reshape_shape(std::vector<int32_t>{1, 1}, std::vector<int32_t>{}));
}

TEST(Tensors, ElementsAndNhwc) {
  Tensor tensor = test::activation("t", {5, 7});
  EXPECT_EQ(tensor.elements(), 35);
  EXPECT_EQ(nhwc(tensor), (Nhwc{1, 1, 5, 7}));
  tensor.shape = {};
  EXPECT_EQ(tensor.elements(), 1);
  EXPECT_EQ(nhwc(tensor), (Nhwc{1, 1, 1, 1}));
  tensor.type = DataType::Int64;
  tensor.shape.assign(8, std::numeric_limits<int32_t>::max());
  EXPECT_GT(tensor.bytes(), int64_t{1} << 60);  // no overflow
}

TEST(StridedSlice, EllipsisAndNewAxes) {
  const std::vector<int32_t> input = {2, 3, 4, 5};
  const std::vector<int32_t> zero = {0, 7, 1};
  const std::vector<int32_t> end = {0, 0, 4};
  const std::vector<int32_t> one = {1, 1, 2};
  StridedSliceAttributes attributes;
  attributes.ellipsis_mask = 1;
  attributes.new_axis_mask = 2;
  const auto slice = resolve_strided_slice(input, zero, end, one, attributes);
  ASSERT_TRUE(slice) << slice.error().text();
  EXPECT_EQ(slice->output_shape, (std::vector<int32_t>{2, 3, 4, 1, 2}));
  EXPECT_EQ(slice->axes.back(), (SliceAxis{1, 2, 2, false}));
  EXPECT_EQ(slice->axes.size(), input.size());
  const std::vector<int32_t> flat = {6};
  EXPECT_FALSE(resolve_strided_slice(flat, zero, end, one, attributes));  // for no dimension
  attributes.ellipsis_mask = 5;
  EXPECT_FALSE(resolve_strided_slice(input, zero, end, one, attributes));  // two of them
  attributes = {};
  EXPECT_FALSE(resolve_strided_slice(flat, zero, end, one, attributes));  // too many entries
  attributes.ellipsis_mask = INT32_MIN;
  attributes.new_axis_mask = -1;
  EXPECT_TRUE(
      resolve_strided_slice(flat, zero, end, one, attributes));  // bits beyond the entries mean nothing
}

TEST(Names, RoundTrip) {
  for (const OpKind kind : test::kAllKinds) EXPECT_EQ(op_kind_from_name(op_name(kind)), kind);
  for (const DataType type : {DataType::Float32, DataType::Int32, DataType::UInt8, DataType::Int64,
                              DataType::Int8, DataType::Int16, DataType::Bool}) {
    EXPECT_EQ(data_type_from_name(data_type_name(type)), type);
  }
  EXPECT_EQ(op_kind_from_name("convolution"), std::nullopt);
  EXPECT_EQ(test::conv_2d().op_label(0), "conv_2d 0 'out'");
}

}  // namespace
}  // namespace peraxis::ir

// What a transposed convolution's sums can reach: by trying every output, with the taps that the scattering
// definition (docs/arithmetic.md#transpose_conv) gives it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "requant/layer.hpp"

namespace peraxis::requant {
namespace {

constexpr int64_t kSize = 6, kDepth = 2, kKernels = 3;

struct Shape {
  int32_t kernel_h, kernel_w, stride_h, stride_w;
};

ir::Tensor transposed_tensor(std::vector<int32_t> shape, std::vector<float> scales, int64_t zero_point) {
  ir::Tensor t;
  t.type = ir::DataType::Int8;
  t.shape = std::move(shape);
  t.quant.zero_point.assign(scales.size(), zero_point);
  t.quant.scale = std::move(scales);
  return t;
}

ir::Graph transposed(const Shape& s, int64_t z_in, std::mt19937& rng) {
  ir::Graph g;
  g.tensors.resize(1);
  g.tensors[0].is_constant = true;  // the output's shape: describe does not look at it
  g.tensors.push_back(
      transposed_tensor({kKernels, s.kernel_h, s.kernel_w, kDepth}, {0.01F, 0.02F, 0.005F}, 0));
  g.tensors[1].is_constant = true;
  for (int64_t i = 0; i < g.tensors[1].elements(); ++i)
    g.tensors[1].data.push_back(static_cast<uint8_t>(rng()));
  g.tensors.push_back(transposed_tensor({1, kSize, kSize, kDepth}, {0.1F}, z_in));
  const auto out = [](int32_t kernel, int32_t stride) { return (int32_t{kSize} - 1) * stride + kernel; };
  g.tensors.push_back(
      transposed_tensor({1, out(s.kernel_h, s.stride_h), out(s.kernel_w, s.stride_w), kKernels}, {0.2F}, 3));
  g.ops.push_back({ir::OpKind::TransposeConv,
                   {0, 1, 2},
                   {3},
                   ir::TransposeConvAttributes{{}, s.stride_h, s.stride_w, ir::Activation::None, false}});
  return g;
}

TEST(Transposed, ReachesWhatItsOutputsReach) {
  std::mt19937 rng(20261130);
  for (const Shape& s :
       {Shape{3, 3, 2, 2}, Shape{4, 2, 2, 1}, Shape{5, 4, 4, 2}, Shape{3, 3, 1, 1}, Shape{2, 1, 4, 2}})
    for (const int64_t z_in : {-128, -7, 90}) {
      const ir::Graph g = transposed(s, z_in, rng);
      const auto layer = describe(g, 0, num::Reference::LitertRef);
      ASSERT_TRUE(layer) << layer.error().text();
      ASSERT_EQ(layer->channels.size(), static_cast<size_t>(kKernels));
      const ir::Tensor& out = g.tensor(3);
      for (int64_t c = 0; c < kKernels; ++c) {
        int64_t least = INT64_MAX, most = INT64_MIN, total = 0;
        for (int64_t y = 0; y < out.shape[1]; ++y)
          for (int64_t x = 0; x < out.shape[2]; ++x) {
            int64_t low = 0, high = 0;
            total = 0;
            for (int64_t ky = 0; ky < s.kernel_h; ++ky)
              for (int64_t kx = 0; kx < s.kernel_w; ++kx)
                for (int64_t i = 0; i < kDepth; ++i) {
                  const int64_t at = ((c * s.kernel_h + ky) * s.kernel_w + kx) * kDepth + i;
                  const int64_t w = static_cast<int8_t>(g.tensor(1).data[static_cast<size_t>(at)]);
                  total += w;
                  // Input pixel (iy, ix) adds to output iy * stride + ky, ix * stride + kx.
                  const int64_t iy = y - ky, ix = x - kx;
                  const bool live = iy >= 0 && ix >= 0 && iy % s.stride_h == 0 && ix % s.stride_w == 0 &&
                                    iy / s.stride_h < kSize && ix / s.stride_w < kSize;
                  low += live ? std::min(-128 * w, 127 * w) : z_in * w;
                  high += live ? std::max(-128 * w, 127 * w) : z_in * w;
                }
            least = std::min(least, low);
            most = std::max(most, high);
          }
        const Channel& channel = layer->channels[static_cast<size_t>(c)];
        EXPECT_EQ(channel.raw_min, least);
        EXPECT_EQ(channel.raw_max, most);
        EXPECT_EQ(channel.addend, -z_in * total);  // no bias
      }
    }
}

}  // namespace
}  // namespace peraxis::requant

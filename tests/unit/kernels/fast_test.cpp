// Every fast kernel against its reference on random layers: maps that are never square, channel counts on
// both sides of the block sizes, every stride, dilation, group and type the operators allow.
#include "base/rng.hpp"
#include "base/thread_pool.hpp"
#include "graphs.hpp"
#include "ir/pads.hpp"

namespace peraxis::kernels {
namespace {

using ir::OpKind;

class Layers {
 public:
  explicit Layers(uint64_t seed) : rng_(seed) {}

  ir::Graph convolution() {
    const bool uint8 = rng_.one_in(3);
    const auto channels = [&] { return pick({1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65}); };
    const int32_t groups = uint8 ? 1 : pick({1, 1, 1, 2, 3});
    const int32_t depth = groups > 1 ? pick({1, 3, 5, 8}) : channels();
    const int32_t outputs = groups > 1 ? groups * pick({1, 5, 17}) : channels();
    const ir::ConvAttributes attributes = geometry();
    return layer(OpKind::Conv2D, attributes, uint8, depth * groups, {outputs, kernel(), kernel(), depth},
                 outputs);
  }

  ir::Graph depthwise() {
    const int32_t channels = pick({1, 3, 15, 16, 31, 64, 65, 130});
    const int32_t outputs = channels * pick({1, 1, 2, 3});
    return layer(OpKind::DepthwiseConv2D, geometry(), rng_.one_in(3), channels,
                 {1, kernel(), kernel(), outputs}, outputs);
  }

  ir::Graph fully_connected() {
    const bool uint8 = rng_.one_in(3);
    const int32_t depth = pick({1, 2, 15, 16, 33, 64, 257});
    const int32_t units = pick({1, 3, 16, 33});
    const int32_t batch = pick({1, 1, 4});
    return one_op(OpKind::FullyConnected, ir::FullyConnectedAttributes{activation(), false},
                  {activation_tensor({batch, depth}, uint8), weights({units, depth}, units, 0, uint8),
                   bias(units), activation_tensor({batch, units}, uint8)});
  }

  std::vector<uint8_t> input_of(const ir::Graph& graph) {
    return bytes(graph.tensor(graph.inputs[0]).bytes(), rng_.one_in(4));
  }

 private:
  int32_t pick(std::initializer_list<int32_t> values) {
    return values.begin()[rng_.uniform(0, static_cast<int64_t>(values.size()) - 1)];
  }
  int32_t kernel() { return pick({1, 1, 2, 3, 3, 5}); }
  ir::Activation activation() { return static_cast<ir::Activation>(pick({0, 0, 1, 2, 3})); }
  ir::ConvAttributes geometry() {
    ir::ConvAttributes a;
    a.pads.rule = rng_.one_in(3) ? ir::Pads::Rule::Stated : ir::Pads::Rule::Even;
    a.stride_h = pick({1, 1, 2, 3});
    a.stride_w = pick({1, 1, 2, 4});
    if (rng_.one_in(4)) {
      a.dilation_h = pick({1, 2, 3});
      a.dilation_w = pick({2, 3});
    }
    a.activation = activation();
    return a;
  }
  std::vector<uint8_t> bytes(int64_t count, bool extreme) {
    std::vector<uint8_t> out(static_cast<size_t>(count));
    for (uint8_t& b : out)
      b = static_cast<uint8_t>(extreme ? pick({0, 127, 128, 255}) : rng_.uniform(0, 255));
    return out;
  }
  ir::Tensor activation_tensor(std::vector<int32_t> shape, bool uint8) {
    const int64_t zero = rng_.one_in(3) ? pick({0, 255}) : rng_.uniform(0, 255);
    return tensor(uint8 ? ir::DataType::UInt8 : ir::DataType::Int8, std::move(shape),
                  static_cast<float>(rng_.uniform_real(0.01, 0.5)), uint8 ? zero : zero - 128);
  }
  ir::Tensor weights(std::vector<int32_t> shape, int32_t channels, int32_t dimension, bool uint8) {
    ir::Tensor t = tensor(uint8 ? ir::DataType::UInt8 : ir::DataType::Int8, std::move(shape), 0.01F,
                          uint8 ? rng_.uniform(0, 255) : 0);
    if (!uint8 && !rng_.one_in(4)) {
      t.quant.scale.clear();
      for (int32_t c = 0; c < channels; ++c)
        t.quant.scale.push_back(static_cast<float>(rng_.uniform_real(0.0001, 0.02)));
      t.quant.zero_point.assign(static_cast<size_t>(channels), 0);
      t.quant.quantized_dimension = dimension;
    }
    make_constant(t, bytes(t.elements(), false));
    return t;
  }
  // Now and then so large that accumulators wrap.
  ir::Tensor bias(int32_t channels) {
    std::vector<int32_t> values;
    const int64_t limit = rng_.one_in(4) ? 2147483647 : 20000;
    for (int32_t c = 0; c < channels; ++c)
      values.push_back(static_cast<int32_t>(rng_.uniform(-limit, limit)));
    return int32_constant({channels}, values);
  }
  ir::Graph layer(OpKind kind, const ir::ConvAttributes& wanted, bool uint8, int32_t in_channels,
                  std::vector<int32_t> weight_shape, int32_t outputs) {
    ir::ConvAttributes a = wanted;
    const auto h = static_cast<int32_t>(rng_.uniform(1, 9));
    const auto w = h + static_cast<int32_t>(rng_.uniform(1, 6));
    const int32_t n = pick({1, 1, 1, 2});
    const ir::Nhwc map{n, h, w, in_channels};
    // Amounts of their own, some so large that windows hold padding alone.
    if (rng_.one_in(3)) a.pads = {pick({0, 1, 4}), pick({0, 2, 9}), pick({0, 1, 5}), pick({0, 3, 7})};
    const auto outputs_of = [&] { return ir::conv_axes(map, weight_shape[1], weight_shape[2], a); };
    if (a.pads.rule == ir::Pads::Rule::Even || outputs_of().rows.out < 1 || outputs_of().columns.out < 1)
      a.pads = ir::even_pads(map, weight_shape[1], weight_shape[2], a);
    const auto [rows, cols] = outputs_of();
    const int32_t dimension = kind == OpKind::Conv2D ? 0 : 3;
    return one_op(kind, a,
                  {activation_tensor({n, h, w, in_channels}, uint8),
                   weights(std::move(weight_shape), outputs, dimension, uint8), bias(outputs),
                   activation_tensor(
                       {n, static_cast<int32_t>(rows.out), static_cast<int32_t>(cols.out), outputs}, uint8)});
  }

  base::Rng rng_;
};

void expect_equal_paths(const ir::Graph& graph, const std::vector<uint8_t>& input, uint64_t seed) {
  for (const Reference reference : {Reference::LitertRef, Reference::SingleRounding}) {
    const auto expected = run(graph, {input}, {Path::Reference, reference, 1});
    ASSERT_TRUE(expected) << "seed " << seed << ": " << expected.error().text();
    for (const int threads : {1, 2, 5}) {
      const auto fast = run(graph, {input}, {Path::Fast, reference, threads});
      ASSERT_TRUE(fast) << "seed " << seed << ": " << fast.error().text();
      ASSERT_EQ(*fast, *expected) << "seed " << seed << ", " << threads << " threads";
    }
    // The caller's threads, and none beside them.
    static base::ThreadPool pool(3);
    const int64_t before = base::ThreadPool::started();
    const auto fast = run(graph, {input}, {Path::Fast, reference, 3, &pool});
    ASSERT_TRUE(fast) << "seed " << seed << ": " << fast.error().text();
    ASSERT_EQ(*fast, *expected) << "seed " << seed << ", a pool of the caller";
    EXPECT_EQ(base::ThreadPool::started(), before);
  }
}

TEST(FastEqualsReference, Conv2D) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Layers layers(seed);
    const ir::Graph graph = layers.convolution();
    expect_equal_paths(graph, layers.input_of(graph), seed);
  }
}

TEST(FastEqualsReference, DepthwiseConv2D) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Layers layers(seed);
    const ir::Graph graph = layers.depthwise();
    expect_equal_paths(graph, layers.input_of(graph), seed);
  }
}

TEST(FastEqualsReference, FullyConnected) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Layers layers(seed);
    const ir::Graph graph = layers.fully_connected();
    expect_equal_paths(graph, layers.input_of(graph), seed);
  }
}

// A dilation that would need a huge padded copy is left to the reference loops.
TEST(FastEqualsReference, HugeDilation) {
  ir::ConvAttributes a;
  a.dilation_h = 1'000'000;
  a.dilation_w = 2'000'000'000;
  a.pads = ir::even_pads({1, 2, 3, 1}, 3, 3, a);
  ir::Tensor weights = int8_tensor({1, 3, 3, 1}, 0.02F, 0);
  make_constant(weights, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (const OpKind kind : {OpKind::Conv2D, OpKind::DepthwiseConv2D}) {
    const ir::Graph graph = one_op(kind, a,
                                   {int8_tensor({1, 2, 3, 1}, 0.5F, 0), weights, int32_constant({1}, {7}),
                                    int8_tensor({1, 2, 3, 1}, 0.1F, 0)});
    expect_equal_paths(graph, {1, 2, 3, 4, 5, 6}, 0);
  }
}

}  // namespace
}  // namespace peraxis::kernels

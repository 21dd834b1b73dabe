// AVERAGE_POOL_2D and MEAN on the machine model against the reference kernels. Every channel has values of
// its own range, so that sums of all sizes come up. Where the parameters are proved equal for every sum the
// outputs are equal; elsewhere they differ by at most 1.
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "graph_builder.hpp"
#include "plan/planner.hpp"

namespace peraxis::property {
namespace {

// Channels from one end of the type to the other, and mixed ones.
Bytes spread_values(Builder& b, int64_t pixels, int64_t channels) {
  Bytes out(static_cast<size_t>(pixels * channels));
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t low = b.rng().uniform(-128, 127);
    const int64_t high = b.rng().one_in(4) ? 127 : std::min<int64_t>(127, low + b.rng().uniform(0, 12));
    for (int64_t p = 0; p < pixels; ++p) {
      const int64_t v = b.rng().one_in(40) ? b.rng().uniform(-128, 127) : b.rng().uniform(low, high);
      out[static_cast<size_t>(p * channels + c)] = static_cast<uint8_t>(b.is_uint8() ? v + 128 : v);
    }
  }
  return out;
}

struct Shape {
  int32_t h, w, c;
};

Case finish_average(Builder& b, uint64_t seed, const Shape& shape) {
  Case out;
  out.seed = seed;
  out.graph = std::move(b.graph());
  out.graph.outputs = {out.graph.ops[0].outputs[0]};
  out.inputs = {spread_values(b, int64_t{shape.h} * shape.w, shape.c)};
  const Status ok = ir::verify(out.graph);
  EXPECT_TRUE(ok) << ok.error().text() << "\n" << out.text();
  return out;
}

Case pool_case(uint64_t seed, const Shape& shape, ir::PoolAttributes a, bool same_scale = true) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  const int32_t in = b.input({1, shape.h, shape.w, shape.c});
  const ir::Nhwc map{1, shape.h, shape.w, shape.c};
  if (a.pads.rule == ir::Pads::Rule::Even) a.pads = ir::even_pads(map, a);
  const auto [rows, columns] = ir::pool_axes(map, a);
  const ir::QuantParams quant = b.graph().tensor(in).quant;
  const int32_t out =
      b.add_tensor({1, static_cast<int32_t>(rows.out), static_cast<int32_t>(columns.out), shape.c},
                   same_scale ? quant.scale[0] : 0.017F, quant.zero_point[0]);
  b.op(ir::OpKind::AveragePool2D, {in}, out, a);
  return finish_average(b, seed, shape);
}

Case mean_case(uint64_t seed, const Shape& shape, const std::vector<int32_t>& axes, double ratio) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  const int32_t in = b.input({1, shape.h, shape.w, shape.c});
  const int32_t operand = b.constant({static_cast<int32_t>(axes.size())}, axes);
  const bool keep = choice.one_in(2);
  std::vector<int32_t> dims{1};
  for (const int32_t axis : {1, 2}) {
    const bool reduced = std::ranges::any_of(axes, [&](int32_t a) { return (a + 4) % 4 == axis; });
    if (!reduced || keep) dims.push_back(reduced ? 1 : (axis == 1 ? shape.h : shape.w));
  }
  dims.push_back(shape.c);
  const float scale = b.graph().tensor(in).quant.scale[0] / static_cast<float>(ratio);
  const int32_t out = b.add_tensor(dims, scale, b.zero_point());
  b.op(ir::OpKind::Mean, {in, operand}, out, ir::ReduceAttributes{keep});
  return finish_average(b, seed, shape);
}

struct Outcome {
  bool ran = false, exact = false, staged = false, ppu = false;
  size_t tasks = 0;
};

Outcome run_case(const Case& test, bool exact, bool ppu = true) {
  Outcome out;
  const lower::DeviceForm form = form_of(test.graph, 0, {exact, {.ppu = ppu}, {}});
  if (!form.refusal.empty()) return out;
  plan::Plan plan;
  plan.on_device = {true};
  plan.forms = {form};
  const auto executable =
      compiler::compile(test.graph, test.options("auto", num::Reference::LitertRef), plan);
  EXPECT_TRUE(executable) << executable.error().text();
  if (!executable) return out;
  const auto got = run_on_machine(*executable, test.inputs);
  const auto want = run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef);
  EXPECT_TRUE(got) << got.error().text();
  EXPECT_TRUE(want) << want.error().text();
  if (!got || !want) return out;
  out = {true, true, form.averages.size() == 2, form.ppu, executable->tasks.size()};
  const bool average = test.graph.ops[0].kind == ir::OpKind::AveragePool2D;
  if (average) out.staged = out.staged && executable->tasks.size() == 2;
  const bool counted = std::ranges::all_of(
      form.averages, [](const requant::AverageParams& p) { return p.certificate.differing == 0; });
  if (out.staged || out.ppu || !counted) out.exact = exact;
  const ir::DataType type = test.graph.tensor(test.graph.outputs[0]).type;
  EXPECT_LE(largest_difference(type, (*got)[0], (*want)[0]), out.exact ? 0 : 1);
  const requant::OperatorCertificate& certificate = form.certificate;
  EXPECT_LE(largest_difference(type, (*got)[0], (*want)[0]), certificate.max);
  EXPECT_EQ(certificate.counted, !(form.averages.size() == 2 && out.staged));
  if (certificate.counted) {
    EXPECT_GT(certificate.values, 0);
    EXPECT_EQ(certificate.max == 0, certificate.differing == 0);
  }
  return out;
}

ir::PoolAttributes window(int32_t h, int32_t w, int32_t stride,
                          ir::Activation activation = ir::Activation::None) {
  return {{}, stride, stride, h, w, activation};
}

TEST(Averages, PoolsOfEveryWindow) {
  int64_t ran = 0, narrowed = 0, ppu = 0;
  for (uint64_t i = 0; i < 120 && !::testing::Test::HasFailure(); ++i) {
    const uint64_t seed = first_seed(960'000 + i);
    base::Rng rng(seed);
    const auto h = static_cast<int32_t>(rng.uniform(1, 9)), w = static_cast<int32_t>(rng.uniform(1, 9));
    const ir::Activation activation = rng.one_in(4) ? ir::Activation::Relu : ir::Activation::None;
    const Shape shape{h + static_cast<int32_t>(rng.uniform(0, 14)),
                      w + static_cast<int32_t>(rng.uniform(0, 14)), static_cast<int32_t>(rng.uniform(1, 80))};
    const Case test = pool_case(
        seed, shape, window(h, w, static_cast<int32_t>(rng.uniform(1, 9)), activation), rng.one_in(2));
    SCOPED_TRACE(test.text());
    const Outcome outcome = run_case(test, true);
    ran += outcome.ran ? 1 : 0;
    ppu += outcome.ppu ? 1 : 0;
    narrowed += outcome.ran && activation != ir::Activation::None ? 1 : 0;
    run_case(test, false);
  }
  EXPECT_GT(ran, 90);
  EXPECT_GT(narrowed, 10);
  EXPECT_GT(ppu, 0);  // strides of 8 and 9
}

// SAME padding: windows at the border hold fewer pixels, and LiteRT divides by those.
TEST(Averages, Borders) {
  int64_t ran = 0, several = 0;
  for (uint64_t i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
    const uint64_t seed = first_seed(965'000 + i);
    base::Rng rng(seed);
    ir::PoolAttributes a = window(
        static_cast<int32_t>(rng.uniform(1, 5)), static_cast<int32_t>(rng.uniform(1, 5)),
        static_cast<int32_t>(rng.uniform(1, 3)), rng.one_in(4) ? ir::Activation::Relu : ir::Activation::None);
    a.pads.rule = ir::Pads::Rule::Even;
    const Shape shape{static_cast<int32_t>(rng.uniform(1, 14)), static_cast<int32_t>(rng.uniform(1, 14)),
                      static_cast<int32_t>(rng.uniform(1, 80))};
    const Case test = pool_case(seed, shape, a);
    SCOPED_TRACE(test.text());
    const Outcome outcome = run_case(test, true);
    ran += outcome.ran ? 1 : 0;
    several += outcome.tasks > 3 ? 1 : 0;
    run_case(test, false);
  }
  EXPECT_GT(ran, 50);
  EXPECT_GT(several, 25);
}

// Any amounts that leave every window a pixel, counted or not.
TEST(Averages, AnyPads) {
  int64_t ran[2] = {0, 0}, joined = 0;
  for (uint64_t i = 0; i < 80 && !::testing::Test::HasFailure(); ++i) {
    const uint64_t seed = first_seed(966'000 + i);
    base::Rng rng(seed);
    const auto small = [&](int64_t most) { return static_cast<int32_t>(rng.uniform(1, most)); };
    ir::PoolAttributes a =
        window(small(5), small(5), small(3), rng.one_in(4) ? ir::Activation::Relu : ir::Activation::None);
    a.counts_padding = i % 2 == 1;
    a.pads = random_pads(rng, a.filter_h, a.filter_w);
    const Shape shape{a.filter_h + small(9) - 1, a.filter_w + small(9) - 1, small(80)};
    const Case test = pool_case(seed, shape, a, rng.one_in(2));
    SCOPED_TRACE(test.text());
    const Outcome outcome = run_case(test, true);
    ran[i % 2] += outcome.ran ? 1 : 0;
    joined += outcome.tasks > 3 ? 1 : 0;
    if (a.counts_padding && outcome.ran) {
      EXPECT_EQ(outcome.tasks, 1U);
    }
    run_case(test, false);
  }
  EXPECT_GT(ran[0], 20);
  EXPECT_GT(ran[1], 35);
  EXPECT_GT(joined, 12);
}

// A window that is the whole plane only without what is above it.
TEST(Averages, PaddingMovesTheWindowOffThePlane) {
  ir::PoolAttributes a = window(4, 4, 4);
  a.pads = {3, 0, 0, 0};
  const Case test = pool_case(first_seed(967'000), {4, 4, 20}, a);
  EXPECT_TRUE(run_case(test, true).ran);
}

TEST(Averages, Means) {
  int64_t exact = 0, fast = 0;
  for (uint64_t i = 0; i < 80 && !::testing::Test::HasFailure(); ++i) {
    const uint64_t seed = first_seed(961'000 + i);
    base::Rng rng(seed);
    const Shape shape{static_cast<int32_t>(rng.uniform(1, 31)), static_cast<int32_t>(rng.uniform(1, 31)),
                      static_cast<int32_t>(rng.uniform(1, 70))};
    const std::vector<std::vector<int32_t>> axes = {{1, 2}, {2, 1}, {-3, -2}, {1}, {2}, {-2}};
    const Case test = mean_case(seed, shape, axes[static_cast<size_t>(rng.uniform(0, 5))],
                                rng.one_in(3) ? 1.0 : std::exp(rng.uniform_real(-2, 2)));
    SCOPED_TRACE(test.text());
    exact += run_case(test, true).ran ? 1 : 0;
    fast += run_case(test, false).ran ? 1 : 0;
  }
  EXPECT_EQ(fast, 80);
  EXPECT_GT(exact, 40);
}

TEST(Averages, LargePlanes) {
  // More pixels than a kernel has taps: two stages in `fast`, the CPU in `exact`.
  for (const Shape& shape : {Shape{32, 32, 17}, Shape{37, 37, 5}, Shape{56, 56, 40}, Shape{112, 112, 16},
                             Shape{1, 997, 3}, Shape{224, 7, 16}, Shape{320, 320, 2}, Shape{640, 640, 1}}) {
    const Case test = mean_case(first_seed(962'000 + static_cast<uint64_t>(shape.w)), shape, {1, 2}, 1.25);
    SCOPED_TRACE(test.text());
    const Outcome outcome = run_case(test, false);
    EXPECT_TRUE(outcome.ran && outcome.staged);
    EXPECT_FALSE(run_case(test, true).ran);
  }
  const Outcome pool = run_case(pool_case(first_seed(963'000), {40, 40, 20}, window(40, 40, 1)), false);
  EXPECT_TRUE(pool.ran && pool.staged);
}

TEST(Averages, WithoutThePpu) {
  // A stride that no convolution has.
  const Case test = pool_case(first_seed(964'000), {27, 27, 33}, window(3, 3, 8));
  EXPECT_TRUE(run_case(test, true).ppu);
  EXPECT_FALSE(run_case(test, true, false).ran);
  EXPECT_TRUE(run_case(pool_case(first_seed(964'001), {27, 27, 33}, window(3, 3, 7)), true, false).ran);
}

}  // namespace
}  // namespace peraxis::property

// Convolutions that do the ADD behind them: which pairs are taken, that the machine model stays within the
// bound stated for every channel, and that the bound is what comes out when every accumulator meets every
// value of the other operand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph_builder.hpp"
#include "plan/planner.hpp"
#include "random_tangles.hpp"
#include "requant/fused_sum.hpp"

namespace peraxis::property {
namespace {

class Body : public Builder {
 public:
  using Builder::Builder;

  int32_t convolution(int32_t from, int32_t outputs, ir::Activation activation, bool depthwise = false) {
    Layer l;
    random_quantization(*this, l);
    l.bias = true;
    l.gain = std::min(l.gain, 1.0);
    l.log2_spread = std::min(l.log2_spread, 4.0);
    l.kind = depthwise ? ir::OpKind::DepthwiseConv2D : ir::OpKind::Conv2D;
    l.outputs = depthwise ? shape(from)[3] : outputs;
    l.kernel_h = l.kernel_w = pick({1, 1, 3});
    l.attributes.pads.rule = ir::Pads::Rule::Even;
    l.attributes.activation = activation;
    return layer(from, l);
  }
  int32_t sum(int32_t a, int32_t b, ir::Activation activation) {
    const auto scale_of = [&](int32_t t) { return graph().tensor(t).quant.scale[0]; };
    const float scale = std::max(scale_of(a), scale_of(b)) * static_cast<float>(rng().uniform_real(0.7, 1.6));
    const int32_t out = add_tensor(shape(a), scale, zero_point());
    return op(ir::OpKind::Add, {a, b}, out, ir::BinaryAttributes{activation});
  }
};

// A chain of residual blocks; the branch is one convolution, several, or a projection on either side, and
// some of the sums are joined.
Case residual_body(uint64_t seed) {
  base::Rng choice(seed);
  Body b(choice.next(), choice.one_in(3));
  if (!choice.one_in(3)) b.set_mild();
  Case out;
  set_tiles(b, out);
  const auto h = static_cast<int32_t>(b.rng().uniform(2, 9));
  const int32_t in = b.input({1, h, h + static_cast<int32_t>(b.rng().uniform(0, 5)), 3});
  const int32_t channels = b.pick({5, 16, 24, 32, 33, 48, 64, 70});
  int32_t x = b.convolution(in, channels, b.activation());
  std::vector<int32_t> sums;
  for (int64_t i = b.rng().uniform(1, 3); i > 0; --i) {
    int32_t branch = x;
    if (b.rng().one_in(2)) branch = b.convolution(branch, b.pick({16, 32}), b.activation());
    branch = branch == x && b.rng().one_in(3) ? b.convolution(branch, channels, b.activation(), true)
                                              : b.convolution(branch, channels, b.activation());
    if (b.rng().one_in(4)) x = b.convolution(x, channels, ir::Activation::None);
    if (b.rng().one_in(2)) std::swap(x, branch);
    x = b.sum(x, branch, b.pick({ir::Activation::None, ir::Activation::Relu, ir::Activation::Relu6}));
    sums.push_back(x);
  }
  const ir::QuantParams quant = b.graph().tensor(x).quant;
  if (sums.size() > 1 && b.is_uint8()) {
    std::vector<int32_t> shape = b.shape(x);
    shape[3] *= static_cast<int32_t>(sums.size());
    x = b.op(ir::OpKind::Concatenation, sums, b.add_tensor(shape, quant.scale[0], quant.zero_point[0]),
             ir::ConcatenationAttributes{3, ir::Activation::None});
  }
  b.graph().outputs = {b.convolution(x, 17, ir::Activation::None)};
  return finish(b, seed, std::move(out));
}

compiler::Options with_sums(const Case& test, const std::string& strategy) {
  compiler::Options options = test.options(strategy, num::Reference::LitertRef);
  options.fused_adds = true;
  options.no_fallback = false;
  return options;
}

int64_t fused(const plan::Plan& plan) {
  return std::ranges::count_if(plan.layers, [](const plan::LayerPlan& layer) { return layer.sum >= 0; });
}

// By channel: the largest difference of a map.
std::vector<int> differences(const ir::Tensor& tensor, const Bytes& got, const Bytes& want) {
  std::vector<int> out(static_cast<size_t>(tensor.shape.back()));
  for (size_t i = 0; i < got.size(); ++i) {
    int& most = out[i % out.size()];
    most = std::max(
        most, largest_difference(tensor.type, std::span(got).subspan(i, 1), std::span(want).subspan(i, 1)));
  }
  return out;
}

// Every sum that a convolution made, against the reference's two operators on the inputs they really had.
void expect_within_bounds(const Case& test, const plan::Plan& plan, const exe::Executable& executable,
                          Activations seen) {
  for (const plan::LayerPlan& layer : plan.layers) {
    if (layer.sum < 0) continue;
    const auto sum = static_cast<size_t>(layer.sum);
    EXPECT_FALSE(seen.contains(test.graph.ops[layer.op].outputs[0])) << "nobody writes it";
    const auto convolution = operator_reference(test, layer.op, seen);
    ASSERT_TRUE(convolution) << convolution.error().text();
    seen[test.graph.ops[layer.op].outputs[0]] = *convolution;
    const auto want = operator_reference(test, sum, seen);
    ASSERT_TRUE(want) << want.error().text();
    const int32_t output = test.graph.ops[sum].outputs[0];
    ASSERT_TRUE(seen.contains(output));
    const auto record =
        std::ranges::find(executable.layers, static_cast<int32_t>(layer.op), &exe::LayerPlan::op);
    ASSERT_NE(record, executable.layers.end());
    const std::vector<int> apart = differences(test.graph.tensor(output), seen.at(output), *want);
    ASSERT_EQ(apart.size(), record->certificate.size());
    for (size_t c = 0; c < apart.size(); ++c) {
      EXPECT_LE(apart[c], record->certificate[c].max) << test.graph.op_label(sum) << ", channel " << c;
      EXPECT_LE(record->certificate[c].max, requant::kMostSumDifference);
    }
  }
}

TEST(FusedSums, StayWithinTheStatedBoundUnderEveryStrategy) {
  constexpr uint64_t kBodies = 60;
  for (const char* strategy : {"auto", "hw-multiply", "exponent-classes", "groups", "max-scale", "exact"}) {
    int64_t pairs = 0, elements = 0;
    for (uint64_t i = 0; i < kBodies && !HasFailure(); ++i) {
      const Case test = residual_body(first_seed(960'000 + i));
      SCOPED_TRACE(test.text() + "\nstrategy " + strategy);
      const compiler::Options options = with_sums(test, strategy);
      const plan::Plan plan = plan_of(test, options);
      const auto executable = compiler::compile(test.graph, options, plan);
      ASSERT_TRUE(executable) << executable.error().text();
      EXPECT_EQ(plan.cost.tasks, static_cast<int64_t>(executable->tasks.size()));
      Activations seen;
      const auto outputs = run_on_machine(*executable, test.inputs, &seen);
      ASSERT_TRUE(outputs) << outputs.error().text();
      const auto plain = run_on_machine(*executable, test.inputs);
      ASSERT_TRUE(plain) << plain.error().text();
      EXPECT_EQ(*plain, *outputs) << "without an observer";
      expect_within_bounds(test, plan, *executable, seen);
      pairs += fused(plan);
      elements += std::ranges::count(executable->tasks, exe::TaskKind::Element, &exe::Task::kind);
      if (std::string(strategy) != "exact") continue;
      EXPECT_EQ(*outputs, *run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef));
    }
    const bool may = std::string(strategy) == "auto" || std::string(strategy) == "hw-multiply";
    if (may) {
      EXPECT_GT(pairs, 40) << strategy;
    } else {
      EXPECT_EQ(pairs, 0) << strategy;
    }
    EXPECT_GT(elements, 0) << strategy << ": some sums have tasks of their own";
  }
}

// Sums beside pools, joins, parts of maps and enlarged maps.
TEST(FusedSums, StayWithinTheStatedBoundInBodiesOfDetectors) {
  int64_t pairs = 0;
  for (uint64_t i = 0; i < 120 && !HasFailure(); ++i) {
    const Case test = i % 3 == 0   ? random_body(first_seed(970'000 + i))
                      : i % 3 == 1 ? random_network(first_seed(970'000 + i))
                                   : random_tangle(first_seed(970'000 + i));
    SCOPED_TRACE(test.text());
    const compiler::Options options = with_sums(test, "auto");
    const plan::Plan plan = plan_of(test, options);
    const auto executable = compiler::compile(test.graph, options, plan);
    ASSERT_TRUE(executable) << executable.error().text();
    Activations seen;
    const auto outputs = run_on_machine(*executable, test.inputs, &seen);
    ASSERT_TRUE(outputs) << outputs.error().text();
    expect_within_bounds(test, plan, *executable, seen);
    pairs += fused(plan);
  }
  EXPECT_GT(pairs, 10);
}

// One input channel and weights of 1 and -1: the accumulators are what the certificate counts, one a value,
// and a map of 256 rows and columns has every value of one operand beside every value of the other.
Case all_sums(uint64_t seed) {
  base::Rng rng(seed);
  Builder b(rng.next(), rng.one_in(3));
  constexpr int32_t kChannels = 16;
  Case out;
  out.seed = seed;
  const std::vector<int32_t> shape{1, 256, 256, kChannels};
  const auto convolution = [&](const std::vector<double>& multipliers, float s_out, int64_t z_in,
                               int64_t z_out, bool negative, ir::Activation activation) {
    const int32_t in = b.add_tensor({1, 256, 256, 1}, 0.5F, z_in);
    b.graph().inputs.push_back(in);
    const int32_t weights = b.add_tensor({kChannels, 1, 1, 1}, 1, b.is_uint8() ? 128 : 0);
    ir::Tensor& w = b.graph().tensors[static_cast<size_t>(weights)];
    w.is_constant = true;
    const int offset = b.is_uint8() ? 128 : 0;
    for (int32_t c = 0; c < kChannels; ++c)
      w.data.push_back(static_cast<uint8_t>((negative && c % 2 == 1 ? -1 : 1) + offset));
    w.quant.scale.clear();
    for (const double m : multipliers) w.quant.scale.push_back(static_cast<float>(m * double{s_out} / 0.5));
    w.quant.zero_point.assign(multipliers.size(), offset);
    const int32_t output = b.add_tensor(shape, s_out, z_out);
    ir::ConvAttributes a;
    a.activation = activation;
    const int32_t bias = b.constant({kChannels}, std::vector<int32_t>(kChannels));
    ir::QuantParams& quant = b.graph().tensors[static_cast<size_t>(bias)].quant;
    for (const float scale : b.graph().tensor(weights).quant.scale) quant.scale.push_back(0.5F * scale);
    quant.zero_point.assign(quant.scale.size(), 0);
    return b.op(ir::OpKind::Conv2D, {in, weights, bias}, output, a);
  };
  std::vector<double> multipliers;
  const bool per_axis = !b.is_uint8();
  for (int32_t c = 0; c < (per_axis ? kChannels : 1); ++c)
    multipliers.push_back(std::exp(rng.uniform_real(-2.5, 0.6)));
  const int64_t z = b.zero_point();
  const auto s_a = static_cast<float>(std::exp(rng.uniform_real(-4, -1)));
  const auto s_b = static_cast<float>(std::exp(rng.uniform_real(-4, -1)));
  const int32_t first = convolution(multipliers, s_a, b.zero_point(), b.zero_point(), true, b.activation());
  const int32_t second = convolution({1.0}, s_b, z, z, false, ir::Activation::None);
  const int32_t sum =
      b.add_tensor(shape, std::max(s_a, s_b) * static_cast<float>(rng.uniform_real(0.6, 2)), b.zero_point());
  b.op(ir::OpKind::Add, {first, second}, sum,
       ir::BinaryAttributes{rng.one_in(3) ? ir::Activation::Relu : ir::Activation::None});
  b.graph().outputs = {sum};
  out.graph = std::move(b.graph());
  Bytes rows(65536), columns(65536);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<uint8_t>(i >> 8);
    columns[i] = static_cast<uint8_t>(i);
  }
  out.inputs = {rows, columns};
  const Status ok = ir::verify(out.graph);
  EXPECT_TRUE(ok) << ok.error().text();
  return out;
}

TEST(FusedSums, TheBoundIsWhatComesOutOverAllAccumulatorsAndOperands) {
  int pairs = 0, with_difference = 0, changed = 0;
  for (uint64_t i = 0; i < 40 && !HasFailure(); ++i) {
    const Case test = all_sums(first_seed(980'000 + i));
    SCOPED_TRACE(fmt::format("seed {}", test.seed));
    compiler::Options options = with_sums(test, "hw-multiply");
    const plan::Plan plan = plan_of(test, options);
    // The first convolution is the one whose certificate speaks of the sum.
    if (plan.layers.front().sum < 0) continue;
    const auto executable = compiler::compile(test.graph, options, plan);
    ASSERT_TRUE(executable) << executable.error().text();
    const auto outputs = run_on_machine(*executable, test.inputs);
    ASSERT_TRUE(outputs) << outputs.error().text();
    const auto want = run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef);
    ASSERT_TRUE(want) << want.error().text();
    const ir::Tensor& tensor = test.graph.tensor(test.graph.outputs[0]);
    const std::vector<int> apart = differences(tensor, (*outputs)[0], (*want)[0]);
    const std::vector<exe::ChannelCertificate>& stated = executable->layers.front().certificate;
    for (size_t c = 0; c < apart.size(); ++c) {
      int64_t count = 0;
      for (size_t p = c; p < (*want)[0].size(); p += apart.size())
        count += (*outputs)[0][p] != (*want)[0][p] ? 1 : 0;
      EXPECT_EQ(stated[c].acc_max - stated[c].acc_min, 255);
      EXPECT_EQ(apart[c], stated[c].max) << "channel " << c;
      EXPECT_EQ((count + 255) / 256, stated[c].differing) << "channel " << c;
      with_difference += count > 0 ? 1 : 0;
    }
    ++pairs;
    // What the certificate says of the chip's open tie rules, one at a time.
    using machine::Switches;
    const requant::LayerCertificate& certificate = plan.layers.front().certificate;
    for (const Switches& reading :
         {Switches{.bs_ties = machine::Ties::Up}, Switches{.out_cvt_offset_inside = true},
          Switches{.out_cvt_ties = machine::Ties::Even}}) {
      const auto other =
          run_on_machine(*executable, test.inputs, nullptr, machine::Options{.switches = reading});
      ASSERT_TRUE(other) << other.error().text();
      const std::vector<int> found = differences(tensor, (*other)[0], (*want)[0]);
      EXPECT_LE(*std::ranges::max_element(found), certificate.max_any_reading);
      if (certificate.every_reading) {
        EXPECT_EQ(found, apart);
      }
      changed += *other != *outputs ? 1 : 0;
    }
  }
  EXPECT_GT(pairs, 8);
  EXPECT_GT(with_difference, 20);
  EXPECT_GT(changed, 0) << "by a reading";
}

// --- which pairs are taken

struct Residual {
  Body b{1, false};
  int32_t x = -1, branch = -1, sum = -1;

  explicit Residual(bool is_uint8 = false, ir::Activation branch_activation = ir::Activation::None)
      : b(7, is_uint8) {
    b.set_mild();
    x = plain(b.input({1, 8, 8, 16}), 32, ir::Activation::None);
    branch = plain(x, 32, branch_activation);
  }
  int32_t plain(int32_t from, int32_t outputs, ir::Activation activation, int32_t groups = 1) {
    Layer l;
    l.outputs = outputs;
    l.groups = groups;
    l.log2_spread = 1;
    l.dead_channels = false;
    l.attributes.activation = activation;
    return b.layer(from, l);
  }
  void add(int32_t p, int32_t q, ir::Activation activation = ir::Activation::None) {
    sum = b.add_tensor(b.shape(x), 0.15F, b.is_uint8() ? 128 : 0);
    b.op(ir::OpKind::Add, {p, q}, sum, ir::BinaryAttributes{activation});
  }
  // The sum and `more` are the outputs.
  Case test(std::vector<int32_t> more = {}) {
    more.insert(more.begin(), sum);
    b.graph().outputs = std::move(more);
    return finish(b, 7, {});
  }
};

int64_t fused_of(const Case& test, const std::function<void(compiler::Options&)>& change = {}) {
  compiler::Options options = with_sums(test, "auto");
  if (change) change(options);
  return fused(plan_of(test, options));
}

TEST(FusedSumPairs, AreTakenOnEitherSideInBothTypes) {
  for (const bool is_uint8 : {false, true})
    for (const bool swapped : {false, true})
      for (const ir::Activation own : {ir::Activation::None, ir::Activation::Relu, ir::Activation::Relu6})
        for (const ir::Activation after : {ir::Activation::None, ir::Activation::Relu}) {
          Residual r(is_uint8, own);
          swapped ? r.add(r.branch, r.x, after) : r.add(r.x, r.branch, after);
          const Case test = r.test();
          const compiler::Options options = with_sums(test, "auto");
          const plan::Plan plan = plan_of(test, options);
          ASSERT_EQ(fused(plan), 1);
          EXPECT_EQ(plan.layers[1].sum, 2);
          EXPECT_EQ(plan.layers[1].addend, r.x);
          EXPECT_EQ(plan.sum_of(2), 1);
          const auto executable = compiler::compile(test.graph, options, plan);
          ASSERT_TRUE(executable) << executable.error().text();
          EXPECT_EQ(executable->tasks.size(), 2U) << "one a convolution";
          ASSERT_EQ(executable->operators.size(), 1U);
          EXPECT_EQ(executable->operators[0].device, "npu");
          EXPECT_TRUE(
              executable->operators[0].reason.str().starts_with("computed by the tasks of operator 1"))
              << executable->operators[0].reason.str();
          Activations seen;
          ASSERT_TRUE(run_on_machine(*executable, test.inputs, &seen));
          expect_within_bounds(test, plan, *executable, seen);
        }
}

TEST(FusedSumPairs, NeedTheSwitchAndNoExactness) {
  Residual r;
  r.add(r.x, r.branch);
  const Case test = r.test();
  EXPECT_EQ(fused_of(test), 1);
  EXPECT_EQ(fused_of(test, [](auto& o) { o.fused_adds = false; }), 0);
  EXPECT_EQ(fused_of(test, [](auto& o) { o.accuracy = compiler::Accuracy::Exact; }), 0);
  EXPECT_EQ(fused_of(test, [](auto& o) { o.max_mismatch = 0; }), 0);
  EXPECT_EQ(fused_of(test, [](auto& o) { o.convolutions_only = true; }), 0);
  EXPECT_EQ(fused_of(test, [](auto& o) { o.strategy = "hw-multiply"; }), 1);
  EXPECT_EQ(fused_of(test,
                     [](auto& o) {
                       o.strategy = "hw-multiply";
                       o.strategy_options.vendor = true;
                     }),
            0);
  EXPECT_EQ(fused_of(test, [](auto& o) { o.strategy = "exponent-classes"; }), 0);
}

TEST(FusedSumPairs, LeaveConvolutionsThatOthersRead) {
  {
    Residual r;
    r.add(r.x, r.branch);
    EXPECT_EQ(fused_of(r.test({r.branch})), 0) << "an output of the model";
  }
  {
    Residual r;
    r.add(r.x, r.branch);
    const int32_t other = r.plain(r.branch, 16, ir::Activation::None);
    EXPECT_EQ(fused_of(r.test({other})), 0) << "another reader";
  }
  {
    Residual r;
    r.add(r.branch, r.branch);
    EXPECT_EQ(fused_of(r.test()), 0) << "both operands";
  }
}

TEST(FusedSumPairs, LeaveOperandsOfOtherShapes) {
  {
    Residual r;
    const int32_t one = r.plain(r.x, 1, ir::Activation::None);  // one channel
    r.add(r.branch, one);
    EXPECT_EQ(fused_of(r.test()), 0);
  }
  {
    Residual r;
    const int32_t constant = r.b.add_tensor(r.b.shape(r.x), 0.1F, 0);
    ir::Tensor& t = r.b.graph().tensors[static_cast<size_t>(constant)];
    t.is_constant = true;
    t.data = r.b.random_bytes(t.elements(), false);
    r.add(r.branch, constant);
    EXPECT_EQ(fused_of(r.test()), 0);
  }
  {
    Residual r;
    const int32_t grouped = r.plain(r.x, 32, ir::Activation::None, 2);
    r.add(r.x, grouped);
    EXPECT_EQ(fused_of(r.test({r.branch})), 0) << "groups";
  }
  {
    Residual r;
    Layer l;
    l.kind = ir::OpKind::DepthwiseConv2D;
    l.outputs = 32;
    r.add(r.x, r.b.layer(r.x, l));
    EXPECT_EQ(fused_of(r.test({r.branch})), 0) << "depthwise";
  }
}

// The other operand is made behind the convolution, which then runs behind it.
TEST(FusedSumPairs, WaitForTheOtherOperand) {
  Residual r;
  const int32_t pool = r.b.add_tensor(r.b.shape(r.x), r.b.graph().tensor(r.x).quant.scale[0],
                                      r.b.graph().tensor(r.x).quant.zero_point[0]);
  ir::PoolAttributes a;
  a.filter_h = a.filter_w = 3;
  a.pads = {1, 1, 1, 1};
  r.b.op(ir::OpKind::MaxPool2D, {r.x}, pool, a);
  r.add(r.branch, pool);
  const Case test = r.test();
  const compiler::Options options = with_sums(test, "auto");
  const plan::Plan plan = plan_of(test, options);
  ASSERT_EQ(fused(plan), 1);
  const auto executable = compiler::compile(test.graph, options, plan);
  ASSERT_TRUE(executable) << executable.error().text();
  ASSERT_EQ(executable->tasks.size(), 3U);
  EXPECT_EQ(executable->tasks[1].kind, exe::TaskKind::Pool);
  EXPECT_EQ(executable->tasks[2].op, 1);
  Activations seen;
  ASSERT_TRUE(run_on_machine(*executable, test.inputs, &seen));
  expect_within_bounds(test, plan, *executable, seen);
}

// Both parts of a map and the sum of the map with what was made of it, joined: the map and the sum lie in one
// cube, one behind the other. With 48 channels the tasks would read the map's dummy channels where they
// write.
TEST(FusedSumPairs, LeaveNeighboursWithDummyChannels) {
  for (const int32_t channels : {48, 64}) {
    Residual r;
    r.x = r.plain(r.x, channels, ir::Activation::None);
    const ir::QuantParams quant = r.b.graph().tensor(r.x).quant;
    const auto like = [&](int32_t c) {
      std::vector<int32_t> shape = r.b.shape(r.x);
      shape[3] = c;
      return r.b.add_tensor(shape, quant.scale[0], quant.zero_point[0]);
    };
    const int32_t first = like(16), second = like(channels - 16);
    r.b.op(ir::OpKind::SplitV, {r.x, r.b.constant({2}, {16, channels - 16}), r.b.constant({1}, {3})}, first,
           ir::SplitAttributes{2});
    r.b.graph().ops.back().outputs.push_back(second);
    const int32_t branch = r.plain(r.x, channels, ir::Activation::None);
    r.b.graph().tensors[static_cast<size_t>(branch)].quant.scale[0] = 0.8F * quant.scale[0];
    const int32_t sum = r.b.op(ir::OpKind::Add, {r.x, branch}, like(channels), ir::BinaryAttributes{});
    const int32_t joined = r.b.op(ir::OpKind::Concatenation, {first, second, sum}, like(2 * channels),
                                  ir::ConcatenationAttributes{3, ir::Activation::None});
    r.sum = r.plain(joined, 16, ir::Activation::None);
    const Case test = r.test({r.branch});
    const compiler::Options options = with_sums(test, "auto");
    const plan::Plan plan = plan_of(test, options);
    EXPECT_EQ(fused(plan), channels == 64 ? 1 : 0);
    EXPECT_TRUE(plan.placing.homes.contains(r.x) && plan.placing.homes.contains(sum)) << "in one cube";
    const auto executable = compiler::compile(test.graph, options, plan);
    ASSERT_TRUE(executable) << executable.error().text();
    Activations seen;
    const auto outputs = run_on_machine(*executable, test.inputs, &seen);
    ASSERT_TRUE(outputs) << outputs.error().text();
    expect_within_bounds(test, plan, *executable, seen);
  }
}

}  // namespace
}  // namespace peraxis::property

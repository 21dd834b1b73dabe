// Element-wise operators on the machine model, over every pair of input values: what the compiler counted in
// advance (requant/element.hpp) is what comes out, and never more than 1. Operands may be constants, on
// either side, or activations of one pixel or one channel.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.hpp"
#include "plan/planner.hpp"
#include "random_graphs.hpp"
#include "requant/element.hpp"

namespace peraxis::property {
namespace {

enum class Second : uint8_t { Activation, ConstantMap, OneValue };

bool takes_two(ir::OpKind kind) {
  return kind == ir::OpKind::Add || kind == ir::OpKind::Sub || kind == ir::OpKind::Mul ||
         kind == ir::OpKind::Maximum || kind == ir::OpKind::Minimum;
}

bool compares(ir::OpKind kind) {
  return kind == ir::OpKind::Maximum || kind == ir::OpKind::Minimum;
}

struct Maker {
  base::Rng rng;
  Case out;
  bool unsigned_type;

  explicit Maker(uint64_t seed) : rng(seed), unsigned_type(rng.one_in(3)) { out.seed = seed; }

  int32_t tensor(float scale, std::vector<int32_t> shape) {
    ir::Tensor t;
    t.name = fmt::format("t{}", out.graph.tensors.size());
    t.type = unsigned_type ? ir::DataType::UInt8 : ir::DataType::Int8;
    t.shape = std::move(shape);
    const int64_t zero = rng.uniform(0, 255);
    t.quant = {{scale}, {unsigned_type ? zero : zero - 128}, 0};
    out.graph.tensors.push_back(std::move(t));
    return static_cast<int32_t>(out.graph.tensors.size() - 1);
  }
  float scale() { return static_cast<float>(std::exp(rng.uniform_real(-5, 1))); }
  ir::Attributes attributes(ir::OpKind kind) {
    if (kind == ir::OpKind::LeakyRelu)
      return ir::LeakyReluAttributes{static_cast<float>(rng.uniform_real(-0.5, 1.5))};
    if (!takes_two(kind) || compares(kind)) return ir::NoAttributes{};
    return ir::BinaryAttributes{rng.one_in(3) ? ir::Activation::Relu : ir::Activation::None};
  }
  // Of a product, so that outputs spread over the type.
  float output_scale(ir::OpKind kind, float a, float b) {
    if (kind == ir::OpKind::Mul) return a * b * static_cast<float>(std::exp(rng.uniform_real(3, 6)));
    return rng.one_in(4) ? a : scale();
  }
};

// Every pair of bytes once: 256 rows of 16 columns of 16 channels.
Case all_pairs(ir::OpKind kind, uint64_t seed, Second second) {
  Maker m(seed);
  const std::vector<int32_t> shape{1, 256, 16, 16};
  Bytes a(65536), b(65536);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<uint8_t>(i >> 8);
    b[i] = static_cast<uint8_t>(i);
  }
  ir::Op op;
  op.kind = kind;
  const float first = m.scale(), other = m.rng.one_in(4) ? first : m.scale();
  op.inputs.push_back(m.tensor(first, shape));
  if (takes_two(kind)) {
    const int32_t t = m.tensor(other, second == Second::OneValue ? std::vector<int32_t>{1} : shape);
    op.inputs.push_back(t);
    ir::Tensor& tensor = m.out.graph.tensors[static_cast<size_t>(t)];
    tensor.is_constant = second != Second::Activation;
    if (second == Second::ConstantMap) tensor.data = b;
    if (second == Second::OneValue) tensor.data = {static_cast<uint8_t>(m.rng.uniform(0, 255))};
    if (second != Second::Activation && m.rng.one_in(2)) std::swap(op.inputs[0], op.inputs[1]);
  }
  op.outputs.push_back(m.tensor(m.output_scale(kind, first, other), shape));
  op.attributes = m.attributes(kind);
  m.out.inputs = {a};
  if (takes_two(kind) && second == Second::Activation) m.out.inputs.push_back(b);
  for (const int32_t t : op.inputs)
    if (!m.out.graph.tensor(t).is_constant) m.out.graph.inputs.push_back(t);
  m.out.graph.outputs = op.outputs;
  m.out.graph.ops.push_back(std::move(op));
  return m.out;
}

struct Tally {
  int64_t ran = 0, exact = 0;
};

// Runs the operator where it has a form; returns that form.
std::optional<lower::DeviceForm> run_one(const Case& test, size_t tasks, Bytes& got, Bytes& want,
                                         exe::Executable* ran = nullptr) {
  if (const auto verified = ir::verify(test.graph); !verified) return std::nullopt;
  const lower::DeviceForm form = form_of(test.graph, 0, {.exact = false});
  if (!form.refusal.empty()) return std::nullopt;
  plan::Plan plan;
  plan.on_device = {true};
  plan.forms = {form};
  const auto executable =
      compiler::compile(test.graph, test.options("auto", num::Reference::LitertRef), plan);
  EXPECT_TRUE(executable) << executable.error().text();
  if (!executable) return std::nullopt;
  EXPECT_EQ(executable->tasks.size(), tasks);
  const auto machine = run_on_machine(*executable, test.inputs);
  if (ran != nullptr) *ran = *executable;
  const auto kernels = run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef);
  EXPECT_TRUE(machine) << machine.error().text();
  EXPECT_TRUE(kernels) << kernels.error().text();
  if (!machine || !kernels) return std::nullopt;
  got = (*machine)[0];
  want = (*kernels)[0];
  return form;
}

double share(const Bytes& got, const Bytes& want) {
  double differing = 0;
  for (size_t v = 0; v < got.size(); ++v) differing += got[v] != want[v] ? 1 : 0;
  return differing / static_cast<double>(got.size());
}

// Every combination came equally often: what was counted is what came out, by the machine model's own reading
// of the chip's ties and within the stated bound by each open one.
void expect_certificate(const Case& test, const lower::DeviceForm& form, const exe::Executable& executable,
                        const Bytes& got, const Bytes& want) {
  using machine::Switches;
  const requant::OperatorCertificate& c = form.certificate;
  const ir::DataType type = test.graph.tensor(test.graph.outputs[0]).type;
  EXPECT_TRUE(c.counted);
  EXPECT_EQ(c.differing, form.element.differing);
  EXPECT_NEAR(share(got, want), static_cast<double>(c.differing) / static_cast<double>(c.values), 1e-12);
  EXPECT_EQ(largest_difference(type, got, want), c.max);
  EXPECT_GE(c.expected, static_cast<double>(c.differing) / static_cast<double>(c.values));
  EXPECT_EQ(c.expected == 0, c.differing == 0);
  int32_t largest = c.max;
  bool same = true;
  for (const Switches& reading :
       {Switches{.bn_ties = machine::Ties::Up}, Switches{.out_cvt_offset_inside = true},
        Switches{.out_cvt_ties = machine::Ties::Even}}) {
    const auto other =
        run_on_machine(executable, test.inputs, nullptr, machine::Options{.switches = reading});
    ASSERT_TRUE(other) << other.error().text();
    largest = std::max(largest, largest_difference(type, (*other)[0], want));
    same = same && share((*other)[0], want) == share(got, want);
  }
  EXPECT_EQ(largest, c.max_any_reading);
  EXPECT_EQ(same, c.every_reading);
}

void expect_counted(ir::OpKind kind, uint64_t seed, Second second, Tally& tally) {
  const Case test = all_pairs(kind, seed, second);
  SCOPED_TRACE(test.text());
  Bytes got, want;
  exe::Executable executable;
  const auto form = run_one(test, 1, got, want, &executable);
  if (!form) return;
  int64_t differing = 0;
  for (size_t v = 0; v < got.size(); ++v) differing += got[v] != want[v] ? 1 : 0;
  expect_certificate(test, *form, executable, got, want);
  // Of one varying operand every value came 256 times.
  const bool pairs = takes_two(kind) && second != Second::OneValue;
  EXPECT_EQ(differing, form->element.differing * (pairs ? 1 : 256));
  EXPECT_LE(largest_difference(test.graph.tensor(test.graph.outputs[0]).type, got, want), 1);
  if (compares(kind)) {
    EXPECT_EQ(differing, 0);
  }
  ++tally.ran;
  tally.exact += differing == 0 ? 1 : 0;
}

TEST(ElementPairs, TheCountIsWhatComesOut) {
  Tally tally;
  for (const ir::OpKind kind :
       {ir::OpKind::Add, ir::OpKind::Sub, ir::OpKind::Quantize, ir::OpKind::Relu, ir::OpKind::LeakyRelu})
    for (uint64_t i = 0; i < 60 && !::testing::Test::HasFailure(); ++i)
      expect_counted(kind, first_seed(950'000 + i), Second::Activation, tally);
  EXPECT_GT(tally.ran, 100);
  EXPECT_GT(tally.exact, 10);
  EXPECT_LT(tally.exact, tally.ran);
}

TEST(ElementPairs, ProductsAndComparisons) {
  for (const ir::OpKind kind : {ir::OpKind::Mul, ir::OpKind::Maximum, ir::OpKind::Minimum}) {
    Tally tally;
    for (uint64_t i = 0; i < 24 && !::testing::Test::HasFailure(); ++i)
      expect_counted(kind, first_seed(951'000 + i), Second::Activation, tally);
    EXPECT_GT(tally.ran, 16) << ir::op_name(kind);
  }
}

TEST(ElementPairs, Constants) {
  for (const Second second : {Second::ConstantMap, Second::OneValue})
    for (const ir::OpKind kind :
         {ir::OpKind::Add, ir::OpKind::Sub, ir::OpKind::Mul, ir::OpKind::Maximum, ir::OpKind::Minimum}) {
      Tally tally;
      for (uint64_t i = 0; i < 16 && !::testing::Test::HasFailure(); ++i)
        expect_counted(kind, first_seed(952'000 + i), second, tally);
      EXPECT_GT(tally.ran, 8) << ir::op_name(kind);
    }
}

// Activations and constants that are repeated to the output's size. Without a difference counted in advance
// the outputs are equal.
TEST(ElementPairs, Repeated) {
  int64_t ran = 0;
  for (uint64_t i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
    Maker m(first_seed(953'000 + i));
    const auto h = static_cast<int32_t>(m.rng.uniform(1, 12)), w = static_cast<int32_t>(m.rng.uniform(2, 12));
    const auto c = static_cast<int32_t>(m.rng.uniform(2, 70));
    ir::Op op;
    op.kind = std::array{ir::OpKind::Mul, ir::OpKind::Add, ir::OpKind::Sub, ir::OpKind::Maximum,
                         ir::OpKind::Minimum}[static_cast<size_t>(m.rng.uniform(0, 4))];
    const float first = m.scale(), other = m.scale();
    op.inputs.push_back(m.tensor(first, {1, h, w, c}));
    const std::array<std::vector<int32_t>, 4> shapes = {std::vector{1, 1, 1, c}, std::vector{1, h, w, 1},
                                                        std::vector{1, 1, w, 1}, std::vector{c}};
    const auto shape = static_cast<size_t>(m.rng.uniform(0, 3));
    op.inputs.push_back(m.tensor(other, shapes[shape]));
    ir::Tensor& second = m.out.graph.tensors.back();
    second.is_constant = shape >= 2 || m.rng.one_in(3);
    Bytes values(static_cast<size_t>(second.elements()));
    for (uint8_t& v : values) v = static_cast<uint8_t>(m.rng.uniform(0, 255));
    Bytes map(static_cast<size_t>(h * w * c));
    for (uint8_t& v : map) v = static_cast<uint8_t>(m.rng.uniform(0, 255));
    if (second.is_constant) second.data = values;
    const bool constant = second.is_constant, swapped = m.rng.one_in(2);
    m.out.graph.inputs = {op.inputs[0]};
    m.out.inputs = {map};
    if (!constant) {
      m.out.graph.inputs.push_back(op.inputs[1]);
      m.out.inputs.push_back(values);
    }
    if (swapped) std::swap(op.inputs[0], op.inputs[1]);
    op.outputs.push_back(m.tensor(m.output_scale(op.kind, first, other), {1, h, w, c}));
    op.attributes = m.attributes(op.kind);
    m.out.graph.outputs = op.outputs;
    const bool one_value = constant && std::ranges::all_of(values, [&](uint8_t v) { return v == values[0]; });
    m.out.graph.ops.push_back(op);
    size_t tasks = 1;
    if (!constant && shape == 0)  // one copy, then twice as many pixels each time
      tasks += 1 + static_cast<size_t>(std::ceil(std::log2(h * w)));
    if (!constant && shape == 1 && !one_value) ++tasks;
    SCOPED_TRACE(m.out.text());
    Bytes got, want;
    const auto form = run_one(m.out, tasks, got, want);
    if (!form) continue;
    ++ran;
    EXPECT_LE(largest_difference(m.out.graph.tensor(op.outputs[0]).type, got, want),
              form->element.differing == 0 ? 0 : 1);
  }
  EXPECT_GT(ran, 30);
}

// Slopes of a channel, of every value, or one for all: 256 inputs in every channel.
TEST(ElementPairs, Prelu) {
  std::array<int64_t, 3> ran{};
  for (uint64_t i = 0; i < 48 && !::testing::Test::HasFailure(); ++i) {
    Maker m(first_seed(954'000 + i));
    const auto c = static_cast<int32_t>(m.rng.uniform(2, 40));
    ir::Op op;
    op.kind = ir::OpKind::Prelu;
    const std::vector<int32_t> shape{1, 16, 16, c};
    const float in = m.scale();
    op.inputs.push_back(m.tensor(in, shape));
    const size_t kind = i % 3;
    op.inputs.push_back(
        m.tensor(static_cast<float>(m.rng.uniform_real(0.001, 0.01)), kind == 0   ? std::vector{1, 1, c}
                                                                      : kind == 1 ? shape
                                                                                  : std::vector{1, 1, 1}));
    ir::Tensor& slopes = m.out.graph.tensors.back();
    slopes.is_constant = true;
    slopes.data.resize(static_cast<size_t>(slopes.elements()));
    for (uint8_t& v : slopes.data) v = static_cast<uint8_t>(m.rng.uniform(0, 255));
    op.outputs.push_back(m.tensor(in * static_cast<float>(m.rng.uniform_real(0.5, 1.5)), shape));
    op.attributes = ir::NoAttributes{};
    m.out.graph.inputs = {op.inputs[0]};
    m.out.graph.outputs = op.outputs;
    m.out.graph.ops.push_back(op);
    Bytes x(static_cast<size_t>(256 * c));
    for (size_t v = 0; v < x.size(); ++v) x[v] = static_cast<uint8_t>(v / static_cast<size_t>(c));
    m.out.inputs = {x};
    SCOPED_TRACE(m.out.text());
    const lower::DeviceForm known = form_of(m.out.graph, 0, {.exact = false});
    if (known.table != nullptr) continue;  // another test's
    Bytes got, want;
    if (!run_one(m.out, known.prelu.size(), got, want)) continue;
    ++ran[kind];
    EXPECT_LE(largest_difference(m.out.graph.tensor(op.outputs[0]).type, got, want), 1);
    const lower::DeviceForm exact = form_of(m.out.graph, 0, {.exact = true});
    if (exact.refusal.empty() && exact.table == nullptr) {
      EXPECT_EQ(got, want);
    }
  }
  for (const int64_t count : ran) EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace peraxis::property

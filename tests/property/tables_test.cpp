// Operators through the chip's look-up table on the machine model, for all 256 values and many drawn scales:
// the result is the reference kernels' under every reading of the chip that the machine model keeps open.
#include <gtest/gtest.h>

#include "graph_builder.hpp"
#include "lower/table.hpp"
#include "plan/planner.hpp"

namespace peraxis::property {
namespace {

using ir::OpKind;

constexpr uint64_t kDraws = 25;

float drawn_scale(Builder& b) {
  return static_cast<float>(std::exp(b.rng().uniform_real(-5, 1)));
}

// Each of the 256 values, and the lowest again and again up to `elements`.
Bytes all_values(int64_t elements) {
  Bytes out(static_cast<size_t>(elements));
  for (size_t i = 0; i < std::min<size_t>(256, out.size()); ++i) out[i] = static_cast<uint8_t>(i);
  return out;
}

int32_t activation(Builder& b, std::vector<int32_t> shape) {
  const float scale = drawn_scale(b);
  return b.add_tensor(std::move(shape), scale, b.zero_point());
}

int32_t quantized_constant(Builder& b, std::vector<int32_t> shape) {
  const int32_t t = activation(b, std::move(shape));
  ir::Tensor& tensor = b.graph().tensors[static_cast<size_t>(t)];
  tensor.is_constant = true;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.data.push_back(static_cast<uint8_t>(b.rng().uniform(0, 255)));
  return t;
}

Case finished(Builder& b, uint64_t seed, int32_t in, std::vector<int32_t> outputs) {
  Case out;
  out.seed = seed;
  out.graph = b.graph();
  out.graph.inputs = {in};
  out.graph.outputs = std::move(outputs);
  out.inputs = {all_values(out.graph.tensor(in).elements())};
  return out;
}

ir::Attributes attributes_of(Builder& b, OpKind kind) {
  switch (kind) {
    case OpKind::Gelu:
      return ir::GeluAttributes{b.rng().one_in(2)};
    case OpKind::LeakyRelu:
      return ir::LeakyReluAttributes{static_cast<float>(b.rng().uniform_real(-0.5, 1.5))};
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
      return ir::BinaryAttributes{b.activation()};
    default:
      return ir::NoAttributes{};
  }
}

Case one_operator(OpKind kind, uint64_t seed) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  const std::vector<int32_t> shape =
      b.rng().one_in(2) ? std::vector{1, 2, 8, 16} : std::vector{1, 3, 9, b.pick({10, 40})};
  const int32_t in = activation(b, shape), out = activation(b, shape);
  const auto quant = [&](int32_t t) -> ir::QuantParams& {
    return b.graph().tensors[static_cast<size_t>(t)].quant;
  };
  // Scales that LiteRT demands of the operator, or the only ones it takes.
  const int64_t lowest = b.is_uint8() ? 0 : -128;
  if (kind == OpKind::Logistic) quant(out) = {{1.0F / 256}, {lowest}, 0};
  if (kind == OpKind::Tanh) quant(out) = {{1.0F / 128}, {lowest + 128}, 0};
  if (kind == OpKind::Rsqrt || kind == OpKind::Sqrt) quant(in).zero_point = {lowest};
  std::vector<int32_t> inputs{in};
  if (kind == OpKind::Maximum || kind == OpKind::Minimum) quant(out) = quant(in);
  if (kind == OpKind::Add || kind == OpKind::Sub || kind == OpKind::Mul || kind == OpKind::Maximum ||
      kind == OpKind::Minimum || kind == OpKind::Prelu) {
    inputs.push_back(quantized_constant(b, std::vector<int32_t>(kind == OpKind::Prelu ? 3 : 1, 1)));
    if (kind == OpKind::Maximum || kind == OpKind::Minimum) quant(inputs[1]) = quant(in);
    if (kind != OpKind::Prelu && b.rng().one_in(2)) std::swap(inputs[0], inputs[1]);
  }
  b.op(kind, inputs, out, attributes_of(b, kind));
  return finished(b, seed, in, {out});
}

plan::Plan plan_with(const std::vector<lower::DeviceForm>& forms) {
  plan::Plan plan;
  plan.forms = forms;
  plan.on_device.assign(forms.size(), true);
  return plan;
}

// Every reading that is one assignment in machine/switches.hpp and may bear on these tasks.
std::vector<machine::Switches> readings() {
  std::vector<machine::Switches> out(1);
  const auto add = [&](auto change) {
    machine::Switches s;
    change(s);
    out.push_back(s);
  };
  using machine::Ties;
  for (const Ties ties : {Ties::ByRegister, Ties::Even, Ties::Up})
    add([&](machine::Switches& s) {
      s.out_cvt_ties = s.bs_ties = s.bn_ties = s.ew_cvt_ties = s.lut_ties = ties;
    });
  add([](machine::Switches& s) { s.out_cvt_offset_inside = true; });
  add([](machine::Switches& s) { s.bn_shift_first = true; });
  add([](machine::Switches& s) { s.lut_after_op = true; });
  add([](machine::Switches& s) { s.truncate_before_cpend = true; });
  return out;
}

int64_t tasks_of(const exe::Executable& executable, exe::TaskKind kind) {
  return std::ranges::count_if(executable.tasks, [&](const exe::Task& t) { return t.kind == kind; });
}

void expect_equal(const Case& test, const exe::Executable& executable) {
  const auto want = run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef);
  ASSERT_TRUE(want) << want.error().text();
  for (const machine::Switches& switches : readings()) {
    machine::Options options;
    options.switches = switches;
    const auto got = run_on_machine(executable, test.inputs, nullptr, options);
    ASSERT_TRUE(got) << got.error().text();
    for (size_t i = 0; i < want->size(); ++i)
      EXPECT_EQ(difference_text((*got)[i], (*want)[i]), "equal") << "output " << i;
  }
}

TEST(Tables, EveryValueOfEveryOperator) {
  for (const OpKind kind :
       {OpKind::Logistic,  OpKind::Tanh,  OpKind::HardSwish, OpKind::Relu,   OpKind::Relu6, OpKind::ReluN1To1,
        OpKind::LeakyRelu, OpKind::Prelu, OpKind::Quantize,  OpKind::Exp,    OpKind::Sqrt,  OpKind::Rsqrt,
        OpKind::Log,       OpKind::Elu,   OpKind::Gelu,      OpKind::Abs,    OpKind::Neg,   OpKind::Add,
        OpKind::Sub,       OpKind::Mul,   OpKind::Maximum,   OpKind::Minimum}) {
    int64_t ran = 0;
    for (uint64_t i = 0; i < kDraws && !HasFailure(); ++i) {
      const Case test = one_operator(kind, first_seed(960'000 + i));
      SCOPED_TRACE(test.text());
      if (!ir::verify(test.graph)) continue;  // a type that the operator does not take
      const lower::DeviceForm form = lower::table_form(test.graph, 0).value();
      if (form.refusal.empty()) {
        const auto executable =
            compiler::compile(test.graph, test.options("auto", num::Reference::LitertRef), plan_with({form}));
        ASSERT_TRUE(executable) << executable.error().text();
        ASSERT_EQ(executable->tasks.size(), 2U);
        EXPECT_EQ(tasks_of(*executable, exe::TaskKind::Table), 1);
        expect_equal(test, *executable);
        ++ran;
      } else {
        // The kernels refuse it too: for some value, so for these inputs.
        EXPECT_FALSE(run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef))
            << form.refusal;
      }
    }
    EXPECT_GE(ran, 8) << ir::op_name(kind);
  }
}

// MUL(x, LOGISTIC(x)), both with quantizations of their own; `twice`: something else reads the LOGISTIC.
Case silu(uint64_t seed, bool twice) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  const std::vector<int32_t> shape{1, 4, 8, b.pick({10, 16, 40})};
  const int32_t in = activation(b, shape);
  const int32_t gate = b.add_tensor(shape, 1.0F / 256, b.is_uint8() ? 0 : -128), out = activation(b, shape);
  b.op(OpKind::Logistic, {in}, gate, ir::NoAttributes{});
  b.op(OpKind::Mul, b.rng().one_in(2) ? std::vector{in, gate} : std::vector{gate, in}, out,
       ir::BinaryAttributes{b.activation()});
  return finished(b, seed, in, twice ? std::vector{out, gate} : std::vector{out});
}

TEST(Tables, SiluIsOneTable) {
  for (uint64_t i = 0; i < kDraws && !HasFailure(); ++i) {
    const Case test = silu(first_seed(961'000 + i), false);
    SCOPED_TRACE(test.text());
    ASSERT_EQ(lower::silu_partners(test.graph), (std::vector<int32_t>{1, 0}));
    lower::DeviceForm gate;
    gate.part_of = 1;
    const lower::DeviceForm both = lower::silu_form(test.graph, 0, 1).value();
    ASSERT_EQ(both.refusal, "");
    const auto executable = compiler::compile(test.graph, test.options("auto", num::Reference::LitertRef),
                                              plan_with({gate, both}));
    ASSERT_TRUE(executable) << executable.error().text();
    ASSERT_EQ(executable->tasks.size(), 2U);
    expect_equal(test, *executable);
    EXPECT_EQ(lower::silu_partners(silu(first_seed(961'000 + i), true).graph),
              (std::vector<int32_t>{-1, -1}));
  }
}

// A run that is watched cuts jobs behind every tensor: no operator may count on the load of another.
TEST(Tables, EveryOperatorLoadsItsOwn) {
  Builder b(first_seed(962'000), false);
  const std::vector<int32_t> shape{1, 4, 4, 16};
  const int32_t in = b.add_tensor(shape, 0.05F, 3);
  std::vector<int32_t> made{in};
  // NEG twice with the same scales: equal tables.
  for (const OpKind kind : {OpKind::Neg, OpKind::Neg, OpKind::Abs, OpKind::Neg}) {
    made.push_back(b.add_tensor(shape, 0.05F, 3));
    b.op(kind, {made[made.size() - 2]}, made.back(), ir::NoAttributes{});
  }
  const Case test = finished(b, 0, in, {made.back(), made[2], made[3]});
  std::vector<lower::DeviceForm> forms;
  for (size_t op = 0; op < 4; ++op) forms.push_back(lower::table_form(test.graph, op).value());
  for (const lower::DeviceForm& form : forms) ASSERT_EQ(form.refusal, "");
  const auto executable =
      compiler::compile(test.graph, test.options("auto", num::Reference::LitertRef), plan_with(forms));
  ASSERT_TRUE(executable) << executable.error().text();
  std::string kinds;
  for (const exe::Task& task : executable->tasks) kinds += task.kind == exe::TaskKind::Table ? 'T' : 'e';
  EXPECT_EQ(kinds, "TeTeTeTe");
  expect_equal(test, *executable);
  Activations seen;
  const auto watched = run_on_machine(*executable, test.inputs, &seen);
  ASSERT_TRUE(watched) << watched.error().text();
  EXPECT_EQ(*watched, *run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef));
}

}  // namespace
}  // namespace peraxis::property

// Operators on operands that are cubes of the NPU, dense arrays, or some of each, against the reference
// kernels on dense arrays. Cubes are laid out here, element by element.
#include <algorithm>
#include <map>

#include "cube_cases.hpp"
#include "kernels/view.hpp"

namespace peraxis::kernels {
namespace {

using base::Rng;

constexpr uint8_t kGuard = 0xA5;
constexpr size_t kGuardBytes = 40;

// An operand of the test: its bytes, behind them a guard, and what they mean.
struct Operand {
  Layout layout;
  std::vector<int32_t> slots;
  std::vector<uint8_t> bytes;
};

size_t place(const Layout& layout, int64_t element) {
  if (!layout.cube()) return static_cast<size_t>(element);
  const int64_t channel = element % layout.channels, pixel = element / layout.channels;
  const int64_t slot = layout.plain() ? channel : int64_t{layout.slot_of[static_cast<size_t>(channel)]};
  return static_cast<size_t>((slot / 16 * layout.pixels + pixel) * 16 + slot % 16);
}

uint8_t flip(const Layout& layout) {
  return layout.cube() && layout.flipped ? 0x80 : 0;
}

// A cube of the tensor, whose last dimension is its channels; sometimes all of it is one pixel, as fully
// connected layers want it.
Operand cube_of(Rng& rng, const ir::Tensor& t, bool scattered, bool may_be_flat) {
  Operand out;
  out.layout.channels = t.shape.empty() || (may_be_flat && rng.one_in(12)) ? t.elements() : t.shape.back();
  out.layout.pixels = t.elements() / out.layout.channels;
  out.layout.flipped = t.type == ir::DataType::UInt8;
  out.layout.spare = static_cast<uint8_t>(rng.uniform(0, 255));
  if (scattered) {
    const int64_t slots = (out.layout.channels + 15) / 16 * 16 + 16 * rng.uniform(0, 2);
    std::vector<int32_t> all(static_cast<size_t>(slots));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
    for (size_t i = all.size(); i-- > 1;)
      std::swap(all[i], all[static_cast<size_t>(rng.uniform(0, static_cast<int64_t>(i)))]);
    out.slots.assign(all.begin(), all.begin() + out.layout.channels);
  }
  return out;
}

void allocate(Operand& operand, const ir::Tensor& t) {
  operand.layout.slot_of = operand.slots;
  const int64_t size = operand.layout.cube() ? operand.layout.bytes() : t.bytes();
  operand.bytes.assign(static_cast<size_t>(size) + (operand.layout.cube() ? kGuardBytes : 0), kGuard);
}

void put(Operand& operand, const std::vector<uint8_t>& dense) {
  if (!operand.layout.cube()) {
    operand.bytes = dense;
    return;
  }
  for (size_t i = 0; i < dense.size(); ++i)
    operand.bytes[place(operand.layout, static_cast<int64_t>(i))] = dense[i] ^ flip(operand.layout);
}

std::vector<uint8_t> get(const Operand& operand, const ir::Tensor& t) {
  if (!operand.layout.cube()) return operand.bytes;
  std::vector<uint8_t> dense(static_cast<size_t>(t.elements()));
  for (size_t i = 0; i < dense.size(); ++i)
    dense[i] = operand.bytes[place(operand.layout, static_cast<int64_t>(i))] ^ flip(operand.layout);
  return dense;
}

std::vector<uint8_t> random_values(Rng& rng, const ir::Tensor& t) {
  std::vector<uint8_t> out(static_cast<size_t>(t.bytes()));
  if (t.type == ir::DataType::Float32) {
    std::vector<float> values(static_cast<size_t>(t.elements()));
    for (float& value : values) value = static_cast<float>(rng.uniform_real(-20, 20));
    return bytes_of(values);
  }
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(rng.uniform(0, 255));
  return out;
}

// rsqrt of 0 and square roots of negative numbers are refused by value.
void make_valid(const ir::Graph& graph, std::vector<uint8_t>& values) {
  const ir::OpKind kind = graph.ops[0].kind;
  if (kind == ir::OpKind::Rsqrt || kind == ir::OpKind::Sqrt)
    for (uint8_t& byte : values)
      if (static_cast<int8_t>(byte) < -127) byte = 1;
}

struct Tally {
  int tried = 0, cubes_in = 0, cubes_out = 0, refused = 0;
};

void check_case(Rng& rng, const CubeCase& test, Tally& tally, int threads, bool may_be_flat = true) {
  const ir::Graph graph = test.make(rng);
  ASSERT_TRUE(ir::verify(graph)) << test.name << ": " << ir::verify(graph).error().text();
  const ir::Op& op = graph.ops[0];
  std::vector<Operand> inputs, outputs;
  std::vector<std::vector<uint8_t>> dense;
  bool cube_in = false, cube_out = false;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const ir::Tensor& t = graph.tensor(op.inputs[i]);
    dense.push_back(t.is_constant ? t.data : random_values(rng, t));
    if (!t.is_constant) make_valid(graph, dense.back());
    const bool may = !t.is_constant && std::ranges::find(test.activations, i) != test.activations.end();
    const bool cube = may && !rng.one_in(4);
    inputs.push_back(cube ? cube_of(rng, t, rng.one_in(3), may_be_flat) : Operand{});
    cube_in = cube_in || cube;
    allocate(inputs.back(), t);
    put(inputs.back(), dense.back());
  }
  for (const int32_t index : op.outputs) {
    const bool cube = !test.dense_output && !rng.one_in(4);
    outputs.push_back(cube ? cube_of(rng, graph.tensor(index), false, may_be_flat) : Operand{});
    cube_out = cube_out || cube;
    allocate(outputs.back(), graph.tensor(index));
  }
  std::vector<Layout> of_inputs, of_outputs;
  std::vector<InputView> from;
  std::vector<OutputView> to;
  for (const Operand& operand : inputs) {
    of_inputs.push_back(operand.layout);
    from.push_back({operand.bytes, operand.layout});
  }
  for (Operand& operand : outputs) {
    of_outputs.push_back(operand.layout);
    to.push_back({operand.bytes, operand.layout});
  }
  ++tally.tried;
  const Options options{Path::Fast, Reference::LitertRef, threads};
  const auto done = run_op(graph, 0, from, to, options);
  if (!takes_layouts(graph, 0, of_inputs, of_outputs)) {
    ++tally.refused;
    EXPECT_FALSE(done) << test.name;
    return;
  }
  ASSERT_TRUE(done) << test.name << ": " << done.error().text();
  tally.cubes_in += cube_in ? 1 : 0;
  tally.cubes_out += cube_out ? 1 : 0;
  std::vector<std::vector<uint8_t>> want;
  std::vector<std::span<uint8_t>> want_spans;
  for (const int32_t index : op.outputs) want.emplace_back(static_cast<size_t>(graph.tensor(index).bytes()));
  for (auto& bytes : want) want_spans.emplace_back(bytes);
  const std::vector<Values> given(dense.begin(), dense.end());
  const auto reference = run_op(graph, 0, given, want_spans, {Path::Reference});
  ASSERT_TRUE(reference) << test.name << ": " << reference.error().text();
  for (size_t i = 0; i < outputs.size(); ++i) {
    ASSERT_EQ(get(outputs[i], graph.tensor(op.outputs[i])), want[i]) << test.name << ", output " << i << "\n"
                                                                     << ir::print(graph);
    if (!outputs[i].layout.cube()) continue;
    for (size_t g = outputs[i].bytes.size() - kGuardBytes; g < outputs[i].bytes.size(); ++g)
      ASSERT_EQ(outputs[i].bytes[g], kGuard) << test.name << ": it wrote behind the cube";
  }
  // Operands that are read stay as they were.
  for (size_t i = 0; i < inputs.size(); ++i)
    ASSERT_EQ(get(inputs[i], graph.tensor(op.inputs[i])), dense[i]) << test.name << ", input " << i;
}

TEST(Cubes, EveryOperatorEqualsTheReferenceOnDenseArrays) {
  constexpr int kRounds = 300;
  Rng rng(17);
  for (const CubeCase& test : cube_cases()) {
    Tally tally;
    for (int round = 0; round < kRounds; ++round) {
      SCOPED_TRACE(fmt::format("{}, round {}", test.name, round));
      check_case(rng, test, tally, round % 10 == 0 ? 3 : 1);
      if (::testing::Test::HasFatalFailure()) return;
    }
    if (!test.activations.empty()) {
      EXPECT_GT(tally.cubes_in, kRounds / 2) << test.name;
    }
    if (!test.dense_output) {
      EXPECT_GT(tally.cubes_out, kRounds / 3) << test.name;
    }
    EXPECT_LT(tally.refused, kRounds / 3) << test.name;
  }
}

// Maps large enough for several chunks and blocks of pixels, and for threads.
TEST(Cubes, LargeMaps) {
  Rng rng(18);
  for (const ir::OpKind kind :
       {ir::OpKind::Add, ir::OpKind::Relu, ir::OpKind::Reshape, ir::OpKind::Softmax}) {
    for (const int32_t channels : {16, 40, 255}) {
      const ir::Tensor t = int8_tensor({1, 37, 41, channels}, 0.05F, 3);
      std::vector<ir::Tensor> tensors{t};
      if (kind == ir::OpKind::Add) tensors.push_back(int8_tensor(t.shape, 0.02F, -7));
      if (kind == ir::OpKind::Reshape) tensors.push_back(int32_constant({3}, {1, 37 * 41, channels}));
      ir::Tensor out = int8_tensor(t.shape, 0.05F, 3);
      if (kind == ir::OpKind::Reshape) out.shape = {1, 37 * 41, channels};
      if (kind == ir::OpKind::Softmax) out = int8_tensor(t.shape, 1.0F / 256, -128);
      tensors.push_back(out);
      ir::Attributes attributes = ir::NoAttributes{};
      if (kind == ir::OpKind::Add) attributes = ir::BinaryAttributes{};
      if (kind == ir::OpKind::Softmax) attributes = ir::SoftmaxAttributes{};
      const ir::Graph graph = one_op(kind, attributes, tensors);
      const CubeCase test{ir::op_name(kind), [&](Rng&) { return graph; }, {0, 1}};
      Tally tally;
      for (int round = 0; round < 12; ++round) check_case(rng, test, tally, 1 + round % 2 * 3, false);
      EXPECT_EQ(tally.refused, 0) << test.name;
    }
  }
}

TEST(Cubes, RefusesWhatDoesNotFit) {
  const ir::Tensor t = int8_tensor({1, 2, 3, 20}, 0.05F, 0);
  const ir::Graph graph = one_op(ir::OpKind::Relu, ir::NoAttributes{}, {t, t});
  std::vector<uint8_t> in(192), out(192);
  std::vector<int32_t> slots(20);
  for (size_t i = 0; i < slots.size(); ++i) slots[i] = static_cast<int32_t>(i + 7);
  const auto run_with = [&](Layout from, Layout to, size_t in_bytes) {
    const InputView input{Values(in).first(in_bytes), from};
    const OutputView output{std::span(out), to};
    return run_op(graph, 0, {&input, 1}, {&output, 1}, Options{});
  };
  const Layout good{6, 20, {}, false, 0};
  EXPECT_TRUE(run_with(good, good, 192));
  EXPECT_FALSE(run_with(good, good, 191)) << "a byte is missing";
  EXPECT_FALSE(run_with({6, 19, {}, false, 0}, good, 192)) << "another count of channels";
  EXPECT_FALSE(run_with({int64_t{1} << 61, 20, {}, false, 0}, good, 192)) << "a product that overflows";
  EXPECT_TRUE(run_with({6, 20, slots, false, 0}, good, 192));
  EXPECT_FALSE(run_with(good, {6, 20, slots, false, 0}, 192)) << "an output in slots of its own";
  slots[3] = 32;
  EXPECT_FALSE(run_with({6, 20, slots, false, 0}, good, 192)) << "a slot behind the bytes";
  slots[3] = -1;
  EXPECT_FALSE(run_with({6, 20, slots, false, 0}, good, 192)) << "a slot below 0";
  const ir::Graph wide =
      one_op(ir::OpKind::Relu, ir::NoAttributes{},
             {tensor(ir::DataType::Int16, t.shape, 0.1F, 0), tensor(ir::DataType::Int16, t.shape, 0.1F, 0)});
  EXPECT_FALSE(takes_layouts(wide, 0, std::array{good}, std::array{good})) << "int16 has no cube";
}

// An error of the kernel is one of the operator on cubes: a row of softmax that LiteRT aborts on.
TEST(Cubes, ErrorsOfAKernelAreReported) {
  const ir::Tensor in = int8_tensor({1, 1, 2, 600}, 0.1F, 0);
  const ir::Graph graph =
      one_op(ir::OpKind::Softmax, ir::SoftmaxAttributes{}, {in, int8_tensor(in.shape, 1.0F / 256, -128)});
  const std::vector<uint8_t> values(static_cast<size_t>(608 * 2), 5);
  std::vector<uint8_t> made(static_cast<size_t>(608 * 2));
  const Layout layout{2, 600, {}, false, 0};
  const InputView from{values, layout};
  const OutputView to{made, layout};
  ASSERT_TRUE(takes_layouts(graph, 0, std::array{layout}, std::array{layout}));
  const auto done = run_op(graph, 0, {&from, 1}, {&to, 1}, Options{});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text().find("sum to 512"), std::string::npos) << done.error().text();
}

}  // namespace
}  // namespace peraxis::kernels

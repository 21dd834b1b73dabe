// parse(print(g, true)) is g: for one graph an operator and for random graphs that need not make sense. Text
// that is damaged in any way gives an error or another graph, never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "base/rng.hpp"
#include "graphs.hpp"
#include "same_graph.hpp"

namespace peraxis::ir {
namespace {

using testing::HasSubstr;

TEST(Text, LooksLikeThis) {
  Graph graph = test::conv_2d();
  graph.ops[0].inputs[2] = kAbsent;
  graph.tensors[0].name = "a \"b\"\\\n\xc3\xa9";
  const std::string text = print(graph);
  EXPECT_THAT(text, HasSubstr("graph \"single\"\n"));
  EXPECT_THAT(
      text,
      HasSubstr("%0 = tensor int8 [1,7,9,3] scale(0.5) zero_point(3) \"a \\\"b\\\"\\\\\\x0a\\xc3\\xa9\"\n"));
  EXPECT_THAT(text, HasSubstr("%1 = tensor int8 [4,2,3,3] scale(0.100000001,0.200000003,0.300000012,0) "
                              "zero_point(0,0,0,0) const bytes(72) hash("));
  EXPECT_THAT(text,
              HasSubstr("conv_2d(%0, %1, _) -> (%3) pads(0,1,1,1) stride_h(2) stride_w(1) dilation_h(1) "
                        "dilation_w(1) activation(relu) int32_bias(false)\n"));
  EXPECT_THAT(text, HasSubstr("inputs(%0)\noutputs(%3)\n"));
}

TEST(Text, EveryOperatorRoundTrips) {
  for (const OpKind kind : test::kAllKinds) {
    const Graph graph = test::valid(kind);
    const auto again = parse(print(graph, true));
    ASSERT_TRUE(again) << op_name(kind) << ": " << again.error().text();
    EXPECT_TRUE(test::same_graph(*again, graph)) << op_name(kind);
    EXPECT_TRUE(verify(*again));
  }
}

TEST(Text, WithoutDataConstantsAreEmpty) {
  const auto again = parse(print(test::conv_2d()));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_TRUE(again->tensors[1].is_constant);
  EXPECT_TRUE(again->tensors[1].data.empty());
  const Status status = verify(*again);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("the constant has 0 data bytes"));
}

float random_float(base::Rng& rng) {
  for (;;) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(rng.next()));
    if (value == value) return value;
  }
}

std::string random_name(base::Rng& rng) {
  std::string name(static_cast<size_t>(rng.uniform(0, 12)), ' ');
  for (char& c : name) c = static_cast<char>(rng.one_in(3) ? rng.uniform(0, 255) : rng.uniform(32, 126));
  return name;
}

Tensor random_tensor(base::Rng& rng) {
  Tensor tensor;
  tensor.name = random_name(rng);
  tensor.type = static_cast<DataType>(rng.uniform(0, 6));
  tensor.shape.resize(static_cast<size_t>(rng.uniform(0, 5)));
  for (int32_t& dimension : tensor.shape) dimension = static_cast<int32_t>(rng.next());
  tensor.quant.scale.resize(static_cast<size_t>(rng.uniform(0, 3)));
  for (float& scale : tensor.quant.scale) scale = random_float(rng);
  tensor.quant.zero_point.resize(static_cast<size_t>(rng.uniform(0, 3)));
  for (int64_t& zero_point : tensor.quant.zero_point) zero_point = static_cast<int64_t>(rng.next());
  tensor.quant.quantized_dimension = static_cast<int32_t>(rng.uniform(-1, 3));
  tensor.is_constant = rng.one_in(2);
  if (tensor.is_constant) tensor.data.resize(static_cast<size_t>(rng.uniform(0, 20)));
  for (uint8_t& byte : tensor.data) byte = static_cast<uint8_t>(rng.next());
  return tensor;
}

std::vector<int32_t> random_links(base::Rng& rng) {
  std::vector<int32_t> out(static_cast<size_t>(rng.uniform(0, 4)));
  for (int32_t& index : out) index = rng.one_in(4) ? kAbsent : static_cast<int32_t>(rng.next());
  return out;
}

// Fills every field of the attributes with random bits of its type.
struct Randomize {
  base::Rng& rng;
  int32_t i() { return static_cast<int32_t>(rng.next()); }
  bool b() { return rng.one_in(2); }
  Pads p() {
    if (rng.one_in(4)) return {0, 0, 0, 0, static_cast<Pads::Rule>(rng.uniform(1, 2))};
    return {i(), i(), i(), i()};
  }
  Activation a() { return static_cast<Activation>(rng.uniform(0, 3)); }
  void operator()(NoAttributes&) {}
  void operator()(BinaryAttributes& x) { x = {a(), b()}; }
  void operator()(ConvAttributes& x) { x = {p(), i(), i(), i(), i(), a(), b()}; }
  void operator()(FullyConnectedAttributes& x) { x = {a(), b(), b()}; }
  void operator()(PoolAttributes& x) { x = {p(), i(), i(), i(), i(), a(), b()}; }
  void operator()(ConcatenationAttributes& x) { x = {i(), a()}; }
  void operator()(SoftmaxAttributes& x) { x = {random_float(rng)}; }
  void operator()(ReduceAttributes& x) { x = {b()}; }
  void operator()(StridedSliceAttributes& x) { x = {i(), i(), i(), i(), i(), b()}; }
  void operator()(SplitAttributes& x) { x = {i()}; }
  void operator()(ResizeAttributes& x) { x = {b(), b()}; }
  void operator()(LeakyReluAttributes& x) { x = {random_float(rng)}; }
  void operator()(TransposeConvAttributes& x) { x = {p(), i(), i(), a(), b()}; }
  void operator()(BlockAttributes& x) { x = {i()}; }
  void operator()(GatherAttributes& x) { x = {i(), i()}; }
  void operator()(PackAttributes& x) { x = {i(), i()}; }
  void operator()(SqueezeAttributes& x) {
    x.dims.resize(static_cast<size_t>(rng.uniform(0, 3)));
    for (int32_t& dimension : x.dims) dimension = i();
  }
  void operator()(MirrorPadAttributes& x) { x = {b()}; }
  void operator()(BatchMatmulAttributes& x) { x = {b(), b()}; }
  void operator()(CumSumAttributes& x) { x = {b(), b()}; }
  void operator()(GeluAttributes& x) { x = {b()}; }
  void operator()(SvdfAttributes& x) { x = {i(), a()}; }
  void operator()(LstmAttributes& x) {
    x = {random_float(rng), random_float(rng), b(), random_float(rng), i()};
  }
  void operator()(DetectionAttributes& x) {
    x = {i(),
         i(),
         i(),
         i(),
         b(),
         random_float(rng),
         random_float(rng),
         random_float(rng),
         random_float(rng),
         random_float(rng),
         random_float(rng)};
  }
};

Graph random_graph(base::Rng& rng) {
  Graph graph;
  graph.name = random_name(rng);
  for (int64_t n = rng.uniform(0, 5); n > 0; --n) graph.tensors.push_back(random_tensor(rng));
  for (int64_t n = rng.uniform(0, 5); n > 0; --n) {
    Op op;
    op.kind = test::kAllKinds[rng.uniform(0, std::size(test::kAllKinds) - 1)];
    op.attributes = test::valid(op.kind).ops[0].attributes;  // the right alternative
    std::visit(Randomize{rng}, op.attributes);
    op.inputs = random_links(rng);
    op.outputs = random_links(rng);
    graph.ops.push_back(std::move(op));
  }
  graph.inputs = random_links(rng);
  graph.outputs = random_links(rng);
  for (int64_t n = rng.uniform(0, 2); n > 0; --n)
    graph.states.push_back(
        {static_cast<int32_t>(rng.uniform(0, 9)), static_cast<int32_t>(rng.uniform(0, 9))});
  return graph;
}

TEST(Text, RandomGraphsRoundTrip) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    base::Rng rng(seed);
    const Graph graph = random_graph(rng);
    const std::string text = print(graph, true);
    const auto again = parse(text);
    ASSERT_TRUE(again) << "seed " << seed << ": " << again.error().text() << "\n" << text;
    ASSERT_TRUE(test::same_graph(*again, graph)) << "seed " << seed << "\n" << text;
    (void)verify(graph);  // nonsense must not crash it
  }
}

TEST(Text, DamagedTextNeverCrashes) {
  int refused = 0, accepted = 0;
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    base::Rng rng(seed);
    std::string text = print(test::valid(test::kAllKinds[seed % std::size(test::kAllKinds)]), true);
    for (int64_t n = rng.uniform(1, 3); n > 0 && !text.empty(); --n) {
      const auto at = static_cast<size_t>(rng.uniform(0, static_cast<int64_t>(text.size()) - 1));
      switch (rng.uniform(0, 3)) {
        case 0:
          text[at] = static_cast<char>(rng.next());
          break;
        case 1:
          text.erase(at, static_cast<size_t>(rng.uniform(1, 9)));
          break;
        case 2:
          text.insert(at, text.substr(text.size() / 2, 7));
          break;
        default:
          text.resize(at + 1);
          break;
      }
    }
    const auto graph = parse(text);
    if (graph) {
      ++accepted;
      (void)verify(*graph);
    } else {
      ++refused;
      EXPECT_FALSE(graph.error().message.empty());
      EXPECT_THAT(graph.error().text(), testing::AnyOf(HasSubstr("in line "), HasSubstr("is empty")));
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 20);
}

TEST(Text, ErrorsNameLineColumnAndReason) {
  const auto message = [](std::string_view text) {
    const auto graph = parse(text);
    return graph ? std::string("accepted") : graph.error().text();
  };
  EXPECT_THAT(message(""), HasSubstr("the graph text is empty"));
  EXPECT_THAT(message("# only a comment\n\n"), HasSubstr("the graph text is empty"));
  EXPECT_THAT(message("tensor"), HasSubstr("column 1: expected graph"));
  EXPECT_THAT(message("graph \"g\"\n\n%1 = tensor int8 [1] \"x\""),
              HasSubstr("tensor %1 where %0 comes next"));
  EXPECT_THAT(message("graph \"g\"\n\n%1 = tensor int8 [1] \"x\""), HasSubstr("in line 3"));
  EXPECT_THAT(
      message("graph \"g\"\n%0 = tensor int4 [1] \"x\""),
      HasSubstr(
          "tensor type 'int4' is not known; valid are float32, int32, uint8, int64, int8, int16, bool"));
  EXPECT_THAT(message("graph \"g\"\n%0 = tensor int8 [1 \"x\""), HasSubstr("a comma or ]"));
  EXPECT_THAT(message("graph \"g\"\n%0 = tensor int8 [99999999999] \"x\""), HasSubstr("out of range"));
  EXPECT_THAT(message("graph \"g\"\n%0 = tensor int8 [1] size(3) \"x\""), HasSubstr("no field 'size'"));
  EXPECT_THAT(message("graph \"g\"\n%0 = tensor int8 [1] \"x"), HasSubstr("a closing quote"));
  EXPECT_THAT(message("graph \"g\"\n%0 = tensor int8 [1] \"\\q\""), HasSubstr("an escape"));
  EXPECT_THAT(message("graph \"g\"\n%0 = tensor int8 [1] const bytes(2) data(00) \"x\""),
              HasSubstr("bytes(2) but data has 1 bytes"));
  EXPECT_THAT(message("graph \"g\"\n%0 = tensor int8 [1] const hash(1) data(00) \"x\""),
              HasSubstr("but data has"));
  EXPECT_THAT(message("graph \"g\"\n%0 = tensor int8 [1] const data(0) \"x\""), HasSubstr("not pairs"));
  EXPECT_THAT(message("graph \"g\"\n%0 = tensor int8 [1] const data(0g) \"x\""),
              HasSubstr("byte 0 is not hex"));
  EXPECT_THAT(message("graph \"g\"\nconvolve(%0) -> (%1)"),
              HasSubstr("operator 'convolve' is not known; valid are "));
  EXPECT_THAT(message("graph \"g\"\nsoftmax(%0) -> (%1) gamma(2)"), HasSubstr("no attribute 'gamma'"));
  EXPECT_THAT(message("graph \"g\"\nsoftmax(%0) -> (%1) beta(two)"), HasSubstr("expected a number"));
  EXPECT_THAT(message("graph \"g\"\nsoftmax(%0) (%1)"), HasSubstr("expected ->"));
  EXPECT_THAT(message("graph \"g\"\nadd(%0, %1) -> (%2) activation(tanh)"),
              HasSubstr("activation 'tanh' is not known; valid are none, relu, relu_n1_to_1, relu6"));
  EXPECT_THAT(message("graph \"g\"\nconv_2d() -> () pads(1,2,3)\n"),
              HasSubstr("3 pads; there are four, top, bottom, left and right"));
  EXPECT_THAT(message("graph \"g\"\nconv_2d() -> () pads(same)\n"), HasSubstr("a number"));
  EXPECT_THAT(message("graph \"g\"\ninputs(%0) outputs(%1)"), HasSubstr("expected the end of the line"));
}

TEST(Text, CommentsBlankLinesAndDefaults) {
  const auto graph = parse("\n# a comment\r\ngraph \"g\"\r\n  # another\n\nadd(%0, %1)->(%2)\n");
  ASSERT_TRUE(graph) << graph.error().text();
  ASSERT_EQ(graph->ops.size(), 1U);
  EXPECT_EQ(std::get<BinaryAttributes>(graph->ops[0].attributes).activation, Activation::None);
}

}  // namespace
}  // namespace peraxis::ir

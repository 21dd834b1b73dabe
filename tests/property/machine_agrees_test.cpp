// Random layers through compiler and machine model, beside the CPU kernels and beside what the certificates
// counted: `exact` is the reference to the byte, the other strategies are within 1 of it, and every output of
// a strategy is the one its parameters promise for that channel's sum. The sums are computed here.
#include <gtest/gtest.h>

#include "ir/operands.hpp"
#include "random_graphs.hpp"
#include "requant/strategy.hpp"

namespace peraxis::property {
namespace {

// Under the address sanitizer a quarter: it looks for other mistakes, and takes five times as long.
#ifdef __SANITIZE_ADDRESS__
constexpr int kLayers = 160, kShards = 4;
#else
constexpr int kLayers = 640, kShards = 16;
#endif
constexpr int kFormShard = 25, kFormShards = 4;  // of each form
constexpr num::Reference kReferences[] = {num::Reference::LitertRef, num::Reference::SingleRounding};

// How the pixels under a kernel's taps are found: by strides and dilation, or, in a transposed convolution,
// by how far they lie apart.
struct Axis {
  int64_t in = 0, stride = 1, dilation = 1, before = 0;
  bool transposed = false;

  // Input position under `tap` of output `at`, -1 for padding and for what lies between pixels.
  int64_t position(int64_t at, int64_t tap) const {
    if (transposed) {
      const int64_t plane = at + before - tap;
      return plane >= 0 && plane % stride == 0 && plane / stride < in ? plane / stride : -1;
    }
    const int64_t p = at * stride + tap * dilation - before;
    return p >= 0 && p < in ? p : -1;
  }
};

std::pair<Axis, Axis> axes_of(const ir::Op& op, const ir::Nhwc& in) {
  if (const auto* a = std::get_if<ir::ConvAttributes>(&op.attributes)) {
    return {{in.h, a->stride_h, a->dilation_h, a->pads.top},
            {in.w, a->stride_w, a->dilation_w, a->pads.left}};
  }
  const auto& a = std::get<ir::TransposeConvAttributes>(op.attributes);
  return {{in.h, a.stride_h, 1, a.pads.top, true}, {in.w, a.stride_w, 1, a.pads.left, true}};
}

// The chip's raw sums, [pixel][channel]: input times (weight - zero point), the input's zero point where the
// kernel hangs over the edge or lies between pixels. All in the int8 domain.
std::vector<int64_t> raw_sums(const Case& test) {
  const ir::Graph& graph = test.graph;
  const ir::Op& op = graph.ops[0];
  const ir::ConvOperands operands = ir::conv_operands(op);
  const ir::Tensor& input = graph.tensor(operands.input);
  const ir::Tensor& weights = graph.tensor(operands.weights);
  const bool is_uint8 = input.type == ir::DataType::UInt8;
  const auto value = [&](uint8_t byte) {
    return is_uint8 ? int64_t{byte} - 128 : int64_t{static_cast<int8_t>(byte)};
  };
  const int64_t shift = is_uint8 ? 128 : 0;
  const int64_t z_in = input.quant.zero_point[0] - shift;
  const int64_t z_w = weights.quant.per_axis() ? 0 : weights.quant.zero_point[0] - shift;
  std::vector<int64_t> sums;
  if (op.kind == ir::OpKind::FullyConnected) {
    const int64_t depth = weights.shape[1], units = weights.shape[0];
    for (int64_t row = 0; row < input.elements() / depth; ++row)
      for (int64_t c = 0; c < units; ++c) {
        int64_t sum = 0;
        for (int64_t i = 0; i < depth; ++i)
          sum += value(test.inputs[0][static_cast<size_t>(row * depth + i)]) *
                 (value(weights.data[static_cast<size_t>(c * depth + i)]) - z_w);
        sums.push_back(sum);
      }
    return sums;
  }
  const ir::Nhwc in = ir::nhwc(input), out = ir::nhwc(graph.tensor(op.outputs[0]));
  const bool depthwise = op.kind == ir::OpKind::DepthwiseConv2D;
  const int64_t kh = weights.shape[1], kw = weights.shape[2];
  const auto [rows, columns] = axes_of(op, in);
  const int64_t own = depthwise ? 1 : weights.shape[3];  // input channels of a kernel
  const int64_t kernels = out.c / (in.c / own);          // that have the same
  for (int64_t pixel = 0; pixel < out.n * out.h * out.w; ++pixel)
    for (int64_t c = 0; c < out.c; ++c) {
      int64_t sum = 0;
      for (int64_t ky = 0; ky < kh; ++ky)
        for (int64_t kx = 0; kx < kw; ++kx) {
          const int64_t iy = rows.position(pixel / out.w % out.h, ky),
                        ix = columns.position(pixel % out.w, kx);
          for (int64_t i = 0; i < own; ++i) {
            const int64_t from =
                ((pixel / out.w / out.h * in.h + iy) * in.w + ix) * in.c + c / kernels * own + i;
            const int64_t v = iy >= 0 && ix >= 0 ? value(test.inputs[0][static_cast<size_t>(from)]) : z_in;
            const int64_t at = depthwise ? (ky * kw + kx) * out.c + c : ((c * kh + ky) * kw + kx) * own + i;
            sum += v * (value(weights.data[static_cast<size_t>(at)]) - z_w);
          }
        }
      sums.push_back(sum);
    }
  return sums;
}

// The layer's output as the strategy's parameters promise it; empty when the host still changes values.
Result<Bytes> promised(const Case& test, requant::Strategy strategy, num::Reference reference,
                       const std::vector<int64_t>& sums) {
  const requant::Layer layer = PERAXIS_TRY(requant::describe(test.graph, 0, reference));
  for (size_t i = 0; i < sums.size(); ++i) {
    const requant::Channel& channel = layer.channels[i % layer.channels.size()];
    if (sums[i] < channel.raw_min || sums[i] > channel.raw_max)
      return fail(ErrorCode::Internal, "sum {} of channel {} is outside {}..{}", sums[i],
                  i % layer.channels.size(), channel.raw_min, channel.raw_max);
  }
  const requant::LayerParams params = PERAXIS_TRY(requant::choose_parameters(layer, strategy));
  if (params.host != requant::HostWork::None && params.host != requant::HostWork::Gather) return Bytes{};
  const uint8_t flip = test.graph.tensor(test.graph.outputs[0]).type == ir::DataType::UInt8 ? 0x80 : 0;
  Bytes out(sums.size());
  std::vector<int> written(layer.channels.size());
  for (const requant::ChannelSet& set : params.sets)
    for (size_t k = 0; k < set.channels.size(); ++k) {
      const auto c = static_cast<size_t>(set.channels[k]);
      ++written[c];
      for (size_t i = c; i < sums.size(); i += layer.channels.size()) {
        const int64_t raw = set.params[k].drop_weights ? 0 : sums[i];
        out[i] = static_cast<uint8_t>(
            static_cast<uint8_t>(requant::hardware_output(set.dpu, set.params[k], raw)) ^ flip);
      }
    }
  for (const int count : written) EXPECT_EQ(count, 1) << "a channel belongs to one set";
  return out;
}

// Those that promise at most 1 of difference; the others keep one OUT_CVT scale for several channels.
bool within_one(const std::string& strategy) {
  return strategy == "hw-multiply" || strategy == "exponent-classes" ||
         strategy == "exponent-classes-tie-proof";
}

struct Tally {
  int as_asked = 0, layers = 0;
};

// All strategies of one layer under one reference.
void check_layer(const Case& test, num::Reference reference, const std::vector<int64_t>& sums,
                 std::map<std::string, Tally>& tallies) {
  const auto want = run_on_kernels(test, kernels::Path::Reference, reference);
  const auto fast = run_on_kernels(test, kernels::Path::Fast, reference);
  ASSERT_TRUE(want) << want.error().text();
  ASSERT_TRUE(fast) << fast.error().text();
  EXPECT_EQ(difference_text((*fast)[0], (*want)[0]), "equal") << "fast kernels";
  const ir::DataType type = test.graph.tensor(test.graph.outputs[0]).type;
  for (const std::string& name : compiler::strategy_names()) {
    SCOPED_TRACE("strategy " + name);
    const auto executable = compiler::compile(test.graph, test.options(name, reference));
    ASSERT_TRUE(executable) << executable.error().text();
    ASSERT_EQ(executable->layers.size(), 1U);
    ASSERT_EQ(executable->layers[0].device, "npu");
    const std::string used = executable->layers[0].strategy;
    ++tallies[name].layers;
    tallies[name].as_asked += used == name ? 1 : 0;
    const auto got = run_on_machine(*executable, test.inputs);
    ASSERT_TRUE(got) << got.error().text();
    if (used == "exact") {
      EXPECT_EQ(difference_text((*got)[0], (*want)[0]), "equal");
    } else if (within_one(used)) {
      EXPECT_LE(largest_difference(type, (*got)[0], (*want)[0]), 1);
    }
    const auto promise = promised(test, *requant::strategy_from_name(used), reference, sums);
    ASSERT_TRUE(promise) << promise.error().text();
    if (!promise->empty()) {
      EXPECT_EQ(difference_text((*got)[0], *promise), "equal") << "the parameters promise other values";
    }
  }
}

// In shards, so that a failure is found again quickly.
class MachineAgrees : public ::testing::TestWithParam<int> {};

TEST_P(MachineAgrees, WithKernelsAndCertificates) {
  constexpr int kShard = kLayers / kShards;
  std::map<std::string, Tally> tallies;
  for (int i = GetParam() * kShard; i < (GetParam() + 1) * kShard; ++i) {
    const Case test = random_layer(first_seed(static_cast<uint64_t>(i)));
    SCOPED_TRACE(test.text());
    const std::vector<int64_t> sums = raw_sums(test);
    for (const num::Reference reference : kReferences) {
      SCOPED_TRACE(reference == num::Reference::LitertRef ? "litert-ref" : "single-rounding");
      check_layer(test, reference, sums, tallies);
    }
    if (HasFatalFailure()) return;
  }
  // A strategy that always fell back to `exact` would pass everything above.
  for (const auto& [name, tally] : tallies) {
    const bool takes_most = within_one(name) || name == "exact" || name == "max-scale";
    EXPECT_GE(tally.as_asked, takes_most ? tally.layers / 2 : 1) << name;
  }
}
INSTANTIATE_TEST_SUITE_P(Layers, MachineAgrees, ::testing::Range(0, kShards));

class FormsAgree : public ::testing::TestWithParam<std::tuple<Form, int>> {};

TEST_P(FormsAgree, WithKernelsAndCertificates) {
  const auto [form, shard] = GetParam();
  std::map<std::string, Tally> tallies;
  int layers = 0;
  for (int i = shard * kFormShard; i < (shard + 1) * kFormShard; ++i) {
    if (form == Form::Wide && i % 10 != 0) continue;  // large
    ++layers;
    const Case test = random_form(first_seed(50'000 + static_cast<uint64_t>(i)), form);
    SCOPED_TRACE(test.text());
    const std::vector<int64_t> sums = raw_sums(test);
    const num::Reference reference = kReferences[i % 2];
    SCOPED_TRACE(reference == num::Reference::LitertRef ? "litert-ref" : "single-rounding");
    check_layer(test, reference, sums, tallies);
    if (HasFatalFailure()) return;
  }
  for (const auto& [name, tally] : tallies) {
    EXPECT_EQ(tally.layers, layers) << name;
    const bool takes_most = within_one(name) || name == "exact" || name == "max-scale";
    EXPECT_GE(tally.as_asked, takes_most ? tally.layers / 2 : 0) << name;
  }
}
INSTANTIATE_TEST_SUITE_P(Layers, FormsAgree,
                         ::testing::Combine(::testing::ValuesIn(kForms), ::testing::Range(0, kFormShards)));

TEST(MachineAgrees, DilatedRowsBeyondCbuf) {
  const Case test = deep_dilation(first_seed(60'000));
  const std::vector<int64_t> sums = raw_sums(test);
  std::map<std::string, Tally> tallies;
  check_layer(test, num::Reference::LitertRef, sums, tallies);
  const auto executable =
      compiler::compile(test.graph, test.options("hw-multiply", num::Reference::LitertRef));
  ASSERT_TRUE(executable) << executable.error().text();
  EXPECT_EQ(executable->tasks.size(), 25U) << "a task for every row of outputs";
}

// The machine model's fast path gives what the plain one gives. Strategies of many sets are where it leaves
// most out: dummy kernels, and tiles that every set reads again.
TEST(MachineAgrees, PlainMachine) {
  machine::Options plain;
  plain.plain = true;
  for (uint64_t i = 0; i < 80; ++i) {
    const Case test = i % 2 == 0
                          ? random_layer(first_seed(100'000 + i))
                          : random_form(first_seed(100'000 + i), kForms[i / 2 % (std::size(kForms) - 1)]);
    SCOPED_TRACE(test.text());
    for (const char* strategy : {"exact", "hw-multiply", "groups", "per-channel"}) {
      SCOPED_TRACE(strategy);
      const auto executable =
          compiler::compile(test.graph, test.options(strategy, num::Reference::LitertRef));
      ASSERT_TRUE(executable) << executable.error().text();
      const auto fast = run_on_machine(*executable, test.inputs);
      const auto slow = run_on_machine(*executable, test.inputs, nullptr, plain);
      ASSERT_TRUE(fast) << fast.error().text();
      ASSERT_TRUE(slow) << slow.error().text();
      EXPECT_EQ(difference_text((*fast)[0], (*slow)[0]), "equal");
    }
  }
}

}  // namespace
}  // namespace peraxis::property

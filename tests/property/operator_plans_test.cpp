// What a plan says of operators that are no convolutions: what they may differ by is what comes out of the
// machine model, budgets count it, what does not fit goes elsewhere, and the user's constants decide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph_builder.hpp"
#include "plan/cost.hpp"
#include "random_moves.hpp"
#include "random_tangles.hpp"

namespace peraxis::property {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A convolution and a LEAKY_RELU that arithmetic rounds otherwise than the reference for some values.
struct Rescaled {
  Case test;
  static constexpr size_t kConvolution = 0, kLeaky = 1;
  lower::DeviceForm form;  // by arithmetic

  Rescaled() {
    for (int step = 0; step < 200; ++step) {
      Builder b(3, false);
      b.set_mild();
      const int32_t x = b.input({1, 12, 12, 16});
      Layer l;
      l.outputs = 32;
      const int32_t map = b.layer(x, l);
      const float scale = b.graph().tensor(map).quant.scale[0];
      b.op(ir::OpKind::LeakyRelu, {map},
           b.add_tensor(b.shape(map), scale * (0.5F + 0.005F * static_cast<float>(step)), 3),
           ir::LeakyReluAttributes{0.1F});
      b.graph().outputs = {b.graph().ops.back().outputs[0]};
      test.inputs = {b.random_bytes(12 * 12 * 16, false)};
      test.graph = std::move(b.graph());
      form = form_of(test.graph, kLeaky, {});
      if (form.refusal.empty() && form.certificate.differing > 8) return;
    }
    ADD_FAILURE() << "no scale makes a difference";
  }

  compiler::Options budget(double share) const {
    compiler::Options options = test.options("auto", num::Reference::LitertRef);
    options.prefer_npu = false;
    options.max_mismatch = share;
    return options;
  }
};

TEST(OperatorPlans, TheTotalIsPooledOverAllThatCanDiffer) {
  const Rescaled r;
  const plan::Plan plan = plan_of(r.test, r.test.options("auto", num::Reference::LitertRef));
  ASSERT_TRUE(plan.runs_on_device(Rescaled::kLeaky));
  const requant::OperatorCertificate* certificate = plan.certificate_of(Rescaled::kLeaky);
  ASSERT_NE(certificate, nullptr);
  EXPECT_EQ(certificate->values, 256);
  EXPECT_EQ(certificate->max, 1);
  EXPECT_GT(certificate->differing, 8);
  // Both have 12 x 12 x 32 outputs.
  EXPECT_DOUBLE_EQ(plan.expected, (plan.layers[0].certificate.expected() + certificate->expected) / 2);
  EXPECT_EQ(plan.certificate_of(Rescaled::kConvolution), nullptr);
}

TEST(OperatorPlans, ABudgetTakesTheFormThatIsEqual) {
  const Rescaled r;
  compiler::Options options = r.budget(0.001);
  options.cost.host_element_ns = 1000;
  const plan::Plan plan = plan_of(r.test, options);
  ASSERT_TRUE(plan.runs_on_device(Rescaled::kLeaky)) << plan.refusals[Rescaled::kLeaky];
  EXPECT_NE(plan.forms[Rescaled::kLeaky].table, nullptr);
  EXPECT_TRUE(plan.certificate_of(Rescaled::kLeaky)->equal());
  EXPECT_LE(plan.expected, 0.001 / plan::kBudgetMargin);
  // One that leaves room for the differences leaves the cheaper form.
  options.max_mismatch = 0.9;
  const plan::Plan roomy = plan_of(r.test, options);
  ASSERT_TRUE(roomy.runs_on_device(Rescaled::kLeaky));
  EXPECT_EQ(roomy.forms[Rescaled::kLeaky].table, nullptr);
  EXPECT_GT(plan.cost.ms(), roomy.cost.ms()) << "the price";
  // Where elements cost the CPU little it is the better step, unless it is forbidden.
  options = r.budget(0.001);
  options.cost.host_element_ns = 0.01;
  options.cost.host_step_us = 0;
  options.prefer_npu = true;
  EXPECT_NE(plan_of(r.test, options).forms[Rescaled::kLeaky].table, nullptr);
}

TEST(OperatorPlans, WithoutSuchAFormABudgetTakesTheCpu) {
  const Rescaled r;
  compiler::Options options = r.budget(0.001);
  options.tables = false;
  const plan::Plan plan = plan_of(r.test, options);
  EXPECT_FALSE(plan.runs_on_device(Rescaled::kLeaky));
  EXPECT_THAT(plan.refusals[Rescaled::kLeaky],
              HasSubstr("% of its values would be expected to differ on the NPU, and at most 0.1 %"));
  EXPECT_LE(plan.expected, 0.001 / plan::kBudgetMargin);
  // Whoever forbids that is told why.
  options.no_fallback = true;
  const auto refused = compiler::compile(r.test.graph, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(refused.error().text(), HasSubstr("would be expected to differ on the NPU"));
  // Without a budget the difference is stated, not avoided.
  options.max_mismatch.reset();
  EXPECT_TRUE(plan_of(r.test, options).runs_on_device(Rescaled::kLeaky));
}

TEST(OperatorPlans, WhatWasSeenDecidesWhatIsExpected) {
  const Rescaled r;
  std::vector<int64_t> seen(256);
  // Values that differ, found one by one.
  const auto params = requant::element_parameters(r.test.graph, Rescaled::kLeaky);
  ASSERT_TRUE(params);
  int32_t differs = 999, equals = 999;
  for (int32_t q = -128; q < 128; ++q) {
    std::vector<int64_t> one(256);
    one[requant::seen_index(q)] = 1;
    const double expected = form_of(r.test.graph, Rescaled::kLeaky, {.seen = one}).certificate.expected;
    (expected > 0.5 ? differs : equals) = q;
  }
  ASSERT_NE(differs, 999);
  ASSERT_NE(equals, 999);
  seen[requant::seen_index(differs)] = 30;
  seen[requant::seen_index(equals)] = 70;
  const double plain = r.form.certificate.expected;
  EXPECT_NEAR(form_of(r.test.graph, Rescaled::kLeaky, {.seen = seen}).certificate.expected,
              requant::kUnseenShare * plain + (1 - requant::kUnseenShare) * 0.3, 1e-12);
  // The planner passes on what it is given.
  compiler::Options options = r.test.options("auto", num::Reference::LitertRef);
  options.seen_operands[Rescaled::kLeaky] = seen;
  EXPECT_NEAR(plan_of(r.test, options).certificate_of(Rescaled::kLeaky)->expected,
              requant::kUnseenShare * plain + (1 - requant::kUnseenShare) * 0.3, 1e-12);
}

// Every operator on the NPU, given the inputs it really had, differs by no more than its certificate says.
TEST(OperatorPlans, CertificatesHoldInNetworks) {
  int64_t ran = 0, can_differ = 0;
  for (uint64_t i = 0; i < 60 && !HasFailure(); ++i) {
    const Case test =
        i % 2 == 0 ? random_body(first_seed(870'000 + i)) : random_tangle(first_seed(870'000 + i));
    SCOPED_TRACE(test.text());
    const compiler::Options options = test.options("auto", num::Reference::LitertRef);
    const plan::Plan plan = plan_of(test, options);
    const auto executable = compiler::compile(test.graph, options, plan);
    ASSERT_TRUE(executable) << executable.error().text();
    Activations seen;
    const auto outputs = run_on_machine(*executable, test.inputs, &seen);
    ASSERT_TRUE(outputs) << outputs.error().text();
    for (size_t op = 0; op < test.graph.ops.size(); ++op) {
      const requant::OperatorCertificate* certificate = plan.certificate_of(op);
      if (certificate == nullptr) continue;
      for (size_t o = 0; o < test.graph.ops[op].outputs.size(); ++o) {
        const int32_t tensor = test.graph.ops[op].outputs[o];
        // Parts of what another operator writes are in no dump.
        const bool dumped = std::ranges::all_of(test.graph.ops[op].inputs, [&](int32_t t) {
          return t == ir::kAbsent || test.graph.tensor(t).is_constant || seen.contains(t);
        });
        if (!dumped || !seen.contains(tensor)) continue;
        const auto want = operator_reference(test, op, seen, o);
        ASSERT_TRUE(want) << want.error().text();
        EXPECT_LE(largest_difference(test.graph.tensor(tensor).type, seen.at(tensor), *want),
                  certificate->max)
            << test.graph.op_label(op);
        ++ran;
        can_differ += certificate->equal() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(ran, 200);
  EXPECT_GT(can_differ, 15);
}

// An operator that is tasks of the NPU has them in the plan: nothing there is free but what moves nothing.
TEST(OperatorPlans, NothingOnTheNpuIsFree) {
  int64_t counted = 0, views = 0;
  for (const Move move : kMoves)
    for (uint64_t i = 0; i < 12 && !HasFailure(); ++i) {
      const Case test = random_move(first_seed(871'000 + i), move).test;
      for (const char* strategy : {"auto", "per-channel", "hybrid"}) {
        SCOPED_TRACE(test.text() + strategy);
        compiler::Options options = test.options(strategy, num::Reference::LitertRef);
        options.prefer_npu = i % 2 == 0;
        const plan::Plan plan = plan_of(test, options);
        for (size_t op = 0; op < test.graph.ops.size(); ++op) {
          if (plan.certificate_of(op) == nullptr) continue;
          const lower::ChannelOrder order = lower::channel_order(test.graph, op, plan.forms[op]);
          const bool view = order == lower::ChannelOrder::Parts || order == lower::ChannelOrder::Flat;
          const int64_t tasks = plan.device_costs[op].tasks;
          if (view) {
            EXPECT_EQ(tasks, 0);
          } else if (order != lower::ChannelOrder::Joined) {  // parts may be written in place
            EXPECT_GT(tasks, 0) << test.graph.op_label(op);
          }
          ++(view ? views : counted);
        }
        const auto executable = compiler::compile(test.graph, options, plan);
        ASSERT_TRUE(executable) << executable.error().text();
        EXPECT_EQ(plan.cost.tasks, static_cast<int64_t>(executable->tasks.size()));
      }
    }
  EXPECT_GT(counted, 100);
  EXPECT_GT(views, 20);
}

// A pixel of 255 channels that become three: of 255 sets of channels each is 32 slots.
Case wide_reshape() {
  Builder b(9, false);
  const int32_t x = b.input({1, 4, 4, 16});
  Layer l;
  l.outputs = 255;
  l.log2_spread = 6;
  l.dead_channels = false;
  const int32_t map = b.layer(x, l);
  const ir::QuantParams quant = b.graph().tensor(map).quant;
  b.op(ir::OpKind::Reshape, {map, b.constant({3}, {1, 48, 85})},
       b.add_tensor({1, 48, 85}, quant.scale[0], quant.zero_point[0]), ir::NoAttributes{});
  b.graph().outputs = {b.graph().ops.back().outputs[0]};
  Case out;
  out.inputs = {b.random_bytes(4 * 4 * 16, false)};
  out.graph = std::move(b.graph());
  return out;
}

TEST(OperatorPlans, SetsThatNoReaderCanTakeAreGathered) {
  const Case test = wide_reshape();
  const compiler::Options options = test.options("per-channel", num::Reference::LitertRef);
  const plan::Plan plan = plan_of(test, options);
  ASSERT_EQ(plan.layers[0].params.sets.size(), 255U);
  EXPECT_TRUE(plan.runs_on_device(1));
  EXPECT_FALSE(plan.layers[0].scattered);
  EXPECT_THAT(plan.layers[0].gathered, HasSubstr("cannot read them where they lie: a row of"));
  EXPECT_THAT(plan.layers[0].gathered, HasSubstr("CBUF banks"));
  const auto executable = compiler::compile(test.graph, options, plan);
  ASSERT_TRUE(executable) << executable.error().text();
  EXPECT_EQ(plan.cost.tasks, static_cast<int64_t>(executable->tasks.size()));
  Activations seen;
  const auto outputs = run_on_machine(*executable, test.inputs, &seen);
  ASSERT_TRUE(outputs) << outputs.error().text();
  const auto want = operator_reference(test, 1, seen);
  ASSERT_TRUE(want);
  EXPECT_EQ((*outputs)[0], *want);
}

TEST(OperatorPlans, ALayoutThatDoesNotFitIsAnErrorWithItsSentence) {
  const Case test = wide_reshape();
  const lower::DeviceForm form = form_of(test.graph, 1, {});
  ASSERT_THAT(form.refusal, IsEmpty());
  plan::Placing placing = plan::plain_placing(test.graph);
  const rk3588::CostConstants constants;
  const auto plain = plan::device_cost(test.graph, 1, form, placing, constants);
  ASSERT_TRUE(plain) << plain.error().text();
  EXPECT_GT(plain->tasks, 0);
  lower::Layout& layout = placing.layouts[static_cast<size_t>(test.graph.ops[1].inputs[0])];
  layout.slots = 8160;
  for (int32_t c = 0; c < 255; ++c) layout.slot_of.push_back(32 * c);
  const auto wide = plan::device_cost(test.graph, 1, form, placing, constants);
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(wide.error().message, HasSubstr("does not fit 12 CBUF banks"));
}

// --- the user's constants

TEST(CostConstants, DecideTheBlocksOfAGroupedConvolution) {
  Builder b(5, false);
  const int32_t x = b.input({1, 40, 40, 64});
  Layer l;
  l.kernel_h = l.kernel_w = 3;
  l.outputs = 64;
  l.groups = 8;
  b.layer(x, l);
  b.graph().outputs = {b.graph().ops.back().outputs[0]};
  Case test;
  test.graph = std::move(b.graph());
  std::vector<int64_t> tasks;
  for (const double task_us : {0.0, 5000.0}) {
    compiler::Options options = test.options("hw-multiply", num::Reference::LitertRef);
    options.cost.task_us = task_us;
    const plan::Plan plan = plan_of(test, options);
    tasks.push_back(plan.layers[0].cost.tasks);
    // The compiler cuts as the plan does.
    const auto executable = compiler::compile(test.graph, options, plan);
    ASSERT_TRUE(executable) << executable.error().text();
    EXPECT_EQ(static_cast<int64_t>(executable->tasks.size()), tasks.back());
  }
  EXPECT_GT(tasks[0], tasks[1]) << "free tasks are small, dear ones few";
}

// One task an image is no bargain when tasks are dear.
TEST(CostConstants, DecideWhereAPoolOfManyTinyMapsRuns) {
  Builder b(5, false);
  const int32_t x = b.input({200, 2, 2, 16});
  Layer l;
  l.outputs = 16;
  const int32_t map = b.layer(x, l);
  const ir::QuantParams quant = b.graph().tensor(map).quant;
  b.op(ir::OpKind::MaxPool2D, {map}, b.add_tensor({200, 1, 1, 16}, quant.scale[0], quant.zero_point[0]),
       ir::PoolAttributes{{}, 2, 2, 2, 2, ir::Activation::None});
  b.graph().outputs = {b.graph().ops.back().outputs[0]};
  Case test;
  test.graph = std::move(b.graph());
  compiler::Options options = test.options("auto", num::Reference::LitertRef);
  options.prefer_npu = false;
  options.cost.task_us = 0;
  EXPECT_TRUE(plan_of(test, options).runs_on_device(1));
  options.cost.task_us = 50;
  const plan::Plan plan = plan_of(test, options);
  EXPECT_FALSE(plan.runs_on_device(1));
  EXPECT_THAT(plan.refusals[1], HasSubstr("by the estimate the whole is faster with it on the CPU"));
}

// --- errors

TEST(Refusals, OnlyWhatTheChipCannotIsOne) {
  for (const ErrorCode code : {ErrorCode::Unsupported, ErrorCode::InvalidArgument, ErrorCode::InvalidModel}) {
    const auto form = lower::refused({code, "so it is", {}});
    ASSERT_TRUE(form);
    EXPECT_EQ(form->refusal, "so it is");
  }
  for (const ErrorCode code :
       {ErrorCode::Internal, ErrorCode::OutOfMemory, ErrorCode::Device, ErrorCode::Io}) {
    const auto form = lower::refused({code, "so it is", {}});
    ASSERT_FALSE(form);
    EXPECT_EQ(form.error().code, code);
    EXPECT_EQ(form.error().message, "so it is");
  }
}

// An option that no layer can have is an error of the whole, not a reason for the CPU or another strategy.
TEST(Refusals, AWrongOptionIsReported) {
  const Case test = wide_reshape();
  compiler::Options options = test.options("groups", num::Reference::LitertRef);
  options.strategy_options.group_size = 0;
  const auto planning = compiler::planner_options(options);
  ASSERT_TRUE(planning);
  const auto plan = plan::make_plan(test.graph, *planning);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().text(), HasSubstr("group size 0 is below 1"));
  EXPECT_THAT(plan.error().text(), HasSubstr("while planning"));
}

TEST(FusedSums, SayWhyTheyAreNone) {
  Builder b(7, false);
  b.set_mild();
  const int32_t x = b.input({1, 8, 8, 16});
  Layer l;
  l.outputs = 16;
  const int32_t left = b.layer(x, l), right = b.layer(x, l);
  const int32_t sum = b.add_tensor(b.shape(left), 0.05F, 0);
  b.op(ir::OpKind::Add, {left, right}, sum, ir::BinaryAttributes{ir::Activation::None});
  b.graph().outputs = {left, right, sum};  // both are read by others
  Case test;
  test.graph = std::move(b.graph());
  compiler::Options options = test.options("auto", num::Reference::LitertRef);
  options.fused_adds = true;
  const plan::Plan plan = plan_of(test, options);
  ASSERT_TRUE(plan.runs_on_device(2));
  EXPECT_EQ(plan.sum_of(2), -1);
  EXPECT_THAT(plan.unsummed[2], HasSubstr("no direct convolution whose output nothing else reads"));
}

}  // namespace
}  // namespace peraxis::property

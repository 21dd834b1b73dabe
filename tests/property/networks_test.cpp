// Whole small networks: `exact` gives every activation of the reference kernels; under `hw-multiply` every
// convolution and addition, given the inputs it really had, is within 1 of the reference and every other
// operator equal. And an executable is the same after a trip through its file format, at other device
// addresses and with threads.
#include <gtest/gtest.h>

#include "random_graphs.hpp"

namespace peraxis::property {
namespace {

constexpr uint64_t kNetworks = 60;

void expect_same(const Case& test, const Activations& got, const Activations& want) {
  for (const auto& [tensor, values] : want) {
    const auto found = got.find(tensor);
    ASSERT_NE(found, got.end()) << "tensor " << tensor << " was not observed";
    EXPECT_EQ(difference_text(found->second, values), "equal")
        << "tensor " << tensor << " '" << test.graph.tensor(tensor).name << "'";
  }
}

TEST(Networks, ExactIsTheReference) {
  for (uint64_t i = 0; i < kNetworks && !HasFailure(); ++i) {
    const Case test = random_network(first_seed(500'000 + i));
    SCOPED_TRACE(test.text());
    for (const num::Reference reference : {num::Reference::LitertRef, num::Reference::SingleRounding}) {
      Activations want, got;
      const auto expected = run_on_kernels(test, kernels::Path::Reference, reference, &want);
      ASSERT_TRUE(expected) << expected.error().text();
      const auto executable = compiler::compile(test.graph, test.options("exact", reference));
      ASSERT_TRUE(executable) << executable.error().text();
      const auto observed = run_on_machine(*executable, test.inputs, &got);
      ASSERT_TRUE(observed) << observed.error().text();
      expect_same(test, got, want);
      // Without an observer the chains are not cut and nothing is copied on the way.
      const auto plain = run_on_machine(*executable, test.inputs);
      ASSERT_TRUE(plain) << plain.error().text();
      EXPECT_EQ(*observed, *expected);
      EXPECT_EQ(*plain, *expected);
    }
  }
}

TEST(Networks, EveryOperatorWithinOne) {
  for (const char* strategy : {"hw-multiply", "exponent-classes", "exponent-classes-tie-proof"})
    for (uint64_t i = 0; i < kNetworks && !HasFailure(); ++i) {
      const Case test = random_network(first_seed(600'000 + i));
      SCOPED_TRACE(test.text() + "\nstrategy " + strategy);
      const auto executable =
          compiler::compile(test.graph, test.options(strategy, num::Reference::LitertRef));
      ASSERT_TRUE(executable) << executable.error().text();
      Activations seen;
      const auto outputs = run_on_machine(*executable, test.inputs, &seen);
      ASSERT_TRUE(outputs) << outputs.error().text();
      for (size_t op = 0; op < test.graph.ops.size(); ++op) {
        const int32_t tensor = test.graph.ops[op].outputs[0];
        const auto want = operator_reference(test, op, seen);
        ASSERT_TRUE(want) << want.error().text();
        EXPECT_LE(largest_difference(test.graph.tensor(tensor).type, seen.at(tensor), *want),
                  may_round(test.graph.ops[op].kind) ? 1 : 0)
            << test.graph.op_label(op);
      }
    }
}

// Convolutions of every form in a row: maps stay on the NPU between them.
TEST(Networks, OfEveryForm) {
  for (const char* strategy : {"exact", "hw-multiply", "groups", "exponent-classes", "auto"})
    for (uint64_t i = 0; i < kNetworks && !HasFailure(); ++i) {
      const Case test = form_network(first_seed(650'000 + i));
      SCOPED_TRACE(test.text() + "\nstrategy " + strategy);
      const auto executable =
          compiler::compile(test.graph, test.options(strategy, num::Reference::LitertRef));
      ASSERT_TRUE(executable) << executable.error().text();
      Activations seen;
      const auto outputs = run_on_machine(*executable, test.inputs, &seen);
      ASSERT_TRUE(outputs) << outputs.error().text();
      const auto plain = run_on_machine(*executable, test.inputs);
      ASSERT_TRUE(plain) << plain.error().text();
      EXPECT_EQ(*plain, *outputs);
      const int allowed = std::string(strategy) == "exact" ? 0 : 1;
      for (size_t op = 0; op < test.graph.ops.size() && std::string(strategy) != "groups"; ++op) {
        const int32_t tensor = test.graph.ops[op].outputs[0];
        const auto want = operator_reference(test, op, seen);
        ASSERT_TRUE(want) << want.error().text();
        EXPECT_LE(largest_difference(test.graph.tensor(tensor).type, seen.at(tensor), *want), allowed)
            << test.graph.op_label(op);
      }
    }
}

TEST(Networks, FileAndAddressesChangeNothing) {
  for (uint64_t i = 0; i < kNetworks && !HasFailure(); ++i) {
    const Case test =
        i % 4 == 3 ? form_network(first_seed(700'000 + i)) : random_network(first_seed(700'000 + i));
    SCOPED_TRACE(test.text());
    const std::vector<std::string> strategies = compiler::strategy_names();
    const auto executable = compiler::compile(
        test.graph, test.options(strategies[i % strategies.size()], num::Reference::LitertRef));
    ASSERT_TRUE(executable) << executable.error().text();
    const auto first = run_on_machine(*executable, test.inputs);
    ASSERT_TRUE(first) << first.error().text();

    const auto bytes = exe::write(*executable);
    ASSERT_TRUE(bytes) << bytes.error().text();
    const auto read = exe::read(*bytes);
    ASSERT_TRUE(read) << read.error().text();
    const auto again = exe::write(*read);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(*again, *bytes);
    for (const int64_t occupied : {int64_t{0}, int64_t{1}, int64_t{4'000'000}}) {
      const auto outputs = run_on_machine(*read, test.inputs, nullptr, {}, occupied);
      ASSERT_TRUE(outputs) << outputs.error().text();
      EXPECT_EQ(*outputs, *first) << "with " << occupied << " bytes allocated before";
    }
    const auto threaded = run_on_machine(*read, test.inputs, nullptr, {}, 0, 3);
    ASSERT_TRUE(threaded) << threaded.error().text();
    EXPECT_EQ(*threaded, *first) << "with 3 threads";
  }
}

}  // namespace
}  // namespace peraxis::property

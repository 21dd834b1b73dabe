// Operators that move values, on the machine model against the reference kernels: equal under every strategy
// (averages beside them within 1), and on the NPU, so that nothing passes because it stayed on the CPU.
#include <gtest/gtest.h>

#include <algorithm>

#include "random_moves.hpp"

namespace peraxis::property {
namespace {

constexpr uint64_t kCases = 40;

void expect_moves(const MoveCase& c, const char* strategy) {
  const Case& test = c.test;
  const bool exact = std::string(strategy) == "exact";
  const auto executable = compiler::compile(test.graph, test.options(strategy, num::Reference::LitertRef));
  ASSERT_TRUE(executable) << executable.error().text();
  for (const exe::OperatorPlan& op : executable->operators) {
    const auto index = static_cast<size_t>(op.op);
    // `exact` leaves means that are not proved equal to the CPU.
    const bool may_stay = exact && test.graph.ops[index].kind == ir::OpKind::Mean;
    const bool moves = std::ranges::find(c.moves, index) != c.moves.end();
    EXPECT_TRUE(!moves || may_stay || op.device == "npu") << op.reason.str();
  }
  Activations seen;
  const auto outputs = run_on_machine(*executable, test.inputs, &seen);
  ASSERT_TRUE(outputs) << outputs.error().text();
  for (const size_t op : c.moves)
    for (size_t i = 0; i < test.graph.ops[op].outputs.size(); ++i) {
      const auto want = operator_reference(test, op, seen, i);
      ASSERT_TRUE(want) << want.error().text();
      const Bytes& got = seen.at(test.graph.ops[op].outputs[i]);
      const ir::OpKind kind = test.graph.ops[op].kind;
      const int allowed = !exact && (may_round(kind) || kind == ir::OpKind::Mean) ? 1 : 0;
      const ir::DataType type = test.graph.tensor(test.graph.ops[op].outputs[i]).type;
      EXPECT_LE(largest_difference(type, got, *want), allowed)
          << test.graph.op_label(op) << ", output " << i << ": " << difference_text(got, *want);
    }
  if (!exact) return;
  const auto want = run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef);
  ASSERT_TRUE(want) << want.error().text();
  EXPECT_EQ(*outputs, *want);
}

class Moves : public ::testing::TestWithParam<Move> {};

TEST_P(Moves, EqualOnTheNpu) {
  for (uint64_t i = 0; i < kCases && !::testing::Test::HasFailure(); ++i) {
    const MoveCase c =
        random_move(first_seed(1'100'000 + 1000 * static_cast<uint64_t>(GetParam()) + i), GetParam());
    for (const char* strategy : {"auto", "exact", "groups"}) {
      SCOPED_TRACE(c.test.text() + "\nstrategy " + strategy);
      expect_moves(c, strategy);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Moves, ::testing::ValuesIn(kMoves),
                         [](const auto& move) { return std::string(move_name(move.param)); });

}  // namespace
}  // namespace peraxis::property

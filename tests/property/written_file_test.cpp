// Writer against reader over random graphs: write, then read is identity, and what was read can be loaded and
// runs as what was compiled. Graphs stay on the CPU as a whole, in part or not at all, with names of any
// bytes, so that records of many operators share their reasons.
#include <gtest/gtest.h>

#include <set>

#include "random_tangles.hpp"
#include "runtime/session.hpp"

namespace peraxis::property {
namespace {

constexpr uint64_t kGraphs = 120;

// Bytes that mean something to the text form, to terminals, to none.
std::string foreign_name(base::Rng& rng) {
  static const std::string kParts[] = {"a",       "\"",       "\\",   "\n",           "\r",
                                       "\x1b[2J", "\xc2\x9b", "\xff", "\xe2\x80\xae", std::string(1, '\0'),
                                       ")",       " ",        "%",    "conv/",        "\xc3\xa9"};
  std::string out;
  for (int64_t n = rng.uniform(0, 9); n > 0; --n)
    out += kParts[static_cast<size_t>(rng.uniform(0, static_cast<int64_t>(std::size(kParts)) - 1))];
  return out;
}

Case graph_of(uint64_t i) {
  const uint64_t seed = first_seed(2'500'000 + i);
  Case test = i % 3 == 0 ? random_tangle(seed) : i % 3 == 1 ? random_body(seed) : random_network(seed);
  if (i % 2 == 0) return test;
  base::Rng rng(seed);
  test.graph.name = foreign_name(rng);
  for (ir::Tensor& tensor : test.graph.tensors) tensor.name = foreign_name(rng);
  return test;
}

TEST(WrittenFile, ReadIsIdentity) {
  int64_t shared = 0, on_cpu = 0;
  for (uint64_t i = 0; i < kGraphs && !HasFailure(); ++i) {
    const Case test = graph_of(i);
    SCOPED_TRACE(test.text());
    compiler::Options options = test.options(i % 5 == 0 ? "groups" : "auto", num::Reference::LitertRef);
    options.convolutions_only = i % 4 == 0;
    options.tables = i % 4 != 1;
    options.cubes_on_cpu = i % 7 != 0;
    const auto executable = compiler::compile(test.graph, options);
    ASSERT_TRUE(executable) << executable.error().text();
    const auto bytes = exe::write(*executable);
    ASSERT_TRUE(bytes) << bytes.error().text();
    const auto read = exe::read(*bytes);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_TRUE(*read == *executable);
    EXPECT_EQ(*exe::write(*read), *bytes);
    const Status loadable = runtime::check_loadable(*read);
    EXPECT_TRUE(loadable) << loadable.error().text();
    std::set<std::string> reasons;
    for (const exe::OperatorPlan& o : read->operators) {
      on_cpu += o.device == "cpu" ? 1 : 0;
      if (!o.reason.empty()) shared += reasons.insert(o.reason.str()).second ? 0 : 1;
    }
  }
  EXPECT_GT(on_cpu, 100);
  EXPECT_GT(shared, 50);
}

// One reason for two thousand operators: the text is many times the file's other content.
TEST(WrittenFile, AChainOnTheCpu) {
  ir::Graph graph;
  graph.name = "chain";
  const auto tensor = [&](int i) {
    ir::Tensor t;
    t.name = fmt::format("t{}", i);
    t.type = ir::DataType::Float32;
    t.shape = {1, 4};
    graph.tensors.push_back(t);
  };
  tensor(0);
  for (int i = 0; i < 2000; ++i) {
    tensor(i + 1);
    ir::Op op;
    op.kind = ir::OpKind::Softmax;
    op.attributes = ir::SoftmaxAttributes{};
    op.inputs = {i};
    op.outputs = {i + 1};
    graph.ops.push_back(op);
  }
  graph.inputs = {0};
  graph.outputs = {2000};
  const auto executable = compiler::compile(graph, {});
  ASSERT_TRUE(executable) << executable.error().text();
  ASSERT_EQ(executable->operators.size(), 2000U);
  const auto bytes = exe::write(*executable);
  ASSERT_TRUE(bytes) << bytes.error().text();
  const auto read = exe::read(*bytes);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(*read == *executable);
  EXPECT_TRUE(runtime::check_loadable(*read));
}

}  // namespace
}  // namespace peraxis::property

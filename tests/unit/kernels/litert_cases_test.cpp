// Replays tests/data/kernel_cases.npz and operator_cases.npz: single-operator models with what LiteRT's
// reference kernels made of random and extreme inputs (make_kernel_cases.py and operator_cases.py beside
// them). Both paths must give the same bytes.
#include <gtest/gtest.h>

#include <set>

#include "import/import.hpp"
#include "litert_archive.hpp"
#include "passes/resolve_shapes.hpp"

namespace peraxis::kernels {
namespace {

constexpr const char* kFiles[] = {"tests/data/kernel_cases.npz", "tests/data/operator_cases.npz"};

void run_case(const LitertCase& c, const ir::Graph& graph, const Options& options, const char* path) {
  // Sets of these are steps of one sequence.
  const bool kept = c.name.starts_with("kept_");
  EXPECT_EQ(kept, !graph.states.empty()) << c.name;
  States states;
  for (size_t set = 0; set < c.inputs.size(); ++set) {
    const auto outputs = run_graph(graph, c.inputs[set], options, {}, kept ? &states : nullptr);
    EXPECT_TRUE(outputs) << c.name << ": " << outputs.error().text();
    if (!outputs) return;
    ASSERT_EQ(outputs->size(), c.outputs[set].size()) << c.name;
    for (size_t i = 0; i < outputs->size(); ++i) {
      const std::vector<uint8_t> expected(c.outputs[set][i].begin(), c.outputs[set][i].end());
      EXPECT_EQ((*outputs)[i], expected) << c.name << " set " << set << " output " << i << ", " << path;
    }
  }
}

void run_archive(const char* file, std::set<ir::OpKind>& kinds) {
  const auto archive = load_litert_cases(file);
  ASSERT_TRUE(archive) << archive.error().text();
  for (const LitertCase& c : archive->cases) {
    auto graph = import::import_tflite(c.model, c.name);
    EXPECT_TRUE(graph) << c.name << ": " << graph.error().text();
    if (!graph) continue;
    const auto verified = passes::resolve_shapes(*graph);  // a file has no other way to state a scalar
    EXPECT_TRUE(verified) << c.name << ": " << verified.error().text();
    ASSERT_FALSE(c.inputs.empty()) << c.name;
    run_case(c, *graph, {Path::Reference, Reference::LitertRef, 1}, "reference");
    run_case(c, *graph, {Path::Fast, Reference::LitertRef, 1}, "fast");
    run_case(c, *graph, {Path::Fast, Reference::LitertRef, 3}, "fast, three threads");
    kinds.insert(graph->ops.at(0).kind);
  }
}

TEST(LiteRtCases, BothPathsGiveTheSameBytes) {
  std::set<ir::OpKind> kinds;
  for (const char* file : kFiles) run_archive(file, kinds);
  // Every operator of ops.def has cases. DENSIFY is gone when a graph is verified: it is computed for its
  // reader, and tests/cli/files_test.py compares that.
  kinds.insert(ir::OpKind::Densify);
#define PERAXIS_OP(kind, name, rule, attributes) \
  EXPECT_TRUE(kinds.contains(ir::OpKind::kind)) << "no case of " << (name);
#include "ir/ops.def"
#undef PERAXIS_OP
}

}  // namespace
}  // namespace peraxis::kernels

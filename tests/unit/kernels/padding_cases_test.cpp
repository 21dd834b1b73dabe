// Replays tests/data/padding_cases.npz: paddings that no TFLite operator has. Each case is two operators that
// LiteRT ran (padding_cases.py beside it); here the second one, or the transposed convolution in front of its
// SLICE, has the padding itself.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "import/import.hpp"
#include "ir/pads.hpp"
#include "ir/shape.hpp"
#include "litert_archive.hpp"

namespace peraxis::kernels {
namespace {

// PAD, PADV2 and what reads them.
void take_in_pad(ir::Graph& graph, bool counted) {
  const auto amounts = ir::pad_amounts(graph, graph.ops[0]);
  ASSERT_TRUE(amounts) << amounts.error().text();
  const auto narrow = [&](int64_t amount) { return static_cast<int32_t>(amount); };
  ir::Op op = graph.ops[1];
  op.inputs[0] = graph.ops[0].inputs[0];
  *ir::pads_of(op) = {narrow((*amounts)[1].before), narrow((*amounts)[1].after), narrow((*amounts)[2].before),
                      narrow((*amounts)[2].after)};
  if (counted) std::get<ir::PoolAttributes>(op.attributes).counts_padding = true;
  graph.ops = {op};
}

// TRANSPOSE_CONV and SLICE.
void take_in_slice(ir::Graph& graph) {
  const ir::Op slice = graph.ops[1];
  const auto begin = ir::constant_int32(graph, slice.inputs[1], "begin");
  const auto whole = graph.tensor(graph.ops[0].outputs[0]).shape;
  const auto kept = graph.tensor(slice.outputs[0]).shape;
  ASSERT_TRUE(begin) << begin.error().text();
  const auto behind = [&](size_t d) { return whole[d] - (*begin)[d] - kept[d]; };
  ir::Op op = graph.ops[0];
  ir::Pads& pads = *ir::pads_of(op);
  EXPECT_EQ(std::pair(pads.top, pads.left), std::pair(0, 0));
  pads.top += (*begin)[1];
  pads.bottom += behind(1);
  pads.left += (*begin)[2];
  pads.right += behind(2);
  op.outputs = slice.outputs;
  std::memcpy(graph.tensors[static_cast<size_t>(op.inputs[0])].data.data(), kept.data(),
              kept.size() * sizeof(int32_t));
  graph.ops = {op};
}

TEST(PaddingCases, OneOperatorGivesWhatTwoGive) {
  const auto archive = load_litert_cases("tests/data/padding_cases.npz");
  ASSERT_TRUE(archive) << archive.error().text();
  std::map<std::string, int> seen;
  for (const LitertCase& c : archive->cases) {
    SCOPED_TRACE(c.name);
    const std::string group = c.name.substr(0, c.name.find('_'));
    auto graph = import::import_tflite(c.model, c.name);
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_EQ(graph->ops.size(), 2U);
    if (group == "transposed")
      take_in_slice(*graph);
    else
      take_in_pad(*graph, group == "counted");
    const Status status = ir::verify(*graph);
    ASSERT_TRUE(status) << status.error().text() << "\n" << ir::print(*graph);
    for (const Path path : {Path::Reference, Path::Fast})
      for (size_t set = 0; set < c.inputs.size(); ++set) {
        const auto outputs = run_graph(*graph, c.inputs[set], {path, Reference::LitertRef, 1});
        ASSERT_TRUE(outputs) << outputs.error().text();
        const std::vector<uint8_t> expected(c.outputs[set][0].begin(), c.outputs[set][0].end());
        EXPECT_EQ((*outputs)[0], expected) << "set " << set << "\n" << ir::print(*graph);
      }
    ++seen[group];
  }
  EXPECT_EQ(seen, (std::map<std::string, int>{
                      {"conv", 48}, {"counted", 18}, {"uncounted", 18}, {"max", 18}, {"transposed", 24}}));
}

}  // namespace
}  // namespace peraxis::kernels

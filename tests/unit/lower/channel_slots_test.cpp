// What a task states as its real channels: no slot beyond them may hold one, since what lies there is a dummy
// for the chip (docs/hardware/wdma.md#dummy-channels).
#include <gtest/gtest.h>

#include "graphs.hpp"
#include "lower/convolution.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;

// Depthwise or 1x1, `channels` in and out, every set of channels as given.
std::vector<ConvTask> tasks_of(ir::OpKind kind, int32_t channels,
                               const std::vector<std::vector<int32_t>>& sets) {
  ir::Graph graph;
  const bool depthwise = kind == ir::OpKind::DepthwiseConv2D;
  add_tensor(graph, {1, 4, 6, channels}, false);
  add_tensor(graph, depthwise ? std::vector{1, 1, 1, channels} : std::vector{channels, 1, 1, channels}, true);
  add_tensor(graph, {1, 4, 6, channels}, false);
  graph.ops.push_back({kind, {0, 1}, {2}, ir::ConvAttributes{}});
  requant::LayerParams params;
  for (const std::vector<int32_t>& set : sets) {
    params.sets.emplace_back();
    params.sets.back().dpu.multiply = true;
    params.sets.back().channels = set;
    params.sets.back().params.resize(set.size());
  }
  MemoryPlan memory;
  const CostConstants cost;
  const auto lowered = lower_convolution({.graph = graph,
                                          .op = 0,
                                          .layer = {},
                                          .params = params,
                                          .input = plain_input(geometry(graph, 0), {0, 0}),
                                          .cutting = {{}, cost}},
                                         memory);
  EXPECT_TRUE(lowered) << lowered.error().text();
  std::vector<ConvTask> tasks;
  if (lowered)
    for (const LoweredTask& task : lowered->tasks) tasks.push_back(task.task);
  return tasks;
}

TEST(ChannelSlots, DepthwiseSetsWithGapsCountEverySlot) {
  std::vector<int32_t> rest;
  for (int32_t c = 1; c < 80; ++c)
    if (c != 5 && c != 70) rest.push_back(c);
  const std::vector<ConvTask> tasks = tasks_of(ir::OpKind::DepthwiseConv2D, 80, {{0, 5, 70}, rest});
  ASSERT_EQ(tasks.size(), 2U);
  for (const ConvTask& task : tasks) {
    EXPECT_EQ(task.out_channels, 128);
    EXPECT_EQ(task.out_channels_real, 128);
  }
}

TEST(ChannelSlots, ChannelsSideBySideAreCounted) {
  std::vector<int32_t> all(80), first{0, 1, 2};
  for (int32_t c = 0; c < 80; ++c) all[static_cast<size_t>(c)] = c;
  EXPECT_EQ(tasks_of(ir::OpKind::DepthwiseConv2D, 80, {all})[0].out_channels_real, 80);
  EXPECT_EQ(tasks_of(ir::OpKind::DepthwiseConv2D, 80, {first})[0].out_channels_real, 3);
  // Direct convolutions put the channels of a set side by side, wherever they are in the layer.
  EXPECT_EQ(tasks_of(ir::OpKind::Conv2D, 80, {{0, 5, 70}})[0].out_channels_real, 3);
}

}  // namespace
}  // namespace peraxis::lower

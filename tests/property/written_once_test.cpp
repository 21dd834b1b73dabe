// From the command words alone: the bytes that each task's writer touches. Tasks of one layer never write the
// same byte, stay inside the layer's cubes and off its input, and together write every element of every
// channel of the layer; the host's step then reads each channel from a place of its own.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "command_words.hpp"
#include "ir/operands.hpp"
#include "random_graphs.hpp"

namespace peraxis::property {
namespace {

using namespace rk3588;

struct Range {
  int64_t begin = 0, end = 0;
  bool operator<(const Range& other) const { return begin < other.begin; }
};

int64_t cube_bytes(const exe::Cube& cube) {
  return cube.h * cube.w * cube.channels * cube.element_bytes;
}
Range cube_range(const exe::Cube& cube) {
  return {cube.offset, cube.offset + cube_bytes(cube)};
}
Range range_of(const exe::Placement& p) {
  return p.packed() ? Range{p.cube.offset, p.cube.offset + p.cube.h * p.pitch * p.c} : cube_range(p.cube);
}

// What the writer of one task touches: a surface of 16-byte atoms, one a pixel, for every 16 (int32: 4)
// channels.
std::vector<Range> written(const exe::Executable& executable, const exe::Task& task, int32_t& buffer) {
  const TaskWords words(executable, task);
  const Place base = words.place(DPU::DST_BASE_ADDR::DST_BASE_ADDR);
  buffer = base.buffer;
  const int64_t precision = words.get(DPU::DATA_FORMAT::OUT_PRECISION);
  EXPECT_TRUE(precision == 0 || precision == 4) << "neither int8 nor int32";
  const int64_t width = words.get(DPU::WDMA_SIZE_1::WIDTH_WDMA),
                height = words.get(DPU::WDMA_SIZE_1::HEIGHT_WDMA);
  const int64_t channels = words.get(DPU::WDMA_SIZE_0::CHANNEL_WDMA);
  EXPECT_EQ(width, words.get(DPU::DATA_CUBE_WIDTH::WIDTH));
  EXPECT_EQ(height, words.get(DPU::DATA_CUBE_HEIGHT::HEIGHT));
  EXPECT_EQ(channels, words.get(DPU::DATA_CUBE_CHANNEL::CHANNEL));
  // A row of outputs may be a task of one column.
  EXPECT_TRUE(height == task.rows || (width == 1 && task.rows == 1)) << "the provenance says otherwise";
  const int64_t stride = words.get(DPU::DST_SURF_STRIDE::DST_SURF_STRIDE) * 16;
  const int64_t lanes = precision == 4 ? 4 : 16;
  EXPECT_EQ(channels % lanes, 0);
  EXPECT_EQ(base.offset % 16, 0);
  std::vector<Range> ranges;
  for (int64_t surface = 0; surface < channels / lanes; ++surface) {
    const int64_t begin = base.offset + surface * stride;
    ranges.push_back({begin, begin + width * height * 16});
  }
  return ranges;
}

// The cubes the tasks of operator `op` are to fill: those its host step reads, else the output itself.
struct Targets {
  std::vector<exe::Cube> cubes;
  const exe::HostStep* host = nullptr;
  const exe::Placement* output = nullptr;
};
Targets targets_of(const exe::Executable& executable, const ir::Graph& graph, int32_t op) {
  Targets out;
  const int32_t tensor = graph.ops[static_cast<size_t>(op)].outputs[0];
  for (const exe::HostStep& step : executable.host_steps)
    if (step.op == op) {
      EXPECT_EQ(out.host, nullptr) << "two host steps";
      out.host = &step;
    }
  for (const exe::Placement& placement : executable.placements)
    if (placement.tensor == tensor && !placement.slot_of.empty()) out.output = &placement;
  if (out.output != nullptr) {  // several sets, left where they were written
    out.cubes = {out.output->cube};
    out.host = nullptr;
    return out;
  }
  if (out.host != nullptr) {
    out.cubes = out.host->regions;
    return out;
  }
  // The first placement of the tensor is the one the tasks write; later ones are uploads of other views.
  for (const exe::Placement& placement : executable.placements)
    if (placement.tensor == tensor && out.output == nullptr) out.output = &placement;
  EXPECT_NE(out.output, nullptr);
  if (out.output != nullptr) out.cubes = {out.output->cube};
  return out;
}

// [begin, end) of channel `slot`'s surface in its cube.
Range surface_of(const exe::Cube& cube, int64_t slot) {
  const int64_t lanes = cube.element_bytes == 4 ? 4 : 16;
  const int64_t begin = cube.offset + slot / lanes * cube.h * cube.w * 16;
  return {begin, begin + cube.h * cube.w * 16};
}

void expect_covered(const std::vector<Range>& sorted, const Range& wanted, const std::string& what) {
  int64_t at = wanted.begin;
  for (const Range& range : sorted)
    if (range.begin <= at && range.end > at) at = range.end;
  EXPECT_GE(at, wanted.end) << what << ": byte " << at << " of " << wanted.begin << ".." << wanted.end
                            << " is never written";
}

void check_channels(const Targets& targets, const std::vector<Range>& sorted, int64_t channels) {
  if (targets.host == nullptr) {
    EXPECT_EQ(targets.output->c, channels);
    std::set<int64_t> slots;
    for (int64_t c = 0; c < channels; ++c) {
      const std::vector<int32_t>& slot_of = targets.output->slot_of;
      const int64_t slot = slot_of.empty() ? c : slot_of[static_cast<size_t>(c)];
      EXPECT_TRUE(slots.insert(slot).second) << "two channels of one slot";
      expect_covered(sorted, surface_of(targets.cubes[0], slot), fmt::format("channel {}", c));
    }
    return;
  }
  ASSERT_EQ(static_cast<int64_t>(targets.host->channels.size()), channels);
  std::set<std::pair<int32_t, int32_t>> sources;
  for (const exe::HostChannel& channel : targets.host->channels) {
    const exe::Cube& cube = targets.cubes[static_cast<size_t>(channel.region)];
    EXPECT_TRUE(sources.insert({channel.region, channel.slot}).second) << "two channels of one slot";
    expect_covered(sorted, surface_of(cube, channel.slot), fmt::format("slot {}", channel.slot));
    if (channel.sum_slot >= 0) {
      EXPECT_NE(channel.sum_slot, channel.slot);
      expect_covered(sorted, surface_of(cube, channel.sum_slot),
                     fmt::format("sum slot {}", channel.sum_slot));
    }
  }
}

void check_input_untouched(const exe::Executable& executable, const exe::Task& task, int32_t tensor,
                           const std::vector<Range>& sorted, const std::vector<Range>& copies) {
  const Place from = TaskWords(executable, task).place(CNA::FEATURE_DATA_ADDR::FEATURE_BASE_ADDR);
  for (const Range& copy : copies)
    if (from.offset >= copy.begin && from.offset < copy.end) return;
  const exe::Placement* input = nullptr;
  for (const exe::Placement& placement : executable.placements) {
    const Range place = range_of(placement);
    if (placement.tensor == tensor && placement.cube.buffer == from.buffer && from.offset >= place.begin &&
        from.offset < place.end)
      input = &placement;
  }
  ASSERT_NE(input, nullptr) << "a task reads outside every place of tensor " << tensor;
  for (const Range& range : sorted)
    EXPECT_TRUE(range.end <= input->cube.offset || range.begin >= range_of(*input).end)
        << "a task writes into the layer's input";
}

void check_layer(const exe::Executable& executable, const ir::Graph& graph, int32_t op) {
  SCOPED_TRACE(graph.op_label(static_cast<size_t>(op)));
  const Targets targets = targets_of(executable, graph, op);
  std::vector<Range> ranges, copies;  // copies: of the input, with more padding
  for (const exe::Task& task : executable.tasks) {
    if (task.op != op) continue;
    int32_t buffer = -1;
    const std::vector<Range> own = written(executable, task, buffer);
    for (const Range& range : own) {
      const auto inside = [&](const exe::Cube& cube) {
        return cube.buffer == buffer && range.begin >= cube.offset && range.end <= cube_range(cube).end;
      };
      const auto apart = [&](const exe::Cube& cube) {
        return cube.buffer != buffer || range.end <= cube.offset || range.begin >= cube_range(cube).end;
      };
      if (task.real_output_channels == 0 && std::ranges::all_of(targets.cubes, apart)) {
        copies.push_back(range);
        continue;
      }
      EXPECT_TRUE(std::any_of(targets.cubes.begin(), targets.cubes.end(), inside))
          << "bytes " << range.begin << ".." << range.end << " lie in no cube of the layer";
    }
    if (copies.empty() || copies.back().begin != own.back().begin)
      ranges.insert(ranges.end(), own.begin(), own.end());
  }
  ASSERT_FALSE(ranges.empty());
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    EXPECT_LE(ranges[i - 1].end, ranges[i].begin) << "byte " << ranges[i].begin << " is written twice";
  check_channels(targets, ranges, graph.tensor(graph.ops[static_cast<size_t>(op)].outputs[0]).shape.back());
  for (const exe::Task& task : executable.tasks)
    if (task.op == op)
      check_input_untouched(executable, task, ir::conv_operands(graph.ops[static_cast<size_t>(op)]).input,
                            ranges, copies);
}

// Cubes of one layer must not share bytes either: a later set would overwrite an earlier one.
void check_cubes_apart(const exe::Executable& executable) {
  for (const exe::HostStep& step : executable.host_steps)
    for (size_t a = 0; a < step.regions.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        const Range x = cube_range(step.regions[a]), y = cube_range(step.regions[b]);
        EXPECT_TRUE(x.end <= y.begin || y.end <= x.begin) << "cubes " << a << " and " << b << " overlap";
      }
}

// Returns how many tasks beyond one a layer there were: without tiles and splits nothing would be tested.
int64_t check(const Case& test, const std::string& strategy) {
  SCOPED_TRACE(test.text() + "\nstrategy " + strategy);
  const auto executable = compiler::compile(test.graph, test.options(strategy, num::Reference::LitertRef));
  EXPECT_TRUE(executable) << executable.error().text();
  if (!executable) return 0;
  for (const exe::LayerPlan& layer : executable->layers) check_layer(*executable, test.graph, layer.op);
  check_cubes_apart(*executable);
  return static_cast<int64_t>(executable->tasks.size()) - static_cast<int64_t>(executable->layers.size());
}

TEST(WrittenOnce, Layers) {
  for (const std::string& strategy : compiler::strategy_names()) {
    int64_t extra = 0;
    for (uint64_t i = 0; i < 250 && !HasFailure(); ++i)
      extra += check(random_layer(first_seed(200'000 + i)), strategy);
    EXPECT_GT(extra, 100) << strategy;
  }
}

TEST(WrittenOnce, Forms) {
  for (const std::string& strategy : compiler::strategy_names()) {
    int64_t extra = 0;
    for (uint64_t i = 0; i < 100 && !HasFailure(); ++i)
      extra += check(random_form(first_seed(250'000 + i), kForms[i % std::size(kForms)]), strategy);
    EXPECT_GT(extra, 100) << strategy;
  }
}

// The checks above must see a task that writes one atom further on.
TEST(WrittenOnce, AShiftedTaskIsSeen) {
  const Case test = chain_network(first_seed(350'000), false);
  for (const std::string& strategy : compiler::strategy_names()) {
    auto executable = compiler::compile(test.graph, test.options(strategy, num::Reference::LitertRef));
    ASSERT_TRUE(executable) << executable.error().text();
    for (const exe::Task& task : executable->tasks) {
      exe::Executable shifted = *executable;
      for (exe::Relocation& relocation : shifted.relocations) {
        const bool own = relocation.word >= task.first_word && relocation.word < task.first_word + task.words;
        const Place output = TaskWords(*executable, task).place(DPU::DST_BASE_ADDR::DST_BASE_ADDR);
        if (own && relocation.buffer == output.buffer && relocation.addend == output.offset)
          relocation.addend += 16;
      }
      ::testing::TestPartResultArray seen;
      {
        const ::testing::ScopedFakeTestPartResultReporter reporter(&seen);
        check_layer(shifted, test.graph, task.op);
      }
      EXPECT_GT(seen.size(), 0) << strategy << ", a task of "
                                << test.graph.op_label(static_cast<size_t>(task.op));
      if (seen.size() == 0) return;
    }
  }
}

TEST(WrittenOnce, Networks) {
  for (const std::string& strategy : compiler::strategy_names())
    for (uint64_t i = 0; i < 40 && !HasFailure(); ++i)
      check(random_network(first_seed(300'000 + i)), strategy);
}

}  // namespace
}  // namespace peraxis::property

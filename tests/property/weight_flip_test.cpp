// One flipped weight byte in the constants of an executable: the layer it belongs to must give other values,
// and nothing before it may change. The place of the byte comes from the layout as docs/hardware/weights.md
// states it, written down again here, so a packing error moves the change to another channel and is seen.
#include <gtest/gtest.h>

#include <algorithm>

#include "command_words.hpp"
#include "random_graphs.hpp"

namespace peraxis::property {
namespace {

using namespace rk3588;

// One weight of the model: output channel, tap and input channel.
struct Weight {
  int64_t out = 0, tap = 0, in = 0;
};

int64_t direct_offset(int64_t kernel, int64_t tap, int64_t in, int64_t taps, int64_t in_channels) {
  const int64_t block = in / 32 * 32, width = std::min<int64_t>(32, in_channels - block);
  return kernel / 32 * 32 * taps * in_channels + block * taps * 32 + (tap * 32 + kernel % 32) * width +
         in % 32;
}
int64_t depthwise_offset(int64_t slot, int64_t tap, int64_t taps, int64_t channels) {
  const int64_t block = slot / 64 * 64;
  return block * taps + tap * std::min<int64_t>(64, channels - block) + slot % 64;
}

// Where the sets of a tensor lie when nothing gathers them.
const exe::Placement* scattered_placement(const exe::Executable& executable, int32_t tensor) {
  for (const exe::Placement& placement : executable.placements)
    if (placement.tensor == tensor && !placement.slot_of.empty()) return &placement;
  return nullptr;
}

// Output slots that the tasks of one set write.
int64_t set_slots(const exe::Executable& executable, int32_t op, int32_t set) {
  int64_t slots = 0;
  for (const exe::Task& task : executable.tasks)
    if (task.op == op && task.set == set && task.first_row == 0)
      slots += TaskWords(executable, task).get(CORE::DATAOUT_SIZE_1::DATAOUT_CHANNEL);
  return slots;
}

// Where the byte of weight `w` of operator `op` lies in the constants.
Place weight_place(const exe::Executable& executable, const ir::Graph& graph, int32_t op, const Weight& w) {
  const exe::HostStep* host = nullptr;
  for (const exe::HostStep& step : executable.host_steps)
    if (step.op == op) host = &step;
  const exe::Placement* sets = scattered_placement(executable, graph.ops[static_cast<size_t>(op)].outputs[0]);
  int32_t set = 0;
  int64_t slot = w.out;
  if (sets != nullptr) {
    // Sets lie one behind the other: the slot within its own.
    slot = sets->slot_of[static_cast<size_t>(w.out)];
    for (int64_t slots = set_slots(executable, op, set); slot >= slots;
         slots = set_slots(executable, op, set)) {
      slot -= slots;
      ++set;
    }
  } else if (host != nullptr) {
    set = host->channels[static_cast<size_t>(w.out)].region;
    slot = host->channels[static_cast<size_t>(w.out)].slot;
  }
  const ir::Tensor& weights = graph.tensor(graph.ops[static_cast<size_t>(op)].inputs[1]);
  const int64_t taps = weights.shape.size() == 2 ? 1 : int64_t{weights.shape[1]} * weights.shape[2];

  // Programs of the set, one an array of weights; each computes the slots after those of the one before.
  const exe::Task* found = nullptr;
  std::vector<int64_t> arrays;
  for (const exe::Task& task : executable.tasks) {
    if (task.op != op || task.set != set || found != nullptr) continue;
    const TaskWords words(executable, task);
    const int64_t array = words.place(CNA::DCOMP_ADDR0::DECOMPRESS_ADDR0).offset;
    if (std::find(arrays.begin(), arrays.end(), array) != arrays.end()) continue;  // another row tile
    arrays.push_back(array);
    const int64_t slots = words.get(CORE::DATAOUT_SIZE_1::DATAOUT_CHANNEL);
    if (slot < slots)
      found = &task;
    else
      slot -= slots;
  }
  if (found == nullptr) {
    ADD_FAILURE() << "no task computes the channel";
    return {};
  }
  const TaskWords words(executable, *found);
  Place place = words.place(CNA::DCOMP_ADDR0::DECOMPRESS_ADDR0);
  const int64_t in_channels = words.get(CNA::DATA_SIZE1::DATAIN_CHANNEL);
  // A block-diagonal program reads the channels it computes.
  int64_t in = found->kind == exe::TaskKind::BlockDiagonal ? slot : w.in;
  const exe::Placement* read = scattered_placement(executable, graph.ops[static_cast<size_t>(op)].inputs[0]);
  if (read != nullptr && found->kind == exe::TaskKind::Direct &&
      words.place(CNA::FEATURE_DATA_ADDR::FEATURE_BASE_ADDR).offset == read->cube.offset &&
      in_channels == read->cube.channels)
    in = read->slot_of[static_cast<size_t>(w.in)];
  place.offset += found->kind == exe::TaskKind::Depthwise ? depthwise_offset(slot, w.tap, taps, in_channels)
                                                          : direct_offset(slot, w.tap, in, taps, in_channels);
  return place;
}

int32_t stored_weight(const ir::Graph& graph, int32_t op, const Weight& w) {
  const ir::Tensor& t = graph.tensor(graph.ops[static_cast<size_t>(op)].inputs[1]);
  const bool depthwise = graph.ops[static_cast<size_t>(op)].kind == ir::OpKind::DepthwiseConv2D;
  const int64_t taps = t.shape.size() == 2 ? 1 : int64_t{t.shape[1]} * t.shape[2];
  const int64_t at = depthwise ? w.tap * t.shape[3] + w.out : (w.out * taps + w.tap) * t.shape.back() + w.in;
  const uint8_t byte = t.data[static_cast<size_t>(at)];
  return t.type == ir::DataType::UInt8 ? byte - 128 : static_cast<int8_t>(byte);
}

// Channels of the operator's output that differ.
std::vector<int64_t> changed_channels(const ir::Graph& graph, int32_t tensor, const Activations& a,
                                      const Activations& b) {
  const int64_t channels = graph.tensor(tensor).shape.back();
  std::vector<bool> changed(static_cast<size_t>(channels));
  const Bytes &x = a.at(tensor), &y = b.at(tensor);
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i]) changed[i % static_cast<size_t>(channels)] = true;
  std::vector<int64_t> out;
  for (int64_t c = 0; c < channels; ++c)
    if (changed[static_cast<size_t>(c)]) out.push_back(c);
  return out;
}

void flip_and_run(const Case& test, const exe::Executable& executable, const Activations& before, int32_t op,
                  const Weight& w) {
  SCOPED_TRACE(fmt::format("{}, output channel {}, tap {}, input channel {}",
                           test.graph.op_label(static_cast<size_t>(op)), w.out, w.tap, w.in));
  exe::Executable broken = executable;
  const Place place = weight_place(executable, test.graph, op, w);
  ASSERT_GE(place.buffer, 0);
  exe::Buffer& constants = broken.buffers[static_cast<size_t>(place.buffer)];
  ASSERT_EQ(constants.kind, exe::BufferKind::Constants);
  ASSERT_LT(place.offset, constants.size);
  uint8_t& byte = constants.data[static_cast<size_t>(place.offset)];
  ASSERT_EQ(static_cast<int8_t>(byte), stored_weight(test.graph, op, w)) << "the weight lies elsewhere";
  byte ^= 0x80;

  Activations after;
  const auto outputs = run_on_machine(broken, test.inputs, &after);
  ASSERT_TRUE(outputs) << outputs.error().text();
  for (int32_t earlier = 0; earlier < op; ++earlier) {
    const int32_t tensor = test.graph.ops[static_cast<size_t>(earlier)].outputs[0];
    EXPECT_EQ(before.at(tensor), after.at(tensor)) << "tensor " << tensor << " comes before the weight";
  }
  EXPECT_EQ(changed_channels(test.graph, test.graph.ops[static_cast<size_t>(op)].outputs[0], before, after),
            std::vector<int64_t>{w.out});
}

class WeightFlip : public ::testing::TestWithParam<std::string> {};

TEST_P(WeightFlip, ChangesItsLayer) {
  base::Rng rng(first_seed(400'000));
  for (const bool is_uint8 : {false, true}) {
    Case test = chain_network(first_seed(400'000 + (is_uint8 ? 1 : 0)), is_uint8);
    test.max_tile_rows = is_uint8 ? 2 : 0;
    test.max_task_channels = is_uint8 ? 32 : 0;
    SCOPED_TRACE(test.text());
    const auto executable =
        compiler::compile(test.graph, test.options(GetParam(), num::Reference::LitertRef));
    ASSERT_TRUE(executable) << executable.error().text();
    Activations before;
    const auto outputs = run_on_machine(*executable, test.inputs, &before);
    ASSERT_TRUE(outputs) << outputs.error().text();
    for (int32_t op = 0; op < static_cast<int32_t>(test.graph.ops.size()); ++op) {
      const ir::Op& o = test.graph.ops[static_cast<size_t>(op)];
      const ir::Tensor& weights = test.graph.tensor(o.inputs[1]);
      const bool depthwise = o.kind == ir::OpKind::DepthwiseConv2D;
      const int64_t taps = weights.shape.size() == 2 ? 1 : int64_t{weights.shape[1]} * weights.shape[2];
      const int64_t outs = depthwise ? weights.shape.back() : weights.shape[0];
      const int64_t ins = depthwise ? 1 : weights.shape.back();
      for (const Weight& w :
           {Weight{0, 0, 0}, Weight{outs - 1, taps - 1, ins - 1},
            Weight{rng.uniform(0, outs - 1), rng.uniform(0, taps - 1), rng.uniform(0, ins - 1)}}) {
        flip_and_run(test, *executable, before, op, w);
        if (HasFatalFailure()) return;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Strategies, WeightFlip, ::testing::ValuesIn(compiler::strategy_names()),
                         [](const auto& strategy) {
                           std::string name = strategy.param;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace peraxis::property

// One wrong number each, in an executable that is otherwise right.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>

#include "exe/executable.hpp"
#include "random_executable.hpp"

namespace peraxis::exe {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

// Slots 0 to 16, one of them moved.
std::vector<int32_t> slots(size_t channel, int32_t slot) {
  std::vector<int32_t> out(17);
  std::iota(out.begin(), out.end(), 0);
  out[channel] = slot;
  return out;
}

Executable sound() {
  Executable e;
  e.model = "m";
  e.buffers = {{"commands", BufferKind::Commands, 80, std::vector<uint8_t>(80)},
               {"weights", BufferKind::Constants, 64, std::vector<uint8_t>(64)},
               {"maps", BufferKind::Activations, 10000, {}}};
  e.relocations = {{0, 1, 0}, {1, 2, 10000}};
  e.tasks = {{0, 4, 0, TaskKind::Direct, 0, 2, 3, 16, 0}, {4, 6, 0, TaskKind::Depthwise, 2, 2, 3, 16, 0}};
  e.placements = {{1, {2, 16, 3, 5, 32, 1}, 17, false, -128, {}},
                  {2, {2, 5000, 3, 5, 32, 1}, 17, false, 0, {}}};
  std::vector<HostChannel> channels(17);
  e.host_steps = {{0, {{2, 0, 3, 5, 20, 4}}, channels},
                  {0, {{2, 0, 3, 5, 32, 1}, {1, 0, 3, 5, 0, 1}}, channels}};
  e.host_steps[1].regions.pop_back();
  e.steps = {{StepKind::Cpu, 0, -1, 0, 0, -1, {-1, 0}, {1}},
             {StepKind::Upload, -1, 0},
             {StepKind::Job, -1, -1, 0, 2},
             {StepKind::Requantize, 0, 0, 0, 0, 0},
             {StepKind::Gather, 0, 0, 0, 0, 1},
             {StepKind::Correct, 0, 0, 0, 0, 1},
             {StepKind::Download, -1, 0}};
  e.steps[2].edges = {{0, 1}, {0}, {0, 1}, {{1, 0}, {0, 1}}, {}};
  e.steps[6].edges = {{2, 4}, {0}, {}, {}, {2, 7}};
  e.layers = {{0, "npu", "hw-multiply", "", 2, 100, true, {{-7, 8, 3, 1}}}};
  e.constants = {{7, {1}}};
  return e;
}

// A picture of 2 rows of 5 pixels of 3 bytes, rows 8 pixels apart, in the place of what the CPU writes.
Placement& make_packed(Executable& e) {
  e.steps[0] = {StepKind::Cpu, 0};
  e.placements.pop_back();
  e.placements.push_back({2, {2, 16, 2, 5, 3, 1}, 3, true, -128, {}, 8});
  e.steps.push_back({StepKind::Upload, -1, 1});
  return e.placements.back();
}

struct Breach {
  const char* name;
  std::function<void(Executable&)> change;
  const char* message;
};

class Verify : public ::testing::TestWithParam<Breach> {};

TEST(VerifySound, sound_executables_pass) {
  const Status status = verify(sound());
  EXPECT_TRUE(status) << status.error().text();
  Executable packed = sound();
  make_packed(packed).cube.offset = 10000 - 48;  // the last byte that fits
  EXPECT_TRUE(verify(packed));
  EXPECT_EQ(format_version(sound()), 2U) << "an operator of the CPU with operands on the device";
  Executable plain = sound();
  plain.steps[0] = {StepKind::Cpu, 0};
  EXPECT_EQ(format_version(plain), 1U);
  EXPECT_EQ(format_version(packed), 2U);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Status random = verify(RandomExecutable(seed).make());
    EXPECT_TRUE(random) << random.error().text();
  }
}
TEST_P(Verify, refuses) {
  Executable e = sound();
  GetParam().change(e);
  const Status status = verify(e);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::InvalidModel);
  EXPECT_NE(status.error().message.find(GetParam().message), std::string::npos) << status.error().text();
  EXPECT_FALSE(write(e));  // and no file is ever made of it
}

#define BREACH(name_, message_, ...)                     \
  Breach {                                               \
    #name_, [](Executable& e) { __VA_ARGS__; }, message_ \
  }

const Breach kBreaches[] = {
    BREACH(target, "target 'rk9999' is not known; valid are rk3588", e.target = "rk9999"),
    BREACH(target_case, "target 'RK3588'", e.target = "RK3588"),
    BREACH(accuracy, "accuracy 'best' is not known; valid are fast, exact", e.accuracy = "best"),
    BREACH(reference, "reference 'litert-xyz' is not known; valid are litert-ref, single-rounding",
           e.reference = "litert-xyz"),
    BREACH(model_info, "the model info has 67108865 bytes, the limit is 67108864",
           e.model_info.assign(kMaxModelInfoBytes + 1, ' ')),
    BREACH(reference_empty, "reference '' is not known", e.reference.clear()),
    BREACH(strategy, "strategy 'none' is not known; valid are auto, max-scale, groups", e.strategy = "none"),
    BREACH(layer_strategy, "strategy 'auto' is not known; valid are max-scale, groups",
           e.layers[0].strategy = "auto"),
    BREACH(layer_without_strategy, "strategy '' is not known", e.layers[0].strategy.clear()),
    BREACH(layer_of_cpu, "strategy 'hw-multiply' of a layer of the cpu", e.layers[0].device = "cpu"),
    BREACH(rounding, "rounding 3 is not known; valid are 0 to 2: two, once, double",
           e.host_steps[1].rounding = Rounding{3}),
    BREACH(step_kind, "kind 7 is not known; valid are 0 to 6: cpu, upload, download, job, gather, requantize",
           e.steps[0].kind = StepKind{7}),
    BREACH(after_itself, "waits for step 2 of 2", e.steps[2].edges.after = {0, 2}),
    BREACH(after_negative, "waits for step -1", e.steps[2].edges.after = {-1}),
    BREACH(after_twice, "waits for step 1 behind 1: not in rising order", e.steps[2].edges.after = {1, 1}),
    BREACH(reads_what_is_none, "reads placement 2 of 2", e.steps[2].edges.reads = {2}),
    BREACH(writes_what_is_none, "writes placement 2 of 2", e.steps[2].edges.writes = {0, 2}),
    BREACH(frees_what_is_none, "frees tensor -5", e.steps[2].edges.frees = {-5}),
    BREACH(frees_twice, "frees tensor 2 behind 7", e.steps[6].edges.frees = {7, 2}),
    BREACH(completes_what_is_none, "completes placement 2 of 2", e.steps[2].edges.completes[0].placement = 2),
    BREACH(completes_twice, "completes placement 0, which is complete",
           e.steps[4].edges.completes = {{0, -1}}),
    BREACH(completes_by_no_task, "by task -1, which it does not run",
           e.steps[2].edges.completes[0].task = -1),
    BREACH(completes_by_other_task, "by task 2, which it does not run",
           e.steps[2].edges.completes[1].task = 2),
    BREACH(completes_by_task_of_none, "by task 0, which it does not run",
           e.steps[4].edges.completes = {{1, 0}}),
    BREACH(completes_backwards, "by task 0 behind 1", e.steps[2].edges.completes = {{1, 1}, {0, 0}}),
    BREACH(two_records, "operator 0 has two records", e.operators.push_back({0, "cpu", ""})),
    BREACH(two_operators, "operator 5 has two records", e.operators = {{5, "cpu", ""}, {5, "cpu", ""}}),
    BREACH(constant_tensor, "tensor index -1", e.constants[0].tensor = -1),
    BREACH(constant_twice, "two constants", e.constants.push_back({7, {}})),
    BREACH(no_commands, "no buffer holds commands", e.buffers[0].kind = BufferKind::Constants),
    BREACH(two_commands, "both hold commands", e.buffers[1].kind = BufferKind::Commands),
    BREACH(half_words, "whole number", e.buffers[0].size = 79; e.buffers[0].data.pop_back()),
    BREACH(short_data, "it needs 64", e.buffers[1].data.pop_back()),
    BREACH(data_of_activations, "it needs 0", e.buffers[2].data.push_back(0)),
    BREACH(buffer_kind, "kind 3 is not known; valid are 0 to 2: commands, constants, activations",
           e.buffers[2].kind = BufferKind{3}),
    BREACH(negative_size, "size -1", e.buffers[2].size = -1),
    BREACH(size_of_4_gib, "the limit is 4294967295", e.buffers[2].size = int64_t{1} << 32),
    BREACH(huge_size, "the limit is 4294967295", e.buffers[2].size = kHuge),
    BREACH(sizes_together, "have 4294967296 bytes", e.buffers[2].size = (int64_t{1} << 32) - 80 - 64),
    BREACH(relocation_word, "word 10 of 10", e.relocations[0].word = 10),
    BREACH(relocation_word_negative, "word -1", e.relocations[0].word = -1),
    BREACH(relocation_buffer, "buffer 3 of 3", e.relocations[0].buffer = 3),
    BREACH(relocation_buffer_negative, "buffer -1", e.relocations[0].buffer = -1),
    BREACH(relocation_addend, "addend 65", e.relocations[0].addend = 65),
    BREACH(relocation_addend_negative, "addend -1", e.relocations[0].addend = -1),
    BREACH(relocation_addend_huge, "addend", e.relocations[0].addend = kHuge),
    BREACH(relocated_twice, "relocated twice", e.relocations[1].word = 0),
    BREACH(task_words, "words 4 + 7", e.tasks[1].words = 7),
    BREACH(task_few_words, "3 words", e.tasks[1].words = 3),
    BREACH(task_first_huge, "leave", e.tasks[1].first_word = kHuge),
    BREACH(task_first_negative, "leave", e.tasks[0].first_word = -1),
    BREACH(tasks_overlap, "overlap", e.tasks[1].first_word = 3),
    BREACH(operator_device, "device 'gpu' is not known; valid are npu, cpu",
           e.operators.push_back({1, "gpu", ""})),
    BREACH(operator_index, "operator index -1", e.operators.push_back({-1, "cpu", ""})),
    BREACH(task_kind, "kind 9 is not known; valid are 0 to 6: direct, depthwise, block-diagonal, pool",
           e.tasks[0].kind = TaskKind{9}),
    BREACH(task_op, "operator index", e.tasks[0].op = -1),
    BREACH(task_rows, "output rows", e.tasks[0].rows = -1),
    BREACH(task_rows_overflow, "output rows", e.tasks[0].first_row = e.tasks[0].rows = INT32_MAX),
    BREACH(task_channels, "negative count", e.tasks[0].real_input_channels = -1),
    BREACH(cube_buffer, "cube in buffer 3", e.placements[0].cube.buffer = 3),
    BREACH(cube_in_commands, "command buffer", e.placements[0].cube.buffer = 0),
    BREACH(cube_too_large, "leaves buffer 'maps'", e.placements[0].cube.h = 300),
    BREACH(cube_offset, "leaves buffer", e.placements[0].cube.offset = 9521),
    BREACH(cube_offset_negative, "leaves buffer", e.placements[0].cube.offset = -16),
    BREACH(cube_offset_huge, "leaves buffer", e.placements[0].cube.offset = kHuge - 15),
    BREACH(cube_product_wraps, "leaves buffer", e.placements[0].cube.h = int64_t{1} << 32;
           e.placements[0].cube.w = int64_t{1} << 32),
    BREACH(cube_zero, "cube of 0x5", e.placements[0].cube.h = 0),
    BREACH(cube_negative, "cube of -3x-5", e.placements[0].cube.h = -3; e.placements[0].cube.w = -5),
    BREACH(cube_channels, "no multiple of 16", e.placements[0].cube.channels = 20),
    BREACH(cube_element, "2-byte elements", e.placements[0].cube.element_bytes = 2),
    BREACH(cube_int32_channels, "no multiple of 4", e.host_steps[0].regions[0].channels = 18),
    BREACH(cube_int32_alignment, "int32 at byte 2", e.host_steps[0].regions[0].offset = 2),
    BREACH(placement_int32, "tensors have 1", e.placements[0].cube.element_bytes = 4),
    BREACH(placement_channels, "33 channels in a cube of 32", e.placements[0].c = 33),
    BREACH(placement_no_channels, "0 channels", e.placements[0].c = 0),
    BREACH(placement_tensor, "tensor index", e.placements[0].tensor = -2),
    BREACH(placement_zero_point, "no int8", e.placements[0].zero_point = 128),
    BREACH(packed_one_pixel_short, "2 rows of 5 packed pixels, 4 from one row", make_packed(e).pitch = 4),
    BREACH(packed_negative_pitch, "-8 from one row", make_packed(e).pitch = -8),
    BREACH(packed_no_rows, "0 rows", make_packed(e).cube.h = 0),
    BREACH(packed_no_columns, "0 packed pixels", make_packed(e).cube.w = 0),
    BREACH(packed_five_channels, "of 5 channels", make_packed(e).c = 5; e.placements[1].cube.channels = 5),
    BREACH(packed_no_channels, "of 0 channels", make_packed(e).c = 0; e.placements[1].cube.channels = 0),
    BREACH(packed_slots, "3 channels, 16 of them", make_packed(e).cube.channels = 16),
    BREACH(packed_int32, "of 4 bytes", make_packed(e).cube.element_bytes = 4),
    BREACH(packed_slot_of, "channel slots of packed", make_packed(e).slot_of = {2, 1, 0}),
    BREACH(packed_buffer, "buffer 3 of 3", make_packed(e).cube.buffer = 3),
    BREACH(packed_in_commands, "command buffer", make_packed(e).cube.buffer = 0),
    BREACH(packed_offset, "leave buffer 'maps'", make_packed(e).cube.offset = 10000 - 47),
    BREACH(packed_offset_negative, "leave buffer", make_packed(e).cube.offset = -1),
    BREACH(packed_rows_wrap, "leave buffer", make_packed(e).cube.h = int64_t{1} << 40;
           e.placements[1].pitch = int64_t{1} << 40),
    BREACH(packed_tensor, "tensor index -1", make_packed(e).tensor = -1),
    BREACH(packed_zero_point, "no int8", make_packed(e).zero_point = 300),
    BREACH(packed_read_by_cpu, "packed pixels, which are uploaded only", make_packed(e);
           e.steps[0].inputs = {1}),
    BREACH(packed_requantized, "packed pixels, which are uploaded only", make_packed(e);
           e.steps[3].placement = 1),
    BREACH(packed_gathered, "packed pixels, which are uploaded only", make_packed(e);
           e.steps[4].placement = 1),
    BREACH(host_no_region, "no source cube", e.host_steps[0].regions.clear()),
    BREACH(host_region, "cube in buffer", e.host_steps[0].regions[0].buffer = -1),
    BREACH(host_regions_differ, "region 1 is 2x5", e.host_steps[1].regions.push_back({2, 0, 2, 5, 16, 1})),
    BREACH(host_op, "operator index", e.host_steps[0].op = -1),
    BREACH(host_zero_point, "no int8", e.host_steps[0].zero_point = -129),
    BREACH(host_range, "activation range", e.host_steps[0].low = 5; e.host_steps[0].high = 4),
    BREACH(channel_region, "region 1 of 1", e.host_steps[0].channels[3].region = 1),
    BREACH(channel_slot, "slot 20 of 20", e.host_steps[0].channels[3].slot = 20),
    BREACH(channel_sum_slot, "sum slot 20", e.host_steps[0].channels[3].sum_slot = 20),
    BREACH(channel_sum_slot_negative, "sum slot -2", e.host_steps[0].channels[3].sum_slot = -2),
    BREACH(channel_addend, "2^60", e.host_steps[0].channels[3].addend = kHuge),
    BREACH(channel_mantissa, "mantissa", e.host_steps[0].channels[3].mantissa = -1),
    BREACH(channel_exponent, "exponent 32", e.host_steps[0].channels[3].exponent = 32),
    BREACH(channel_multiplier, "finite", e.host_steps[0].channels[3].multiplier = 1.0 / 0.0),
    BREACH(step_op, "operator index", e.steps[0].op = -1),
    BREACH(operand_index, "placement 2 of 2", e.steps[0].inputs[1] = 2),
    BREACH(operand_negative, "placement -2 of 2", e.steps[0].outputs[0] = -2),
    BREACH(operand_of_a_job, "no operator of the CPU", e.steps[2].inputs = {0}),
    BREACH(operand_slots, "slots of their own", e.placements[1].slot_of = slots(16, 16);
           e.steps[0].outputs = {1}),
    BREACH(operand_overlaps, "an output shares memory with another operand, at byte 495",
           e.steps[0].inputs = {0};
           e.steps[0].outputs = {-1, 1}; e.placements[1].cube.offset = 16 + 3 * 5 * 32 - 1),
    BREACH(operand_written_twice, "an output shares memory", e.steps[0].outputs = {1, 1}),
    BREACH(step_placement, "placement 2 of 2", e.steps[1].placement = 2),
    BREACH(step_download, "placement -1", e.steps[6].placement = -1),
    BREACH(step_job, "tasks 1 + 2 of 2", e.steps[2].first_task = 1),
    BREACH(step_job_empty, "tasks 0 + 0", e.steps[2].task_count = 0),
    BREACH(step_job_overflow, "tasks", e.steps[2].first_task = e.steps[2].task_count = INT32_MAX),
    BREACH(step_host, "host step 2 of 2", e.steps[3].host_step = 2),
    BREACH(step_host_placement, "placement 5", e.steps[3].placement = 5),
    BREACH(step_host_kind, "4-byte elements", e.steps[4].host_step = 0),
    BREACH(step_host_kind_other_way, "1-byte elements", e.steps[3].host_step = 1),
    BREACH(step_host_channels, "makes 16 channels", e.host_steps[0].channels.pop_back()),
    BREACH(step_host_size, "cubes of 2x5", e.host_steps[0].regions[0].h = 2),
    BREACH(layer_op, "operator index", e.layers[0].op = -1),
    BREACH(layer_device, "device 'gpu' is not known; valid are npu, cpu", e.layers[0].device = "gpu"),
    BREACH(slots_missing, "slots of 1 channels", e.placements[0].slot_of = {0}),
    BREACH(slots_outside, "slot 32", e.placements[0].slot_of = slots(16, 32)),
    BREACH(slots_negative, "slot -1", e.placements[0].slot_of = slots(16, -1)),
    BREACH(slots_twice, "two channels in slot 3", e.placements[0].slot_of = slots(16, 3)),
    BREACH(slots_written, "slots of their own", e.placements[0].slot_of = slots(16, 16)),
    BREACH(certificate_range, "accumulators", e.layers[0].certificate[0].acc_min = 9),
    BREACH(certificate_negative, "differing values", e.layers[0].certificate[0].differing = -1),
    BREACH(certificate_too_many, "differing values", e.layers[0].certificate[0].differing = 17),
    BREACH(certificate_zero_max, "at most by", e.layers[0].certificate[0].max = 0),
    BREACH(certificate_huge_max, "at most by", e.layers[0].certificate[0].max = 256),
    BREACH(layer_macs, "negative count", e.layers[0].macs = -1),
};
#undef BREACH

INSTANTIATE_TEST_SUITE_P(Breaches, Verify, ::testing::ValuesIn(kBreaches),
                         [](const auto& breach) { return std::string(breach.param.name); });

}  // namespace
}  // namespace peraxis::exe

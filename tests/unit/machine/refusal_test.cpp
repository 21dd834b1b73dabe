// What the machine must not accept: everything that would hang the chip, touch memory it may not, or that
// this version does not model. Each case starts from a program that runs and changes one thing.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "program.hpp"

namespace peraxis::machine::test {
namespace {

using namespace rk3588;

Layer direct() {
  Layer l;
  l.bs.on = l.bs.alu = l.bs.alu_memory = true;
  l.scale = 20000, l.shift = 25;
  return l;
}

Layer depthwise() {
  Layer l = direct();
  l.depthwise = true;
  l.c = l.n = 64;
  return l;
}

Layer int32_output() {
  Layer l = direct();
  l.int32_output = true;
  l.bs = {};
  l.scale = 1, l.shift = 0;
  return l;
}

std::string outcome(const Layer& l, const std::function<void(Program&)>& change, Options options = {}) {
  Bench bench(options);
  bench.load(l, random_data(l, 2));
  Program p = make_program(l);
  change(p);
  const std::vector<uint64_t> words = p.words();
  bench.add_words(kCommands, words);
  const auto result = bench.run(static_cast<uint32_t>(words.size()));
  return result ? "" : result.error().text();
}

struct Case {
  const char* name;
  Layer layer;
  uint16_t offset;
  uint32_t value;
  const char* part;  // of the message
};

class Refusal : public testing::TestWithParam<Case> {};

TEST_P(Refusal, NamesTaskAndField) {
  const Case& c = GetParam();
  ASSERT_EQ(outcome(c.layer, [](Program&) {}), "");
  const std::string text = outcome(c.layer, [&](Program& p) {
    const RegisterInfo& info = *std::find_if(std::begin(kRegisters), std::end(kRegisters),
                                             [&](const RegisterInfo& r) { return r.offset == c.offset; });
    p.set(static_cast<uint16_t>(info.block), c.offset, c.value);
  });
  EXPECT_NE(text.find("task 0"), std::string::npos) << text;
  EXPECT_NE(text.find(c.part), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Registers, Refusal,
    testing::Values(Case{"main_data", direct(), 0x5044, 0x7800, "MRDMA_DISABLE"},
                    Case{"partial_group", direct(), 0x3018, 15, "CORE.DATAOUT_SIZE"},
                    Case{"size_e", direct(), 0x4050, 0x36C, "SIZE_E_0"},
                    Case{"size_e_middle", direct(), 0x4050, 0x164, "SIZE_E_1"},
                    Case{"size_e_depthwise", depthwise(), 0x4050, 0x124, "SIZE_E_0"},
                    Case{"surface_add", direct(), 0x40C0, 4 * 35 << 4, "SURF_ADD"},
                    Case{"surface_overlap", direct(), 0x4024, 34 << 4, "SURF"},
                    Case{"dpu_width", direct(), 0x4030, 5, "DPU.DATA_CUBE"},
                    Case{"dpu_height", direct(), 0x4034, 5, "DPU.DATA_CUBE"},
                    Case{"dpu_channel", direct(), 0x403C, 0x1F003F, "DPU.DATA_CUBE"},
                    Case{"original_channel", direct(), 0x403C, 0x20001F, "ORIG_CHANNEL"},
                    Case{"rdma_width", direct(), 0x500C, 5, "DPU_RDMA.DATA_CUBE_WIDTH"},
                    Case{"rdma_channel", direct(), 0x5014, 63, "DPU_RDMA.DATA_CUBE_CHANNEL"},
                    Case{"wdma_channel", direct(), 0x4058, 63, "WDMA_SIZE_0"},
                    Case{"wdma_size", direct(), 0x405C, 0x40005, "WIDTH_WDMA"},
                    Case{"cna_width", direct(), 0x1028, 6, "DATAOUT_WIDTH"},
                    Case{"atoms", direct(), 0x102C, 36, "DATAOUT_ATOMICS"},
                    Case{"banks", direct(), 0x1040, 0x56, "must be 12"},
                    Case{"no_weight_bank", direct(), 0x1040, 0x0C, "must be 12"},
                    Case{"fc_data_bank", direct(), 0x1040, 0x166, "FC_DATA_BANK"},
                    Case{"entries", direct(), 0x1044, 1, "DATA_ENTRIES"},
                    Case{"entries_too_many", direct(), 0x1044, 0x7FFF, "DATA_BANK"},
                    Case{"weight_bytes", direct(), 0x1030, 4607, "WEIGHT_BYTES"},
                    Case{"kernel_bytes", direct(), 0x1034, 145, "WEIGHT_BYTES_PER_KERNEL"},
                    Case{"more_kernels", direct(), 0x1038, 0x03030021, "kernels"},
                    Case{"depthwise_kernels", depthwise(), 0x1038, 0x03030002, "WEIGHT_KERNELS"},
                    Case{"stride", direct(), 0x1014, 8, "stride"},
                    Case{"grains", direct(), 0x1010, 3 << 4, "FEATURE_GRAINS"},
                    Case{"channel", direct(), 0x1024, 24, "DATAIN_CHANNEL"},
                    Case{"dma_height", direct(), 0x1084, 0x70004, "DMA_HEIGHT"},
                    Case{"dma_channel", direct(), 0x1088, 32, "DMA_CHANNEL"},
                    Case{"narrow_dma", direct(), 0x1084, 0x60005, "DMA"},
                    Case{"feature_alignment", direct(), 0x1070, kFeatures + 8, "multiple of 16"},
                    Case{"weight_alignment", direct(), 0x1110, kWeights + 4, "multiple of 16"},
                    Case{"output_alignment", direct(), 0x4020, kOutput + 1, "multiple of 16"},
                    Case{"operand_alignment", direct(), 0x5020, kOperands + 4, "multiple of 16"},
                    Case{"feature_outside", direct(), 0x1070, 0xFFFFFFF0, "outside every buffer"},
                    Case{"feature_stride", direct(), 0x107C, 0x0FFFFFFF, "outside every buffer"},
                    Case{"weights_outside", direct(), 0x1110, kWeights + 16, "beyond buffer 'weights'"},
                    Case{"operands_outside", direct(), 0x5020, kOperands + 16, "outside every buffer"},
                    Case{"output_outside", direct(), 0x4020, kOutput + 16, "beyond buffer 'output'"},
                    Case{"output_on_weights", direct(), 0x4020, kWeights, "overwrites"},
                    Case{"output_on_features", direct(), 0x4020, kFeatures - 16 * 35, "overwrites"},
                    Case{"reserved_bit", direct(), 0x1014, 0x00000089, "reserved bits 0x80"},
                    Case{"conv_mode", direct(), 0x100C, 1, "CONV_MODE"},
                    Case{"mode_of_core", direct(), 0x3010, 3, "DW_EN"},
                    Case{"mode_of_dpu", direct(), 0x400C, 0x1FC, "DPU.FEATURE_MODE_CFG.CONV_MODE"},
                    Case{"mode_of_rdma", direct(), 0x5044, 0x7816, "DPU_RDMA.FEATURE_MODE_CFG.CONV_MODE"},
                    Case{"no_window_sum", direct(), 0x3010, 0, "QD_EN"},
                    Case{"cpend_int32", int32_output(), 0x4050, 0x7FC, "OD_BYPASS"},
                    Case{"window_sum_int32", int32_output(), 0x3010, 1, "QD_EN"},
                    Case{"int16_output", direct(), 0x4010, 0x20000000, "OUT_PRECISION"},
                    Case{"shift_64", direct(), 0x4088, 64, "OUT_CVT_SHIFT"},
                    Case{"bs_algorithm", direct(), 0x4040, 0x30150, "BS_ALU_ALGO"},
                    Case{"argb", direct(), 0x100C, 0x4000A000, "GROUP_LINE_OFF"},
                    Case{"deconvolution", depthwise(), 0x100C, 0x10003, "CONV_MODE"},
                    Case{"converter", direct(), 0x104C, 0x0A,
                         "not modelled in this version: the input converter"},
                    Case{"compression", direct(), 0x1104, 1, "not modelled in this version: compressed"},
                    Case{"lut", direct(), 0x4070, 0x302, "LUT_LO_LE_MUX"},
                    Case{"ew_operand", direct(), 0x4070, 0x3C0, "not modelled in this version: EW operands"},
                    Case{"erdma", direct(), 0x5034, 0, "ERDMA_DISABLE"},
                    Case{"nrdma", direct(), 0x5028, 2, "not modelled in this version: BN operands"},
                    Case{"records", direct(), 0x501C, 6, "not modelled in this version: operand formats"},
                    Case{"no_operands", direct(), 0x501C, 3, "delivers none"},
                    Case{"pointer_mode", direct(), 0x6004, 0x2, "PPU.S_POINTER"},
                    Case{"status", direct(), 0x3000, 0, "read-only"},
                    Case{"start_bit", direct(), 0x4008, 1, "op-enable"},
                    Case{"clock_gating", direct(), 0x300C, 0, "reset value"},
                    Case{"interrupt_mask", direct(), 0x0020, 0, "only the kernel"},
                    Case{"pointer", direct(), 0x4004, 0xC, "DPU.S_POINTER"},
                    Case{"core_index", direct(), 0x3004, 0x1000000E, "hangs the chip"},
                    Case{"unnamed_core", direct(), 0x3030, 1, "CORE.UNNAMED_3030"},
                    Case{"unnamed_dpu", direct(), 0x40C4, 1, "DPU.UNNAMED_40C4"},
                    Case{"pad_too_large", direct(), 0x1068, 0x13, "PAD_CON0"}),
    [](const testing::TestParamInfo<Case>& test) { return test.param.name; });

// Cases the table cannot express.
TEST(Refusals, ScaleOperandNeedsRecords) {
  Layer l = direct();
  l.bs.mul = l.bs.mul_memory = true;
  EXPECT_NE(outcome(l, [](Program&) {}).find("BS_MUL_SRC"), std::string::npos);
  l = direct();
  l.ow_memory = true;
  EXPECT_NE(outcome(l, [](Program&) {}).find("OW_SRC"), std::string::npos);
}

TEST(Refusals, DepthwiseWithInt32Output) {
  Layer l = int32_output();
  l.depthwise = true;
  l.c = l.n = 64;
  EXPECT_NE(outcome(l, [](Program&) {}).find("wrong data"), std::string::npos);
}

TEST(Refusals, WindowWhollyInThePadding) {
  Layer l = direct();
  l.ho = 8;
  EXPECT_NE(outcome(l, [](Program&) {}).find("last window"), std::string::npos);
}

TEST(Refusals, PartialGroupsCompleteWithTheSwitch) {
  Layer l = direct();
  l.n = 16;
  l.kernels = 16;
  const auto shrink = [](Program& p) {
    for (const int offset : {0x3018, 0x4058, 0x5014}) *p.find(static_cast<uint16_t>(offset)) = 15;
    *p.find(0x403C) = 0xF000F;
  };
  EXPECT_NE(outcome(l, shrink).find("whole kernel groups"), std::string::npos);
  Options options;
  options.switches.refuse_partial_groups = false;
  EXPECT_EQ(outcome(l, shrink, options), "");
}

TEST(Refusals, OneColumnTileWithAFullLastBank) {
  Layer l = direct();
  l.h = l.ho = 199, l.w = l.wo = 1, l.c = 1152, l.kh = l.kw = 1, l.pt = l.pl = 0;
  l.data_banks = 7;  // 6.996 banks
  EXPECT_NE(outcome(l, [](Program&) {}).find("one more bank"), std::string::npos);
  Options options;
  options.switches.refuse_full_last_bank = false;
  EXPECT_EQ(outcome(l, [](Program&) {}, options), "");
  l.data_banks = 8;
  EXPECT_EQ(outcome(l, [](Program&) {}), "");
}

TEST(Refusals, WeightsNeedTwoGroupsOfRoom) {
  Layer l = direct();
  l.c = 512, l.n = 96, l.h = l.ho = 3, l.w = l.wo = 2, l.kh = l.kw = 3;
  l.shift = 31;
  l.data_banks = 3;  // two groups: 294,912 bytes, exactly 9 banks
  EXPECT_EQ(outcome(l, [](Program&) {}), "");
  l.data_banks = 4;
  EXPECT_NE(outcome(l, [](Program&) {}).find("WEIGHT_BANK"), std::string::npos);
}

TEST(Refusals, EveryNeededRegisterMustBeWritten) {
  // Registers a plain convolution does not look at: their fields are INERT here or belong to stages that
  // are off.
  const Layer l = direct();
  const Program whole = make_program(l);
  int needed = 0;
  for (const RegisterInfo& r : kRegisters) {
    Program p = whole;
    if (p.find(r.offset) == nullptr) continue;
    const std::string text = outcome(l, [&](Program& q) { q.remove(r.offset); });
    if (text.empty()) continue;
    EXPECT_NE(text.find(std::string(r.name) + "."), std::string::npos) << text;
    ++needed;
  }
  EXPECT_GT(needed, 70);
}

TEST(Refusals, WordsThatAreNoCommands) {
  const Layer l = direct();
  const auto with = [&](uint64_t word) {
    Bench bench;
    bench.load(l, random_data(l, 2));
    std::vector<uint64_t> words = make_program(l).words();
    words.insert(words.begin() + 3, word);
    bench.add_words(kCommands, words);
    const auto result = bench.run(static_cast<uint32_t>(words.size()));
    return result ? std::string() : result.error().text();
  };
  EXPECT_EQ(with(0), "");
  EXPECT_NE(with(command_word(0x0301, 0, 0x1014)).find("does not answer"), std::string::npos);
  EXPECT_NE(with(command_word(0x0200, 9, 0x1014)).find("does not answer"), std::string::npos);
  EXPECT_NE(with(command_word(0x0201, 0, 0x1018)).find("no such register"), std::string::npos);
  EXPECT_NE(with(command_word(0x0201, 0, 0x1015)).find("no such register"), std::string::npos);
  EXPECT_NE(with(command_word(0x0081, 0x1D, 0x0008)).find("separator"), std::string::npos);
  EXPECT_NE(with(command_word(0x0041, 1, 0)).find("separator"), std::string::npos);
  EXPECT_NE(with(command_word(0x0081, 0x1D, 0xF008)).find("GLOBAL"), std::string::npos);
  EXPECT_NE(with(command_word(0x0201, 0x12, 0x1014)).find("written twice"), std::string::npos);
}

TEST(Refusals, EnableWords) {
  const Layer l = direct();
  for (const uint32_t word : {0x00U, 0x01U, 0x0CU, 0x1CU, 0x18U, 0x60U, 0x7DU, 0x1FU, 0x80000001U})
    EXPECT_NE(outcome(l, [&](Program& p) { p.enable = word; }), "") << word;
}

TEST(Refusals, OperandsFromMemoryNeedTheRdma) {
  Layer l = direct();
  l.enable = 0x0D;
  EXPECT_NE(outcome(l, [](Program&) {}).find("BS_ALU_SRC"), std::string::npos);
}

TEST(Refusals, WorkLimit) {
  Options options;
  options.max_task_macs = 5 * 7 * 9 * 16 * 32 - 1;
  EXPECT_NE(outcome(direct(), [](Program&) {}, options).find("multiplications"), std::string::npos);
  ++options.max_task_macs;
  EXPECT_EQ(outcome(direct(), [](Program&) {}, options), "");
}

TEST(Refusals, UnwrittenInputs) {
  const Layer l = direct();
  for (const uint32_t address : {kFeatures, kWeights, kOperands}) {
    Bench bench;
    bench.load(l, random_data(l, 2));
    ASSERT_TRUE(bench.machine().memory().mark_unwritten(address + 100, 1));
    const std::vector<uint64_t> words = make_program(l).words();
    bench.add_words(kCommands, words);
    const auto result = bench.run(static_cast<uint32_t>(words.size()));
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("never written"), std::string::npos);
  }
}

TEST(Refusals, DummyChannelsOnlyMayLieOutside) {
  Layer l = direct();
  l.n = 16;
  l.kernels = 16;
  const Data data = random_data(l, 2);
  const auto run = [&](size_t operand_bytes, size_t output_bytes, bool drop) {
    Options options;
    options.switches.drop_dummy_output = drop;
    auto bench = std::make_unique<Bench>(options);
    bench->add(kFeatures, pack_features(l, data), true, "features");
    bench->add(kWeights, pack_weights(l, data), true, "weights");
    std::vector<uint8_t> operands = pack_operands(l, data);
    operands.resize(operand_bytes);
    bench->add(kOperands, operands, true, "operands");
    bench->add(kOutput, std::vector<uint8_t>(output_bytes), false, "output");
    const std::vector<uint64_t> words = make_program(l).words();
    bench->add_words(kCommands, words);
    return bench->run(static_cast<uint32_t>(words.size()));
  };
  const auto junk = run(16 * 4, 35 * 32, false);
  ASSERT_TRUE(junk) << junk.error().text();
  EXPECT_EQ(junk->at(0).junk_operand_channels, 16);
  EXPECT_FALSE(run(15 * 4, 35 * 32, false));
  EXPECT_FALSE(run(16 * 4, 35 * 16, false));
  const auto dropped = run(16 * 4, 35 * 16, true);
  ASSERT_TRUE(dropped) << dropped.error().text();
  EXPECT_EQ(dropped->at(0).dropped_output_bytes, 35 * 16);
  EXPECT_FALSE(run(16 * 4, 34 * 16, true));
}

}  // namespace
}  // namespace peraxis::machine::test

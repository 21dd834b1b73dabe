#include "trace/facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "streams.hpp"
#include "trace/summary.hpp"

namespace peraxis::trace {
namespace {

using testing::HasSubstr;

Facts one(std::string text) {
  const std::vector<Facts> facts = facts_of(parse_one(text));
  return facts.empty() ? Facts{} : facts.front();
}
std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Facts, Convolution) {
  const Facts f = one(kConvolution);
  EXPECT_EQ(f.operation, Operation::Convolution);
  EXPECT_EQ(f.in, (Extent{10, 7, 32}));
  EXPECT_EQ(f.out, (Extent{10, 7, 64}));
  EXPECT_EQ(f.real_channels, 61);
  EXPECT_EQ(f.kernel, (Pair{3, 3}));
  EXPECT_EQ(f.pad, (Pair{1, 1}));
  EXPECT_EQ(f.pad_value, -3);
  EXPECT_EQ(f.data_banks, 1);
  EXPECT_EQ(f.weight_banks, 11);
  EXPECT_EQ(f.bs, "bias+mul");
  EXPECT_EQ(f.activation, "relu");
  EXPECT_EQ(f.brdma_use, 7);
  EXPECT_EQ(f.mechanism, Mechanism::ChannelMultiply);
  EXPECT_EQ(f.out_offset, -5);
  EXPECT_EQ(f.addresses.size(), 4U);
  EXPECT_EQ(f.inherited, 0);
}

TEST(Facts, Mechanisms) {
  EXPECT_EQ(one(with(kConvolution, "=20001", "=1")).mechanism, Mechanism::ChannelMultiplyShift);
  EXPECT_EQ(one(with(kConvolution, "=20001", "=16385")).mechanism, Mechanism::ChannelMultiplyShift);
  EXPECT_EQ(one(with(kConvolution, "BS_MUL_SRC=1 ", "")).mechanism, Mechanism::TwoScalar);
  EXPECT_EQ(one(with(kConvolution, "BS_CFG ", "BS_CFG BS_MUL_BYPASS=1 ")).mechanism, Mechanism::OneScale);
  EXPECT_EQ(one(with(kConvolution, "DATA_FORMAT ", "DATA_FORMAT OUT_PRECISION=4 ")).mechanism,
            Mechanism::HostRequantize);
}

TEST(Facts, CoresAndTails) {
  const Facts f = one(with(with(kConvolution, "FEATURE_GRAINS", "MULTICORE_TASK_KIND=4 FEATURE_GRAINS"),
                           "nop\nPC.REGISTER_AMOUNTS",
                           "PC.BASE_ADDRESS PC_SOURCE_ADDR=0x40\nPC.REGISTER_AMOUNTS PC_DATA_AMOUNT=15 "
                           "CORE_BARRIER=1"));
  EXPECT_EQ(f.core_split, 4);
  EXPECT_EQ(f.barrier, 1);
  EXPECT_EQ(f.next_address, 0x400);
  EXPECT_EQ(f.next_words, 32);
  EXPECT_THAT(describe(f), HasSubstr("output channels over 2 cores, 2 cores wait"));
}

TEST(Facts, ShortTasksInheritFromTwoBefore) {
  std::string second = with(kConvolution, "DPU.DATA_CUBE_HEIGHT HEIGHT=7", "DPU.DATA_CUBE_HEIGHT HEIGHT=5");
  const std::string third = "DPU.OUT_CVT_SHIFT OUT_CVT_SHIFT=9\nseparator\nenable CNA CORE DPU DPU_RDMA\n";
  const std::vector<Facts> facts = facts_of(parse_one(kConvolution + second + third));
  ASSERT_EQ(facts.size(), 3U);
  EXPECT_EQ(facts[1].out.h, 5);
  EXPECT_EQ(facts[2].out.h, 7);
  EXPECT_EQ(facts[2].out_shift, 9);
  EXPECT_GT(facts[2].inherited, 20);
}

TEST(Facts, PoolingBarrierElementwise) {
  const char* pool =
      "PPU.DATA_CUBE_IN_WIDTH CUBE_IN_WIDTH=9\nPPU.DATA_CUBE_OUT_WIDTH CUBE_OUT_WIDTH=9\n"
      "PPU.OPERATION_MODE_CFG POOLING_METHOD=1 FLYING_MODE=1\n"
      "PPU.POOLING_KERNEL_CFG KERNEL_WIDTH=5 KERNEL_HEIGHT=5\nseparator\nenable PPU PPU_RDMA\n";
  EXPECT_THAT(describe(one(pool)), HasSubstr("max pooling 5x5, 9x1x1 -> 9x1x1"));
  EXPECT_EQ(one("PPU.DATA_CUBE_IN_WIDTH\nseparator\nenable PPU PPU_RDMA\n").operation, Operation::Barrier);
  const char* add =
      "DPU.EW_CFG EW_OP_SRC=1 EW_ALU_ALGO=2 EW_LUT_BYPASS=1\nDPU.OUT_CVT_SCALE OUT_CVT_SCALE=3\n"
      "separator\nenable DPU DPU_RDMA\n";
  EXPECT_EQ(one(add).operation, Operation::Elementwise);
  EXPECT_EQ(one(add).elementwise, "add");
}

TEST(Facts, CutStreamsStillSaySomething) {
  const std::string text = kConvolution;
  const Facts f = one(text.substr(0, text.find("separator")));
  EXPECT_FALSE(f.complete);
  EXPECT_EQ(f.operation, Operation::Convolution);
  EXPECT_THAT(describe(f), HasSubstr("cut off"));
}

TEST(Summary, EqualRowsAreOne) {
  std::string text;
  for (int i = 0; i < 5; ++i) text += kConvolution;
  const std::string summary = summary_text(facts_of(parse_one(text)));
  EXPECT_THAT(summary, HasSubstr("0..4"));
  EXPECT_THAT(summary, HasSubstr("5 tasks, 160 words: 5 convolution"));
  EXPECT_THAT(summary, HasSubstr("DPU cubes of one channel: 0; BN multiplies: 0; NRDMA on: 0"));
  EXPECT_THAT(summary, HasSubstr("5 A+B+C"));
}

TEST(Sources, GuessesAndUnknown) {
  const Stream stream = parse_one(
      "CNA.CONV_CON2 MULTICORE_TASK_KIND=2\nCNA.CBUF_CON0 reserved=0x80000000\n"
      "raw 0x1001000000014ffc\nraw 0x123\nseparator\nenable CNA\n");
  const Sources sources = sources_of({stream});
  const std::string text = sources_text(sources);
  EXPECT_THAT(text, HasSubstr("CNA.CONV_CON2.MULTICORE_TASK_KIND"));
  ASSERT_EQ(sources.unknown.size(), 3U);
  EXPECT_THAT(text, HasSubstr("CNA.CBUF_CON0 reserved bits 0x80000000"));
  EXPECT_THAT(text, HasSubstr("register 0x4ffc of target 0x1001"));
}

}  // namespace
}  // namespace peraxis::trace

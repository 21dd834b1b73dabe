// The task that loads the look-up table and the one that uses it, beside the vendor's blocks for a sigmoid of
// a map of 6 x 6 x 16 (vendor:fx_sigmoid).
#include <gtest/gtest.h>

#include <map>

#include "emit/task.hpp"
#include "target/rk3588/cost.hpp"
#include "target/rk3588/registers.hpp"

namespace peraxis::emit {
namespace {

using namespace rk3588;
using Registers = std::map<uint16_t, uint32_t>;

std::shared_ptr<const LookUpTable> identity() {
  std::array<int8_t, 256> outputs{};
  for (size_t i = 0; i < 256; ++i) outputs[i] = static_cast<int8_t>(static_cast<int>(i) - 128);
  return std::make_shared<const LookUpTable>(look_up_table(outputs));
}

// Registers of DPU and DPU_RDMA with values other than 0; addresses are 0.
Registers registers_of(const Program& program) {
  Registers values;
  for (const uint64_t word : program.words)
    if (const auto offset = static_cast<uint16_t>(word); offset >= 0x4000 && offset < 0x6000) {
      if (const auto value = static_cast<uint32_t>(word >> 16); value != 0) values[offset] = value;
    }
  return values;
}

TEST(Table, EveryValueHasFourStepsAndLiesInTheirMiddle) {
  const auto table = identity();
  for (int32_t q = -128; q < 128; ++q) {
    const int32_t x = q * kLookUpFactor + kLookUpAddend;
    for (const int32_t near : {x - 64, x - 33, x - 1, x, x + 1, x + 31}) {  // entries below and above
      const auto& entries = near < 0 ? table->le : table->lo;
      const auto at = static_cast<size_t>((near < 0 ? near + kLookUpReach : near) / 32);
      EXPECT_EQ(entries[at], (q + 129) * 64) << near;
      if (near < x + 31) continue;
      EXPECT_EQ(entries[at], entries[at - 1]);
    }
  }
}

TEST(Table, IsLoadedAsTheVendorLoadsIt) {
  const Result<Program> program = table_loading({identity(), {}, {}});
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(static_cast<int64_t>(program->words.size()), kTableWords);
  Registers r = registers_of(*program);
  EXPECT_EQ(r[0x4104], 256U * 64) << "the last entry";
  r.erase(0x4104);
  EXPECT_EQ(r, (Registers{{0x4004, 0xE},
                          {0x5004, 0xE},
                          {0x400C, 0x1E5},
                          {0x4024, 0x10},
                          {0x403C, 0x000F000F},
                          {0x4040, 0x53},
                          {0x4050, 0x2},
                          {0x4058, 0xF},
                          {0x4060, 0x53},
                          {0x4070, 0x383},
                          {0x4078, 0x1},
                          {0x4084, 0x1},
                          {0x40C0, 0x10},
                          {0x4100, 0x30000},
                          {0x5014, 0xF},
                          {0x5034, 0x1},
                          {0x5044, 0x7801},
                          {0x5068, 0x01010101}}));
  // 513 entries a table, each behind the word that says where they go.
  std::vector<int16_t> entries[2];
  int table = -1;
  for (const uint64_t word : program->words) {
    const auto value = static_cast<uint32_t>(word >> 16);
    if (static_cast<uint16_t>(word) == 0x4100)
      table = value == 0 ? -1 : static_cast<int>(value - 0x20000) >> 16;
    if (static_cast<uint16_t>(word) == 0x4104 && table >= 0)
      entries[table].push_back(static_cast<int16_t>(value));
  }
  for (const auto& side : entries) ASSERT_EQ(side.size(), 513U);
  EXPECT_EQ(entries[0].front(), 1 * 64);
  EXPECT_EQ(entries[0].back(), 128 * 64);
  EXPECT_EQ(entries[1].front(), 129 * 64);
  EXPECT_EQ(entries[1].back(), 256 * 64);
}

TEST(Table, IsUsedAsTheVendorUsesIt) {
  ElementTask t;
  t.width = t.height = 6;
  t.channels = 16;
  t.in_plane = t.out_plane = 36;
  t.table = identity();
  t.out_shift = kLookUpShift;
  t.out_offset = kLookUpOffset;
  const Result<Program> program = element_wise(t);
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(static_cast<int64_t>(program->words.size()), kFlyingWords);
  // Ours: the index (0x4064, 0x4068), the output's scale (0x4080, 0x4084, 0x4088), no shift
  // for negative values in 0x4010, no operation in 0x4070 (the vendor has 0x302 in fx_conv3x3_silu), no
  // slopes in 0x4120 and 0x4124.
  EXPECT_EQ(registers_of(*program),
            (Registers{{0x4004, 0x30},       {0x5004, 0x30},       {0x400C, 0x1E5},
                       {0x4024, 0x240},      {0x4030, 5},          {0x4034, 5},
                       {0x403C, 0x000F000F}, {0x4040, 0x53},       {0x4050, 2},
                       {0x4058, 0xF},        {0x405C, 0x00050005}, {0x4060, 0x00020040},
                       {0x4064, 64},         {0x4068, 128 << 16},  {0x4070, 0x302},
                       {0x4078, 1},          {0x4084, 1},          {0x4088, 6 | 1U << 30},
                       {0x4080, 0xFFFFFF7F}, {0x40C0, 0x240},      {0x4108, 0x68},
                       {0x410C, 0x00050500}, {0x4110, 0xFFFFC000}, {0x411C, 0x4000},
                       {0x500C, 5},          {0x5010, 5},          {0x5014, 0xF},
                       {0x5034, 1},          {0x5044, 0x7801},     {0x5068, 0x01010101}}));
  t.prelu_factor = 3;
  EXPECT_FALSE(element_wise(t));
}

}  // namespace
}  // namespace peraxis::emit

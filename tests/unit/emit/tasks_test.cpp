// Words of tasks without a convolution, against those of the vendor's streams (vendor/README.md).
#include <gtest/gtest.h>

#include <map>

#include "emit/task.hpp"

namespace peraxis::emit {
namespace {

using namespace rk3588;

std::map<uint16_t, uint32_t> registers_of(const Task& t) {
  const Result<Program> made = program(t);
  EXPECT_TRUE(made) << made.error().text();
  std::map<uint16_t, uint32_t> values;
  for (const uint64_t word : made->words)
    values[static_cast<uint16_t>(word)] = static_cast<uint32_t>(word >> 16);
  return values;
}

ElementTask pair(ElementTask::Operand::Combine combine) {
  ElementTask t;
  t.width = t.height = 4;
  t.channels = 16;
  t.input = {0, 0};
  t.output = {1, 0};
  t.in_plane = t.out_plane = 16;
  t.operand = {{2, 0}, 16, 3, 16384, combine};
  t.out_shift = 14;
  return t;
}

TEST(ElementTasks, EwConfigurationOfTheVendor) {
  using Combine = ElementTask::Operand::Combine;
  EXPECT_EQ(registers_of(pair(Combine::Add))[0x4070], 0x904202C0U);
  EXPECT_EQ(registers_of(pair(Combine::Maximum))[0x4070], 0x904002C0U);
  EXPECT_EQ(registers_of(pair(Combine::Multiply))[0x4070], 0x904002C4U);
  EXPECT_EQ(registers_of(pair(Combine::Minimum))[0x4070], 0x904102C0U);
}

TEST(ElementTasks, ConstantAndReluOfTheBnStage) {
  ElementTask t = pair(ElementTask::Operand::Combine::Add);
  t.operand.reset();
  EXPECT_EQ(registers_of(t)[0x4060], 0x53U);  // bypass
  t.relu_first = true;
  EXPECT_EQ(registers_of(t)[0x4060], 0x12U);  // the vendor's fused ReLU
  t.relu_first = false;
  t.constant = -70000;
  auto r = registers_of(t);
  EXPECT_EQ(r[0x4060], 0x20050U);  // add, from the register; no multiplication, no ReLU
  EXPECT_EQ(r[0x4064], static_cast<uint32_t>(-70000));
}

TEST(PoolTasks, AverageAndMaximum) {
  PoolTask t;
  t.in_width = t.in_height = 8;
  t.out_width = t.out_height = 4;
  t.channels = 32;
  t.kernel_width = t.kernel_height = t.stride_x = t.stride_y = 2;
  t.in_plane = 64;
  t.out_plane = 16;
  auto maximum = registers_of(t);
  EXPECT_EQ(maximum[0x6024], 0x11U);
  EXPECT_EQ(maximum[0x6038], 0U);
  t.average = true;
  auto average = registers_of(t);
  EXPECT_EQ(average[0x6024], 0x10U);
  EXPECT_EQ(average[0x6034], 0x00110101U);
  EXPECT_EQ(average[0x6038], 0x8000U);
  EXPECT_EQ(average[0x603C], 0x8000U);
  EXPECT_EQ(average[0x6044], 0U);  // no padding, no value for it
}

}  // namespace
}  // namespace peraxis::emit

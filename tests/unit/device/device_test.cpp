// The devices behind the interface: names, allocation, ranges, and a job on the machine model.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "device/machine/machine_device.hpp"
#include "device/open.hpp"
#include "target/rk3588/registers.hpp"

namespace peraxis::device {
namespace {

TEST(Devices, OpenByName) {
  for (const char* name : {"sim", "null"}) {
    auto device = open_device(name);
    ASSERT_TRUE(device) << name;
    EXPECT_EQ((*device)->name(), name);
  }
  const auto none = open_device("tpu");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
}

TEST(NullDevice, RefusesEverythingByName) {
  auto device = *open_device("null");
  std::vector<TaskCounters> counters;
  EXPECT_EQ(device->allocate(64, "x").error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->sync_to_device({}, 0, 0).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->sync_from_device({}, 0, 0).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->run({}, counters).error().code, ErrorCode::Unsupported);
}

TEST(MachineDevice, BuffersArePageAlignedZeroedAndApart) {
  auto device = *open_device("sim");
  int64_t end = 0;
  std::vector<Buffer> kept;
  for (const int64_t size : {1, 4096, 5000, 64}) {
    const auto buffer = device->allocate(size, "b");
    ASSERT_TRUE(buffer);
    kept.push_back(*buffer);
    EXPECT_EQ(buffer->address % 4096, 0U);
    EXPECT_GE(buffer->address, 0x10000U);
    EXPECT_GT(buffer->address, end);
    EXPECT_EQ(static_cast<int64_t>(buffer->bytes.size()), size);
    for (const uint8_t v : buffer->bytes) ASSERT_EQ(v, 0);
    end = buffer->address + size;
  }
  EXPECT_FALSE(device->allocate(0, "empty"));
  EXPECT_FALSE(device->allocate(int64_t{1} << 33, "huge"));
}

TEST(MachineDevice, BuffersGiveTheirMemoryBack) {
  MachineDevice device;
  const int64_t empty = device.used_bytes();
  {
    const Buffer a = *device.allocate(5000, "a");
    EXPECT_EQ(device.used_bytes(), empty + 3 * 4096) << "two pages, and one that keeps the next buffer apart";
    std::optional<Buffer> b = *device.allocate(100, "b");
    const Buffer c = *device.allocate(100, "c");
    const uint32_t address = b->address;
    b->bytes[7] = 1;
    ASSERT_TRUE(device.sync_to_device(*b, 0, 100));
    const Buffer copy = *b;
    b.reset();
    EXPECT_EQ(device.used_bytes(), empty + 7 * 4096) << "a copy of the handle keeps it";
    EXPECT_EQ(copy.bytes[7], 1);
    b = *device.allocate(100, "elsewhere");
    EXPECT_NE(b->address, address);
  }
  EXPECT_EQ(device.used_bytes(), empty);
  const Buffer a = *device.allocate(5000, "a");
  {
    const Buffer b = *device.allocate(100, "b");
    b.bytes[7] = 1;
    ASSERT_TRUE(device.sync_to_device(b, 0, 100));
  }
  const Buffer again = *device.allocate(100, "again");
  EXPECT_EQ(again.bytes[7], 0) << "its address is that of a buffer before it, its content is not";
  // A whole address space again and again, also by pieces of many sizes.
  base::Rng rng(1);
  std::vector<Buffer> many;
  for (int round = 0; round < 2000; ++round) {
    if (!many.empty() && rng.one_in(2)) {
      many.erase(many.begin() + rng.uniform(0, static_cast<int64_t>(many.size()) - 1));
      continue;
    }
    auto buffer = device.allocate(rng.uniform(1, 100000), "piece");
    ASSERT_TRUE(buffer) << buffer.error().text();
    for (const Buffer& other : many)
      ASSERT_TRUE(other.address + other.bytes.size() + 4096 <= buffer->address ||
                  buffer->address + buffer->bytes.size() + 4096 <= other.address);
    many.push_back(std::move(*buffer));
  }
}

TEST(MachineDevice, AFullAddressSpaceSaysSoAndLosesNothing) {
  MachineDevice device;
  const Buffer a = *device.allocate(1000, "a");
  const int64_t used = device.used_bytes();
  const auto none = device.allocate((int64_t{1} << 32) - 70000, "b");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::OutOfMemory);
  EXPECT_NE(none.error().message.find("the largest gap has 4294893568"), std::string::npos)
      << none.error().message;
  EXPECT_EQ(device.used_bytes(), used);
}

// Also while jobs of other threads run, and after the device.
TEST(MachineDevice, AnyOrderAndAnyThread) {
  Buffer orphan;
  {
    MachineDevice device;
    const int64_t empty = device.used_bytes();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&device] {
        for (int i = 0; i < 500; ++i) {
          const auto a = device.allocate(1 + i * 37 % 9000, "a"), b = device.allocate(64, "b");
          ASSERT_TRUE(a && b);
          ASSERT_TRUE(device.sync_to_device(*a, 0, 1));
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(device.used_bytes(), empty);
    orphan = *device.allocate(10, "orphan");
  }
  orphan.bytes[9] = 1;
  orphan = {};
}

TEST(MachineDevice, SyncChecksItsRange) {
  auto device = *open_device("sim");
  const Buffer b = *device->allocate(100, "b");
  EXPECT_TRUE(device->sync_to_device(b, 0, 100));
  EXPECT_TRUE(device->sync_from_device(b, 100, 0));
  EXPECT_FALSE(device->sync_to_device(b, 1, 100));
  EXPECT_FALSE(device->sync_to_device(b, -1, 1));
  EXPECT_FALSE(device->sync_from_device(b, 101, 0));
  EXPECT_FALSE(device->sync_from_device(b, 0, -1));
}

// The smallest convolution: 1x1, 16 channels in, 32 out, output = bias.
std::vector<uint64_t> program(uint32_t features, uint32_t weights, uint32_t output) {
  using rk3588::command_word;
  std::vector<uint64_t> words;
  const auto write = [&](uint16_t target, uint16_t offset, uint32_t value) {
    words.push_back(command_word(target, value, offset));
  };
  const std::pair<uint16_t, uint32_t> cna[] = {
      {0x1040, 0xB1},    {0x1100, 0},       {0x1104, 0},          {0x100C, 0}, {0x1010, 0x340},
      {0x1014, 9},       {0x1020, 0x10001}, {0x1024, 0xF0010},    {0x1028, 1}, {0x102C, 1},
      {0x1030, 512},     {0x1034, 16},      {0x1038, 0x01010020}, {0x1044, 1}, {0x104C, 0xB},
      {0x1060, 0},       {0x1068, 0},       {0x1070, features},   {0x107C, 4}, {0x1080, 0x0FFFFFFD},
      {0x1084, 0x10001}, {0x1088, 16},      {0x1110, weights},    {0x1184, 0}};
  for (const auto& [offset, value] : cna) write(0x0201, offset, value);
  for (uint16_t i = 0; i < 16; ++i) write(0x0201, static_cast<uint16_t>(0x1140 + 4 * i), 0);
  const std::pair<uint16_t, uint32_t> core[] = {
      {0x3010, 1}, {0x3014, 0}, {0x3018, 31}, {0x301C, 0}, {0x3030, 0}};
  for (const auto& [offset, value] : core) write(0x0801, offset, value);
  const std::pair<uint16_t, uint32_t> dpu[] = {
      {0x4004, 0xE},   {0x400C, 0x1E4}, {0x4010, 0},    {0x4014, 0},        {0x4020, output},  {0x4024, 0x10},
      {0x4030, 0},     {0x4034, 0},     {0x4038, 0},    {0x403C, 0x1F001F}, {0x4040, 0x20050}, {0x4044, 42},
      {0x4050, 0x126}, {0x4058, 31},    {0x405C, 0},    {0x4060, 0x53},     {0x4070, 0x383},   {0x4080, 0},
      {0x4084, 1},     {0x4088, 0},     {0x40C0, 0x20}, {0x40C4, 0},        {0x4100, 0},       {0x4104, 0}};
  for (const auto& [offset, value] : dpu) write(0x1001, offset, value);
  words.push_back(0);
  write(0x0101, 0x0014, 0);
  words.push_back(command_word(rk3588::kSeparatorTarget, 0, 0));
  words.push_back(command_word(rk3588::kEnableTarget, 0x0D, rk3588::kEnableOffset));
  return words;
}

TEST(MachineDevice, RunsAJobAndCounts) {
  auto device = *open_device("sim");
  const Buffer features = *device->allocate(16, "features");
  const Buffer weights = *device->allocate(512, "weights");
  const Buffer output = *device->allocate(32, "output");
  const std::vector<uint64_t> words = program(features.address, weights.address, output.address);
  const Buffer commands = *device->allocate(static_cast<int64_t>(words.size() * 8), "commands");
  std::memcpy(commands.bytes.data(), words.data(), words.size() * 8);
  const TaskEntry entry{commands.address, static_cast<uint32_t>(words.size())};
  std::vector<TaskCounters> counters;
  // Nothing was uploaded yet.
  EXPECT_FALSE(device->run(std::span(&entry, 1), counters));
  for (const Buffer& b : {features, weights, commands})
    ASSERT_TRUE(device->sync_to_device(b, 0, static_cast<int64_t>(b.bytes.size())));
  const Status done = device->run(std::span(&entry, 1), counters);
  ASSERT_TRUE(done) << done.error().text();
  for (const uint8_t v : output.bytes) EXPECT_EQ(v, 42);
  ASSERT_EQ(counters.size(), 1U);
  EXPECT_EQ(counters[0].output_pixels, 1);
  EXPECT_EQ(counters[0].kernel_taps, 1);
  EXPECT_EQ(counters[0].input_channels, 16);
  EXPECT_EQ(counters[0].output_channels, 32);
  EXPECT_FALSE(counters[0].depthwise);
  EXPECT_FALSE(device->run({}, counters));
}

}  // namespace
}  // namespace peraxis::device
